//! Chains of one parameter, checked and split.

/// The smallest number of draws per chain for a diagnostic.
pub const MIN_DRAWS: usize = 4;

/// The chains, truncated to the length of the shortest; `None` if a diagnostic is undefined.
pub(super) fn checked<C: AsRef<[f64]>>(chains: &[C], min_chains: usize) -> Option<Vec<&[f64]>> {
    let length = chains.iter().map(|chain| chain.as_ref().len()).min()?;
    let cut: Vec<&[f64]> = chains.iter().map(|chain| &chain.as_ref()[..length]).collect();
    let whole = cut.iter().all(|chain| chain.iter().all(|x| !x.is_nan()));
    (length >= MIN_DRAWS && chains.len() >= min_chains && whole).then_some(cut)
}

/// First halves, then second halves; the middle draw of an odd chain is left out.
pub(super) fn split(chains: &[&[f64]]) -> Vec<Vec<f64>> {
    let half = |chain: &&[f64]| chain.len() / 2;
    let first = chains.iter().map(|chain| chain[..half(chain)].to_vec());
    let second = chains.iter().map(|chain| chain[chain.len() - half(chain)..].to_vec());
    first.chain(second).collect()
}

/// All draws, sorted.
pub(super) fn sorted(chains: &[&[f64]]) -> Vec<f64> {
    let mut all = chains.concat();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// The mean, from distances to the first value: no cancellation far from zero, and the mean of
/// equal values is exact.
pub(super) fn mean(values: &[f64]) -> f64 {
    let first = values.first().copied().filter(|x| x.is_finite()).unwrap_or(0.0);
    first + values.iter().map(|x| x - first).sum::<f64>() / values.len() as f64
}

/// Whether all values are equal.
pub(super) fn all_equal(mut values: impl Iterator<Item = f64>) -> bool {
    values.next().is_none_or(|first| values.all(|x| x == first))
}

/// The variance with divisor n - 1.
pub(super) fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|x| (x - centre) * (x - centre)).sum::<f64>() / (values.len() as f64 - 1.0)
}
