//! Discrete Laplace (two-sided geometric) noise: whole numbers with probability
//! exp(-|r| / b) tanh(1 / (2 b)) (Ghosh, Roughgarden and Sundararajan 2009).

use rand::RngExt;

use crate::rng::Rng;

/// The log probability; minus infinity off the whole numbers.
pub(super) fn log_probability(scale: f64, residual: f64) -> f64 {
    if residual.fract() != 0.0 {
        return f64::NEG_INFINITY;
    }
    -residual.abs() / scale + (0.5 / scale).tanh().ln()
}

/// The difference of two geometric numbers of failures, each by inversion.
pub(super) fn sample(scale: f64, rng: &mut Rng) -> f64 {
    let mut geometric = || {
        let size: f64 = rng.sample(rand_distr::Exp1);
        (scale * size).floor()
    };
    geometric() - geometric()
}
