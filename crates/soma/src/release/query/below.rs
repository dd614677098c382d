//! The number of records below and above each candidate: the statistics of a quantile.

use super::{Query, Sensitivity};
use crate::error::{Invalid, Outcome, finite};

/// For each candidate c whether a record of one number is below it, and whether it is above.
#[derive(Debug, Clone)]
pub struct Below {
    candidates: Vec<f64>,
}

impl Below {
    /// A query on candidates in increasing order.
    pub fn new(candidates: Vec<f64>) -> Result<Self, Invalid> {
        if candidates.len() < 2 {
            let given = format!("{} candidates", candidates.len());
            let allowed = "at least two numbers, in increasing order";
            return Err(Invalid::new(
                "candidates",
                "must have at least two values",
                given,
                allowed,
            ));
        }
        for (i, &candidate) in candidates.iter().enumerate() {
            finite(&format!("candidates[{i}]"), candidate)?;
            if i > 0 && candidate <= candidates[i - 1] {
                return Err(Invalid::new(
                    format!("candidates[{i}]"),
                    "candidates must increase",
                    candidate,
                    format!("a number above {}", candidates[i - 1]),
                ));
            }
        }
        Ok(Below { candidates })
    }
}

impl Query for Below {
    fn kind(&self) -> &'static str {
        "quantile"
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn dim(&self) -> usize {
        2 * self.candidates.len()
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        for (x, row) in records.iter().zip(out.chunks_exact_mut(self.dim())) {
            for (candidate, pair) in self.candidates.iter().zip(row.chunks_exact_mut(2)) {
                pair[0] = f64::from(u8::from(x < candidate));
                pair[1] = f64::from(u8::from(x > candidate));
            }
        }
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        vec![(0.0, 1.0); self.dim()]
    }

    /// A record that moves from one end to the other changes both counts of every candidate.
    fn sensitivity(&self) -> Sensitivity {
        Sensitivity { l1: self.dim() as f64, l2: (self.dim() as f64).sqrt() }
    }

    /// A record is below or above each candidate, and not both.
    fn sensitivity_to_presence(&self) -> Sensitivity {
        let half = self.candidates.len() as f64;
        Sensitivity { l1: half, l2: half.sqrt() }
    }

    fn labels(&self) -> Vec<String> {
        let pair = |c: &f64| [format!("x < {c}"), format!("x > {c}")];
        self.candidates.iter().flat_map(pair).collect()
    }

    fn is_integer(&self) -> bool {
        true
    }
}
