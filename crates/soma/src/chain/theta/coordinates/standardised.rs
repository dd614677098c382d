//! The standardised noise of all records.

use crate::chain::theta::coordinates::bartlett::Bartlett;
use crate::numeric::dense;

/// The standardised noise z_i = C^-1 (e_i - m), in implicit form: columns y_i = b + L z_i with
/// known mean b and factor L. Whatever is affine in z is affine in y, so no pass over the records
/// is spent on whitening. The columns may be the noise, or records that are affine in it.
#[derive(Debug, Clone, Default)]
pub(in crate::chain) struct Standardised {
    /// One coordinate of all records after the other.
    columns: Vec<f64>,
    base: Bartlett,
    /// The inverse of the base's factor.
    whitening: Vec<f64>,
}

impl Standardised {
    /// The columns, to be filled; [`measure`](Self::measure) has to follow.
    pub(in crate::chain) fn columns_mut(&mut self, n: usize, d: usize) -> &mut [f64] {
        self.columns.resize(n * d, 0.0);
        &mut self.columns
    }

    /// The columns.
    pub(in crate::chain) fn columns(&self) -> &[f64] {
        &self.columns
    }

    /// The Bartlett factors of the columns themselves.
    pub(in crate::chain) fn base(&self) -> &Bartlett {
        &self.base
    }

    /// Computes the Bartlett factors of the columns. `false` if their covariance is singular.
    pub(in crate::chain) fn measure(&mut self, d: usize) -> bool {
        if !self.base.measure(&self.columns, d) {
            return false;
        }
        self.whitening.clear();
        self.whitening.resize(d * d, 0.0);
        // L^-1 row by row from L L^-1 = I.
        for i in 0..d {
            let reciprocal = 1.0 / self.base.factor[i * d + i];
            for j in 0..i {
                let known: f64 =
                    (j..i).map(|k| self.base.factor[i * d + k] * self.whitening[k * d + j]).sum();
                self.whitening[i * d + j] = -known * reciprocal;
            }
            self.whitening[i * d + i] = reciprocal;
        }
        self.whitening.iter().all(|x| x.is_finite())
    }

    /// The map from the columns to the noise that has this standardised noise and the Bartlett
    /// factors `factors`.
    pub(in crate::chain) fn compose(&self, factors: &Bartlett, out: &mut Bartlett) {
        let d = factors.centre.len();
        out.factor.clear();
        out.factor.resize(d * d, 0.0);
        out.centre.clone_from(&factors.centre);
        for i in 0..d {
            for k in 0..=i {
                let by = factors.factor[i * d + k];
                dense::axpy(by, &self.whitening[k * d..][..=k], &mut out.factor[i * d..][..=k]);
            }
            out.centre[i] -= dense::dot(&out.factor[i * d..][..=i], &self.base.centre[..=i]);
        }
    }

    /// Converts sums of something and of its products with the columns to those with the
    /// standardised noise.
    pub(in crate::chain) fn whiten(&self, sums: &mut [f64]) {
        let d = self.base.centre.len();
        let Some((all, products)) = sums.split_first_mut() else { return };
        for (product, centre) in products.iter_mut().zip(&self.base.centre) {
            *product -= *all * centre;
        }
        for l in (0..products.len()).rev() {
            products[l] = dense::dot(&self.whitening[l * d..][..=l], &products[..=l]);
        }
    }
}
