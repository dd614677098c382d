//! Discrete Gaussian noise: whole numbers with probability proportional to exp(-r^2 / (2 s^2))
//! (Canonne, Kamath and Steinke 2020).

use rand::RngExt;

use super::discrete_laplace;
use crate::rng::Rng;

/// The log probability; minus infinity off the whole numbers.
pub(super) fn log_probability(scale: f64, residual: f64) -> f64 {
    if residual.fract() != 0.0 {
        return f64::NEG_INFINITY;
    }
    let z = residual / scale;
    -0.5 * z * z - log_normaliser(scale)
}

/// The log of sum over whole r of exp(-r^2 / (2 s^2)): summed directly for a small scale, and in
/// its dual form (Poisson summation), which then converges as fast, for a large one.
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
    let variance = scale * scale;
    loop {
        let y = discrete_laplace::sample(t, rng);
        let excess = y.abs() - variance / t;
        if rng.random::<f64>() < (-excess * excess / (2.0 * variance)).exp() {
            return y;
        }
    }
}
