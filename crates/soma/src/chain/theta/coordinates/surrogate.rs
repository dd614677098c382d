//! The quadratic surrogate of the residual, from which the Hamiltonian and the independence update
//! make their proposals.

use std::borrow::Cow;

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::chain::theta::State;
use crate::chain::theta::coordinates::local::Local;
use crate::chain::theta::coordinates::standardised::Standardised;
use crate::chain::theta::coordinates::sums::{Scratch, Sums};
use crate::chain::theta::tuning::moments::Moments;
use crate::error::Outcome;
use crate::numeric::cholesky;
use crate::numeric::dense;
use crate::rng::Rng;
use crate::stored::{Check, ensure, finite};

/// The residual to second order around a reference point, as a function of delta = point -
/// reference.
///
/// Adapted in warm-up and then fixed. It affects the efficiency of a move and not its validity:
/// poor proposals are rejected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::chain) struct Surrogate {
    pub(in crate::chain) reference: Vec<f64>,
    /// Derivatives of the residual, averaged over draws of the standardised noise: a row for each
    /// statistic.
    pub(in crate::chain) slope: Vec<f64>,
    /// Second derivatives: a symmetric matrix for each statistic.
    pub(in crate::chain) curvature: Vec<f64>,
    /// Minus the second derivatives of the log prior.
    pub(in crate::chain) prior_precision: Vec<f64>,
    /// The lower Cholesky factor of the posterior's covariance given the standardised noise, to
    /// first order of the residual.
    pub(in crate::chain) spread: Vec<f64>,
    /// The lower Cholesky factor of theta's covariance: the empirical one or, before its first
    /// window is complete, the one given the standardised noise.
    pub(in crate::chain) theta_spread: Vec<f64>,
    learned: Moments,
}

/// Fills with standard normal numbers.
pub(in crate::chain) fn fill_normals(out: &mut [f64], rng: &mut Rng) {
    out.iter_mut().for_each(|x| *x = rng.sample(StandardNormal));
}

impl Surrogate {
    /// The surrogate around the posterior mode at the standardised noise of `state`. Also moves the
    /// state to an overdispersed point around it, to begin warm-up. `None` if no mode is found.
    pub(in crate::chain) fn begin(
        sums: &Sums,
        state: &mut State,
        rng: &mut Rng,
    ) -> Outcome<Option<Surrogate>> {
        let (mut standardised, mut scratch) = (Standardised::default(), Scratch::default());
        let mut point = Vec::new();
        if !sums.split(state, &mut standardised, &mut scratch, &mut point, rng)? {
            return Ok(None);
        }
        let (k, dim) = (sums.k, sums.dim());
        let (mut residual, mut slope) = (vec![0.0; k], vec![0.0; k * dim]);
        let weights = sums.precisions();
        let value = |point: &[f64], residual: &[f64]| {
            let weighted: Vec<f64> = residual.iter().zip(&weights).map(|(r, w)| r * w).collect();
            sums.log_prior(point) - 0.5 * dense::dot(residual, &weighted)
        };
        let mut initial = None;
        for _ in 0..MOST_NEWTON_STEPS {
            let exists = sums.residual_and_slope(
                &point,
                &standardised,
                &mut scratch,
                &mut residual,
                &mut slope,
            )?;
            if !exists {
                return Ok(None);
            }
            let before = value(&point, &residual);
            initial.get_or_insert(before);
            let prior = sums.log_prior_precision(&point);
            let Some(lower) = precision(sums, &prior, &slope, &weights) else { return Ok(None) };
            let mut step = vec![0.0; dim];
            sums.log_prior_gradient(&point, &mut step);
            residual.iter_mut().zip(&weights).for_each(|(r, w)| *r *= -w);
            dense::add_rows(&slope, &residual, &mut step);
            cholesky::solve_lower(&lower, &mut step);
            cholesky::solve_lower_transposed(&lower, &mut step);
            let mut gain = 0.0;
            for halving in 0..MOST_HALVINGS {
                let mut next = point.clone();
                dense::axpy(0.5_f64.powi(halving), &step, &mut next);
                let exists = sums.residual(&next, &standardised, &mut scratch, &mut residual)?;
                if exists && value(&next, &residual) > before {
                    gain = value(&next, &residual) - before;
                    point = next;
                    break;
                }
            }
            if gain < 0.1 {
                break;
            }
        }
        let Some(surrogate) = Surrogate::around(sums, point, rng, &mut scratch)? else {
            return Ok(None);
        };
        if !sums.residual(&surrogate.reference, &standardised, &mut scratch, &mut residual)? {
            return Ok(Some(surrogate));
        }
        let best = value(&surrogate.reference, &residual);
        let (mut noise, mut start) = (vec![0.0; dim], vec![0.0; dim]);
        fill_normals(&mut noise, rng);
        noise.iter_mut().for_each(|x| *x *= DISPERSION);
        for _ in 0..MOST_HALVINGS {
            cholesky::times_lower(&surrogate.spread, &noise, &mut start);
            dense::axpy(1.0, &surrogate.reference, &mut start);
            if !sums.log_prior(&start).is_finite() {
                break;
            }
            let exists = sums.residual(&start, &standardised, &mut scratch, &mut residual)?;
            // Beyond a clamp the spread is the prior's, and may reach past the other clamp: a chain that
            // starts there prefers any theta, however large, under which some records come back.
            let least = best - MOST_FALL * 0.5 * dense::dot(&noise, &noise);
            let is_lost = exists && value(&start, &residual) < initial.unwrap_or(best).min(least);
            if !is_lost {
                sums.place(&start, &standardised, &mut scratch, state)?;
                break;
            }
            noise.iter_mut().for_each(|x| *x *= 0.5);
        }
        Ok(Some(surrogate))
    }

    /// The surrogate around a point, with derivatives averaged over a few fresh draws of the noise.
    fn around(
        sums: &Sums,
        reference: Vec<f64>,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Outcome<Option<Surrogate>> {
        let (k, dim) = (sums.k, sums.dim());
        let patterns = match sums.jumps {
            true => (RECORDS_THAT_JUMP / sums.n).clamp(1, 64),
            false => (RECORDS_FOR_AVERAGE / sums.n).clamp(1, 16),
        };
        let share = 1.0 / patterns as f64;
        let mut slope = vec![0.0; k * dim];
        let mut drawn = Vec::new();
        let (mut residual, mut one) = (vec![0.0; k], vec![0.0; k * dim]);
        for _ in 0..patterns {
            let Some(standardised) = fresh_noise(sums, rng) else { return Ok(None) };
            if !sums.residual_and_slope(
                &reference,
                &standardised,
                scratch,
                &mut residual,
                &mut one,
            )? {
                return Ok(None);
            }
            dense::axpy(share, &one, &mut slope);
            drawn.push(standardised);
        }
        let prior_precision = sums.log_prior_precision(&reference);
        let lower = precision(sums, &prior_precision, &slope, &sums.precisions());
        let Some(spread) = lower.and_then(|lower| factor_of_inverse(&lower, dim)) else {
            return Ok(None);
        };
        let mut curvature = vec![0.0; k * dim * dim];
        let mut other = one.clone();
        for i in 0..dim {
            let row = &spread[i * dim..][..=i];
            let width = if sums.jumps { 1.0 } else { 0.3 } * dense::dot(row, row).sqrt();
            for standardised in &drawn {
                let mut moved = reference.clone();
                moved[i] += width;
                let mut exists = sums.residual_and_slope(
                    &moved,
                    standardised,
                    scratch,
                    &mut residual,
                    &mut one,
                )?;
                moved[i] -= 2.0 * width;
                exists &= sums.residual_and_slope(
                    &moved,
                    standardised,
                    scratch,
                    &mut residual,
                    &mut other,
                )?;
                // At the boundary of the support there is no second side.
                if !exists {
                    continue;
                }
                for k in 0..k {
                    let hamiltonian = &mut curvature[k * dim * dim..][..dim * dim];
                    for j in 0..dim {
                        let change = one[k * dim + j] - other[k * dim + j];
                        let second = 0.5 * share * change / (2.0 * width);
                        hamiltonian[i * dim + j] += second;
                        hamiltonian[j * dim + i] += second;
                    }
                }
            }
        }
        let finite = slope.iter().chain(&curvature).all(|x| x.is_finite());
        let learned = Moments::new(dim);
        let p = sums.p;
        let theta_spread = (0..p).flat_map(|i| spread[i * dim..][..p].to_vec()).collect();
        let surrogate = Surrogate {
            reference,
            slope,
            curvature,
            prior_precision,
            spread,
            theta_spread,
            learned,
        };
        Ok(finite.then_some(surrogate))
    }

    /// Whether this is a valid surrogate of `sums`.
    pub(in crate::chain) fn check(&self, sums: &Sums) -> Check {
        let (k, p, dim) = (sums.k, sums.p, sums.dim());
        finite("the reference", dim, &self.reference)?;
        finite("the slope", k * dim, &self.slope)?;
        finite("the curvature", k * dim * dim, &self.curvature)?;
        finite("the prior's precision", dim * dim, &self.prior_precision)?;
        finite("the spread", dim * dim, &self.spread)?;
        finite("the spread of theta", p * p, &self.theta_spread)?;
        let factors = [(&self.spread, dim), (&self.theta_spread, p)];
        let is_factor = |(factor, dim): (&Vec<f64>, usize)| {
            factor.iter().step_by(dim + 1).all(|&diagonal| diagonal > 0.0)
        };
        ensure(
            factors.into_iter().all(is_factor),
            "a stored covariance factor is not a Cholesky factor",
        )?;
        self.learned.check(dim)
    }

    /// Adapts to one more point of the chain.
    pub(in crate::chain) fn learn(&mut self, sums: &Sums, point: &[f64], rng: &mut Rng) -> Outcome {
        if !self.learned.push(&DVector::from_column_slice(point)) {
            return Ok(());
        }
        let mean = self.learned.mean().as_slice().to_vec();
        if let Some(surrogate) = Surrogate::around(sums, mean, rng, &mut Scratch::default())? {
            let (p, dim) = (sums.p, point.len());
            let lower = DMatrix::from_row_slice(dim, dim, &surrogate.spread).lower_triangle();
            let all = self.learned.covariance(&(&lower * lower.transpose()));
            let mut of_theta: Vec<f64> = (0..p * p).map(|at| all[(at / p, at % p)]).collect();
            let theta_spread = match cholesky::lower(&mut of_theta, p) {
                true => of_theta,
                false => surrogate.theta_spread,
            };
            *self = Surrogate { learned: self.learned.clone(), theta_spread, ..surrogate };
        }
        Ok(())
    }

    /// The surrogate at given standardised noise: with its own residual at the reference, and its
    /// own slope if that is worth the cost.
    pub(in crate::chain) fn at(
        &self,
        sums: &Sums,
        standardised: &Standardised,
        own_slope: bool,
        scratch: &mut Scratch,
    ) -> Outcome<Option<Local<'_>>> {
        let mut residual = vec![0.0; sums.k];
        if !own_slope {
            let exists = sums.residual(&self.reference, standardised, scratch, &mut residual)?;
            let slope = Cow::Borrowed(self.slope.as_slice());
            return Ok(exists.then_some(Local { surrogate: self, residual, slope }));
        }
        let mut slope = vec![0.0; sums.k * sums.dim()];
        let reference = &self.reference;
        let exists =
            sums.residual_and_slope(reference, standardised, scratch, &mut residual, &mut slope)?;
        Ok(exists.then_some(Local { surrogate: self, residual, slope: Cow::Owned(slope) }))
    }
}

/// The dispersion of a start relative to the posterior.
const DISPERSION: f64 = 1.5;

/// A start is lost if it is worse than the state before it, and its log density falls below the mode's by
/// so many times what that of a normal posterior would. It is then drawn in towards the mode.
const MOST_FALL: f64 = 1000.0;

const MOST_NEWTON_STEPS: usize = 20;
const MOST_HALVINGS: i32 = 10;

/// Draws of the noise are averaged over until they have this many records in total.
const RECORDS_FOR_AVERAGE: usize = 1000;

/// The same if records jump.
const RECORDS_THAT_JUMP: usize = 8000;

/// The standardised noise of a fresh draw of the noise.
fn fresh_noise(sums: &Sums, rng: &mut Rng) -> Option<Standardised> {
    let mut standardised = Standardised::default();
    fill_normals(standardised.columns_mut(sums.n, sums.d), rng);
    standardised.measure(sums.d).then_some(standardised)
}

/// The lower Cholesky factor of the posterior precision, to first order of the residual, whose
/// coordinates have these precisions.
fn precision(sums: &Sums, prior: &[f64], slope: &[f64], weights: &[f64]) -> Option<Vec<f64>> {
    let dim = sums.dim();
    let mut matrix = Vec::new();
    cholesky::lower_gram(slope, weights, prior, &mut matrix);
    (0..dim).for_each(|i| matrix[i * (dim + 1)] *= 1.0 + 1e-9);
    cholesky::lower(&mut matrix, dim).then_some(matrix)
}

/// The lower Cholesky factor of the inverse of LL', given L.
fn factor_of_inverse(lower: &[f64], dim: usize) -> Option<Vec<f64>> {
    let mut columns = vec![0.0; dim * dim];
    for (c, column) in columns.chunks_exact_mut(dim).enumerate() {
        column[c] = 1.0;
        cholesky::solve_lower(lower, column);
        cholesky::solve_lower_transposed(lower, column);
    }
    cholesky::lower(&mut columns, dim).then_some(columns)
}
