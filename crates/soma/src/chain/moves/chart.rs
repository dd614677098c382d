//! A map of the residual near the posterior: what the block and the refresh steer by.

use nalgebra::{Cholesky, DMatrix, DVector};
use rand::RngExt;
use rand_distr::{Distribution, InverseGaussian, StandardNormal};
use serde::{Deserialize, Serialize};

use super::State;
use super::frame::Frame;
use super::learned::Learned;
use super::sums::{Scratch, Sums};
use crate::error::Outcome;
use crate::release::mechanism::Shape;
use crate::rng::Rng;

/// The residual to second order around a reference point, in coordinates x in which the posterior
/// is nearly standard normal: point = reference + whitening x.
///
/// Learned in warm-up and then frozen. Nothing here needs to be right for a move to be valid: a
/// poor map makes poor proposals, which are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Chart {
    reference: DVector<f64>,
    whitening: DMatrix<f64>,
    unwhitening: DMatrix<f64>,
    /// Derivatives of the residual with respect to x, as an average over patterns.
    slope: DMatrix<f64>,
    /// Second derivatives: rows k P to (k + 1) P are those of residual k.
    curvature: DMatrix<f64>,
    /// Minus the second derivatives of the log prior with respect to x.
    prior_precision: DMatrix<f64>,
    learned: Learned,
}

/// The chart at one pattern.
pub(super) struct Local<'a> {
    chart: &'a Chart,
    residual: DVector<f64>,
    slope: std::borrow::Cow<'a, DMatrix<f64>>,
}

/// The variance that stands for the noise where its scale mixture has not been drawn.
fn variance(shape: Shape) -> f64 {
    match shape {
        Shape::Absolute => 2.0,
        Shape::Square => 1.0,
    }
}

/// Standard normal numbers.
pub(super) fn normals(count: usize, rng: &mut Rng) -> DVector<f64> {
    DVector::from_fn(count, |_, _| rng.sample(StandardNormal))
}

/// Draws variances v given a residual such that, with v, the noise is Gaussian: Laplace noise is
/// N(0, v) with v exponential of mean 2, so that 1/v given r is inverse Gaussian with mean 1/|r|
/// and shape 1 (Park and Casella 2008). A move that draws v and then leaves the posterior given v
/// invariant leaves the posterior invariant.
pub(super) fn draw_variances(shape: Shape, residual: &[f64], rng: &mut Rng) -> DVector<f64> {
    let draw = |r: &f64| match shape {
        Shape::Square => 1.0,
        Shape::Absolute => {
            let law = InverseGaussian::new(1.0 / r.abs().max(1e-9), 1.0).expect("positive");
            1.0 / law.sample(rng).clamp(1e-12, 1e12)
        }
    };
    DVector::from_iterator(residual.len(), residual.iter().map(draw))
}

/// The log density of Gaussian noise with variances v, up to a constant.
pub(super) fn log_gaussian(residual: &[f64], variances: &DVector<f64>) -> f64 {
    -0.5 * residual.iter().zip(variances.iter()).map(|(r, v)| r * r / v).sum::<f64>()
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
        let Some(mut point) = sums.split(state, &mut pattern)? else { return Ok(None) };
        let mut residual = DVector::zeros(sums.k);
        let mut slope = DMatrix::zeros(sums.k, sums.dim());
        let value = |point: &DVector<f64>, residual: &DVector<f64>| {
            sums.log_prior(point.as_slice()) - 0.5 * residual.norm_squared() / variance(shape)
        };
        for _ in 0..MOST_NEWTON_STEPS {
            let exists = sums.residual(
                point.as_slice(),
                &pattern,
                &mut scratch,
                &mut residual,
                Some(&mut slope),
            )?;
            if !exists {
                return Ok(None);
            }
            let before = value(&point, &residual);
            let Some(precision) = precision(sums, &point, &slope, shape) else { return Ok(None) };
            let gradient = sums.log_prior_gradient(point.as_slice())
                - slope.tr_mul(&residual) / variance(shape);
            let step = precision.solve(&gradient);
            let mut gain = 0.0;
            for halving in 0..MOST_HALVINGS {
                let next = &point + &step * 0.5_f64.powi(halving);
                let exists =
                    sums.residual(next.as_slice(), &pattern, &mut scratch, &mut residual, None)?;
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
        let point = chart.point(&(normals(sums.dim(), rng) * DISPERSION));
        if sums.log_prior(point.as_slice()).is_finite() {
            sums.place(point.as_slice(), &pattern, state)?;
        }
        Ok(Some(chart))
    }

    /// The chart around a point, its derivatives averaged over a few fresh patterns.
    fn around(
        sums: &Sums,
        shape: Shape,
        reference: DVector<f64>,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) -> Outcome<Option<Chart>> {
        let dim = sums.dim();
        let patterns = (RECORDS_FOR_AVERAGE / sums.n).clamp(1, 16);
        let mut slope = DMatrix::zeros(sums.k, dim);
        let mut drawn = Vec::new();
        let (mut residual, mut one) = (DVector::zeros(sums.k), DMatrix::zeros(sums.k, dim));
        for _ in 0..patterns {
            let Some(pattern) = fresh_pattern(sums, rng) else { return Ok(None) };
            let exists = sums.residual(
                reference.as_slice(),
                &pattern,
                scratch,
                &mut residual,
                Some(&mut one),
            )?;
            if !exists {
                return Ok(None);
            }
            slope += &one / patterns as f64;
            drawn.push(pattern);
        }
        let Some(precision) = precision(sums, &reference, &slope, shape) else { return Ok(None) };
        let unwhitening = precision.l().transpose();
        let Some(whitening) = unwhitening.solve_upper_triangular(&DMatrix::identity(dim, dim))
        else {
            return Ok(None);
        };
        let mut raw = DMatrix::zeros(sums.k * dim, dim);
        let mut other = one.clone();
        for pattern in &drawn {
            for i in 0..dim {
                let width = 0.3 * whitening.row(i).norm();
                let mut moved = reference.clone();
                moved[i] += width;
                let mut exists = sums.residual(
                    moved.as_slice(),
                    pattern,
                    scratch,
                    &mut residual,
                    Some(&mut one),
                )?;
                moved[i] -= 2.0 * width;
                exists &= sums.residual(
                    moved.as_slice(),
                    pattern,
                    scratch,
                    &mut residual,
                    Some(&mut other),
                )?;
                // Next to the edge of the space there is no second side to look at.
                if !exists {
                    continue;
                }
                for k in 0..sums.k {
                    for j in 0..dim {
                        let second = (one[(k, j)] - other[(k, j)]) / (2.0 * width);
                        raw[(k * dim + i, j)] += 0.5 * second / patterns as f64;
                        raw[(k * dim + j, i)] += 0.5 * second / patterns as f64;
                    }
                }
            }
        }
        let mut curvature = DMatrix::zeros(sums.k * dim, dim);
        for k in 0..sums.k {
            let of_one = whitening.tr_mul(&(raw.rows(k * dim, dim) * &whitening));
            curvature.rows_mut(k * dim, dim).copy_from(&of_one);
        }
        let prior = sums.log_prior_precision(reference.as_slice());
        let chart = Chart {
            slope: slope * &whitening,
            curvature,
            prior_precision: whitening.tr_mul(&(prior * &whitening)),
            learned: Learned::new(dim),
            reference,
            whitening,
            unwhitening,
        };
        let finite = |m: &DMatrix<f64>| m.iter().all(|x| x.is_finite());
        Ok((finite(&chart.slope) && finite(&chart.curvature)).then_some(chart))
    }

    /// Learns from one more point that the chain has passed.
    pub(super) fn learn(
        &mut self,
        sums: &Sums,
        shape: Shape,
        point: &DVector<f64>,
        rng: &mut Rng,
    ) -> Outcome {
        if !self.learned.push(point) {
            return Ok(());
        }
        let mean = self.learned.mean().clone();
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
        let reference = self.reference.as_slice();
        let mut residual = DVector::zeros(sums.k);
        if !own_slope {
            let exists = sums.residual(reference, pattern, scratch, &mut residual, None)?;
            let slope = std::borrow::Cow::Borrowed(&self.slope);
            return Ok(exists.then_some(Local { chart: self, residual, slope }));
        }
        let mut raw = DMatrix::zeros(sums.k, sums.dim());
        let exists = sums.residual(reference, pattern, scratch, &mut residual, Some(&mut raw))?;
        let slope = std::borrow::Cow::Owned(raw * &self.whitening);
        Ok(exists.then_some(Local { chart: self, residual, slope }))
    }

    /// The gradient with respect to x of the log posterior with Gaussian noise of variances v, by
    /// the residual itself. `None` where there is no such point.
    pub(super) fn gradient(
        &self,
        sums: &Sums,
        x: &DVector<f64>,
        variances: &DVector<f64>,
        pattern: &[f64],
        scratch: &mut Scratch,
    ) -> Outcome<Option<DVector<f64>>> {
        let point = self.point(x);
        let mut residual = DVector::zeros(sums.k);
        let mut slope = DMatrix::zeros(sums.k, sums.dim());
        let (point, to) = (point.as_slice(), Some(&mut slope));
        if !sums.residual(point, pattern, scratch, &mut residual, to)? {
            return Ok(None);
        }
        let pull = slope.tr_mul(&residual.component_div(variances));
        Ok(Some(self.whitening.tr_mul(&(sums.log_prior_gradient(point) - pull))))
    }

    /// The point at x.
    pub(super) fn point(&self, x: &DVector<f64>) -> DVector<f64> {
        &self.reference + &self.whitening * x
    }

    /// x at a point.
    pub(super) fn coordinates(&self, point: &DVector<f64>) -> DVector<f64> {
        &self.unwhitening * (point - &self.reference)
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
    noise.iter_mut().for_each(|e| *e = rng.sample(StandardNormal));
    Frame::split(&mut noise, sums.d).map(|_| noise)
}

/// The precision of the posterior at a point, to first order of the residual.
fn precision(
    sums: &Sums,
    point: &DVector<f64>,
    slope: &DMatrix<f64>,
    shape: Shape,
) -> Option<Cholesky<f64, nalgebra::Dyn>> {
    let mut matrix =
        slope.tr_mul(slope) / variance(shape) + sums.log_prior_precision(point.as_slice());
    (0..point.len()).for_each(|i| matrix[(i, i)] *= 1.0 + 1e-9);
    Cholesky::new(matrix)
}

impl Local<'_> {
    /// The residual at x, to second order. `bend` is filled with the curvature times x.
    pub(super) fn residual(&self, x: &DVector<f64>, bend: &mut DVector<f64>) -> DVector<f64> {
        bend.gemv(1.0, &self.chart.curvature, x, 0.0);
        let mut residual = self.residual.clone();
        residual.gemv(1.0, &self.slope, x, 1.0);
        for (r, bend) in residual.iter_mut().zip(bend.as_slice().chunks_exact(x.len())) {
            *r += 0.5 * bend.iter().zip(x.iter()).map(|(b, x)| b * x).sum::<f64>();
        }
        residual
    }

    /// Room for [`residual`](Self::residual)'s `bend`.
    pub(super) fn bend(&self) -> DVector<f64> {
        DVector::zeros(self.chart.curvature.nrows())
    }

    /// The derivatives of the residual with respect to x.
    fn derivatives(&self, bend: &DVector<f64>) -> DMatrix<f64> {
        let dim = self.slope.ncols();
        let mut all = self.slope.clone().into_owned();
        for (k, bend) in bend.as_slice().chunks_exact(dim).enumerate() {
            bend.iter().enumerate().for_each(|(i, b)| all[(k, i)] += b);
        }
        all
    }

    /// The gradient at x of the log posterior with Gaussian noise of variances v.
    pub(super) fn gradient(
        &self,
        sums: &Sums,
        x: &DVector<f64>,
        variances: &DVector<f64>,
        bend: &mut DVector<f64>,
    ) -> DVector<f64> {
        let pull = self.residual(x, bend).component_div(variances);
        let prior = sums.log_prior_gradient(self.chart.point(x).as_slice());
        let mut gradient = self.chart.whitening.tr_mul(&prior);
        gradient.gemv_tr(-1.0, &self.slope, &pull, 1.0);
        for (pull, bend) in pull.iter().zip(bend.as_slice().chunks_exact(x.len())) {
            gradient.iter_mut().zip(bend).for_each(|(g, b)| *g -= pull * b);
        }
        gradient
    }

    /// A Gaussian stand-in for the law of theta at this pattern, given variances v: its mode and
    /// the lower Cholesky factor of its covariance.
    pub(super) fn theta_law(
        &self,
        sums: &Sums,
        variances: &DVector<f64>,
    ) -> Option<(DVector<f64>, DMatrix<f64>)> {
        let chart = self.chart;
        let mut x = DVector::zeros(chart.reference.len());
        let mut bend = self.bend();
        let mut factor = None;
        for _ in 0..JOINT_STEPS {
            let gradient = self.gradient(sums, &x, variances, &mut bend);
            let derivatives = self.derivatives(&bend);
            let precision =
                derivatives.tr_mul(&weighted(&derivatives, variances)) + &chart.prior_precision;
            let cholesky = Cholesky::new(precision)?;
            x += cholesky.solve(&gradient);
            factor = Some(cholesky);
        }
        let rows = chart.whitening.rows(0, sums.p);
        let half = factor?.l().solve_lower_triangular(&rows.transpose())?;
        let covariance = Cholesky::new(half.tr_mul(&half))?;
        let mode = chart.point(&x).rows(0, sums.p).clone_owned();
        mode.iter().all(|t| t.is_finite()).then_some((mode, covariance.unpack()))
    }

    /// A Gaussian stand-in for the law of the frame given theta at this pattern, given variances
    /// v: its centre and the lower Cholesky factor of its precision. The last step towards the
    /// centre is by the residual itself, at the cost of one pass.
    pub(super) fn frame_law(
        &self,
        sums: &Sums,
        free: &[f64],
        variances: &DVector<f64>,
        pattern: &[f64],
        scratch: &mut Scratch,
    ) -> Outcome<Option<(DVector<f64>, DMatrix<f64>)>> {
        let p = sums.p;
        let q = sums.dim() - p;
        let mut point = self.chart.reference.clone();
        point.as_mut_slice()[..p].copy_from_slice(free);
        let mut bend = self.bend();
        let mut lower = DMatrix::zeros(0, 0);
        for step in 0..=FRAME_STEPS {
            let x = self.chart.coordinates(&point);
            let mut residual = self.residual(&x, &mut bend);
            let last = step == FRAME_STEPS;
            if last && !sums.residual(point.as_slice(), pattern, scratch, &mut residual, None)? {
                return Ok(None);
            }
            let derivatives = self.derivatives(&bend) * self.chart.unwhitening.columns(p, q);
            let scaled = weighted(&derivatives, variances);
            let mut precision = derivatives.tr_mul(&scaled);
            let mut gradient = -scaled.tr_mul(&residual);
            let (mut slope, mut curve) = (vec![0.0; q], vec![0.0; q]);
            let coordinates = &point.as_slice()[p..];
            super::frame::log_prior_shape(sums.n, sums.d, coordinates, &mut slope, &mut curve);
            for i in 0..q {
                precision[(i, i)] += curve[i];
                gradient[i] += slope[i];
            }
            let Some(cholesky) = Cholesky::new(precision) else { return Ok(None) };
            let mut coordinates = point.rows_mut(p, q);
            coordinates += cholesky.solve(&gradient);
            lower = cholesky.unpack();
        }
        let centre = point.rows(p, q).clone_owned();
        Ok(centre.iter().all(|x| x.is_finite()).then_some((centre, lower)))
    }
}

/// Newton steps on the chart towards the joint mode, and towards the frame's given theta.
const JOINT_STEPS: usize = 3;
const FRAME_STEPS: usize = 3;

/// Each row divided by its variance.
fn weighted(rows: &DMatrix<f64>, variances: &DVector<f64>) -> DMatrix<f64> {
    let mut scaled = rows.clone();
    for (mut row, v) in scaled.row_iter_mut().zip(variances.iter()) {
        row /= *v;
    }
    scaled
}
