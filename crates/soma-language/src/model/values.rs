//! The values that a coordinate of a record may have.

use std::fmt;
use std::ops::Range;

use super::Model;
use crate::check::{Law, Variable};
use crate::distribution::Constraint;
use crate::graph::Fact;

/// The most codes that are listed one by one.
const LISTED: usize = 12;

/// How far shares of a real record may be from a sum of one, being rounded.
const ROUNDING: f64 = 1e-6;

/// The values that a coordinate of a record has at some theta.
///
/// ```
/// use soma_language::{Data, Model};
/// let model = Model::new("m ~ normal(0, 1)", "k ~ categorical([1, 2, 1])\nx ~ normal(m, 1)", &Data::new())?;
/// let values = model.record_values();
/// assert_eq!(values[0].to_string(), "1, 2, 3");
/// assert!(values[0].hold(&[3.0, 0.5], 0) && !values[0].hold(&[0.0, 0.5], 0));
/// # Ok::<(), soma_language::Mistakes>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    fact: Fact,
    /// Whether the ends of the interval are values.
    holds_ends: bool,
    /// The coordinates that sum to one with this one.
    shares: Option<Range<usize>>,
}

impl Values {
    /// Whether coordinate `c` of a record is one of the values. Shares of which one is not known,
    /// NaN, may have any sum.
    pub fn hold(&self, record: &[f64], c: usize) -> bool {
        let Fact { low, high, integer } = self.fact;
        let x = record[c];
        let inside = match self.holds_ends {
            true => low <= x && x <= high,
            false => low < x && x < high,
        };
        let sum = || self.shares.as_ref().map(|shares| record[shares.clone()].iter().sum::<f64>());
        x.is_finite()
            && inside
            && (!integer || x.fract() == 0.0)
            && sum().is_none_or(|sum| !((sum - 1.0).abs() > ROUNDING))
    }

    /// The first code and the number of codes, where the values are a few whole numbers.
    pub fn codes(&self) -> Option<(f64, usize)> {
        let Fact { low, high, integer } = self.fact;
        let count = high - low + 1.0;
        (integer && count.is_finite() && count <= 1e6).then_some((low, count as usize))
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fact { low, high, integer } = self.fact;
        if let Some((low, count)) = self.codes().filter(|(_, count)| *count <= LISTED) {
            let codes: Vec<String> = (0..count).map(|k| (low + k as f64).to_string()).collect();
            return f.write_str(&codes.join(", "));
        }
        let kind = if integer { "whole numbers" } else { "numbers" };
        let (from, to) = if self.holds_ends { ("from", "up to") } else { ("above", "below") };
        match (low.is_finite(), high.is_finite()) {
            (false, false) => write!(f, "{kind}")?,
            (true, false) => write!(f, "{kind} {from} {low}")?,
            (false, true) => write!(f, "{kind} {to} {high}")?,
            (true, true) if self.holds_ends => write!(f, "{kind} from {low} to {high}")?,
            (true, true) => write!(f, "{kind} between {low} and {high}")?,
        }
        if self.shares.is_some() {
            f.write_str(" that sum to 1")?;
        }
        Ok(())
    }
}

impl Model {
    /// The values of each coordinate of a record.
    pub fn record_values(&self) -> Vec<Values> {
        let variables = self.record.variables.iter();
        let coordinates = variables.flat_map(|v| v.coordinates.iter().map(move |_| v));
        coordinates.zip(self.record_facts()).map(|(v, fact)| values(v, fact)).collect()
    }
}

fn values(variable: &Variable, fact: Fact) -> Values {
    match &variable.law {
        Law::Each(family, _) => {
            Values { fact, holds_ends: family.is_discrete() || family.holds_ends(), shares: None }
        }
        Law::Whole(family, _) => {
            let all = variable.first..variable.first + variable.coordinates.len();
            let shares = (family.constraint() == Constraint::Simplex).then_some(all);
            Values { fact, holds_ends: false, shares }
        }
    }
}
