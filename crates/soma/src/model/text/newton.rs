//! Metropolis-Hastings updates of theta given the records by Newton proposals.

use nalgebra::{DMatrix, SymmetricEigen};
use rand::RngExt;
use rand_distr::{ChiSquared, StandardNormal};
use soma_language::{Given, Model};

use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::numeric::cholesky;
use crate::numeric::workspace::run;
use crate::rng::Rng;

/// The log density of the unconstrained theta at a point, and a Student proposal from its first two
/// derivatives: centred at a Newton step, with the curvature as precision.
///
/// Metropolis-Hastings with this proposal (Qi and Minka 2002) is exact: the proposal is a function
/// of the current point and of the records, which are fixed, and the ratio has the proposal
/// densities of both directions. With many records the conditional of theta is nearly normal, the
/// proposal is nearly the same at every point, and so nearly an independent draw. Costs one pass
/// over the records with first and second derivatives, or none if their sums are given.
pub(super) struct Point {
    pub free: Vec<f64>,
    pub log_density: f64,
    centre: Vec<f64>,
    /// The lower Cholesky factor of the precision.
    factor: Vec<f64>,
}

/// The degrees of freedom: tails heavier than the posterior's.
const FREEDOM: f64 = 8.0;

/// The smallest curvature relative to the largest; smaller and negative ones are raised to it.
const FLATTEST: f64 = 1e-8;

impl Point {
    /// `None` if the density or its derivatives do not exist.
    pub fn new(model: &Model, free: Vec<f64>, given: Given) -> Option<Self> {
        let p = free.len();
        let mut slopes = vec![0.0; p + p * (p + 1) / 2];
        let log_density =
            run(|workspace| model.log_posterior(&free, given, &mut slopes, workspace));
        if !log_density.is_finite() || !slopes.iter().all(|x| x.is_finite()) {
            return None;
        }
        let (gradient, second) = slopes.split_at(p);
        let mut curvature = vec![0.0; p * p];
        for i in 0..p {
            for j in 0..=i {
                let value = -second[i * (i + 1) / 2 + j];
                (curvature[i * p + j], curvature[j * p + i]) = (value, value);
            }
        }
        let factor = factor(curvature, p)?;
        let mut centre = gradient.to_vec();
        cholesky::solve_lower(&factor, &mut centre);
        cholesky::solve_lower_transposed(&factor, &mut centre);
        centre.iter_mut().zip(&free).for_each(|(step, x)| *step += x);
        Some(Point { free, log_density, centre, factor })
    }

    fn draw(&self, rng: &mut Rng) -> Outcome<Vec<f64>> {
        let chi: f64 = rng.sample(ChiSquared::new(FREEDOM)?);
        let mut step: Vec<f64> = self.free.iter().map(|_| rng.sample(StandardNormal)).collect();
        step.iter_mut().for_each(|x| *x *= (FREEDOM / chi).sqrt());
        cholesky::solve_lower_transposed(&self.factor, &mut step);
        step.iter_mut().zip(&self.centre).for_each(|(x, centre)| *x += centre);
        Ok(step)
    }

    /// The unnormalised log density of the proposal at a point.
    fn log_law(&self, free: &[f64]) -> f64 {
        let p = free.len();
        let gap: Vec<f64> = free.iter().zip(&self.centre).map(|(x, centre)| x - centre).collect();
        let mut whitened = vec![0.0; p];
        cholesky::times_lower_transposed(&self.factor, &gap, &mut whitened);
        let square = crate::numeric::dense::dot(&whitened, &whitened);
        cholesky::log_diagonal(&self.factor, p)
            - 0.5 * (FREEDOM + p as f64) * (square / FREEDOM).ln_1p()
    }

    /// One Metropolis-Hastings step. Returns the new point.
    pub fn step(self, model: &Model, given: Given, rng: &mut Rng) -> Outcome<Self> {
        let Some(there) = Point::new(model, self.draw(rng)?, given) else { return Ok(self) };
        let ratio = there.log_density + there.log_law(&self.free)
            - self.log_density
            - self.log_law(&there.free);
        Ok(if accepts(ratio, rng) { there } else { self })
    }
}

/// The lower Cholesky factor of a symmetric matrix; if it is not positive definite, with the
/// absolute values of its eigenvalues.
fn factor(matrix: Vec<f64>, p: usize) -> Option<Vec<f64>> {
    let mut factor = matrix.clone();
    if cholesky::lower(&mut factor, p) {
        return Some(factor);
    }
    let SymmetricEigen { eigenvalues, eigenvectors } =
        SymmetricEigen::try_new(DMatrix::from_row_slice(p, p, &matrix), 1e-12, 1000)?;
    let steepest = eigenvalues.amax();
    let curved = eigenvalues.map(|value| value.abs().max(FLATTEST * steepest));
    let mended = &eigenvectors * DMatrix::from_diagonal(&curved) * eigenvectors.transpose();
    let mut factor: Vec<f64> = (0..p * p).map(|at| mended[(at / p, at % p)]).collect();
    (cholesky::lower(&mut factor, p) && factor.iter().all(|x| x.is_finite())).then_some(factor)
}
