//! The Wasserstein distance of order 2 between two samples of one size.

use super::assignment::smallest_cost;
use super::mmd::check;
use crate::error::Invalid;

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

/// The Wasserstein-2 distance of two samples of points of length `dim`, row after row: the root
/// mean square distance under the best assignment. It takes n^3 steps: for n up to a thousand or
/// so.
pub fn wasserstein2(x: &[f64], y: &[f64], dim: usize) -> Result<f64, Invalid> {
    check(x, y, dim)?;
    same_size(x, y)?;
    let n = x.len() / dim;
    let cost = |i: usize, j: usize| -> f64 {
        let (a, b) = (&x[i * dim..][..dim], &y[j * dim..][..dim]);
        a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
    };
    Ok((smallest_cost(n, cost) / n as f64).sqrt())
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
    use rand::RngExt;

    #[test]
    fn assignment_agrees_with_sorting_in_one_dimension() {
        let mut rng = crate::rng::stream(5, 0);
        let x: Vec<f64> = (0..60).map(|_| rng.random()).collect();
        let y: Vec<f64> = (0..60).map(|_| rng.random::<f64>().powi(2)).collect();
        let (sorted, assigned) = (wasserstein2_1d(&x, &y), wasserstein2(&x, &y, 1));
        assert!((sorted.unwrap() - assigned.unwrap()).abs() < 1e-12);
    }

    /// Moving all points by one vector moves them by its length; order does not matter.
    #[test]
    fn translation() {
        let mut rng = crate::rng::stream(6, 0);
        let x: Vec<f64> = (0..40).map(|_| rng.random()).collect();
        let mut y: Vec<f64> = x.chunks_exact(2).rev().flatten().copied().collect();
        y.chunks_exact_mut(2).for_each(|p| (p[0], p[1]) = (p[0] + 3.0, p[1] - 4.0));
        assert!((wasserstein2(&x, &y, 2).unwrap() - 5.0).abs() < 1e-12);
    }

    #[test]
    fn sizes_must_agree() {
        assert!(wasserstein2_1d(&[1.0], &[1.0, 2.0]).is_err());
        assert!(wasserstein2(&[1.0, 2.0], &[1.0, 2.0, 3.0, 4.0], 2).is_err());
    }
}
