//! A histogram of beta records.

use rand::RngExt;
use rand_distr::StandardNormal;
use statrs::function::beta::checked_beta_reg;

use super::intervals::Cuts;
use crate::counts::shares::{CellModel, log_gamma_draw};
use crate::error::{Invalid, positive};
use crate::rng::Rng;

/// x ~ Beta(a, b) seen by its interval, with a and b ~ Gamma(shape, rate). theta is (ln a, ln b).
#[derive(Debug, Clone)]
pub struct BetaCells {
    cuts: Cuts,
    shape: f64,
    rate: f64,
}

/// Beyond this ln a the distribution function is not computed well; the prior ends there.
const MOST: f64 = 9.0;

impl BetaCells {
    /// The cells between `cuts`, which are between 0 and 1.
    pub fn new(cuts: Vec<f64>, shape: f64, rate: f64) -> Result<Self, Invalid> {
        Ok(BetaCells {
            cuts: Cuts::new(cuts, (0.0, 1.0))?,
            shape: positive("prior.shape", shape)?,
            rate: positive("prior.rate", rate)?,
        })
    }
}

impl CellModel for BetaCells {
    fn parameters(&self) -> Vec<String> {
        vec!["a".into(), "b".into()]
    }

    fn output(&self, theta: &[f64]) -> Vec<f64> {
        theta.iter().map(|log| log.exp()).collect()
    }

    fn dim(&self) -> usize {
        2
    }

    fn cells(&self) -> usize {
        self.cuts.cells()
    }

    fn log_prior(&self, theta: &[f64]) -> f64 {
        if theta.iter().any(|log| log.abs() > MOST) {
            return f64::NEG_INFINITY;
        }
        theta.iter().map(|log| self.shape * log - self.rate * log.exp()).sum()
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) {
        for log in theta {
            *log = (log_gamma_draw(self.shape, rng) - self.rate.ln()).clamp(-MOST, MOST);
        }
    }

    fn log_shares(&self, theta: &[f64], out: &mut [f64]) {
        let (a, b) = (theta[0].exp(), theta[1].exp());
        let log = |a, b, x| checked_beta_reg(a, b, x).unwrap_or(0.0).max(0.0).ln();
        self.cuts.log_shares(|cut| (log(a, b, cut), log(b, a, 1.0 - cut)), out);
    }

    fn start(&self, shares: &[f64], theta: &mut [f64], rng: &mut Rng) {
        let (mean, variance) = self.cuts.moments(shares);
        let mean = mean.clamp(0.01, 0.99);
        let worth = (mean * (1.0 - mean) / variance.max(1e-6) - 1.0).clamp(0.1, 1e3);
        for (log, share) in theta.iter_mut().zip([mean, 1.0 - mean]) {
            let z: f64 = rng.sample(StandardNormal);
            *log = (worth * share).ln() + 0.1 * z;
        }
    }
}
