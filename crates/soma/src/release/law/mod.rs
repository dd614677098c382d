//! The noise distributions: one file for each.
//!
//! A new one is a file here and a line in `laws!` below. Kernels use only its potential.

mod discrete_gaussian;
mod discrete_laplace;
mod gaussian;
mod laplace;
mod of_answer;
mod publishing;
mod quantile;
mod randomised_response;
mod ratio;
mod rounded_laplace;
mod synthetic_records;

#[cfg(test)]
mod testing;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use statrs::function::erf::erfc;

pub use of_answer::{Answer, Means, OfAnswer, Variance};
pub use publishing::Publishing;
pub use quantile::{Choice, Quantile};
pub use randomised_response::RandomisedResponse;
pub use ratio::Ratio;
pub use synthetic_records::SyntheticRecords;

use super::potential::{Coordinate, Norm};
use crate::rng::Rng;

/// The distribution of one published value given the true answer. Values, answers and scales are in
/// the unit of the release.
pub trait Law: Debug + Sync {
    /// The name in a spec.
    fn name(&self) -> &'static str;

    /// The normalised log density of a published value; log probability if discrete.
    fn log_density(&self, scale: f64, published: f64, truth: f64) -> f64;

    /// One published value, for simulation only: floating point noise does not protect anyone.
    fn sample(&self, scale: f64, truth: f64, rng: &mut Rng) -> f64;

    /// The log probability that the noise is at most `bound`. The noise is symmetric.
    fn log_at_most(&self, scale: f64, bound: f64) -> f64;

    /// The approximate variance of the noise.
    fn variance(&self, scale: f64) -> f64;

    /// The exact variance of the noise.
    fn exact_variance(&self, scale: f64) -> f64 {
        self.variance(scale)
    }

    /// Whether the noise is a whole number.
    fn is_discrete(&self) -> bool {
        false
    }

    /// The norm of the sensitivity that the scale is a multiple of: L1 for pure differential privacy
    /// (epsilon), L2 for zero-concentrated (rho).
    fn sensitivity_norm(&self) -> Norm;

    /// The potential of one coordinate for which `published` was released: minus the log density as a
    /// function of the residual (published minus truth) / scale, up to a constant.
    fn coordinate(&self, scale: f64, published: f64) -> Coordinate;

    /// About the probability that the noise exceeds `z` scales on one side, for large z.
    fn tail(&self, z: f64) -> f64 {
        match self.sensitivity_norm() {
            Norm::L1 => 0.5 * (-z).exp(),
            Norm::L2 => 0.5 * erfc(z / std::f64::consts::SQRT_2),
        }
    }
}

/// Declares the noise distributions: a variant of [`Noise`] for each.
macro_rules! laws {
    ($($(#[$doc:meta])* $variant:ident => $law:path,)*) => {
        /// A noise distribution. Coordinates are independent, each with its own scale.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Noise {
            $($(#[$doc])* $variant,)*
        }

        impl Noise {
            /// All of them, in the order in which they are listed to a user.
            pub const ALL: [Noise; [$(stringify!($variant)),*].len()] = [$(Noise::$variant),*];

            /// The implementation.
            pub fn law(self) -> &'static dyn Law {
                match self {
                    $(Noise::$variant => &$law,)*
                }
            }
        }
    };
}

laws! {
    /// Density proportional to exp(-|r| / scale).
    Laplace => laplace::Laplace,
    /// Density proportional to exp(-r^2 / (2 scale^2)).
    Gaussian => gaussian::Gaussian,
    /// Whole numbers, with probability proportional to exp(-|r| / scale).
    DiscreteLaplace => discrete_laplace::DiscreteLaplace,
    /// Whole numbers, with probability proportional to exp(-r^2 / (2 scale^2)).
    DiscreteGaussian => discrete_gaussian::DiscreteGaussian,
    /// Laplace noise, rounded to whole numbers.
    RoundedLaplace => rounded_laplace::RoundedLaplace,
}

impl Noise {
    /// The name in a spec.
    pub fn name(self) -> &'static str {
        self.law().name()
    }

    /// Whether the noise is a whole number.
    pub fn is_discrete(self) -> bool {
        self.law().is_discrete()
    }

    /// The normalised log density of one residual; log probability if discrete.
    pub fn log_density(self, scale: f64, residual: f64) -> f64 {
        self.law().log_density(scale, residual, 0.0)
    }

    /// The approximate variance: if discrete, that of the continuous noise.
    pub(crate) fn variance(self, scale: f64) -> f64 {
        self.law().variance(scale)
    }

    /// One draw of noise, for simulation only: floating point noise does not protect anyone.
    pub fn sample(self, scale: f64, rng: &mut Rng) -> f64 {
        self.law().sample(scale, 0.0, rng)
    }
}
