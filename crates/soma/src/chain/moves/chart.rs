//! A map of the residual near the posterior: what the block and the refresh steer by.

use std::borrow::Cow;

use nalgebra::DVector;
use rand::RngExt;
use rand_distr::{Distribution, InverseGaussian, StandardNormal};
use serde::{Deserialize, Serialize};

use super::State;
use super::dense;
use super::frame::{self, Frame};
use super::learned::Learned;
use super::sums::{Scratch, Sums};
use crate::error::Outcome;
use crate::release::mechanism::Shape;
use crate::rng::Rng;

/// The residual to second order around a reference point, a function of delta = point - reference.
///
/// Learned in warm-up and then frozen. Nothing here needs to be right for a move to be valid: a
/// poor map makes poor proposals, which are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Chart {
    pub(super) reference: Vec<f64>,
    /// Derivatives of the residual, as an average over patterns: a row for each statistic.
    slope: Vec<f64>,
    /// Second derivatives: a symmetric matrix for each statistic.
    curvature: Vec<f64>,
    /// Minus the second derivatives of the log prior.
    prior_precision: Vec<f64>,
    /// The lower Cholesky factor of the posterior's covariance given the pattern, to first order
    /// of the residual.
    pub(super) spread: Vec<f64>,
    learned: Learned,
}

/// The chart at one pattern.
pub(super) struct Local<'a> {
    chart: &'a Chart,
    residual: Vec<f64>,
    slope: Cow<'a, [f64]>,
}

/// Memory that is used again from one evaluation on the chart to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    delta: Vec<f64>,
    bend: Vec<f64>,
    residual: Vec<f64>,
    rows: Vec<f64>,
    precision: Vec<f64>,
    gradient: Vec<f64>,
    of_prior: Vec<f64>,
}

/// A normal or Student law: its centre and a lower Cholesky factor.
pub(super) struct Law {
    pub(super) centre: Vec<f64>,
    pub(super) lower: Vec<f64>,
}

/// The precision that stands for that of the noise where its scale mixture has not been drawn: one
/// over its variance.
fn noise_precision(shape: Shape) -> f64 {
    match shape {
        Shape::Absolute => 0.5,
        Shape::Square => 1.0,
    }
}

/// Fills with standard normal numbers.
pub(super) fn fill_normals(out: &mut [f64], rng: &mut Rng) {
    out.iter_mut().for_each(|x| *x = rng.sample(StandardNormal));
}

/// Draws precisions 1/v given a residual such that, with v, the noise is Gaussian: Laplace noise
/// is N(0, v) with v exponential of mean 2, so that 1/v given r is inverse Gaussian with mean
/// 1/|r| and shape 1 (Park and Casella 2008). A move that draws v and then leaves the posterior
/// given v invariant leaves the posterior invariant.
pub(super) fn draw_precisions(shape: Shape, residual: &[f64], out: &mut Vec<f64>, rng: &mut Rng) {
    let draw = |r: &f64| match shape {
        Shape::Square => 1.0,
        Shape::Absolute => {
            let law = InverseGaussian::new(1.0 / r.abs().max(1e-9), 1.0).expect("positive");
            law.sample(rng).clamp(1e-12, 1e12)
        }
    };
    out.clear();
    out.extend(residual.iter().map(draw));
}

/// The log density of Gaussian noise with these precisions, up to a constant.
pub(super) fn log_gaussian(residual: &[f64], precisions: &[f64]) -> f64 {
    -0.5 * residual.iter().zip(precisions).map(|(r, w)| r * r * w).sum::<f64>()
}

impl Chart {
    /// The chart around the posterior mode at the pattern of `state`, and the state moved to a
    /// point that is dispersed around it: how a warm-up begins. `None` where no mode can be found.
    pub(super) fn begin(
        sums: &Sums,
        shape: Shape,
        state: &mut State,
        rng: &mut Rng,
    ) -> Outcome<Option<Chart>> {
        let (mut pattern, mut scratch) = (Vec::new(), Scratch::default());
        let mut point = Vec::new();
        if !sums.split(state, &mut pattern, &mut scratch, &mut point)? {
            return Ok(None);
        }
        let (k, dim) = (sums.k, sums.dim());
        let (mut residual, mut slope) = (vec![0.0; k], vec![0.0; k * dim]);
        let value = |point: &[f64], residual: &[f64]| {
            sums.log_prior(point) - 0.5 * noise_precision(shape) * dense::dot(residual, residual)
        };
        for _ in 0..MOST_NEWTON_STEPS {
            let exists =
                sums.residual_and_slope(&point, &pattern, &mut scratch, &mut residual, &mut slope)?;
            if !exists {
                return Ok(None);
            }
            let before = value(&point, &residual);
            let prior = sums.log_prior_precision(&point);
            let Some(lower) = precision(sums, &prior, &slope, shape) else { return Ok(None) };
            let mut step = vec![0.0; dim];
            sums.log_prior_gradient(&point, &mut step);
            residual.iter_mut().for_each(|r| *r *= -noise_precision(shape));
            dense::add_rows(&slope, &residual, &mut step);
            dense::solve_lower(&lower, &mut step);
            dense::solve_lower_transposed(&lower, &mut step);
            let mut gain = 0.0;
            for halving in 0..MOST_HALVINGS {
                let mut next = point.clone();
                dense::axpy(0.5_f64.powi(halving), &step, &mut next);
                let exists = sums.residual(&next, &pattern, &mut scratch, &mut residual)?;
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
        let Some(chart) = Chart::around(sums, shape, point, rng, &mut scratch)? else {
            return Ok(None);
        };
        let (mut noise, mut start) = (vec![0.0; dim], vec![0.0; dim]);
        fill_normals(&mut noise, rng);
        noise.iter_mut().for_each(|x| *x *= DISPERSION);
        dense::times_lower(&chart.spread, &noise, &mut start);
        dense::axpy(1.0, &chart.reference, &mut start);
        if sums.log_prior(&start).is_finite() {
            sums.place(&start, &pattern, &mut scratch, state)?;
        }
        Ok(Some(chart))
    }

    /// The chart around a point, its derivatives averaged over a few fresh patterns.
    fn around(
        sums: &Sums,
        shape: Shape,
        reference: Vec<f64>,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Outcome<Option<Chart>> {
        let (k, dim) = (sums.k, sums.dim());
        let patterns = (RECORDS_FOR_AVERAGE / sums.n).clamp(1, 16);
        let share = 1.0 / patterns as f64;
        let mut slope = vec![0.0; k * dim];
        let mut drawn = Vec::new();
        let (mut residual, mut one) = (vec![0.0; k], vec![0.0; k * dim]);
        for _ in 0..patterns {
            let Some(pattern) = fresh_pattern(sums, rng) else { return Ok(None) };
            if !sums.residual_and_slope(&reference, &pattern, scratch, &mut residual, &mut one)? {
                return Ok(None);
            }
            dense::axpy(share, &one, &mut slope);
            drawn.push(pattern);
        }
        let prior_precision = sums.log_prior_precision(&reference);
        let lower = precision(sums, &prior_precision, &slope, shape);
        let Some(spread) = lower.and_then(|lower| factor_of_inverse(&lower, dim)) else {
            return Ok(None);
        };
        let mut curvature = vec![0.0; k * dim * dim];
        let mut other = one.clone();
        for i in 0..dim {
            let row = &spread[i * dim..][..=i];
            let width = 0.3 * dense::dot(row, row).sqrt();
            for pattern in &drawn {
                let mut moved = reference.clone();
                moved[i] += width;
                let mut exists =
                    sums.residual_and_slope(&moved, pattern, scratch, &mut residual, &mut one)?;
                moved[i] -= 2.0 * width;
                exists &=
                    sums.residual_and_slope(&moved, pattern, scratch, &mut residual, &mut other)?;
                // Next to the edge of the space there is no second side to look at.
                if !exists {
                    continue;
                }
                for k in 0..k {
                    let block = &mut curvature[k * dim * dim..][..dim * dim];
                    for j in 0..dim {
                        let change = one[k * dim + j] - other[k * dim + j];
                        let second = 0.5 * share * change / (2.0 * width);
                        block[i * dim + j] += second;
                        block[j * dim + i] += second;
                    }
                }
            }
        }
        let finite = slope.iter().chain(&curvature).all(|x| x.is_finite());
        let learned = Learned::new(dim);
        let chart = Chart { reference, slope, curvature, prior_precision, spread, learned };
        Ok(finite.then_some(chart))
    }

    /// Learns from one more point that the chain has passed.
    pub(super) fn learn(
        &mut self,
        sums: &Sums,
        shape: Shape,
        point: &[f64],
        rng: &mut Rng,
    ) -> Outcome {
        if !self.learned.push(&DVector::from_column_slice(point)) {
            return Ok(());
        }
        let mean = self.learned.mean().as_slice().to_vec();
        if let Some(chart) = Chart::around(sums, shape, mean, rng, &mut Scratch::default())? {
            *self = Chart { learned: self.learned.clone(), ..chart };
        }
        Ok(())
    }

    /// The chart at a pattern: its own residual at the reference, and its own slope where that is
    /// worth the cost.
    pub(super) fn at(
        &self,
        sums: &Sums,
        pattern: &[f64],
        own_slope: bool,
        scratch: &mut Scratch,
    ) -> Outcome<Option<Local<'_>>> {
        let mut residual = vec![0.0; sums.k];
        if !own_slope {
            let exists = sums.residual(&self.reference, pattern, scratch, &mut residual)?;
            let slope = Cow::Borrowed(self.slope.as_slice());
            return Ok(exists.then_some(Local { chart: self, residual, slope }));
        }
        let mut slope = vec![0.0; sums.k * sums.dim()];
        let reference = &self.reference;
        let exists =
            sums.residual_and_slope(reference, pattern, scratch, &mut residual, &mut slope)?;
        Ok(exists.then_some(Local { chart: self, residual, slope: Cow::Owned(slope) }))
    }
}

/// How many times more than the posterior a start is dispersed.
const DISPERSION: f64 = 1.5;

const MOST_NEWTON_STEPS: usize = 20;
const MOST_HALVINGS: i32 = 10;

/// Patterns are averaged over until they have as many records as this together.
const RECORDS_FOR_AVERAGE: usize = 1000;

/// The pattern of fresh noise.
fn fresh_pattern(sums: &Sums, rng: &mut Rng) -> Option<Vec<f64>> {
    let mut noise = vec![0.0; sums.n * sums.d];
    fill_normals(&mut noise, rng);
    Frame::split(&mut noise, sums.d).map(|_| noise)
}

/// The lower Cholesky factor of the precision of the posterior, to first order of the residual.
fn precision(sums: &Sums, prior: &[f64], slope: &[f64], shape: Shape) -> Option<Vec<f64>> {
    let dim = sums.dim();
    let mut matrix = Vec::new();
    let weights = vec![noise_precision(shape); sums.k];
    dense::add_weighted_gram(slope, &weights, prior, &mut matrix);
    (0..dim).for_each(|i| matrix[i * (dim + 1)] *= 1.0 + 1e-9);
    dense::cholesky(&mut matrix, dim).then_some(matrix)
}

/// The lower Cholesky factor of the inverse of LL', given L.
fn factor_of_inverse(lower: &[f64], dim: usize) -> Option<Vec<f64>> {
    let mut columns = vec![0.0; dim * dim];
    for (c, column) in columns.chunks_exact_mut(dim).enumerate() {
        column[c] = 1.0;
        dense::solve_lower(lower, column);
        dense::solve_lower_transposed(lower, column);
    }
    dense::cholesky(&mut columns, dim).then_some(columns)
}

impl Local<'_> {
    /// The residual at the point that is `delta` from the reference, to second order, into
    /// `work.residual`; `work.bend` has the curvature times delta.
    fn residual(&self, work: &mut Work) {
        let Work { delta, bend, residual, .. } = work;
        let dim = delta.len();
        bend.resize(self.slope.len(), 0.0);
        dense::times_each(&self.chart.curvature, delta, bend);
        residual.clear();
        let rows = self.slope.chunks_exact(dim).zip(bend.chunks_exact(dim));
        residual.extend(self.residual.iter().zip(rows).map(|(r, (slope, bend))| {
            r + dense::dot(slope, delta) + 0.5 * dense::dot(bend, delta)
        }));
    }

    /// The gradient at a point of the log posterior, the log density of the noise having the
    /// derivatives `-pull(r_k)`.
    pub(super) fn gradient(
        &self,
        sums: &Sums,
        point: &[f64],
        pull: impl Fn(usize, f64) -> f64,
        work: &mut Work,
        gradient: &mut [f64],
    ) {
        let dim = point.len();
        work.delta.clear();
        work.delta.extend(point.iter().zip(&self.chart.reference).map(|(x, m)| x - m));
        self.residual(work);
        sums.log_prior_gradient(point, gradient);
        let rows = self.slope.chunks_exact(dim).zip(work.bend.chunks_exact(dim));
        for (k, ((slope, bend), r)) in rows.zip(&work.residual).enumerate() {
            let by = -pull(k, *r);
            gradient.iter_mut().zip(slope).zip(bend).for_each(|((g, s), b)| *g += by * (s + b));
        }
    }

    /// A Gaussian stand-in for the law of theta at this pattern, given the noise's precisions: its
    /// mode and the lower Cholesky factor of its covariance.
    pub(super) fn theta_law(
        &self,
        sums: &Sums,
        precisions: &[f64],
        work: &mut Work,
    ) -> Option<Law> {
        let (dim, p) = (self.chart.reference.len(), sums.p);
        let mut point = self.chart.reference.clone();
        let mut step = vec![0.0; dim];
        for _ in 0..JOINT_STEPS {
            self.gradient(sums, &point, |k, r| precisions[k] * r, work, &mut step);
            work.rows.clear();
            work.rows.extend(self.slope.iter().zip(&work.bend).map(|(s, b)| s + b));
            let (rows, prior) = (&work.rows, &self.chart.prior_precision);
            dense::add_weighted_gram(rows, precisions, prior, &mut work.precision);
            if !dense::cholesky(&mut work.precision, dim) {
                return None;
            }
            dense::solve_lower(&work.precision, &mut step);
            dense::solve_lower_transposed(&work.precision, &mut step);
            point.iter_mut().zip(&step).for_each(|(x, s)| *x += s);
        }
        let mut half = vec![0.0; p * dim];
        for (c, column) in half.chunks_exact_mut(dim).enumerate() {
            column[c] = 1.0;
            dense::solve_lower(&work.precision, column);
        }
        let mut lower = vec![0.0; p * p];
        for i in 0..p {
            for j in 0..=i {
                lower[i * p + j] = dense::dot(&half[i * dim..][..dim], &half[j * dim..][..dim]);
            }
        }
        point.truncate(p);
        let exists = dense::cholesky(&mut lower, p) && point.iter().all(|x| x.is_finite());
        exists.then_some(Law { centre: point, lower })
    }

    /// A Gaussian stand-in for the law of the frame given theta at this pattern, given the noise's
    /// precisions: its centre and the lower Cholesky factor of its precision. The last step
    /// towards the centre is by the residual itself, at the cost of one pass.
    pub(super) fn frame_law(
        &self,
        sums: &Sums,
        free: &[f64],
        precisions: &[f64],
        pattern: &[f64],
        scratch: &mut Scratch,
        work: &mut Work,
    ) -> Outcome<Option<Law>> {
        let (dim, p) = (sums.dim(), sums.p);
        let q = dim - p;
        let mut point = self.chart.reference.clone();
        point[..p].copy_from_slice(free);
        let mut base = vec![0.0; q * q];
        for step in 0..=FRAME_STEPS {
            work.delta.clear();
            work.delta.extend(point.iter().zip(&self.chart.reference).map(|(x, m)| x - m));
            self.residual(work);
            let last = step == FRAME_STEPS;
            if last && !sums.residual(&point, pattern, scratch, &mut work.residual)? {
                return Ok(None);
            }
            work.rows.clear();
            let both = self.slope.chunks_exact(dim).zip(work.bend.chunks_exact(dim));
            for (slope, bend) in both {
                work.rows.extend(slope[p..].iter().zip(&bend[p..]).map(|(s, b)| s + b));
            }
            work.of_prior.resize(q, 0.0);
            frame::log_prior_precision(sums.n, sums.d, &point[p..], &mut work.of_prior);
            work.of_prior.iter().enumerate().for_each(|(i, x)| base[i * (q + 1)] = *x);
            dense::add_weighted_gram(&work.rows, precisions, &base, &mut work.precision);
            work.gradient.resize(q, 0.0);
            frame::log_prior_gradient(sums.n, sums.d, &point[p..], &mut work.gradient);
            work.residual.iter_mut().zip(precisions).for_each(|(r, w)| *r *= -w);
            dense::add_rows(&work.rows, &work.residual, &mut work.gradient);
            if !dense::cholesky(&mut work.precision, q) {
                return Ok(None);
            }
            dense::solve_lower(&work.precision, &mut work.gradient);
            dense::solve_lower_transposed(&work.precision, &mut work.gradient);
            point[p..].iter_mut().zip(&work.gradient).for_each(|(x, s)| *x += s);
        }
        let centre = point.split_off(p);
        let exists = centre.iter().all(|x| x.is_finite());
        Ok(exists.then(|| Law { centre, lower: work.precision.clone() }))
    }
}

/// Newton steps on the chart towards the joint mode, and towards the frame's given theta.
const JOINT_STEPS: usize = 3;
const FRAME_STEPS: usize = 3;
