//! The prior of theta and the frame, in the coordinates of a point.

use nalgebra::DMatrix;

use super::frame;
use super::sums::Sums;

impl Sums<'_> {
    /// The log prior density at a point, with respect to its coordinates, up to a constant.
    pub(super) fn log_prior(&self, point: &[f64]) -> f64 {
        let (free, coordinates) = point.split_at(self.p);
        match frame::log_prior(self.n, self.d, coordinates) {
            frame if frame.is_finite() => self.log_prior_theta(free) + frame,
            _ => f64::NEG_INFINITY,
        }
    }

    /// The log prior density of the unconstrained theta, up to a constant.
    pub(super) fn log_prior_theta(&self, free: &[f64]) -> f64 {
        match self.model.log_prior_free(free) {
            value if value.is_finite() => value,
            _ => f64::NEG_INFINITY,
        }
    }

    /// The gradient of [`log_prior`](Self::log_prior).
    pub(super) fn log_prior_gradient(&self, point: &[f64], gradient: &mut [f64]) {
        let (free, coordinates) = point.split_at(self.p);
        let (of_theta, of_frame) = gradient.split_at_mut(self.p);
        self.model.log_prior_free_gradient(free, of_theta);
        frame::log_prior_gradient(self.n, self.d, coordinates, of_frame);
    }

    /// Minus the second derivatives of [`log_prior`](Self::log_prior): by differences for theta,
    /// of which only the diagonal is kept where the matrix is not positive definite.
    pub(super) fn log_prior_precision(&self, point: &[f64]) -> Vec<f64> {
        let (p, dim) = (self.p, point.len());
        const WIDE: f64 = 1e-3;
        let moved = |i: usize, by: f64, j: usize, and: f64| {
            let mut free = point[..p].to_vec();
            free[i] += by;
            free[j] += and;
            self.model.log_prior_free(&free)
        };
        let mut of_theta = DMatrix::from_fn(p, p, |i, j| {
            let same = moved(i, WIDE, j, WIDE) + moved(i, -WIDE, j, -WIDE);
            let opposite = moved(i, WIDE, j, -WIDE) + moved(i, -WIDE, j, WIDE);
            (opposite - same) / (4.0 * WIDE * WIDE)
        });
        if nalgebra::Cholesky::new(of_theta.clone()).is_none() {
            let diagonal = of_theta.diagonal().map(|x| if x.is_finite() { x.abs() } else { 0.0 });
            of_theta = DMatrix::from_diagonal(&diagonal.map(|x| x.max(1e-3)));
        }
        let mut precision = vec![0.0; dim * dim];
        for i in 0..p {
            (0..p).for_each(|j| precision[i * dim + j] = of_theta[(i, j)]);
        }
        let mut of_frame = vec![0.0; dim - p];
        frame::log_prior_precision(self.n, self.d, &point[p..], &mut of_frame);
        of_frame.iter().enumerate().for_each(|(i, x)| precision[(p + i) * (dim + 1)] = *x);
        precision
    }
}
