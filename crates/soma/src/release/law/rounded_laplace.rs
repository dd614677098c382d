//! Rounded Laplace noise: Laplace noise rounded to the nearest whole number, as Google's library,
//! PyDP and PipelineDP add it to counts. P(0) = 1 - e^(-1/2b) and P(k) = e^(-|k|/b) sinh(1/2b).

use std::sync::Arc;

use rand::RngExt;

use super::{Law, laplace};
use crate::release::potential::{Coordinate, Curve, Norm};
use crate::rng::Rng;

/// Rounded Laplace noise.
#[derive(Debug)]
pub(super) struct RoundedLaplace;

impl Law for RoundedLaplace {
    fn name(&self) -> &'static str {
        "rounded-laplace"
    }

    fn log_density(&self, scale: f64, published: f64, truth: f64) -> f64 {
        log_probability(scale, published - truth)
    }

    fn sample(&self, scale: f64, truth: f64, rng: &mut Rng) -> f64 {
        truth + sample(scale, rng)
    }

    /// Noise that rounds to at most k is below k + 1/2.
    fn log_at_most(&self, scale: f64, bound: f64) -> f64 {
        laplace::log_at_most((bound.floor() + 0.5) / scale)
    }

    fn variance(&self, scale: f64) -> f64 {
        2.0 * scale * scale
    }

    /// The sum of 2 k^2 e^(-k/b) sinh(1/2b) over k > 0, which is cosh(h) / (4 sinh(h)^2) times 2 with
    /// h = 1/2b.
    fn exact_variance(&self, scale: f64) -> f64 {
        let half = 0.5 / scale;
        0.5 * half.cosh() / half.sinh().powi(2)
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn sensitivity_norm(&self) -> Option<Norm> {
        Some(Norm::L1)
    }

    fn coordinate(&self, scale: f64, _: f64) -> Coordinate {
        Coordinate::Curve(Arc::new(RoundedCost::new(scale)))
    }
}

/// The log probability; minus infinity off the whole numbers.
fn log_probability(scale: f64, residual: f64) -> f64 {
    let half = 0.5 / scale;
    if residual.fract() != 0.0 {
        f64::NEG_INFINITY
    } else if residual == 0.0 {
        (-(-half).exp_m1()).ln()
    } else {
        // log sinh(h) = h + log(1 - e^(-2h)) - log 2, which does not overflow.
        -residual.abs() / scale + half + (-(-2.0 * half).exp_m1()).ln() - std::f64::consts::LN_2
    }
}

/// An exponential with a random sign, rounded.
fn sample(scale: f64, rng: &mut Rng) -> f64 {
    let size: f64 = rng.sample(rand_distr::Exp1);
    let noise = (scale * size).round();
    if rng.random() { noise } else { -noise }
}

/// Minus the log probability of a residual in units of the scale, relative to zero; linear between
/// integers, so that rounding errors of the residual do not matter. With h = 1/2b the first step
/// costs h + log 2 - log(1 + e^(-h)), which is at most the 2h of every further step: the cost is
/// convex.
#[derive(Debug)]
struct RoundedCost {
    /// A step of one whole number, in units of the scale.
    step: f64,
    /// The slope within the first step.
    slope: f64,
}

impl RoundedCost {
    fn new(scale: f64) -> Self {
        let half = 0.5 / scale;
        let first = half + std::f64::consts::LN_2 - (-half).exp().ln_1p();
        RoundedCost { step: 1.0 / scale, slope: first * scale }
    }
}

impl Curve for RoundedCost {
    fn cost(&self, residual: f64) -> f64 {
        let distance = residual.abs();
        self.slope * distance.min(self.step) + (distance - self.step).max(0.0)
    }
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
    fn draws_have_the_probabilities() {
        for scale in [0.01, 0.3, 0.9, 2.5, 40.0] {
            assert_frequencies(scale, sample, log_probability, &mut stream(1, 0));
        }
    }

    /// The cost is minus the log probability, up to a constant, and convex.
    #[test]
    fn cost_is_minus_the_log_probability() {
        for scale in [0.05, 0.4, 1.0, 3.0, 200.0] {
            let curve = RoundedCost::new(scale);
            let mut steps = Vec::new();
            for k in 0..30 {
                let expected = log_probability(scale, 0.0) - log_probability(scale, f64::from(k));
                let cost = curve.cost(f64::from(-k) / scale);
                assert!((cost - expected).abs() < 1e-9 * (1.0 + expected), "{scale} {k}");
                steps.push(curve.cost(f64::from(k + 1) / scale) - cost);
            }
            assert!(steps.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9));
        }
    }
}
