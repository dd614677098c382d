//! Discrete Gaussian noise: whole numbers with probability proportional to exp(-r^2 / (2 s^2))
//! (Canonne, Kamath and Steinke 2020).

use rand::RngExt;

use super::{Law, discrete_laplace};
use crate::numeric::normal::log_normal_cdf;
use crate::release::potential::{Coordinate, Norm};
use crate::rng::Rng;

/// Discrete Gaussian noise; the scale is its parameter s, not its standard deviation.
#[derive(Debug)]
pub(super) struct DiscreteGaussian;

impl Law for DiscreteGaussian {
    fn name(&self) -> &'static str {
        "discrete-gaussian"
    }

    fn log_density(&self, scale: f64, published: f64, truth: f64) -> f64 {
        log_probability(scale, published - truth)
    }

    fn sample(&self, scale: f64, truth: f64, rng: &mut Rng) -> f64 {
        truth + sample(scale, rng)
    }

    fn log_at_most(&self, scale: f64, bound: f64) -> f64 {
        let k = bound.floor();
        if k < 0.0 { log_tail(scale, -k) } else { (-log_tail(scale, k + 1.0).exp()).ln_1p() }
    }

    fn variance(&self, scale: f64) -> f64 {
        scale * scale
    }

    /// The scale squared, exact unless the scale is small.
    fn exact_variance(&self, scale: f64) -> f64 {
        if scale > 4.0 {
            return scale * scale;
        }
        let terms = (1..200).map(|k| {
            let k = f64::from(k);
            2.0 * k * k * log_probability(scale, k).exp()
        });
        terms.sum()
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn sensitivity_norm(&self) -> Option<Norm> {
        Some(Norm::L2)
    }

    fn coordinate(&self, _: f64, _: f64) -> Coordinate {
        Coordinate::L2
    }
}

/// The log probability; minus infinity off the whole numbers.
pub(super) fn log_probability(scale: f64, residual: f64) -> f64 {
    if residual.fract() != 0.0 {
        return f64::NEG_INFINITY;
    }
    let z = residual / scale;
    -0.5 * z * z - log_normaliser(scale)
}

/// Up to this scale tails are summed; above it they are integrals, with Euler-Maclaurin corrections
/// for sums at the midpoints of unit steps.
const SUMMED: f64 = 300.0;

/// The log probability of m, m + 1, ..., for m > 0.
fn log_tail(scale: f64, m: f64) -> f64 {
    if scale > SUMMED {
        // The sum from m on is F + f'(m - 1/2) / 24 - ..., F the integral from m - 1/2 on.
        let z = (m - 0.5) / scale;
        let log_integral = log_normal_cdf(-z);
        let log_slope = -0.5 * z * z - 0.5 * (2.0 * std::f64::consts::PI).ln();
        let correction = -z * (log_slope - log_integral).exp() / (24.0 * scale * scale);
        return log_integral + correction.ln_1p();
    }
    let rate = 0.5 / (scale * scale);
    let terms = (0..).map(f64::from).map(|i| (-rate * i * (i + 2.0 * m)).exp());
    let sum: f64 = terms.take_while(|&term| term > 1e-18).sum();
    log_probability(scale, m) + sum.ln()
}

/// The log of the sum over integers r of exp(-r^2 / (2 s^2)): directly for a small scale, and by
/// Poisson summation for a large one, which then converges as fast.
fn log_normaliser(scale: f64) -> f64 {
    use std::f64::consts::PI;
    let theta = |rate: f64| {
        let terms = (1..).map(|r| (-rate * (r * r) as f64).exp());
        1.0 + 2.0 * terms.take_while(|&term| term > 1e-20).sum::<f64>()
    };
    if scale < 0.4 {
        theta(0.5 / (scale * scale)).ln()
    } else {
        (scale * (2.0 * PI).sqrt()).ln() + theta(2.0 * PI * PI * scale * scale).ln()
    }
}

/// Rejection from the discrete Laplace of scale t = floor(s) + 1 (the paper's Algorithm 3).
pub(super) fn sample(scale: f64, rng: &mut Rng) -> f64 {
    let t = scale.floor() + 1.0;
    loop {
        let y = discrete_laplace::sample(t, rng);
        // In units of the scale: the square of a tiny scale would underflow.
        let excess = y.abs() / scale - scale / t;
        if rng.random::<f64>() < (-0.5 * excess * excess).exp() {
            return y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::law::testing::{assert_frequencies, assert_sums_to_one};
    use crate::rng::stream;

    /// On both sides of the change from the direct sum to Poisson summation, and far from it.
    #[test]
    fn probabilities_sum_to_one() {
        for scale in [1e-200, 1e-3, 0.1, 0.399999, 0.4, 0.41, 1.0, 7.3, 300.0] {
            assert_sums_to_one(scale, 40.0, log_probability);
        }
    }

    #[test]
    fn the_two_forms_of_the_normaliser_agree() {
        let direct = |scale: f64| {
            let terms = (1..200).map(|r| (-0.5 * (r as f64 / scale).powi(2)).exp());
            (1.0 + 2.0 * terms.sum::<f64>()).ln()
        };
        for scale in [0.2, 0.39, 0.41, 0.8, 3.0, 12.0] {
            assert!((log_normaliser(scale) - direct(scale)).abs() < 1e-13, "{scale}");
        }
    }

    #[test]
    fn tails_are_finite_and_fall_by_the_square() {
        for scale in [0.01, 1.0, 1e6] {
            let far = log_probability(scale, 1e9) - log_probability(scale, 0.0);
            assert!((far / (-0.5 * (1e9 / scale).powi(2)) - 1.0).abs() < 1e-12);
        }
        assert_eq!(log_probability(1.0, 0.5), f64::NEG_INFINITY);
    }

    #[test]
    fn draws_have_the_probabilities() {
        for scale in [1e-200, 0.3, 0.9, 2.5, 40.0] {
            assert_frequencies(scale, sample, log_probability, &mut stream(1, 0));
        }
    }
}
