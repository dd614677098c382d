//! The prior of theta and the Bartlett factors, in the coordinates of a point.

use nalgebra::DMatrix;

use crate::chain::theta::coordinates::bartlett;
use crate::chain::theta::coordinates::sums::{Sums, step};

impl Sums<'_> {
    /// The log prior density at a point, with respect to its coordinates, up to a constant.
    pub(in crate::chain) fn log_prior(&self, point: &[f64]) -> f64 {
        let (free, coordinates) = point.split_at(self.p);
        match bartlett::log_prior(self.n, self.d, coordinates) {
            factors if factors.is_finite() => self.log_prior_theta(free) + factors,
            _ => f64::NEG_INFINITY,
        }
    }

    /// The log prior density of the unconstrained theta, up to a constant.
    pub(in crate::chain) fn log_prior_theta(&self, free: &[f64]) -> f64 {
        match self.model.log_prior_free(free) {
            value if value.is_finite() => value,
            _ => f64::NEG_INFINITY,
        }
    }

    /// The gradient of [`log_prior`](Self::log_prior).
    pub(in crate::chain) fn log_prior_gradient(&self, point: &[f64], gradient: &mut [f64]) {
        let (free, coordinates) = point.split_at(self.p);
        let (of_theta, of_factors) = gradient.split_at_mut(self.p);
        self.model.log_prior_free_gradient(free, of_theta);
        bartlett::log_prior_gradient(self.n, self.d, coordinates, of_factors);
    }

    /// Minus the second derivatives of [`log_prior`](Self::log_prior), by differences of the
    /// gradient for theta; only the diagonal if the matrix is not positive definite. Not less than the [width of the
    /// prior](crate::model::Transport::prior_widths) implies.
    pub(in crate::chain) fn log_prior_precision(&self, point: &[f64]) -> Vec<f64> {
        let (p, dim) = (self.p, point.len());
        const WIDE: f64 = 1e-3;
        let gradient = |i: usize, at: f64| {
            let (mut free, mut gradient) = (point[..p].to_vec(), vec![0.0; p]);
            free[i] = at;
            self.model.log_prior_free_gradient(&free, &mut gradient);
            gradient
        };
        let mut of_theta = DMatrix::zeros(p, p);
        for i in 0..p {
            let wide = step(point[i], WIDE);
            let (low, high) = (point[i] - wide, point[i] + wide);
            let sides = gradient(i, low).into_iter().zip(gradient(i, high));
            for (j, (below, above)) in sides.enumerate() {
                let half = 0.5 * (below - above) / (high - low);
                of_theta[(i, j)] += half;
                of_theta[(j, i)] += half;
            }
        }
        if nalgebra::Cholesky::new(of_theta.clone()).is_none() {
            // A parameter may be in any unit: small is relative to its own size.
            let kept = |(i, x): (usize, &f64)| {
                let least = 1e-3 / (1.0 + point[i] * point[i]);
                if x.is_finite() { x.abs().max(least) } else { least }
            };
            let diagonal = of_theta.diagonal().iter().enumerate().map(kept).collect::<Vec<_>>();
            of_theta = DMatrix::from_diagonal(&diagonal.into());
        }
        for (i, width) in self.model.prior_widths().into_iter().flatten().enumerate() {
            let least = 1.0 / (width * width);
            of_theta[(i, i)] = of_theta[(i, i)].max(least);
        }
        let mut precision = vec![0.0; dim * dim];
        for i in 0..p {
            (0..p).for_each(|j| precision[i * dim + j] = of_theta[(i, j)]);
        }
        let mut of_factors = vec![0.0; dim - p];
        bartlett::log_prior_precision(self.n, self.d, &point[p..], &mut of_factors);
        of_factors.iter().enumerate().for_each(|(i, x)| precision[(p + i) * (dim + 1)] = *x);
        precision
    }
}
