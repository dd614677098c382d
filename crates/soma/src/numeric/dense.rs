//! Products of small dense matrices, for the inner loops of the theta updates.
//!
//! The operations and their order are the same on every CPU, and so are the results; only the
//! vector width differs.

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

/// `out` += `by` x, in fours: by itself the compiler unrolls by sixteen, with a scalar remainder.
#[inline(always)]
pub(crate) fn axpy(by: f64, x: &[f64], out: &mut [f64]) {
    let m = x.len().min(out.len());
    let whole = m - m % 4;
    for (to, x) in out[..whole].chunks_exact_mut(4).zip(x[..whole].chunks_exact(4)) {
        (0..4).for_each(|lane| to[lane] += by * x[lane]);
    }
    out[whole..m].iter_mut().zip(&x[whole..m]).for_each(|(to, x)| *to += by * x);
}

/// x'y, with four partial sums.
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
