//! Gaussian noise: rho-zCDP with standard deviation sensitivity / sqrt(2 rho)
//! (Bun and Steinke 2016).

use rand::RngExt;

use super::Law;
use crate::numeric::normal::log_normal_cdf;
use crate::release::potential::{Coordinate, Norm};
use crate::rng::Rng;

/// Gaussian noise; the scale is the standard deviation.
#[derive(Debug)]
pub(super) struct Gaussian;

impl Law for Gaussian {
    fn name(&self) -> &'static str {
        "gaussian"
    }

    fn log_density(&self, scale: f64, published: f64, truth: f64) -> f64 {
        let z = (published - truth) / scale;
        -0.5 * z * z - scale.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
    }

    fn sample(&self, scale: f64, truth: f64, rng: &mut Rng) -> f64 {
        let z: f64 = rng.sample(rand_distr::StandardNormal);
        truth + scale * z
    }

    fn log_at_most(&self, scale: f64, bound: f64) -> f64 {
        log_normal_cdf(bound / scale)
    }

    fn variance(&self, scale: f64) -> f64 {
        scale * scale
    }

    fn sensitivity_norm(&self) -> Option<Norm> {
        Some(Norm::L2)
    }

    fn coordinate(&self, _: f64, _: f64) -> Coordinate {
        Coordinate::L2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{assert_follows, integral, normal_cdf};
    use crate::rng::stream;

    #[test]
    fn density_integrates_to_one_and_draws_follow_it() {
        let mass = integral(-30.0, 30.0, |r| Gaussian.log_density(2.0, r, 0.0).exp());
        assert!((mass - 1.0).abs() < 1e-9);
        let mut rng = stream(1, 0);
        let mut draws: Vec<f64> =
            (0..20_000).map(|_| Gaussian.sample(2.0, 0.0, &mut rng)).collect();
        assert_follows("draws", &mut draws, |r| normal_cdf(r / 2.0));
    }
}
