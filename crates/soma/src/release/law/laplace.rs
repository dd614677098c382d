//! Laplace noise: density exp(-|r| / b) / (2 b), which gives epsilon-DP with b = sensitivity / epsilon
//! (Dwork, McSherry, Nissim and Smith 2006).

use rand::RngExt;

use super::Law;
use crate::release::potential::{Coordinate, Norm};
use crate::rng::Rng;

/// Laplace noise.
#[derive(Debug)]
pub(super) struct Laplace;

impl Law for Laplace {
    fn name(&self) -> &'static str {
        "laplace"
    }

    fn log_density(&self, scale: f64, published: f64, truth: f64) -> f64 {
        -(published - truth).abs() / scale - (2.0 * scale).ln()
    }

    /// An exponential with a random sign.
    fn sample(&self, scale: f64, truth: f64, rng: &mut Rng) -> f64 {
        let size: f64 = rng.sample(rand_distr::Exp1);
        truth + if rng.random() { scale * size } else { -scale * size }
    }

    fn log_at_most(&self, scale: f64, bound: f64) -> f64 {
        log_at_most(bound / scale)
    }

    fn variance(&self, scale: f64) -> f64 {
        2.0 * scale * scale
    }

    fn sensitivity_norm(&self) -> Option<Norm> {
        Some(Norm::L1)
    }

    fn coordinate(&self, _: f64, _: f64) -> Coordinate {
        Coordinate::L1
    }

    /// The normaliser changes by at most 1 per scale of the true answer, as the distance from it does.
    fn keeps_its_mode_within_bounds(&self) -> bool {
        true
    }
}

/// The log probability that Laplace noise of scale 1 is at most z.
pub(super) fn log_at_most(z: f64) -> f64 {
    if z < 0.0 { z - std::f64::consts::LN_2 } else { (-0.5 * (-z).exp()).ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{assert_follows, integral};
    use crate::rng::stream;

    #[test]
    fn density_integrates_to_one_and_draws_follow_it() {
        let half = integral(0.0, 100.0, |r| Laplace.log_density(2.0, r, 0.0).exp());
        assert!((half - 0.5).abs() < 1e-9);
        let mut rng = stream(1, 0);
        let mut draws: Vec<f64> = (0..20_000).map(|_| Laplace.sample(2.0, 0.0, &mut rng)).collect();
        let below = |r: f64| 0.5 * (-r.abs() / 2.0).exp();
        assert_follows("draws", &mut draws, |r| if r < 0.0 { below(r) } else { 1.0 - below(r) });
    }
}
