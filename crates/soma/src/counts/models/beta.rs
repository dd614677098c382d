//! A histogram of beta records.

use rand::RngExt;
use rand_distr::StandardNormal;
use soma_language::special::BetaTable;
use statrs::function::beta::checked_beta_reg;
use statrs::function::gamma::checked_gamma_lr;

use super::intervals::Cuts;
use crate::counts::shares::{CellModel, log_gamma_draw};
use crate::distribution::normal_between;
use crate::error::{Invalid, positive};
use crate::rng::Rng;

/// x ~ Beta(a, b) observed by its interval, with gamma priors of a and b. theta is (ln a, ln b).
#[derive(Debug, Clone)]
pub struct BetaCells {
    cuts: Cuts,
    /// Shape and rate of the gamma priors of a and b.
    priors: [(f64, f64); 2],
}

/// The range of ln a and ln b with an accurate distribution function; the prior is truncated to it.
const LEAST: f64 = -30.0;
const MOST: f64 = 9.0;

impl BetaCells {
    /// The cells between `cuts`, which are between 0 and 1.
    pub fn new(cuts: Vec<f64>, priors: [(f64, f64); 2]) -> Result<Self, Invalid> {
        for (shape, rate) in priors {
            positive("prior.shape", shape)?;
            positive("prior.rate", rate)?;
        }
        Ok(BetaCells { cuts: Cuts::new(cuts, (0.0, 1.0))?, priors })
    }

    /// Whether the prior mass outside the range of the computed probabilities is below 1e-9.
    pub fn holds_prior(&self) -> bool {
        self.priors.iter().all(|&(shape, rate)| {
            let beyond = |log: f64| checked_gamma_lr(shape, rate * log.exp()).unwrap_or(f64::NAN);
            beyond(LEAST) < 1e-9 && 1.0 - beyond(MOST) < 1e-9
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
        if theta.iter().any(|log| !(LEAST..=MOST).contains(log)) {
            return f64::NEG_INFINITY;
        }
        let each = theta.iter().zip(&self.priors);
        each.map(|(log, (shape, rate))| shape * log - rate * log.exp()).sum()
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) {
        for (log, (shape, rate)) in theta.iter_mut().zip(self.priors) {
            *log = (log_gamma_draw(shape, rng) - rate.ln()).clamp(LEAST, MOST);
        }
    }

    fn log_shares(&self, theta: &[f64], out: &mut [f64]) {
        let (a, b) = (theta[0].exp(), theta[1].exp());
        let log = |a, b, x| checked_beta_reg(a, b, x).unwrap_or(0.0).max(0.0).ln();
        self.cuts.log_shares(|cut| (log(a, b, cut), log(b, a, 1.0 - cut)), out);
    }

    fn cell_of(&self, record: &[f64]) -> Option<usize> {
        self.cuts.cell_of(record)
    }

    /// As functions of standard normals between the normals of the cuts.
    fn records(&self, theta: &[f64], counts: &[i64], rng: &mut Rng) -> Vec<f64> {
        let map = BetaTable::new(theta[0].exp(), theta[1].exp());
        let normal = |cut: f64| match cut {
            cut if cut <= 0.0 => f64::NEG_INFINITY,
            cut if cut >= 1.0 => f64::INFINITY,
            cut => map.normal(cut.ln() - (-cut).ln_1p()),
        };
        self.cuts.records(counts, rng, |(low, high), rng| {
            let logit = map.logit(normal_between(normal(low), normal(high), rng));
            (1.0 + (-logit).exp()).recip()
        })
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
