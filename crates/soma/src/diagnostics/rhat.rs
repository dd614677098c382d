//! R-hat: the agreement of the chains, and of the halves of each chain.

use super::chains::{checked, mean, split, variance};
use super::rank::{folded, normal_scores};

/// Rank-normalised split R-hat: the larger of that of the draws (bulk) and that of their distances
/// from the median (tails). Near 1 when chains have mixed; above 1.01 they have not.
///
/// NaN for a single chain, which cannot be compared with another, and for draws that are all
/// equal; infinite for chains that are each constant but differ.
///
/// ```
/// let chains = [vec![0.1, 0.4, 0.2, 0.3], vec![5.1, 5.4, 5.2, 5.3]];
/// assert!(soma::diagnostics::rhat(&chains) > 1.4);
/// ```
pub fn rhat<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let Some(chains) = checked(chains, 2) else { return f64::NAN };
    let bulk = plain(&normal_scores(split(&chains)));
    let tails = plain(&normal_scores(folded(split(&chains))));
    if tails > bulk { tails } else { bulk }
}

/// The root of the total over the within-chain variance.
fn plain(chains: &[Vec<f64>]) -> f64 {
    let length = chains[0].len() as f64;
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let variances: Vec<f64> = chains.iter().map(|chain| variance(chain)).collect();
    let between = length * variance(&means);
    let within = mean(&variances);
    ((between / within + length - 1.0) / length).sqrt()
}
