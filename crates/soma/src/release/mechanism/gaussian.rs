//! Gaussian noise: rho-zCDP with standard deviation sensitivity / sqrt(2 rho)
//! (Bun and Steinke 2016).

use rand::RngExt;

use crate::rng::Rng;

pub(super) fn log_density(scale: f64, residual: f64) -> f64 {
    let z = residual / scale;
    -0.5 * z * z - scale.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
}

pub(super) fn sample(scale: f64, rng: &mut Rng) -> f64 {
    let z: f64 = rng.sample(rand_distr::StandardNormal);
    scale * z
}
