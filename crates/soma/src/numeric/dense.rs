//! Small dense matrices, row after row in flat arrays, for the inner loops of the moves.
//!
//! The operations and their order are the same on every machine, so that the results are too; only
//! the width of the vectors that the compiler finds differs.

use pulp::{Arch, Simd, WithSimd};

/// `out` = `base` + sum_k weights_k row_k row_k', the lower triangle of a square matrix.
pub(crate) fn add_weighted_gram(rows: &[f64], weights: &[f64], base: &[f64], out: &mut Vec<f64>) {
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
                // In fours, past the diagonal: what stands above it is never read.
                let length = (i / 4 * 4 + 4).min(m);
                axpy(weight * x, &row[..length], &mut to[..length]);
            }
        }
    }
}

/// `out`, blocks of m by m each symmetric, times x: one row of m numbers for each block.
#[inline(always)]
pub(crate) fn times_each(blocks: &[f64], x: &[f64], out: &mut [f64]) {
    let m = x.len();
    out.fill(0.0);
    for (block, to) in blocks.chunks_exact(m * m).zip(out.chunks_exact_mut(m)) {
        for (row, x) in block.chunks_exact(m).zip(x) {
            axpy(*x, row, to);
        }
    }
}

/// `out` += `by` x: in fours, since the compiler by itself takes sixteen at a time or one.
#[inline(always)]
pub(crate) fn axpy(by: f64, x: &[f64], out: &mut [f64]) {
    let m = x.len().min(out.len());
    let whole = m - m % 4;
    for (to, x) in out[..whole].chunks_exact_mut(4).zip(x[..whole].chunks_exact(4)) {
        (0..4).for_each(|lane| to[lane] += by * x[lane]);
    }
    out[whole..m].iter_mut().zip(&x[whole..m]).for_each(|(to, x)| *to += by * x);
}

/// x'y: four sums side by side.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let m = x.len().min(y.len());
    let whole = m - m % 4;
    for (x, y) in x[..whole].chunks_exact(4).zip(y[..whole].chunks_exact(4)) {
        (0..4).for_each(|lane| sums[lane] += x[lane] * y[lane]);
    }
    let rest = x[whole..m].iter().zip(&y[whole..m]).map(|(x, y)| x * y);
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest.sum::<f64>()
}

/// `out` += sum_k weights_k row_k.
#[inline(always)]
pub(crate) fn add_rows(rows: &[f64], weights: &[f64], out: &mut [f64]) {
    for (row, weight) in rows.chunks_exact(out.len()).zip(weights) {
        axpy(*weight, row, out);
    }
}

/// The lower Cholesky factor of the lower triangle, in place. `false` where there is none.
pub(crate) fn cholesky(a: &mut [f64], m: usize) -> bool {
    for j in 0..m {
        let (above, rest) = a.split_at_mut(j * m);
        let row = &mut rest[..m];
        for k in 0..j {
            let other = &above[k * m..][..=k];
            row[k] = (row[k] - dot(&row[..k], &other[..k])) / other[k];
        }
        let square = row[j] - dot(&row[..j], &row[..j]);
        // Neither a negative number nor one that is none.
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

/// The sum of the logarithms of the diagonal.
pub(crate) fn log_diagonal(lower: &[f64], m: usize) -> f64 {
    (0..m).map(|j| lower[j * m + j].ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_and_solutions_are_those_of_the_matrix() {
        let rows = [1.0, 0.5, -0.3, 0.2, 1.1, 0.4];
        let base = [2.0, 0.0, 0.0, 0.1, 1.0, 0.0, -0.2, 0.3, 1.5];
        let mut a = Vec::new();
        add_weighted_gram(&rows, &[2.0, 0.5], &base, &mut a);
        assert!((a[3] - (0.1 + 2.0 * 0.5 + 0.5 * 0.2 * 1.1)).abs() < 1e-15);
        let mut lower = a.clone();
        assert!(cholesky(&mut lower, 3));
        let mut x = [1.0, -2.0, 0.5];
        solve_lower(&lower, &mut x);
        solve_lower_transposed(&lower, &mut x);
        let full = |i: usize, j: usize| if i >= j { a[3 * i + j] } else { a[3 * j + i] };
        for (i, b) in [1.0, -2.0, 0.5].iter().enumerate() {
            let product: f64 = (0..3).map(|j| full(i, j) * x[j]).sum();
            assert!((product - b).abs() < 1e-12);
        }
        let mut back = [0.0; 3];
        times_lower(&lower, &[1.0, 2.0, -1.0], &mut back);
        solve_lower(&lower, &mut back);
        assert!((back[0] - 1.0).abs() + (back[1] - 2.0).abs() + (back[2] + 1.0).abs() < 1e-12);
        let mut half = [0.0; 3];
        times_lower_transposed(&lower, &x, &mut half);
        let square: f64 = half.iter().map(|h| h * h).sum();
        assert!((square - dot(&x, &[1.0, -2.0, 0.5])).abs() < 1e-12);
        assert!(!cholesky(&mut [1.0, 0.0, 2.0, 1.0], 2));
    }
}
