//! The sample quantile.

/// The quantile of `sorted` at probability `p`, by linear interpolation between order statistics
/// (type 7 of Hyndman and Fan 1996, the default of R and NumPy). NaN for an empty sample and for
/// one with a NaN, which `f64::total_cmp` sorts to an end.
///
/// ```
/// assert_eq!(soma::diagnostics::quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
/// ```
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    match sorted {
        [] => f64::NAN,
        [first, .., last] if first.is_nan() || last.is_nan() => f64::NAN,
        [only] => *only,
        _ => {
            let n = sorted.len() as f64;
            let position = n * p + (1.0 - p);
            let below = position.clamp(1.0, n - 1.0).floor();
            let part = (position - below).clamp(0.0, 1.0);
            let k = below as usize;
            (1.0 - part) * sorted[k - 1] + part * sorted[k]
        }
    }
}
