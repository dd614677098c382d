//! The summary of one parameter.

use serde::{Deserialize, Serialize};

use super::chains::{mean, variance};
use super::{ess_bulk, ess_tail, mcse_mean, quantile, rhat};

/// The summary of one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The mean of all draws.
    pub mean: f64,
    /// Their standard deviation (divisor: number of draws - 1).
    pub sd: f64,
    /// The 5% quantile.
    pub q5: f64,
    /// The median.
    pub q50: f64,
    /// The 95% quantile.
    pub q95: f64,
    /// The Monte Carlo standard error of the mean.
    pub mcse_mean: f64,
    /// R-hat.
    pub rhat: f64,
    /// The effective sample size for the bulk.
    pub ess_bulk: f64,
    /// The effective sample size for the tails.
    pub ess_tail: f64,
}

impl Summary {
    /// The summary of the chains of one parameter, with at most 45 bytes per draw of further
    /// memory. Location and scale use all draws, of chains of any length.
    pub fn of<C: AsRef<[f64]>>(chains: &[C]) -> Self {
        let mut all: Vec<f64> =
            chains.iter().flat_map(|chain| chain.as_ref().iter().copied()).collect();
        all.sort_unstable_by(f64::total_cmp);
        let (mean, sd) = (mean(&all), variance(&all).sqrt());
        let [q5, q50, q95] = [0.05, 0.5, 0.95].map(|p| quantile(&all, p));
        // Freed before the diagnostics allocate.
        drop(all);
        Summary {
            mean,
            sd,
            q5,
            q50,
            q95,
            mcse_mean: mcse_mean(chains),
            rhat: rhat(chains),
            ess_bulk: ess_bulk(chains),
            ess_tail: ess_tail(chains),
        }
    }
}
