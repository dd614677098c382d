//! Each coordinate of a record, clamped to its range.

use soma_language::program::Program;

use super::{
    ClampedMoments, CoordinateMap, MomentTerm, Moments, Query, Sensitivity, box_sensitivity,
    compiled,
};
use crate::error::{Invalid, Outcome, interval};

/// The sum or mean of the records, each coordinate clamped to its own range.
#[derive(Debug, Clone)]
pub struct Mean {
    clamp: Vec<(f64, f64)>,
}

impl Mean {
    /// A query on records with one range for each coordinate.
    pub fn new(clamp: Vec<(f64, f64)>) -> Result<Self, Invalid> {
        if clamp.is_empty() {
            return Err(Invalid::new(
                "clamp",
                "must not be empty",
                "[]",
                "[low, high] for each coordinate",
            ));
        }
        for (k, &range) in clamp.iter().enumerate() {
            interval(&format!("clamp[{k}]"), range)?;
        }
        Ok(Mean { clamp })
    }
}

impl Query for Mean {
    fn kind(&self) -> &'static str {
        "mean"
    }

    fn coordinate_map(&self) -> Option<CoordinateMap> {
        Some(CoordinateMap::Identity)
    }

    fn record_dim(&self) -> usize {
        self.clamp.len()
    }

    fn dim(&self) -> usize {
        self.clamp.len()
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        let dim = self.clamp.len();
        for (record, row) in records.chunks_exact(dim).zip(out.chunks_exact_mut(dim)) {
            for ((value, x), (low, high)) in row.iter_mut().zip(record).zip(&self.clamp) {
                *value = x.clamp(*low, *high);
            }
        }
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        self.clamp.clone()
    }

    fn sensitivity(&self) -> Sensitivity {
        box_sensitivity(&self.clamp)
    }

    fn labels(&self) -> Vec<String> {
        (1..=self.clamp.len()).map(|k| format!("x{k}")).collect()
    }

    fn clamped_moments(&self) -> Option<ClampedMoments> {
        let d = self.clamp.len();
        let centre: Vec<f64> =
            self.clamp.iter().map(|(low, high)| 0.5 * low + 0.5 * high).collect();
        let half_width: Vec<f64> =
            self.clamp.iter().map(|(low, high)| 0.5 * high - 0.5 * low).collect();
        let term =
            |i: usize| MomentTerm { variables: [i, d], offset: centre[i], factor: half_width[i] };
        Some(ClampedMoments { terms: (0..d).map(term).collect(), centre, half_width })
    }

    fn programs(&self) -> Option<Vec<Program>> {
        let clamps = self.clamp.iter().zip(1..);
        let texts = clamps.map(|((low, high), j)| format!("clamp(x{j}, {low:?}, {high:?})"));
        compiled(self.clamp.len(), &texts.collect::<Vec<_>>())
    }

    fn moments(&self, means: &[f64]) -> Option<Moments> {
        Some(Moments { mean: means.to_vec(), covariance: None })
    }
}
