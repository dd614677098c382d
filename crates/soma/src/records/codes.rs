//! Bin indices, for statistics that are the indicator of a bin.

/// Up to this number of bins, the bin of a record is stored instead of its statistic.
pub(crate) const MOST_CODES: usize = 255;

/// The bin of an indicator statistic; its length if the record is in no bin.
#[inline(always)]
pub(crate) fn bin(statistic: &[f64]) -> usize {
    let mut bin = statistic.len();
    for (b, &t) in statistic.iter().enumerate() {
        bin = if t != 0.0 { b } else { bin };
    }
    bin
}

/// The indicators of all bins, and of no bin, in noise units.
pub(crate) fn indicators(units: &[f64]) -> Vec<f64> {
    let k = units.len();
    let mut rows = vec![0.0; (k + 1) * k];
    units.iter().enumerate().for_each(|(b, unit)| rows[b * k + b] = *unit);
    rows
}

/// The number of occurrences of each code.
pub(crate) fn counts(codes: &[u8]) -> [u32; MOST_CODES + 1] {
    // Four partial counts: a repeated code would wait for the store of its previous count.
    let mut parts = [[0u32; MOST_CODES + 1]; 4];
    let mut fours = codes.chunks_exact(4);
    for four in &mut fours {
        (0..4).for_each(|part| parts[part][usize::from(four[part])] += 1);
    }
    fours.remainder().iter().for_each(|&code| parts[0][usize::from(code)] += 1);
    std::array::from_fn(|code| parts.iter().map(|part| part[code]).sum())
}
