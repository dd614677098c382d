//! The noise that was added to the query's answer.

use serde::{Deserialize, Serialize};

pub use super::law::{Law, Noise};
use super::potential::{Block, Norm, Potential};
use super::{Aggregate, Query};
use crate::error::{Invalid, positive};
use crate::rng::Rng;

/// A privacy budget, from which a scale follows once the sensitivity is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Budget {
    /// Pure differential privacy, for noise of Laplace's kind.
    Epsilon(f64),
    /// Zero-concentrated differential privacy, for noise of Gauss's kind.
    Rho(f64),
}

/// A family of noise with the scale of each coordinate, in the unit of the released values.
#[derive(Debug, Clone, PartialEq)]
pub struct Mechanism {
    noise: Noise,
    scales: Vec<f64>,
}

impl Mechanism {
    /// Noise with one scale for each coordinate of the query.
    pub fn new(noise: Noise, scales: Vec<f64>) -> Result<Self, Invalid> {
        for &scale in &scales {
            positive("scale", scale)?;
        }
        Ok(Mechanism { noise, scales })
    }

    /// Noise whose scale follows from a privacy budget and the query's sensitivity, or from
    /// `sensitivity` (of the sum, when one record is replaced) where the curator used another.
    pub fn with_budget(
        noise: Noise,
        budget: Budget,
        sensitivity: Option<f64>,
        query: &dyn Query,
        aggregate: Aggregate,
        n: usize,
    ) -> Result<Self, Invalid> {
        let implied = query.sensitivity();
        let scale = match (noise.law().sensitivity_norm(), budget) {
            (Norm::L1, Budget::Epsilon(epsilon)) => {
                sensitivity.unwrap_or(implied.l1) / positive("epsilon", epsilon)?
            }
            (Norm::L2, Budget::Rho(rho)) => {
                sensitivity.unwrap_or(implied.l2) / (2.0 * positive("rho", rho)?).sqrt()
            }
            (Norm::L1, Budget::Rho(rho)) => {
                return Err(Invalid::new(
                    "rho",
                    format!("{} noise takes its scale from epsilon", noise.name()),
                    rho,
                    "epsilon = ..., or scale = ...",
                ));
            }
            (Norm::L2, Budget::Epsilon(epsilon)) => {
                return Err(Invalid::new(
                    "epsilon",
                    format!("{} noise takes its scale from rho", noise.name()),
                    epsilon,
                    "rho = ..., or scale = ...",
                ));
            }
        };
        if let Some(sensitivity) = sensitivity {
            positive("sensitivity", sensitivity)?;
        }
        let unit = match aggregate {
            Aggregate::Sum => 1.0,
            Aggregate::Mean => n as f64,
        };
        Mechanism::new(noise, vec![scale / unit; query.dim()])
    }

    /// The family.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// The scale of each coordinate.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// The log density of a whole vector of residuals, released minus true.
    pub fn log_density(&self, residual: &[f64]) -> f64 {
        self.scales.iter().zip(residual).map(|(&scale, &r)| self.noise.log_density(scale, r)).sum()
    }

    /// The potential of a release of `values`.
    pub(crate) fn potential(&self, values: &[f64]) -> Potential {
        let coordinate = |(&scale, &value): (&f64, &f64)| {
            Block::Coordinate(self.noise.law().coordinate(scale, value))
        };
        Potential::new(self.scales.iter().zip(values).map(coordinate).collect())
    }

    /// Published values for the true answers `truth`, for simulation only.
    pub fn publish(&self, truth: &[f64], rng: &mut Rng) -> Vec<f64> {
        let law = self.noise.law();
        self.scales.iter().zip(truth).map(|(&scale, &t)| law.sample(scale, t, rng)).collect()
    }

    /// A vector of noise, for simulation only.
    pub fn sample(&self, rng: &mut Rng) -> Vec<f64> {
        self.scales.iter().map(|&scale| self.noise.sample(scale, rng)).collect()
    }

    /// Whether this noise can have been added to answers of `query`.
    pub(super) fn check(
        &self,
        query: &dyn Query,
        aggregate: Aggregate,
        values: &[f64],
    ) -> Result<(), Invalid> {
        if !self.noise.is_discrete() {
            return Ok(());
        }
        let noise = self.noise.name();
        if aggregate == Aggregate::Mean || !query.is_integer() {
            return Err(Invalid::new(
                "mechanism.kind",
                format!("{noise} noise is added to whole numbers only"),
                format!("the {aggregate:?} of a {} query", query.kind()).to_lowercase(),
                "laplace or gaussian noise here; or the sum of a histogram or category query",
            ));
        }
        match values.iter().position(|value| value.fract() != 0.0) {
            Some(k) => Err(Invalid::new(
                format!("values[{k}]"),
                format!("{noise} noise leaves counts whole"),
                values[k],
                "a whole number; or laplace noise, if the release is not whole",
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::assert_pinned;
    use crate::release::query::{Categories, Mean};
    use crate::rng::stream;

    #[test]
    fn draws_are_pinned() {
        let mut draws = Vec::new();
        for noise in Noise::ALL {
            let mechanism = Mechanism::new(noise, vec![2.0; 3]).unwrap();
            draws.extend(mechanism.sample(&mut stream(1, 0)));
        }
        assert_pinned(
            &draws,
            &[
                0.893806440593595,
                0.29042330063071903,
                1.1608718288624968,
                -0.46969411711184195,
                -2.821635401221999,
                0.6660572589585434,
                0.0,
                1.0,
                -3.0,
                1.0,
                1.0,
                0.0,
                1.0,
                0.0,
                1.0,
            ],
        );
    }

    #[test]
    fn scales_follow_from_the_budget() {
        let query = Mean::new(vec![(0.0, 3.0), (0.0, 4.0)]).unwrap();
        let scale = |noise, budget, sensitivity, aggregate| {
            Mechanism::with_budget(noise, budget, sensitivity, &query, aggregate, 10)
                .map(|mechanism| mechanism.scales()[0])
        };
        let (sum, mean) = (Aggregate::Sum, Aggregate::Mean);
        let epsilon = Budget::Epsilon(2.0);
        assert_eq!(scale(Noise::Laplace, epsilon, None, sum), Ok(3.5));
        assert_eq!(scale(Noise::Laplace, epsilon, None, mean), Ok(0.35));
        assert_eq!(scale(Noise::Laplace, epsilon, Some(13.0), mean), Ok(0.65));
        assert_eq!(scale(Noise::Gaussian, Budget::Rho(0.5), None, sum), Ok(5.0));
        assert_eq!(scale(Noise::Gaussian, epsilon, None, sum).unwrap_err().field, "epsilon");
        assert_eq!(scale(Noise::Laplace, Budget::Rho(1.0), None, sum).unwrap_err().field, "rho");
        assert!(scale(Noise::Laplace, Budget::Epsilon(0.0), None, sum).is_err());
        assert!(scale(Noise::Laplace, epsilon, Some(-1.0), sum).is_err());
    }

    #[test]
    fn discrete_noise_is_for_whole_numbers() {
        let mechanism = Mechanism::new(Noise::DiscreteLaplace, vec![1.0; 2]).unwrap();
        let counts = Categories::new(2).unwrap();
        assert!(mechanism.check(&counts, Aggregate::Sum, &[3.0, -1.0]).is_ok());
        assert!(mechanism.check(&counts, Aggregate::Sum, &[3.0, 0.5]).is_err());
        assert!(mechanism.check(&counts, Aggregate::Mean, &[3.0, 1.0]).is_err());
        let mean = Mean::new(vec![(0.0, 1.0)]).unwrap();
        assert!(mechanism.check(&mean, Aggregate::Sum, &[3.0, 1.0]).is_err());
    }
}
