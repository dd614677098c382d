//! The noise added to the query's answer.

pub use super::budget::{Budget, GaussianRule, Neighbours, scale_of_variance};
pub use super::law::{Law, Noise, Publishing};
use super::potential::Block;
use super::query::Sensitivity;
use super::{Aggregate, Query};
use crate::error::{Invalid, positive};
use crate::rng::Rng;

/// A noise distribution with the scale of each coordinate, in the unit of the released values, and
/// the post-processing of the noisy values.
#[derive(Debug, Clone)]
pub struct Mechanism {
    noise: Noise,
    scales: Vec<f64>,
    publishing: Publishing,
    source: Option<Source>,
}

/// What the scales follow from, where they were not stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Source {
    /// The budget.
    pub budget: Budget,
    /// The sensitivity, if one was stated in the place of the query's.
    pub sensitivity: Option<f64>,
    /// The relation between data sets that the sensitivity is for.
    pub neighbours: Neighbours,
}

/// The law of the published values is compared, and not what its scales follow from.
impl PartialEq for Mechanism {
    fn eq(&self, other: &Self) -> bool {
        self.noise == other.noise
            && self.scales == other.scales
            && self.publishing == other.publishing
    }
}

impl Mechanism {
    /// Noise with one scale for each coordinate of the query.
    pub fn new(noise: Noise, scales: Vec<f64>) -> Result<Self, Invalid> {
        for &scale in &scales {
            positive("scale", scale)?;
        }
        Ok(Mechanism { noise, scales, publishing: Publishing::default(), source: None })
    }

    /// Adds post-processing: rounding, clamping or suppression of the noisy values.
    pub fn published_by(mut self, publishing: Publishing) -> Result<Self, Invalid> {
        publishing.check(self.noise)?;
        self.publishing = publishing;
        Ok(self)
    }

    /// Multiplies all scales by `factor`.
    pub(crate) fn widened(&self, factor: f64) -> Self {
        let scales = self.scales.iter().map(|scale| scale * factor).collect();
        Mechanism { scales, source: None, ..self.clone() }
    }

    /// Noise whose scale follows from a privacy budget and the query's sensitivity, or from
    /// `sensitivity` (of the sum, between neighbours) if the curator used another.
    pub fn with_budget(
        noise: Noise,
        budget: Budget,
        sensitivity: Option<f64>,
        neighbours: Neighbours,
        query: &dyn Query,
        aggregate: Aggregate,
        n: usize,
    ) -> Result<Self, Invalid> {
        if aggregate == Aggregate::Mean && neighbours == Neighbours::AddRemove {
            return Err(Invalid::new(
                budget.key(),
                "a mean has no scale that follows from a budget where records are added or removed",
                budget,
                "scale = ..., as it was used; or the sum, with a count beside it",
            ));
        }
        let implied = neighbours.sensitivity(query);
        if sensitivity.is_none() && implied.l1 == 0.0 {
            return Err(Invalid::new(
                budget.key(),
                "no noise follows from a budget: a replaced record does not change the number of \
                 records",
                budget,
                "n = \"unknown\", or neighbours = \"add-remove\", if the number was protected; or \
                 scale = ..., as it was used",
            ));
        }
        let given = sensitivity.map(|given| Sensitivity { l1: given, l2: given });
        let scale = budget.scale(noise, given.unwrap_or(implied))?;
        if let Some(sensitivity) = sensitivity {
            positive("sensitivity", sensitivity)?;
        }
        let unit = match aggregate {
            Aggregate::Sum => 1.0,
            Aggregate::Mean => n as f64,
        };
        let source = Some(Source { budget, sensitivity, neighbours });
        let mechanism = Mechanism::new(noise, vec![scale / unit; query.dim()])?;
        Ok(Mechanism { source, ..mechanism })
    }

    /// The budget and the sensitivity that the scales follow from, where they were not stated.
    pub fn source(&self) -> Option<Source> {
        self.source
    }

    /// The same law with scales that follow from `source`.
    pub(super) fn following(self, source: Option<Source>) -> Self {
        Mechanism { source, ..self }
    }

    /// The noise distribution.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// The scale of each coordinate.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// The post-processing of the noisy values.
    pub fn publishing(&self) -> &Publishing {
        &self.publishing
    }

    /// The normalised log density of the published `values`, given the true answers.
    pub fn log_density(&self, values: &[f64], truth: &[f64]) -> f64 {
        let coordinates = self.scales.iter().zip(values).zip(truth);
        coordinates
            .map(|((&scale, &value), &t)| self.publishing.log_density(self.noise, scale, value, t))
            .sum()
    }

    /// The potential of a release of `values`.
    pub(super) fn blocks(&self, values: &[f64]) -> Vec<Block> {
        let block =
            |(&scale, &value): (&f64, &f64)| self.publishing.block(self.noise, scale, value);
        self.scales.iter().zip(values).map(block).collect()
    }

    /// Published values for the true answers `truth`, for simulation only.
    pub fn publish(&self, truth: &[f64], rng: &mut Rng) -> Vec<f64> {
        let coordinates = self.scales.iter().zip(truth);
        coordinates.map(|(&scale, &t)| self.publishing.sample(self.noise, scale, t, rng)).collect()
    }

    /// A vector of noise, for simulation only.
    pub fn sample(&self, rng: &mut Rng) -> Vec<f64> {
        self.scales.iter().map(|&scale| self.noise.sample(scale, rng)).collect()
    }

    /// Whether `values` can have been published after what was done to the noisy answers.
    pub(super) fn check_values(&self, values: &[f64]) -> Result<(), Invalid> {
        values.iter().enumerate().try_for_each(|(k, &value)| {
            self.publishing
                .check_value(value)
                .map_err(|invalid| Invalid { field: format!("values[{k}]"), ..invalid })
        })
    }

    /// Whether this noise is valid for answers of `query`.
    pub(super) fn check(
        &self,
        query: &dyn Query,
        aggregate: Aggregate,
        values: &[f64],
    ) -> Result<(), Invalid> {
        self.check_values(values)?;
        if !self.noise.is_discrete() || self.publishing.granularity.is_some() {
            return Ok(());
        }
        let noise = self.noise.name();
        if aggregate == Aggregate::Mean || !query.is_integer() {
            return Err(Invalid::new(
                "mechanism.kind",
                format!("{noise} noise is added to whole numbers only"),
                format!("the {aggregate:?} of a {} query", query.kind()).to_lowercase(),
                format!(
                    "{} noise here; or the sum of a histogram or category query; or granularity = \
                     ..., the width of the lattice that the noise is on",
                    Noise::any_continuous()
                ),
            ));
        }
        match values.iter().position(|value| value.fract() != 0.0) {
            Some(k) => Err(Invalid::new(
                format!("values[{k}]"),
                format!("{noise} noise gives whole numbers"),
                values[k],
                format!(
                    "a whole number; or {} noise, if the release is not whole",
                    Noise::any_continuous()
                ),
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::assert_pinned;
    use crate::release::query::{Categories, Count, Mean};
    use crate::rng::stream;

    #[test]
    fn a_public_number_of_records_needs_no_noise() {
        let of = |neighbours| {
            let (budget, count) = (Budget::Epsilon(1.0), Count::new(1));
            let sum = Aggregate::Sum;
            Mechanism::with_budget(Noise::DiscreteLaplace, budget, None, neighbours, &count, sum, 9)
        };
        assert_eq!(of(Neighbours::AddRemove).unwrap().scales(), [1.0]);
        let error = of(Neighbours::Replace).unwrap_err();
        assert!(error.to_string().contains("n = \"unknown\""), "{error}");
    }

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
        let replace = Neighbours::Replace;
        let scale = |noise, budget, sensitivity, aggregate| {
            Mechanism::with_budget(noise, budget, sensitivity, replace, &query, aggregate, 10)
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
