//! The maximum mean discrepancy of two samples (Gretton et al. 2012), with the Gaussian kernel
//! k(x, y) = exp(-|x - y|^2 / (2 h^2)).

use soma::diagnostics::quantile;
use soma::error::{Invalid, positive};

/// The squared maximum mean discrepancy of `x` and `y`, points of length `dim`, row by row: the
/// V-statistic, over all pairs of points, including a point with itself. It is never negative, and
/// for two samples of n and m points of the same distribution it is of order 1/n + 1/m.
pub fn mmd_squared_biased(
    x: &[f64],
    y: &[f64],
    dim: usize,
    bandwidth: f64,
) -> Result<f64, Invalid> {
    let [xx, yy, xy] = kernel_sums(x, y, dim, bandwidth)?;
    let (n, m) = ((x.len() / dim) as f64, (y.len() / dim) as f64);
    Ok((2.0 * xx + n) / (n * n) + (2.0 * yy + m) / (m * m) - 2.0 * xy / (n * m))
}

/// The unbiased estimate of the squared maximum mean discrepancy: the U-statistic, without the
/// pairs of a point with itself. It may be negative. Needs at least two points in each sample.
pub fn mmd_squared_unbiased(
    x: &[f64],
    y: &[f64],
    dim: usize,
    bandwidth: f64,
) -> Result<f64, Invalid> {
    let [xx, yy, xy] = kernel_sums(x, y, dim, bandwidth)?;
    let (n, m) = ((x.len() / dim) as f64, (y.len() / dim) as f64);
    if n < 2.0 || m < 2.0 {
        return Err(Invalid::new(
            "sample",
            "an unbiased estimate needs pairs of points",
            format!("{n} and {m} points"),
            "two points or more in each",
        ));
    }
    Ok(2.0 * xx / (n * (n - 1.0)) + 2.0 * yy / (m * (m - 1.0)) - 2.0 * xy / (n * m))
}

/// The median distance between two different points of the pooled samples: the usual bandwidth. It
/// needs memory for all pairs.
pub fn median_distance(x: &[f64], y: &[f64], dim: usize) -> Result<f64, Invalid> {
    check(x, y, dim)?;
    let all: Vec<&[f64]> = x.chunks_exact(dim).chain(y.chunks_exact(dim)).collect();
    let mut distances: Vec<f64> = all
        .iter()
        .enumerate()
        .flat_map(|(i, a)| all[..i].iter().map(move |b| squared_distance(a, b).sqrt()))
        .collect();
    distances.sort_unstable_by(f64::total_cmp);
    Ok(quantile(&distances, 0.5))
}

/// The kernel summed over pairs i < j in x, in y, and over all pairs between x and y.
fn kernel_sums(x: &[f64], y: &[f64], dim: usize, bandwidth: f64) -> Result<[f64; 3], Invalid> {
    check(x, y, dim)?;
    let rate = 0.5 / positive("bandwidth", bandwidth)?.powi(2);
    let kernel = |a: &[f64], b: &[f64]| (-rate * squared_distance(a, b)).exp();
    let within = |sample: &[f64]| -> f64 {
        let points = || sample.chunks_exact(dim);
        points().enumerate().flat_map(|(i, a)| points().take(i).map(move |b| kernel(a, b))).sum()
    };
    let between = x.chunks_exact(dim).flat_map(|a| y.chunks_exact(dim).map(move |b| kernel(a, b)));
    Ok([within(x), within(y), between.sum()])
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Whether both are samples of points of length `dim`.
pub(super) fn check(x: &[f64], y: &[f64], dim: usize) -> Result<(), Invalid> {
    let whole = |sample: &[f64]| dim > 0 && !sample.is_empty() && sample.len().is_multiple_of(dim);
    if whole(x) && whole(y) {
        return Ok(());
    }
    Err(Invalid::new(
        "sample",
        "the numbers do not make up points",
        format!("{} and {} numbers, points of length {dim}", x.len(), y.len()),
        "one point or more in each sample, row after row",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::stats::mean_se;
    use rand::RngExt;
    use rand_distr::StandardNormal;

    #[test]
    fn by_hand() {
        let (x, y) = ([0.0, 1.0], [2.0, 4.0]);
        let k = |d: f64| (-0.5 * d * d).exp();
        let cross = k(2.0) + k(4.0) + k(1.0) + k(3.0);
        let biased = (2.0 + 2.0 * k(1.0)) / 4.0 + (2.0 + 2.0 * k(2.0)) / 4.0 - 2.0 * cross / 4.0;
        let unbiased = k(1.0) + k(2.0) - 2.0 * cross / 4.0;
        assert!((mmd_squared_biased(&x, &y, 1, 1.0).unwrap() - biased).abs() < 1e-15);
        assert!((mmd_squared_unbiased(&x, &y, 1, 1.0).unwrap() - unbiased).abs() < 1e-15);
        assert_eq!(median_distance(&x, &y, 1).unwrap(), 2.0);
    }

    /// For N(0, 1) and N(a, 1) the expectation of k(x, y) is known: the variance of x - y is 2.
    #[test]
    fn unbiased_has_the_right_expectation() {
        let (a, h, n) = (0.7_f64, 1.3_f64, 30);
        let mean_kernel = |gap: f64| {
            let spread = h * h + 2.0;
            h / spread.sqrt() * (-0.5 * gap * gap / spread).exp()
        };
        let truth = 2.0 * (mean_kernel(0.0) - mean_kernel(a));
        let mut rng = soma::rng::stream(3, 0);
        let estimates: Vec<f64> = (0..2000)
            .map(|_| {
                let x: Vec<f64> = (0..n).map(|_| rng.sample(StandardNormal)).collect();
                let y: Vec<f64> =
                    (0..n + 5).map(|_| a + rng.sample::<f64, _>(StandardNormal)).collect();
                mmd_squared_unbiased(&x, &y, 1, h).unwrap()
            })
            .collect();
        let (mean, error) = mean_se(&estimates);
        assert!((mean - truth).abs() < 4.0 * error, "{mean} is not {truth} +- {error}");
    }

    #[test]
    fn rows_must_be_whole() {
        assert!(mmd_squared_biased(&[1.0, 2.0, 3.0], &[1.0, 2.0], 2, 1.0).is_err());
        assert!(mmd_squared_biased(&[], &[1.0], 1, 1.0).is_err());
        assert!(mmd_squared_biased(&[1.0], &[1.0], 1, 0.0).is_err());
        assert!(mmd_squared_unbiased(&[1.0], &[1.0, 2.0], 1, 1.0).is_err());
    }
}
