//! A histogram of exponential records.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::intervals::Cuts;
use crate::counts::shares::{CellModel, log_gamma_draw};
use crate::error::{Invalid, positive};
use crate::rng::Rng;

/// x ~ Exponential(rate) observed by its interval, with rate ~ Gamma(shape, rate). theta is ln
/// rate.
#[derive(Debug, Clone)]
pub struct ExponentialCells {
    cuts: Cuts,
    shape: f64,
    rate: f64,
}

impl ExponentialCells {
    /// The cells between `cuts`, which are positive; the last is unbounded.
    pub fn new(cuts: Vec<f64>, shape: f64, rate: f64) -> Result<Self, Invalid> {
        Ok(ExponentialCells {
            cuts: Cuts::new(cuts, (0.0, f64::INFINITY))?,
            shape: positive("prior.shape", shape)?,
            rate: positive("prior.rate", rate)?,
        })
    }
}

impl CellModel for ExponentialCells {
    fn parameters(&self) -> Vec<String> {
        vec!["rate".into()]
    }

    fn output(&self, theta: &[f64]) -> Vec<f64> {
        vec![theta[0].exp()]
    }

    fn dim(&self) -> usize {
        1
    }

    fn cells(&self) -> usize {
        self.cuts.cells()
    }

    fn log_prior(&self, theta: &[f64]) -> f64 {
        self.shape * theta[0] - self.rate * theta[0].exp()
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) {
        theta[0] = log_gamma_draw(self.shape, rng) - self.rate.ln();
    }

    fn log_shares(&self, theta: &[f64], out: &mut [f64]) {
        let rate = theta[0].exp();
        let tails = |cut: f64| ((-(-rate * cut).exp_m1()).ln(), -rate * cut);
        self.cuts.log_shares(tails, out);
    }

    fn cell_of(&self, record: &[f64]) -> Option<usize> {
        self.cuts.cell_of(record)
    }

    /// Beyond `low` the record is exponential again, truncated at `high`: by its distribution function.
    fn records(&self, theta: &[f64], counts: &[i64], rng: &mut Rng) -> Vec<f64> {
        let rate = theta[0].exp();
        self.cuts.records(counts, rng, |(low, high), rng| {
            let low = low.max(0.0);
            let mass = -(-rate * (high - low)).exp_m1();
            low - (-mass * rng.random::<f64>()).ln_1p() / rate
        })
    }

    fn start(&self, shares: &[f64], theta: &mut [f64], rng: &mut Rng) {
        let (mean, _) = self.cuts.moments(shares);
        let z: f64 = rng.sample(StandardNormal);
        theta[0] = -mean.max(0.1 * self.cuts.0[0]).ln() + 0.1 * z;
    }
}
