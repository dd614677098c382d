//! Cholesky factorisations A = LL' and A = U'U of symmetric positive definite matrices, row by row
//! in flat arrays.
//!
//! There are two layouts. The lower factor uses inner products; it is for covariances, which are
//! applied many times. The upper factor uses sums of rows with few dependent operations; it is for
//! precisions, which the independence update factors for every proposal, in code compiled for wide
//! vectors. The operations and their order do not depend on the vector width, and neither do the
//! results.

use pulp::{Arch, Simd, WithSimd};

use super::dense::{axpy, dot};

/// `out` = `base` + sum_k weights_k row_k row_k', the lower triangle of a square matrix.
pub(crate) fn lower_gram(rows: &[f64], weights: &[f64], base: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.extend_from_slice(base);
    let m = rows.len() / weights.len();
    Arch::new().dispatch(WeightedGram { m, rows, weights, out });
}

struct WeightedGram<'a> {
    m: usize,
    rows: &'a [f64],
    weights: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for WeightedGram<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let WeightedGram { m, rows, weights, out } = self;
        for (row, weight) in rows.chunks_exact(m).zip(weights) {
            for (i, (to, x)) in out.chunks_exact_mut(m).zip(row).enumerate() {
                // In fours, beyond the diagonal: entries above it are never read.
                let length = (i / 4 * 4 + 4).min(m);
                axpy(weight * x, &row[..length], &mut to[..length]);
            }
        }
    }
}

/// The factor L of a matrix given by its lower triangle, in place. `false` if it is not positive
/// definite.
pub(crate) fn lower(a: &mut [f64], m: usize) -> bool {
    for j in 0..m {
        let (above, rest) = a.split_at_mut(j * m);
        let row = &mut rest[..m];
        for k in 0..j {
            let other = &above[k * m..][..=k];
            row[k] = (row[k] - dot(&row[..k], &other[..k])) / other[k];
        }
        let square = row[j] - dot(&row[..j], &row[..j]);
        // Neither negative nor NaN.
        if !(square > 0.0 && square.is_finite()) {
            return false;
        }
        row[j] = square.sqrt();
    }
    true
}

/// Solves L x = b, in place.
pub(crate) fn solve_lower(lower: &[f64], x: &mut [f64]) {
    let m = x.len();
    for j in 0..m {
        let row = &lower[j * m..][..=j];
        x[j] = (x[j] - dot(&row[..j], &x[..j])) / row[j];
    }
}

/// Solves L'x = b, in place.
pub(crate) fn solve_lower_transposed(lower: &[f64], x: &mut [f64]) {
    let m = x.len();
    for j in (0..m).rev() {
        let row = &lower[j * m..][..=j];
        x[j] /= row[j];
        let by = -x[j];
        axpy(by, &row[..j], &mut x[..j]);
    }
}

/// Lx.
pub(crate) fn times_lower(lower: &[f64], x: &[f64], out: &mut [f64]) {
    let m = x.len();
    for (j, to) in out.iter_mut().enumerate() {
        *to = dot(&lower[j * m..][..=j], &x[..=j]);
    }
}

/// L'x.
pub(crate) fn times_lower_transposed(lower: &[f64], x: &[f64], out: &mut [f64]) {
    let m = x.len();
    out.fill(0.0);
    for (j, x) in x.iter().enumerate() {
        axpy(*x, &lower[j * m..][..=j], &mut out[..=j]);
    }
}

/// The sum of the logarithms of the diagonal of a factor.
pub(crate) fn log_diagonal(factor: &[f64], m: usize) -> f64 {
    (0..m).map(|j| factor[j * m + j].ln()).sum()
}

/// `out` = `base` + sum_k weights_k row_k row_k', the upper triangle.
#[inline(always)]
pub(crate) fn upper_gram(rows: &[f64], weights: &[f64], base: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.extend_from_slice(base);
    let m = rows.len() / weights.len();
    for (row, weight) in rows.chunks_exact(m).zip(weights) {
        for (i, (to, x)) in out.chunks_exact_mut(m).zip(row).enumerate() {
            // From the four that contains the diagonal: entries below it are never read.
            let from = i / 4 * 4;
            axpy(weight * x, &row[from..], &mut to[from..]);
        }
    }
}

/// The factor U of a matrix given by its upper triangle, in place. `false` if it is not positive
/// definite.
#[inline(always)]
pub(crate) fn upper(a: &mut [f64], m: usize) -> bool {
    for k in 0..m {
        let (above, below) = a.split_at_mut((k + 1) * m);
        let row = &mut above[k * m..];
        let square = row[k];
        // Neither negative nor NaN.
        if !(square > 0.0 && square.is_finite()) {
            return false;
        }
        let reciprocal = 1.0 / square.sqrt();
        row[k..].iter_mut().for_each(|x| *x *= reciprocal);
        for (i, to) in (k + 1..m).zip(below.chunks_exact_mut(m)) {
            axpy(-row[i], &row[i..], &mut to[i..]);
        }
    }
    true
}

/// Solves U'x = b, in place.
#[inline(always)]
pub(crate) fn solve_upper_transposed(upper: &[f64], x: &mut [f64]) {
    let m = x.len();
    for k in 0..m {
        let row = &upper[k * m..][..m];
        x[k] /= row[k];
        let by = -x[k];
        axpy(by, &row[k + 1..], &mut x[k + 1..]);
    }
}

/// Solves Ux = b, in place.
#[inline(always)]
pub(crate) fn solve_upper(upper: &[f64], x: &mut [f64]) {
    let m = x.len();
    for k in (0..m).rev() {
        let row = &upper[k * m..][..m];
        x[k] = (x[k] - dot(&row[k + 1..], &x[k + 1..])) / row[k];
    }
}

/// Ux.
#[inline(always)]
pub(crate) fn times_upper(upper: &[f64], x: &[f64], out: &mut [f64]) {
    let m = x.len();
    for (k, to) in out.iter_mut().enumerate() {
        *to = dot(&upper[k * m..][k..m], &x[k..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_and_solutions_are_those_of_the_matrix() {
        let rows = [1.0, 0.5, -0.3, 0.2, 1.1, 0.4];
        let base = [2.0, 0.0, 0.0, 0.1, 1.0, 0.0, -0.2, 0.3, 1.5];
        let mut a = Vec::new();
        lower_gram(&rows, &[2.0, 0.5], &base, &mut a);
        assert!((a[3] - (0.1 + 2.0 * 0.5 + 0.5 * 0.2 * 1.1)).abs() < 1e-15);
        let mut factor = a.clone();
        assert!(lower(&mut factor, 3));
        let mut x = [1.0, -2.0, 0.5];
        solve_lower(&factor, &mut x);
        solve_lower_transposed(&factor, &mut x);
        let full = |i: usize, j: usize| if i >= j { a[3 * i + j] } else { a[3 * j + i] };
        for (i, b) in [1.0, -2.0, 0.5].iter().enumerate() {
            let product: f64 = (0..3).map(|j| full(i, j) * x[j]).sum();
            assert!((product - b).abs() < 1e-12);
        }
        let mut back = [0.0; 3];
        times_lower(&factor, &[1.0, 2.0, -1.0], &mut back);
        solve_lower(&factor, &mut back);
        assert!((back[0] - 1.0).abs() + (back[1] - 2.0).abs() + (back[2] + 1.0).abs() < 1e-12);
        let mut half = [0.0; 3];
        times_lower_transposed(&factor, &x, &mut half);
        let square: f64 = half.iter().map(|h| h * h).sum();
        assert!((square - dot(&x, &[1.0, -2.0, 0.5])).abs() < 1e-12);
        assert!(!lower(&mut [1.0, 0.0, 2.0, 1.0], 2));
    }

    /// The same results as with the lower factor.
    #[test]
    fn factors_and_solutions_are_those_of_the_lower_factor() {
        let m = 6;
        let rows: Vec<f64> = (0..3 * m).map(|i| ((i * i + 3) % 7) as f64 / 3.0 - 0.9).collect();
        let mut base = vec![0.0; m * m];
        (0..m).for_each(|i| base[i * (m + 1)] = 1.0 + 0.1 * i as f64);
        let weights = [0.5, 2.0, 0.3];
        let (mut by_lower, mut by_upper) = (Vec::new(), Vec::new());
        lower_gram(&rows, &weights, &base, &mut by_lower);
        upper_gram(&rows, &weights, &base, &mut by_upper);
        assert!(lower(&mut by_lower, m) && upper(&mut by_upper, m));
        for i in 0..m {
            for j in i..m {
                assert!((by_upper[i * m + j] - by_lower[j * m + i]).abs() < 1e-12);
            }
        }
        let b: Vec<f64> = (0..m).map(|i| 0.7 - 0.3 * i as f64).collect();
        let both = |with_lower: fn(&[f64], &mut [f64]), with_upper: fn(&[f64], &mut [f64])| {
            let (mut x, mut y) = (b.clone(), b.clone());
            with_lower(&by_lower, &mut x);
            with_upper(&by_upper, &mut y);
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-12));
        };
        both(solve_lower, solve_upper_transposed);
        both(solve_lower_transposed, solve_upper);
        let (mut x, mut y) = (vec![0.0; m], vec![0.0; m]);
        times_lower_transposed(&by_lower, &b, &mut x);
        times_upper(&by_upper, &b, &mut y);
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-12));
        assert!(!upper(&mut [1.0, 2.0, 2.0, 1.0], 2));
    }
}
