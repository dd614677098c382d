//! The sums of a sample variance.

use super::{Query, Sensitivity, box_sensitivity};
use crate::error::{Invalid, Outcome, interval};

/// u, u^2 and 1 of a record of one number, with u the number clamped to a range, minus the middle
/// of the range. The sample variance is a function of their sums.
#[derive(Debug, Clone)]
pub struct CentredSquares {
    clamp: (f64, f64),
}

impl CentredSquares {
    /// A query on records of one number, clamped to a range.
    pub fn new(clamp: (f64, f64)) -> Result<Self, Invalid> {
        Ok(CentredSquares { clamp: interval("clamp", clamp)? })
    }

    fn half_width(&self) -> f64 {
        0.5 * self.clamp.1 - 0.5 * self.clamp.0
    }
}

impl Query for CentredSquares {
    fn kind(&self) -> &'static str {
        "variance"
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn dim(&self) -> usize {
        3
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        let (low, high) = self.clamp;
        let middle = 0.5 * low + 0.5 * high;
        for (x, row) in records.iter().zip(out.chunks_exact_mut(3)) {
            let u = x.clamp(low, high) - middle;
            row.copy_from_slice(&[u, u * u, 1.0]);
        }
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        let half = self.half_width();
        vec![(-half, half), (0.0, half * half), (1.0, 1.0)]
    }

    fn sensitivity(&self) -> Sensitivity {
        box_sensitivity(&self.bounds())
    }

    fn labels(&self) -> Vec<String> {
        ["u", "u^2", "n"].map(String::from).to_vec()
    }
}
