//! Discrete Laplace (two-sided geometric) noise: whole numbers with probability
//! exp(-|r| / b) tanh(1 / (2 b)) (Ghosh, Roughgarden and Sundararajan 2009).

use rand::RngExt;

use super::Law;
use crate::release::potential::{Coordinate, Norm};
use crate::rng::Rng;

/// Discrete Laplace noise.
#[derive(Debug)]
pub(super) struct DiscreteLaplace;

impl Law for DiscreteLaplace {
    fn name(&self) -> &'static str {
        "discrete-laplace"
    }

    fn log_density(&self, scale: f64, published: f64, truth: f64) -> f64 {
        log_probability(scale, published - truth)
    }

    fn sample(&self, scale: f64, truth: f64, rng: &mut Rng) -> f64 {
        truth + sample(scale, rng)
    }

    fn log_at_most(&self, scale: f64, bound: f64) -> f64 {
        log_at_most(scale, bound.floor())
    }

    fn variance(&self, scale: f64) -> f64 {
        2.0 * scale * scale
    }

    /// 2a / (1 - a)^2 with a = e^(-1/b).
    fn exact_variance(&self, scale: f64) -> f64 {
        0.5 / (0.5 / scale).sinh().powi(2)
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn sensitivity_norm(&self) -> Option<Norm> {
        Some(Norm::L1)
    }

    fn coordinate(&self, _: f64, _: f64) -> Coordinate {
        Coordinate::L1
    }
}

/// The log probability; minus infinity off the whole numbers.
pub(super) fn log_probability(scale: f64, residual: f64) -> f64 {
    if residual.fract() != 0.0 {
        return f64::NEG_INFINITY;
    }
    -residual.abs() / scale + (0.5 / scale).tanh().ln()
}

/// The log probability of whole numbers up to k: a^-k / (1 + a) below zero, with a = e^(-1/b), and
/// by symmetry 1 - a^(k+1) / (1 + a) from zero on.
fn log_at_most(scale: f64, k: f64) -> f64 {
    let below = |m: f64| -m / scale - (-1.0 / scale).exp().ln_1p();
    if k < 0.0 { below(-k) } else { (-below(k + 1.0).exp()).ln_1p() }
}

/// The difference of two geometric numbers of failures, each by inversion.
pub(super) fn sample(scale: f64, rng: &mut Rng) -> f64 {
    let mut geometric = || {
        let size: f64 = rng.sample(rand_distr::Exp1);
        (scale * size).floor()
    };
    geometric() - geometric()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::law::testing::{assert_frequencies, assert_sums_to_one};
    use crate::rng::stream;

    #[test]
    fn probabilities_sum_to_one() {
        for scale in [1e-3, 0.1, 0.5, 1.0, 7.3, 300.0] {
            assert_sums_to_one(scale, 40.0, log_probability);
        }
    }

    #[test]
    fn tails_are_finite_and_fall_by_the_distance() {
        for scale in [0.01, 1.0, 1e6] {
            let far = log_probability(scale, -1e9) - log_probability(scale, 0.0);
            assert!((far / (-1e9 / scale) - 1.0).abs() < 1e-12);
        }
        assert_eq!(log_probability(1.0, 0.5), f64::NEG_INFINITY);
    }

    #[test]
    fn draws_have_the_probabilities() {
        for scale in [0.01, 0.3, 0.9, 2.5, 40.0] {
            assert_frequencies(scale, sample, log_probability, &mut stream(1, 0));
        }
    }
}
