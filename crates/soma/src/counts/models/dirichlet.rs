//! Cells with shares from a Dirichlet prior, where these cannot be integrated out.

use crate::counts::shares::{CellModel, log_gamma_draw};
use crate::rng::Rng;

/// Shares proportional to independent gamma variables: p = G / sum of G, G_i ~ Gamma(alpha_i). theta
/// holds ln G, one more coordinate than there are shares, of which the prior is proper.
#[derive(Debug, Clone)]
pub struct DirichletCells {
    alpha: Vec<f64>,
    labels: Vec<String>,
}

impl DirichletCells {
    /// Shares with these Dirichlet parameters, and the names that a draw shows them by.
    pub(crate) fn new(alpha: Vec<f64>, labels: Vec<String>) -> Self {
        DirichletCells { alpha, labels }
    }
}

impl CellModel for DirichletCells {
    fn parameters(&self) -> Vec<String> {
        self.labels.clone()
    }

    fn output(&self, theta: &[f64]) -> Vec<f64> {
        let mut shares = vec![0.0; theta.len()];
        self.log_shares(theta, &mut shares);
        shares.into_iter().map(f64::exp).collect()
    }

    fn dim(&self) -> usize {
        self.alpha.len()
    }

    fn cells(&self) -> usize {
        self.alpha.len()
    }

    fn log_prior(&self, theta: &[f64]) -> f64 {
        self.alpha.iter().zip(theta).map(|(alpha, log)| alpha * log - log.exp()).sum()
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) {
        theta
            .iter_mut()
            .zip(&self.alpha)
            .for_each(|(log, &alpha)| *log = log_gamma_draw(alpha, rng));
    }

    fn log_shares(&self, theta: &[f64], out: &mut [f64]) {
        let most = theta.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = theta.iter().map(|log| (log - most).exp()).sum();
        let whole = most + sum.ln();
        out.iter_mut().zip(theta).for_each(|(out, log)| *out = log - whole);
    }

    /// As if so many records as the prior is worth, and 20, had been seen with these shares.
    fn start(&self, shares: &[f64], theta: &mut [f64], rng: &mut Rng) {
        for ((log, &alpha), &share) in theta.iter_mut().zip(&self.alpha).zip(shares) {
            *log = log_gamma_draw(alpha + 20.0 * share.max(0.0), rng);
        }
    }
}
