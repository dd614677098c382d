//! What analysts are to learn: `sd(beta1) < 0.1`.

use serde::{Deserialize, Serialize};

use crate::error::{Invalid, listed};

/// What of the posterior is to be small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// The standard deviation.
    Sd,
    /// The width of the 90% interval.
    Width,
}

/// A bound on what is left unknown of one output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// What is bounded.
    pub measure: Measure,
    /// The output that it is of.
    pub name: String,
    /// The bound.
    pub below: f64,
}

const ALLOWED: &str = "\"sd(NAME) < NUMBER\" or \"width(NAME) < NUMBER\"";

impl Target {
    /// Reads a target.
    ///
    /// ```
    /// use soma::plan::{Measure, Target};
    /// let target = Target::parse("width(p[never]) < 0.2")?;
    /// assert_eq!((target.measure, target.below), (Measure::Width, 0.2));
    /// assert_eq!(target.name, "p[never]");
    /// assert!(Target::parse("beta1 < 0.1").is_err());
    /// # Ok::<(), soma::Invalid>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let wrong = || Invalid::new("target", "is no target", format!("{text:?}"), ALLOWED);
        let (left, right) = text.split_once('<').ok_or_else(wrong)?;
        let below: f64 = right.trim_start_matches('=').trim().parse().map_err(|_| wrong())?;
        let left = left.trim();
        let (measure, rest) = match (left.strip_prefix("sd"), left.strip_prefix("width")) {
            (Some(rest), _) => (Measure::Sd, rest),
            (_, Some(rest)) => (Measure::Width, rest),
            _ => return Err(wrong()),
        };
        let name = rest.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let name = name.map(str::trim).filter(|name| !name.is_empty()).ok_or_else(wrong)?;
        if !(below > 0.0 && below.is_finite()) {
            return Err(Invalid::new("target", "the bound must be positive", below, ALLOWED));
        }
        Ok(Target { measure, name: name.to_string(), below })
    }

    /// Whether there is such an output.
    pub(crate) fn check(&self, outputs: &[String]) -> Result<(), Invalid> {
        if outputs.contains(&self.name) {
            return Ok(());
        }
        let problem = "there is no such parameter";
        Err(Invalid::new("target", problem, format!("{:?}", self.name), listed(outputs)))
    }

    /// Whether a posterior with this sd and this width meets it.
    pub fn is_met(&self, sd: f64, width: f64) -> bool {
        let value = match self.measure {
            Measure::Sd => sd,
            Measure::Width => width,
        };
        value < self.below
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let measure = match self.measure {
            Measure::Sd => "sd",
            Measure::Width => "width",
        };
        write!(f, "{measure}({}) < {}", self.name, self.below)
    }
}
