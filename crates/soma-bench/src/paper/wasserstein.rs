//! The Wasserstein distance of order 2 between two samples of numbers of one size.

use soma::error::Invalid;

use super::mmd::check;

/// The Wasserstein-2 distance of two samples of numbers: the root mean square difference of the
/// order statistics.
pub fn wasserstein2_1d(x: &[f64], y: &[f64]) -> Result<f64, Invalid> {
    check(x, y, 1)?;
    same_size(x, y)?;
    let sorted = |sample: &[f64]| {
        let mut sorted = sample.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    let squares: f64 = sorted(x).iter().zip(sorted(y)).map(|(a, b)| (a - b) * (a - b)).sum();
    Ok((squares / x.len() as f64).sqrt())
}

fn same_size(x: &[f64], y: &[f64]) -> Result<(), Invalid> {
    if x.len() == y.len() {
        return Ok(());
    }
    Err(Invalid::new(
        "sample",
        "the samples differ in size",
        format!("{} and {} numbers", x.len(), y.len()),
        "two samples of the same number of points",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shift by 3 has distance 3; the order of points does not matter.
    #[test]
    fn translation() {
        let (x, y) = ([0.0, 1.0, 5.0], [8.0, 3.0, 4.0]);
        assert!((wasserstein2_1d(&x, &y).unwrap() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn sizes_must_agree() {
        assert!(wasserstein2_1d(&[1.0], &[1.0, 2.0]).is_err());
        assert!(wasserstein2_1d(&[], &[]).is_err());
    }
}
