//! Laplace noise: density exp(-|r| / b) / (2 b), which gives epsilon-DP with b = sensitivity / epsilon
//! (Dwork, McSherry, Nissim and Smith 2006).

use rand::RngExt;

use crate::rng::Rng;

pub(super) fn log_density(scale: f64, residual: f64) -> f64 {
    -residual.abs() / scale - (2.0 * scale).ln()
}

/// An exponential with a random sign.
pub(super) fn sample(scale: f64, rng: &mut Rng) -> f64 {
    let size: f64 = rng.sample(rand_distr::Exp1);
    if rng.random() { scale * size } else { -scale * size }
}
