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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{assert_follows, integral, normal_cdf};
    use crate::rng::stream;

    #[test]
    fn density_integrates_to_one_and_draws_follow_it() {
        let mass = integral(-30.0, 30.0, |r| log_density(2.0, r).exp());
        assert!((mass - 1.0).abs() < 1e-9);
        let mut rng = stream(1, 0);
        let mut draws: Vec<f64> = (0..20_000).map(|_| sample(2.0, &mut rng)).collect();
        assert_follows("draws", &mut draws, |r| normal_cdf(r / 2.0));
    }
}
