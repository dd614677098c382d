//! Precision matrices that are a diagonal minus a rank-one matrix.

use nalgebra::{DMatrix, DVector};

/// A = diag(own) - c v v', positive definite, factored as A = L diag(pivots) L', where L_ij = v_i
/// slopes_j below the diagonal.
///
/// The factor is three vectors instead of a triangle (Gill, Golub, Murray and Saunders 1974, method
/// C1, starting from the identity). Factoring and solving cost O(d); a dense factorisation costs
/// O(d^3), which is seconds for 2,000 shares.
#[derive(Debug, Clone)]
pub(super) struct RankOne {
    v: Vec<f64>,
    pivots: Vec<f64>,
    slopes: Vec<f64>,
}

impl RankOne {
    /// The factor of diag(diagonal) - c v v', if that is finite and positive definite.
    pub(super) fn new(diagonal: &[f64], c: f64, v: &[f64]) -> Option<Self> {
        let (mut pivots, mut slopes) = (Vec::new(), Vec::new());
        let mut left = -c;
        for (&own, &v) in diagonal.iter().zip(v) {
            let pivot = own + left * v * v;
            let is_definite = pivot > 0.0 && pivot.is_finite();
            if !is_definite {
                return None;
            }
            pivots.push(pivot);
            slopes.push(left * v / pivot);
            left *= own / pivot;
        }
        Some(RankOne { v: v.to_vec(), pivots, slopes })
    }

    fn size(&self) -> usize {
        self.pivots.len()
    }

    /// A^-1 b.
    pub(super) fn solve(&self, b: &DVector<f64>) -> DVector<f64> {
        let mut x = b.clone();
        let mut sum = 0.0;
        for j in 0..self.size() {
            x[j] -= self.v[j] * sum;
            sum += self.slopes[j] * x[j];
        }
        x.iter_mut().zip(&self.pivots).for_each(|(x, pivot)| *x /= pivot);
        self.solve_upper(&mut x, self.size());
        x
    }

    /// Solves L' x = b, where b is zero from `end` on.
    fn solve_upper(&self, x: &mut DVector<f64>, end: usize) {
        let mut sum = 0.0;
        for j in (0..end).rev() {
            x[j] -= self.slopes[j] * sum;
            sum += self.v[j] * x[j];
        }
    }

    /// The lower Cholesky factor F of A = F F', dense.
    pub(super) fn factor(&self) -> DMatrix<f64> {
        DMatrix::from_fn(self.size(), self.size(), |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => self.pivots[j].sqrt(),
            std::cmp::Ordering::Greater => self.v[i] * self.slopes[j] * self.pivots[j].sqrt(),
        })
    }

    /// Column j of F'^-1: normals with precision A are these columns times standard normals.
    pub(super) fn direction(&self, j: usize) -> DVector<f64> {
        let mut x = DVector::zeros(self.size());
        x[j] = 1.0 / self.pivots[j].sqrt();
        self.solve_upper(&mut x, j + 1);
        x
    }

    /// F'^-1 z.
    pub(super) fn spread(&self, z: &DVector<f64>) -> DVector<f64> {
        let mut x = DVector::from_fn(self.size(), |j, _| z[j] / self.pivots[j].sqrt());
        self.solve_upper(&mut x, self.size());
        x
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::Cholesky;

    use super::*;

    /// Compared with dense algebra, also for nearly singular matrices.
    #[test]
    fn it_is_the_dense_factor() {
        for (size, share) in [(1, 0.5), (2, 0.999), (7, 0.9), (40, 0.99999), (5, -3.0)] {
            let diagonal: Vec<f64> = (0..size).map(|i| 0.5 + (i * i % 7) as f64).collect();
            let v: Vec<f64> = (0..size).map(|i| (1.3 * i as f64 + 0.4).sin()).collect();
            let whole: f64 = v.iter().zip(&diagonal).map(|(v, d)| v * v / d).sum();
            let c = share / whole;
            let outer = DMatrix::from_fn(size, size, |i, j| c * v[i] * v[j]);
            let dense = DMatrix::from_diagonal(&DVector::from_vec(diagonal.clone())) - outer;
            let ours = RankOne::new(&diagonal, c, &v).unwrap();
            let factor = Cholesky::new(dense.clone()).unwrap().unpack();
            assert!((ours.factor() - &factor).amax() < 1e-9, "{size}");
            let b = DVector::from_fn(size, |i, _| (i as f64).cos());
            assert!((&dense * ours.solve(&b) - &b).amax() < 1e-9, "{size}");
            assert!((factor.tr_mul(&ours.spread(&b)) - &b).amax() < 1e-9, "{size}");
            for j in 0..size {
                let mut unit = factor.tr_mul(&ours.direction(j));
                unit[j] -= 1.0;
                assert!(unit.amax() < 1e-9, "{size}: direction {j}");
            }
        }
    }

    #[test]
    fn what_is_not_definite_has_none() {
        assert!(RankOne::new(&[1.0, 1.0], 0.6, &[1.0, 1.0]).is_none());
        assert!(RankOne::new(&[1.0, f64::INFINITY], 0.1, &[1.0, 1.0]).is_none());
        assert!(RankOne::new(&[1.0, f64::NAN], 0.1, &[1.0, 1.0]).is_none());
    }
}
