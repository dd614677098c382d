//! The conjugate update of regression, with predictors centred at their known mean.
//!
//! If the mean m of the predictors is far from zero compared with their standard deviation, the
//! intercept at zero is nearly -beta'm, and sums of squares lose their digits to m^2. So the update
//! is for the intercept at m, alpha = beta0 + beta'm, which changes nothing but the rounding: the
//! map between (beta0, beta) and (alpha, beta) is linear with determinant 1.

use nalgebra::allocator::Allocator;
use nalgebra::{Cholesky, Const, DefaultAllocator, Dim, Dyn, OMatrix, OVector};

use super::{NormalInverseGamma, Regression};
use crate::error::Outcome;

/// Sums over n records of centred predictors and of responses minus `origin`: the lower triangle of
/// X'X, and X'y.
pub(super) struct Sums<D: Dim>
where
    DefaultAllocator: Allocator<D> + Allocator<D, D>,
{
    pub(super) n: f64,
    pub(super) origin: f64,
    pub(super) gram: OMatrix<f64, D, D>,
    pub(super) cross: OVector<f64, D>,
}

/// The distribution with the intercept at `centre` instead of zero.
pub(super) fn centred(law: &NormalInverseGamma, centre: &[f64]) -> NormalInverseGamma {
    let mut law = law.clone();
    for (j, m) in centre.iter().enumerate() {
        law.mean[0] += m * law.mean[1 + j];
        // (beta0, beta) = T (alpha, beta) has the precision T'LL'T, and T'L is triangular too.
        law.factor[(1 + j, 0)] -= m * law.factor[(0, 0)];
    }
    law
}

impl Regression {
    /// The conditional of theta given records, from which [`update`](crate::model::Model::update)
    /// draws.
    pub fn posterior(&self, records: &[f64]) -> Outcome<NormalInverseGamma> {
        self.posterior_sized(Dyn(self.centre.len() + 1), records)
    }

    pub(super) fn posterior_sized<D: Dim>(
        &self,
        q: D,
        records: &[f64],
    ) -> Outcome<NormalInverseGamma<D>>
    where
        DefaultAllocator: Allocator<D> + Allocator<D, D>,
    {
        let size = q.value();
        let p = size - 1;
        let centre = &self.centre[..p];
        let origin = records.get(p).copied().unwrap_or(0.0);
        let mut gram = OMatrix::<f64, D, D>::zeros_generic(q, q);
        let mut cross = OVector::<f64, D>::zeros_generic(q, Const::<1>);
        let n = (records.len() / size) as f64;
        gram[(0, 0)] = n;
        for record in records.chunks_exact(size) {
            let y = record[p] - origin;
            cross[0] += y;
            for i in 0..p {
                let x = record[i] - centre[i];
                gram[(1 + i, 0)] += x;
                cross[1 + i] += x * y;
                for j in 0..=i {
                    gram[(1 + i, 1 + j)] += x * (record[j] - centre[j]);
                }
            }
        }
        let squares = |alpha: f64, beta: &OVector<f64, D>| {
            let of_record = |record: &[f64]| {
                let gap = record[p] - alpha;
                (0..p).fold(gap, |gap, j| gap - beta[1 + j] * (record[j] - centre[j])).powi(2)
            };
            records.chunks_exact(size).map(of_record).sum()
        };
        self.conjugate(q, Sums { n, origin, gram, cross }, squares)
    }

    /// The conditional given sums over the records and the sum of squared residuals at given alpha
    /// and coefficients (whose first entry is unused). A sum of squares computed from residuals
    /// cannot be negative, as y'y - beta' X'X beta can.
    pub(super) fn conjugate<D: Dim>(
        &self,
        q: D,
        sums: Sums<D>,
        residual_squares: impl Fn(f64, &OVector<f64, D>) -> f64,
    ) -> Outcome<NormalInverseGamma<D>>
    where
        DefaultAllocator: Allocator<D> + Allocator<D, D>,
    {
        let size = q.value();
        let Sums { n, origin, mut gram, mut cross } = sums;
        let (prior, precision0) = (&self.centred_prior, self.prior_precision.as_slice());
        // Solves for the coefficients minus (origin, 0, ..., 0).
        let gap = |j: usize| if j == 0 { prior.mean[0] - origin } else { prior.mean[j] };
        for j in 0..size {
            for i in 0..size {
                cross[i] += precision0[i + j * size] * gap(j);
                gram[(i, j)] += precision0[i + j * size];
            }
        }
        let precision = Cholesky::new(gram).ok_or(
            "the records are too far apart, or from the mean of the predictors, for sums of their \
             squares: check the scale of the predictors",
        )?;
        precision.solve_mut(&mut cross);
        let mut mean = cross;
        let mut shift = 0.0;
        for j in 0..size {
            let column = (j..size).map(|i| prior.factor[(i, j)] * (mean[i] - gap(i)));
            shift += column.sum::<f64>().powi(2);
        }
        let rate = self.prior.rate + 0.5 * (residual_squares(origin + mean[0], &mean) + shift);
        // Back to the intercept at zero.
        let mut factor = precision.unpack();
        mean[0] += origin;
        for (j, m) in self.centre.iter().enumerate() {
            mean[0] -= m * mean[1 + j];
            factor[(1 + j, 0)] += m * factor[(0, 0)];
        }
        Ok(NormalInverseGamma { shape: self.prior.shape + 0.5 * n, rate, mean, factor })
    }
}
