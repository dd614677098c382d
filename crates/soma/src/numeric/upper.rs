//! Symmetric positive definite matrices as U'U, the upper triangles of both kept row after row.
//!
//! The steps are sums of rows with hardly a chain of dependent numbers among them, which is what
//! the inner loops of the refresh need. To be called from code that is compiled for wide vectors;
//! the operations and their order are the same whatever the width.

use super::dense::{axpy, dot};

/// `out` = `base` + sum_k weights_k row_k row_k', the upper triangle.
#[inline(always)]
pub(crate) fn add_weighted_gram(rows: &[f64], weights: &[f64], base: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.extend_from_slice(base);
    let m = rows.len() / weights.len();
    for (row, weight) in rows.chunks_exact(m).zip(weights) {
        for (i, (to, x)) in out.chunks_exact_mut(m).zip(row).enumerate() {
            // From the four that holds the diagonal: what stands below it is never read.
            let from = i / 4 * 4;
            axpy(weight * x, &row[from..], &mut to[from..]);
        }
    }
}

/// The factor U of a matrix, in place. `false` where there is none.
#[inline(always)]
pub(crate) fn factor(a: &mut [f64], m: usize) -> bool {
    for k in 0..m {
        let (above, below) = a.split_at_mut((k + 1) * m);
        let row = &mut above[k * m..];
        let square = row[k];
        // Neither a negative number nor one that is none.
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
pub(crate) fn solve_transposed(upper: &[f64], x: &mut [f64]) {
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
pub(crate) fn solve(upper: &[f64], x: &mut [f64]) {
    let m = x.len();
    for k in (0..m).rev() {
        let row = &upper[k * m..][..m];
        x[k] = (x[k] - dot(&row[k + 1..], &x[k + 1..])) / row[k];
    }
}

/// Ux.
#[inline(always)]
pub(crate) fn times(upper: &[f64], x: &[f64], out: &mut [f64]) {
    let m = x.len();
    for (k, to) in out.iter_mut().enumerate() {
        *to = dot(&upper[k * m..][k..m], &x[k..]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::dense;
    use super::*;

    /// The same numbers as by the lower factor.
    #[test]
    fn factors_and_solutions_are_those_of_the_lower_factor() {
        let m = 6;
        let rows: Vec<f64> = (0..3 * m).map(|i| ((i * i + 3) % 7) as f64 / 3.0 - 0.9).collect();
        let mut base = vec![0.0; m * m];
        (0..m).for_each(|i| base[i * (m + 1)] = 1.0 + 0.1 * i as f64);
        let weights = [0.5, 2.0, 0.3];
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        dense::add_weighted_gram(&rows, &weights, &base, &mut lower);
        add_weighted_gram(&rows, &weights, &base, &mut upper);
        assert!(dense::cholesky(&mut lower, m) && factor(&mut upper, m));
        for i in 0..m {
            for j in i..m {
                assert!((upper[i * m + j] - lower[j * m + i]).abs() < 1e-12);
            }
        }
        let b: Vec<f64> = (0..m).map(|i| 0.7 - 0.3 * i as f64).collect();
        let both = |by_lower: fn(&[f64], &mut [f64]), by_upper: fn(&[f64], &mut [f64])| {
            let (mut x, mut y) = (b.clone(), b.clone());
            by_lower(&lower, &mut x);
            by_upper(&upper, &mut y);
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-12));
        };
        both(dense::solve_lower, solve_transposed);
        both(dense::solve_lower_transposed, solve);
        let (mut x, mut y) = (vec![0.0; m], vec![0.0; m]);
        dense::times_lower_transposed(&lower, &b, &mut x);
        times(&upper, &b, &mut y);
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-12));
        assert!(!factor(&mut [1.0, 2.0, 2.0, 1.0], 2));
    }
}
