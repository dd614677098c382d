//! A histogram of normal records.

use rand::RngExt;
use rand_distr::StandardNormal;
use statrs::function::erf::erfc;

use super::intervals::Cuts;
use crate::counts::shares::{CellModel, log_gamma_draw};
use crate::distribution::normal_between;
use crate::error::{Invalid, finite, positive};
use crate::rng::Rng;

/// x ~ N(mu, sigma2) observed by its interval, with sigma2 ~ InverseGamma(shape, rate) and mu given
/// sigma2 ~ N(mean, sigma2 / lambda): the prior of the [normal model](crate::model) of records.
/// theta is (mu, ln sigma2).
#[derive(Debug, Clone)]
pub struct NormalCells {
    cuts: Cuts,
    mean: f64,
    lambda: f64,
    shape: f64,
    rate: f64,
}

impl NormalCells {
    /// The cells between `cuts`; the first and the last are unbounded.
    pub fn new(
        cuts: Vec<f64>,
        mean: f64,
        lambda: f64,
        shape: f64,
        rate: f64,
    ) -> Result<Self, Invalid> {
        Ok(NormalCells {
            cuts: Cuts::new(cuts, (f64::NEG_INFINITY, f64::INFINITY))?,
            mean: finite("prior.mean", mean)?,
            lambda: positive("prior.lambda", lambda)?,
            shape: positive("prior.shape", shape)?,
            rate: positive("prior.rate", rate)?,
        })
    }
}

impl CellModel for NormalCells {
    fn parameters(&self) -> Vec<String> {
        vec!["mu".into(), "sigma2".into()]
    }

    fn output(&self, theta: &[f64]) -> Vec<f64> {
        vec![theta[0], theta[1].exp()]
    }

    fn dim(&self) -> usize {
        2
    }

    fn cells(&self) -> usize {
        self.cuts.cells()
    }

    fn log_prior(&self, theta: &[f64]) -> f64 {
        let (gap, log_variance) = (theta[0] - self.mean, theta[1]);
        let precision = (-log_variance).exp();
        -(self.shape + 0.5) * log_variance - precision * (self.rate + 0.5 * self.lambda * gap * gap)
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) {
        theta[1] = self.rate.ln() - log_gamma_draw(self.shape, rng);
        let z: f64 = rng.sample(StandardNormal);
        theta[0] = self.mean + z * (0.5 * theta[1]).exp() / self.lambda.sqrt();
    }

    fn log_shares(&self, theta: &[f64], out: &mut [f64]) {
        let inverse = (-0.5 * theta[1]).exp();
        let tails = |cut: f64| {
            let z = (cut - theta[0]) * inverse;
            (log_upper(-z), log_upper(z))
        };
        self.cuts.log_shares(tails, out);
    }

    fn cell_of(&self, record: &[f64]) -> Option<usize> {
        self.cuts.cell_of(record)
    }

    fn records(&self, theta: &[f64], counts: &[i64], rng: &mut Rng) -> Vec<f64> {
        let (mean, sd) = (theta[0], (0.5 * theta[1]).exp());
        self.cuts.records(counts, rng, |(low, high), rng| {
            mean + sd * normal_between((low - mean) / sd, (high - mean) / sd, rng)
        })
    }

    fn start(&self, shares: &[f64], theta: &mut [f64], rng: &mut Rng) {
        let (mean, variance) = self.cuts.moments(shares);
        let sd = variance.max(f64::MIN_POSITIVE).sqrt();
        let (z, w): (f64, f64) = (rng.sample(StandardNormal), rng.sample(StandardNormal));
        theta[0] = mean + 0.1 * sd * z;
        theta[1] = 2.0 * sd.ln() + 0.1 * w;
    }
}

/// The log of the probability that a standard normal is above `z`.
fn log_upper(z: f64) -> f64 {
    if z < 30.0 {
        return (0.5 * erfc(z / std::f64::consts::SQRT_2)).ln();
    }
    let square = 1.0 / (z * z);
    -0.5 * z * z - z.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
        + (-square * (1.0 - 3.0 * square)).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_join_and_shares_sum_to_one() {
        assert!((log_upper(30.0 - 1e-9) - log_upper(30.0)).abs() < 1e-7);
        let model = NormalCells::new(vec![-1.0, 0.0, 0.5, 3.0, 40.0], 0.0, 1.0, 1.0, 1.0).unwrap();
        for theta in [[0.0, 0.0], [0.3, -4.0], [2.0, 3.0], [-50.0, 1.0], [80.0, 0.0]] {
            let mut logs = vec![0.0; 6];
            model.log_shares(&theta, &mut logs);
            let total: f64 = logs.iter().map(|log| log.exp()).sum();
            assert!((total - 1.0).abs() < 1e-13, "{theta:?}: {total}");
        }
        let mut logs = vec![0.0; 6];
        model.log_shares(&[0.0, 0.0], &mut logs);
        assert!((logs[4].exp() - 1.349_898_031_630_095e-3).abs() < 1e-13);
        assert!((logs[5] + 745.0).abs() < 1e-9, "beyond what can be represented");
    }

    #[test]
    fn bad_cuts_are_refused() {
        let model = |cuts: &[f64]| NormalCells::new(cuts.to_vec(), 0.0, 1.0, 1.0, 1.0);
        assert!(model(&[]).is_err());
        assert_eq!(model(&[0.0, 0.0]).unwrap_err().field, "cuts[1]");
        assert_eq!(model(&[f64::NAN]).unwrap_err().field, "cuts[0]");
    }
}
