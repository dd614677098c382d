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
    /// (epsilon), L2 for zero-concentrated (rho). `None` if no budget determines the scale: then a
    /// release states it.
    fn sensitivity_norm(&self) -> Option<Norm> {
        None
    }

    /// The potential of one coordinate for which `published` was released: minus the log density as a
    /// function of the residual (published minus truth) / scale, up to a constant.
    fn coordinate(&self, scale: f64, published: f64) -> Coordinate;

    /// Whether noise that is redrawn until the noisy answer is within bounds still has its mode at
    /// the published value, for every true answer. Otherwise only the value of the cost is available
    /// there, not its bounds over an interval.
    fn keeps_its_mode_within_bounds(&self) -> bool {
        false
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

    /// The noise of this name.
    pub fn named(name: &str) -> Option<Noise> {
        Noise::ALL.into_iter().find(|noise| noise.name() == name)
    }

    /// The names of those that `is_meant` accepts, in words: "a, b or c".
    fn in_words(is_meant: impl Fn(Noise) -> bool) -> String {
        let names: Vec<&str> =
            Noise::ALL.into_iter().filter(|&noise| is_meant(noise)).map(Noise::name).collect();
        match names.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            _ => names.concat(),
        }
    }

    /// The names of all, in words.
    pub fn any() -> String {
        Noise::in_words(|_| true)
    }

    /// The names of those on whole numbers, in words.
    pub fn any_discrete() -> String {
        Noise::in_words(Noise::is_discrete)
    }

    /// The names of the others, in words.
    pub fn any_continuous() -> String {
        Noise::in_words(|noise| !noise.is_discrete())
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
