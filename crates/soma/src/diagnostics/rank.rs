//! Rank normalisation and folding.

use statrs::distribution::{ContinuousCDF, Normal};

use super::quantile::quantile;

/// Each draw replaced by the normal quantile of its rank among all draws (Blom's offset 3/8; ties
/// share the mean of their ranks).
pub(super) fn normal_scores(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut order: Vec<(f64, usize, usize)> = chains
        .iter()
        .enumerate()
        .flat_map(|(c, chain)| chain.iter().enumerate().map(move |(t, &x)| (x, c, t)))
        .collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let size = order.len() as f64;
    let normal = Normal::standard();
    let mut scores: Vec<Vec<f64>> = chains.iter().map(|chain| vec![0.0; chain.len()]).collect();
    let mut first = 0;
    for ties in order.chunk_by(|a, b| a.0 == b.0) {
        let rank = first as f64 + 0.5 * (ties.len() as f64 + 1.0);
        let score = normal.inverse_cdf((rank - 0.375) / (size + 0.25));
        for &(_, c, t) in ties {
            scores[c][t] = score;
        }
        first += ties.len();
    }
    scores
}

/// The distance of each draw from the median of all: chains that differ in spread only then
/// differ in location.
pub(super) fn folded(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut all = chains.concat();
    all.sort_unstable_by(f64::total_cmp);
    let median = quantile(&all, 0.5);
    chains.iter().map(|chain| chain.iter().map(|x| (x - median).abs()).collect()).collect()
}
