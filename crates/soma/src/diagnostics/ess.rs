//! The effective sample size: the equivalent number of independent draws.

use super::autocovariance::mean_autocovariance;
use super::chains::{all_equal, checked, mean, sorted, split, variance};
use super::quantile::quantile;
use super::rank::normal_scores;

/// The effective sample size for the mean.
pub fn ess_mean<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let Some(chains) = checked(chains, 1) else { return f64::NAN };
    effective(&split(&chains))
}

/// The effective sample size of the rank-normalised draws: for the bulk of the distribution;
/// defined without moments.
pub fn ess_bulk<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let Some(chains) = checked(chains, 1) else { return f64::NAN };
    effective(&normal_scores(split(&chains)))
}

/// The effective sample size for the quantile at probability `p`: that of the indicator of being
/// below it.
pub fn ess_quantile<C: AsRef<[f64]>>(chains: &[C], p: f64) -> f64 {
    let Some(chains) = checked(chains, 1) else { return f64::NAN };
    of_quantile(&chains, &sorted(&chains), p)
}

/// The effective sample size for the tails: the smaller of those for the 5% and 95% quantiles.
pub fn ess_tail<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let Some(chains) = checked(chains, 1) else { return f64::NAN };
    let sorted = sorted(&chains);
    of_quantile(&chains, &sorted, 0.05).min(of_quantile(&chains, &sorted, 0.95))
}

/// [`ess_quantile`], with the sorted draws given.
pub(super) fn of_quantile(chains: &[&[f64]], sorted: &[f64], p: f64) -> f64 {
    let level = quantile(sorted, p);
    let mut halves = split(chains);
    halves.iter_mut().flatten().for_each(|x| *x = f64::from(*x <= level));
    // For a discrete parameter no draw may be above the quantile.
    if sorted[0] < sorted[sorted.len() - 1] && all_equal(halves.iter().flatten().copied()) {
        return halves.iter().map(Vec::len).sum::<usize>() as f64;
    }
    effective(&halves)
}

/// The number of draws over the integrated autocorrelation time; NaN if they are all equal.
fn effective(chains: &[Vec<f64>]) -> f64 {
    let total = (chains.len() * chains[0].len()) as f64;
    if all_equal(chains.iter().flatten().copied()) {
        return f64::NAN;
    }
    let rho = autocorrelations(chains);
    if rho[0].is_nan() {
        return f64::NAN;
    }
    let time = autocorrelation_time(&rho);
    // Antithetic chains may exceed the number of draws; the estimate is bounded here.
    total / time.max(1.0 / total.log10())
}

/// The autocorrelation at each lag, estimated from all chains with the variance between them.
fn autocorrelations(chains: &[Vec<f64>]) -> Vec<f64> {
    let length = chains[0].len() as f64;
    let covariances = mean_autocovariance(chains);
    let within = covariances[0] * length / (length - 1.0);
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let total = covariances[0] + variance(&means);
    covariances.iter().map(|covariance| 1.0 - (within - covariance) / total).collect()
}

/// The integrated autocorrelation time, by Geyer's (1992) initial monotone sequence: for a
/// reversible chain sums of adjacent pairs are positive and decreasing, so the sum ends at the
/// first negative one, and an increase is noise.
fn autocorrelation_time(rho: &[f64]) -> f64 {
    let mut pairs = vec![1.0 + rho[1]];
    let (mut even, mut odd) = (1.0, rho[1]);
    let mut t = 1;
    while t + 3 < rho.len() && even + odd > 0.0 {
        (even, odd) = (rho[t + 1], rho[t + 2]);
        pairs.push(even + odd);
        t += 2;
    }
    // Of the last pair only the first half is added, unless it made the pair negative.
    pairs.pop();
    let last = if even > 0.0 || even + odd >= 0.0 { even } else { 0.0 };
    for k in 1..pairs.len() {
        pairs[k] = pairs[k].min(pairs[k - 1]);
    }
    -1.0 + 2.0 * pairs.iter().sum::<f64>() + last
}
