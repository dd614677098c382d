//! Comparisons that were the same in all draws.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::Column;

/// A comparison, such as `p[a] > 0.5`, that was the same in all draws.
///
/// If n independent draws have an event never, its probability is below 3 / n with confidence 95%
/// (the rule of three; Hanley and Lippman-Hand, JAMA 1983): (1 - 3 / n)^n is about e^-3 = 0.05. The
/// draws count as many as the quantity with the fewest effective draws has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settled {
    /// The quantity.
    pub parameter: String,
    /// Its value in all draws: 1 or 0.
    pub value: f64,
    /// The number of draws.
    pub draws: usize,
    /// How far its probability may be from its value, with confidence 95%.
    pub within: f64,
}

impl Settled {
    /// What is known of `column`, if it is such a comparison and `effective` draws are known.
    pub(super) fn of(column: &Column, effective: f64) -> Option<Self> {
        let is_settled = column.is_comparison && column.is_constant && effective.is_finite();
        is_settled.then(|| Settled {
            parameter: column.name.clone(),
            value: column.summary.mean,
            draws: column.draws * column.changes.len(),
            within: (3.0 / effective.max(1.0)).min(1.0),
        })
    }

    /// What is known of the probability, in words: "above 0.998".
    pub fn bound(&self) -> String {
        let digits = (2.0 - self.within.log10().floor()).clamp(2.0, 12.0) as usize - 1;
        match self.value {
            0.0 => format!("below {:.digits$}", self.within),
            _ => format!("above {:.digits$}", 1.0 - self.within),
        }
    }
}

impl Display for Settled {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let Settled { parameter, value, draws, .. } = self;
        let bound = self.bound();
        write!(
            f,
            "{parameter} was {value} in all {draws} draws, so that its probability is {bound}."
        )
    }
}
