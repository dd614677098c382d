//! The Monte Carlo standard error of an estimate.

use statrs::distribution::{Beta, ContinuousCDF};

use super::chains::{checked, sorted, variance};
use super::ess::{ess_mean, of_quantile};

/// The Monte Carlo standard error of the mean: the standard deviation over the root of
/// [`ess_mean`].
pub fn mcse_mean<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let Some(chains) = checked(chains, 1) else { return f64::NAN };
    let variance = variance(&chains.concat());
    (variance / ess_mean(&chains)).sqrt()
}

/// The Monte Carlo standard error of the quantile at probability `p`: half the distance between the
/// draws at the ends of a 68% interval of the probability, from a beta distribution with the
/// effective sample size. NaN unless `p` is between 0 and 1.
pub fn mcse_quantile<C: AsRef<[f64]>>(chains: &[C], p: f64) -> f64 {
    let Some(chains) = checked(chains, 1) else { return f64::NAN };
    let sorted = sorted(&chains);
    let ess = of_quantile(&chains, &sorted, p);
    let Ok(beta) = Beta::new(ess * p + 1.0, ess * (1.0 - p) + 1.0) else { return f64::NAN };
    let size = sorted.len() as f64;
    let low = (beta.inverse_cdf(0.1586553) * size - 1.0).floor().max(0.0);
    let high = (beta.inverse_cdf(0.8413447) * size - 1.0).ceil().min(size - 1.0);
    0.5 * (sorted[high as usize] - sorted[low as usize])
}
