//! Upper tails of gamma and beta variables of tiny shapes, which are nearly 0 for certain.
//!
//! There the distribution function is 1 minus a multiple of the shape that a double near 1 has no digits
//! for. With F = e^u (1 + a S), u and a S of the size of the shape a, the rest is -(e^u - 1) - e^u a S.

use super::digamma;

/// The Euler-Mascheroni constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Below this shape of a gamma the terms of order a^3 are as nothing.
pub(super) const GAMMA: f64 = 1e-6;

/// Below this shape of a beta those of order a^2 are.
pub(super) const BETA: f64 = 1e-8;

/// The probability above x of Gamma(a, 1), for x up to 1.
pub(super) fn gamma_above(a: f64, x: f64) -> f64 {
    let log_gamma = -EULER * a + std::f64::consts::PI.powi(2) / 12.0 * a * a;
    let u = a * x.ln() - log_gamma;
    let (mut term, mut sum) = (1.0, 0.0);
    for k in 1..30 {
        let k = f64::from(k);
        term *= -x / k;
        sum += term / (a + k);
    }
    -u.exp_m1() - u.exp() * a * sum
}

/// The probability above x of Beta(a, b), for x below (a + 1) / (a + b + 2).
pub(super) fn beta_above(a: f64, b: f64, x: f64) -> f64 {
    let u = a * (x.ln() + EULER + digamma(1.0 + b)) - (a / b).ln_1p();
    let (mut term, mut sum) = (1.0, 0.0);
    for k in 1..200 {
        let k = f64::from(k);
        term *= (k - b) * x / k;
        sum += term / (a + k);
    }
    -u.exp_m1() - u.exp() * a * sum
}
