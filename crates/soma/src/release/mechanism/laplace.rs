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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{assert_follows, integral};
    use crate::rng::stream;

    #[test]
    fn density_integrates_to_one_and_draws_follow_it() {
        let half = integral(0.0, 100.0, |r| log_density(2.0, r).exp());
        assert!((half - 0.5).abs() < 1e-9);
        let mut rng = stream(1, 0);
        let mut draws: Vec<f64> = (0..20_000).map(|_| sample(2.0, &mut rng)).collect();
        let below = |r: f64| 0.5 * (-r.abs() / 2.0).exp();
        assert_follows("draws", &mut draws, |r| if r < 0.0 { below(r) } else { 1.0 - below(r) });
    }
}
