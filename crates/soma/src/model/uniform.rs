//! Uniform records in a box.

use rand::RngExt;

use super::{Model, Recipe};
use crate::error::{Invalid, Outcome, interval};
use crate::release::Release;
use crate::rng::Rng;

/// Each coordinate of a record is uniform on its own range. There are no parameters: the records
/// are the unknowns.
#[derive(Debug, Clone)]
pub struct Uniform {
    ranges: Vec<(f64, f64)>,
}

impl Uniform {
    /// The model with a range for each coordinate.
    pub fn new(ranges: Vec<(f64, f64)>) -> Result<Self, Invalid> {
        if ranges.is_empty() {
            return Err(Invalid::new(
                "range",
                "must not be empty",
                "[]",
                "[low, high] for each coordinate",
            ));
        }
        for (c, &range) in ranges.iter().enumerate() {
            interval(&format!("range[{c}]"), range)?;
        }
        Ok(Uniform { ranges })
    }
}

impl Model for Uniform {
    fn kind(&self) -> &'static str {
        "uniform"
    }

    fn record_dim(&self) -> usize {
        self.ranges.len()
    }

    fn parameters(&self) -> Vec<String> {
        Vec::new()
    }

    fn check_release(&self, release: &Release) -> Result<(), Invalid> {
        release.check_reach_of(self.kind(), &self.ranges)
    }

    fn sample_prior(&self, _theta: &mut [f64], _rng: &mut Rng) -> Outcome {
        Ok(())
    }

    fn log_prior(&self, _theta: &[f64]) -> Outcome<f64> {
        Ok(0.0)
    }

    fn propose(&self, _theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        for record in records.chunks_exact_mut(self.ranges.len()) {
            for (x, (low, high)) in record.iter_mut().zip(&self.ranges) {
                let part: f64 = rng.random();
                *x = low + (high - low) * part;
            }
        }
        Ok(())
    }

    fn log_density(&self, _theta: &[f64], record: &[f64]) -> Outcome<f64> {
        let inside =
            self.ranges.iter().zip(record).all(|((low, high), x)| (*low..=*high).contains(x));
        let log_volume: f64 = self.ranges.iter().map(|(low, high)| (high - low).ln()).sum();
        Ok(if inside { -log_volume } else { f64::NEG_INFINITY })
    }

    fn update(&self, _theta: &mut [f64], _records: &[f64], _rng: &mut Rng) -> Outcome {
        Ok(())
    }

    fn recipe(&self) -> Option<Recipe> {
        Some(Recipe::Uniform { ranges: self.ranges.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::chain::Problem;
    use crate::model::testing::*;
    use crate::release::query::Histogram;
    use crate::release::{Aggregate, Mechanism, Release, mechanism::Noise};
    use crate::rng::stream;

    #[test]
    fn proposals_are_uniform_in_the_box() {
        let model = Uniform::new(vec![(-1.0, 3.0), (0.0, 0.5)]).unwrap();
        let mut records = vec![0.0; 8000];
        model.propose(&[], &mut records, &mut stream(1, 0)).unwrap();
        for (c, (low, width)) in [(-1.0, 4.0), (0.0, 0.5)].into_iter().enumerate() {
            let mut column: Vec<f64> = records.iter().skip(c).step_by(2).copied().collect();
            assert_follows("uniform", &mut column, |x| (x - low) / width);
        }
        assert_eq!(model.log_density(&[], &[0.0, 0.1]).unwrap(), -(2.0f64.ln()));
        assert_eq!(model.log_density(&[], &[0.0, 0.6]).unwrap(), f64::NEG_INFINITY);
    }

    #[test]
    fn a_problem_without_parameters_has_its_theta_fixed() {
        let query = Histogram::with_equal_bins(&[((0.0, 1.0), 2)]).unwrap();
        let mechanism = Mechanism::new(Noise::Laplace, vec![1.0; 2]).unwrap();
        let release =
            Release::new(Arc::new(query), mechanism, Aggregate::Sum, 5, vec![2.0, 3.0]).unwrap();
        let model = Uniform::new(vec![(0.0, 1.0)]).unwrap();
        let problem = Problem::new(release, Arc::new(model)).unwrap();
        assert_eq!(problem.fixed(), Some(&[][..]));
        assert_eq!(problem.outputs(), ["mean_x1", "sd_x1"]);
    }

    #[test]
    fn bad_ranges_are_refused() {
        assert!(Uniform::new(vec![]).is_err());
        assert_eq!(Uniform::new(vec![(0.0, 0.0)]).unwrap_err().field, "range[0]");
    }

    #[test]
    fn draws_are_pinned() {
        let model = Uniform::new(vec![(-1.0, 3.0)]).unwrap();
        assert_pinned(&first_draws(&model, &[]), &[0.6099426546593922, -0.6784651642808721]);
    }
}
