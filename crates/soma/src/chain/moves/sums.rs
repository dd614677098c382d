//! The residual of the release as a function of theta and the frame, at a given pattern.

use nalgebra::DMatrix;

use super::State;
use super::affine::Affine;
use super::dense;
use super::frame::{self, Frame, frame_dim};
use crate::chain::Problem;
use crate::error::Outcome;
use crate::model::Transport;

/// The step of finite differences, in units of a standard normal and of the unconstrained theta.
const STEP: f64 = 1e-4;

/// A problem whose records are functions of theta, a frame and a pattern. The coordinates of a
/// point are the unconstrained theta and then those of the frame.
pub(super) struct Sums<'a> {
    problem: &'a Problem,
    model: &'a dyn Transport,
    /// The short way, where model and query have it.
    affine: Option<Affine>,
    pub(super) n: usize,
    /// The length of a record's noise.
    pub(super) d: usize,
    /// The number of statistics.
    pub(super) k: usize,
    /// The number of parameters.
    pub(super) p: usize,
    /// How many rows are built at a time: few enough to stay in the first-level cache, unless the
    /// model or the query wants more.
    rows: usize,
    target: Vec<f64>,
    scales: Vec<f64>,
}

/// Memory that is used again from one evaluation to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    noise: Vec<f64>,
    records: Vec<f64>,
    statistics: Vec<f64>,
    moved: Vec<f64>,
    frame: Frame,
    theta: Vec<f64>,
    /// theta moved by a step in each of its unconstrained coordinates.
    nearby: Vec<f64>,
    units: Vec<f64>,
    /// Derivatives of the sums: a row for each coordinate, or for each statistic in those of the
    /// affine map.
    slopes: Vec<f64>,
    chain: Vec<f64>,
    pull: Vec<f64>,
}

impl<'a> Sums<'a> {
    /// `None` where the model is no function of noise, or the noise of n records has no frame.
    pub(super) fn new(problem: &'a Problem) -> Option<Self> {
        let model = problem.model().transport()?;
        let release = problem.release();
        let scales = release.sum_scales();
        let target = release.sums().iter().zip(&scales).map(|(s, b)| s / b).collect();
        let (n, d, k) = (release.n(), model.noise_dim(), release.query().dim());
        let p = model.parameters().len();
        let rows = model.rows_at_once().max(release.query().batch_size());
        let affine = Affine::new(model, release.query().as_ref());
        (n > d).then_some(Sums { problem, model, affine, n, d, k, p, rows, target, scales })
    }

    /// The number of coordinates of a point.
    pub(super) fn dim(&self) -> usize {
        self.p + frame_dim(self.d)
    }

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

    /// The point at which the state is; its pattern goes into `pattern`.
    pub(super) fn split(
        &self,
        state: &State,
        pattern: &mut Vec<f64>,
        scratch: &mut Scratch,
        point: &mut Vec<f64>,
    ) -> Outcome<bool> {
        let (n, d) = (self.n, self.d);
        scratch.noise.resize(n * d, 0.0);
        self.model.inverse(&state.theta, state.records.all(), &mut scratch.noise)?;
        pattern.resize(n * d, 0.0);
        for (j, column) in pattern.chunks_exact_mut(n).enumerate() {
            let of_j = scratch.noise.chunks_exact(d).map(|row| row[j]);
            column.iter_mut().zip(of_j).for_each(|(to, e)| *to = e);
        }
        let Some(frame) = Frame::split(pattern, d) else { return Ok(false) };
        point.resize(self.dim(), 0.0);
        let (free, coordinates) = point.split_at_mut(self.p);
        self.model.unconstrain(&state.theta, free);
        frame.coordinates(n, coordinates);
        Ok(point.iter().all(|x| x.is_finite()))
    }

    /// theta and all records at a point.
    pub(super) fn join(
        &self,
        point: &[f64],
        pattern: &[f64],
        scratch: &mut Scratch,
        theta: &mut [f64],
        records: &mut [f64],
    ) -> Outcome {
        let (free, coordinates) = point.split_at(self.p);
        self.model.constrain(free, theta);
        let _exists = scratch.frame.set(self.n, self.d, coordinates);
        if let Some(affine) = &self.affine {
            affine.records(&affine.map(self.model, theta, &scratch.frame), pattern, records);
            return Ok(());
        }
        scratch.noise.resize(pattern.len(), 0.0);
        scratch.frame.join(pattern, 0..self.n, &mut scratch.noise);
        self.model.forward(theta, &scratch.noise, records)
    }

    /// Puts a state at a point.
    pub(super) fn place(
        &self,
        point: &[f64],
        pattern: &[f64],
        scratch: &mut Scratch,
        state: &mut State,
    ) -> Outcome {
        let mut records = vec![0.0; state.records.all().len()];
        self.join(point, pattern, scratch, &mut state.theta, &mut records)?;
        state.records.set_all(self.problem.release(), &records)
    }

    /// Whether derivatives take no more than a few passes.
    pub(super) fn has_quick_slopes(&self) -> bool {
        self.affine.is_some()
    }

    /// The work of one evaluation of the residual, in passes over the records.
    pub(super) fn passes(&self, with_derivatives: bool) -> f64 {
        match (self.affine.is_some(), with_derivatives) {
            (true, false) => AFFINE_PASS,
            (true, true) => AFFINE_SLOPES,
            (false, false) => 1.0,
            (false, true) => 1.0 + (self.p + self.d) as f64,
        }
    }

    /// theta, its neighbours where derivatives are wanted, and the frame at a point. `false` where
    /// there is no such point.
    fn set(&self, point: &[f64], scratch: &mut Scratch, with_derivatives: bool) -> bool {
        let (free, coordinates) = point.split_at(self.p);
        let p = self.p;
        scratch.theta.resize(p, 0.0);
        self.model.constrain(free, &mut scratch.theta);
        if !scratch.frame.set(self.n, self.d, coordinates)
            || !self.log_prior_theta(free).is_finite()
        {
            return false;
        }
        if with_derivatives {
            scratch.nearby.resize(p * p, 0.0);
            let moved = &mut scratch.moved;
            moved.clear();
            moved.extend_from_slice(free);
            for (c, theta) in scratch.nearby.chunks_exact_mut(p).enumerate() {
                moved[c] = free[c] + STEP;
                self.model.constrain(moved, theta);
                moved[c] = free[c];
            }
            scratch.units.resize(coordinates.len(), 0.0);
            scratch.frame.units(self.n, &mut scratch.units);
        }
        true
    }

    /// From sums to the residual.
    fn to_residual(&self, sums: &mut [f64]) {
        for ((r, s), b) in sums.iter_mut().zip(&self.target).zip(&self.scales) {
            *r = s - *r / b;
        }
    }

    /// The residual at a point, in noise units. `false` where there is no such point.
    pub(super) fn residual(
        &self,
        point: &[f64],
        pattern: &[f64],
        scratch: &mut Scratch,
        residual: &mut [f64],
    ) -> Outcome<bool> {
        if !self.set(point, scratch, false) {
            return Ok(false);
        }
        match &self.affine {
            Some(affine) => {
                let map = affine.map(self.model, &scratch.theta, &scratch.frame);
                affine.sums(&map, pattern, residual, None);
            }
            None => self.add_up(pattern, scratch, residual, false)?,
        }
        self.to_residual(residual);
        Ok(true)
    }

    /// The residual at a point and its derivatives with respect to the coordinates, a row for each
    /// statistic. `false` where there is no such point.
    pub(super) fn residual_and_slope(
        &self,
        point: &[f64],
        pattern: &[f64],
        scratch: &mut Scratch,
        residual: &mut [f64],
        slope: &mut [f64],
    ) -> Outcome<bool> {
        if !self.set(point, scratch, true) {
            return Ok(false);
        }
        let dim = point.len();
        match &self.affine {
            Some(affine) => {
                self.affine_slopes(affine, pattern, scratch, residual);
                let q = frame_dim(self.d);
                for (k, of_map) in scratch.slopes.chunks_exact(q).enumerate() {
                    for (c, chain) in scratch.chain.chunks_exact(q).enumerate() {
                        slope[k * dim + c] = -dense::dot(of_map, chain) / self.scales[k];
                    }
                }
            }
            None => {
                self.add_up(pattern, scratch, residual, true)?;
                let units = std::iter::repeat_n(&1.0, self.p).chain(&scratch.units);
                for (c, (row, unit)) in scratch.slopes.chunks_exact(self.k).zip(units).enumerate() {
                    for (k, (value, scale)) in row.iter().zip(&self.scales).enumerate() {
                        slope[k * dim + c] = -value * unit / (STEP * scale);
                    }
                }
            }
        }
        self.to_residual(residual);
        Ok(true)
    }

    /// The residual r at a point, and the gradient with respect to the coordinates of a function
    /// of r whose derivatives with respect to r are `-pull(r_k)`. `false` where there is no such
    /// point.
    #[expect(clippy::too_many_arguments)]
    pub(super) fn residual_and_pull(
        &self,
        point: &[f64],
        pattern: &[f64],
        pull: impl Fn(usize, f64) -> f64,
        scratch: &mut Scratch,
        residual: &mut [f64],
        slope: &mut Vec<f64>,
        gradient: &mut [f64],
    ) -> Outcome<bool> {
        let Some(affine) = &self.affine else {
            slope.resize(self.k * point.len(), 0.0);
            if !self.residual_and_slope(point, pattern, scratch, residual, slope)? {
                return Ok(false);
            }
            gradient.fill(0.0);
            for (k, (row, r)) in slope.chunks_exact(point.len()).zip(&*residual).enumerate() {
                dense::axpy(-pull(k, *r), row, gradient);
            }
            return Ok(true);
        };
        if !self.set(point, scratch, true) {
            return Ok(false);
        }
        self.affine_slopes(affine, pattern, scratch, residual);
        self.to_residual(residual);
        let q = frame_dim(self.d);
        scratch.pull.clear();
        scratch.pull.resize(q, 0.0);
        for (k, row) in scratch.slopes.chunks_exact(q).enumerate() {
            dense::axpy(pull(k, residual[k]) / self.scales[k], row, &mut scratch.pull);
        }
        for (to, chain) in gradient.iter_mut().zip(scratch.chain.chunks_exact(q)) {
            *to = dense::dot(chain, &scratch.pull);
        }
        Ok(true)
    }

    /// The sums, and their derivatives with respect to the affine map, and those of the map with
    /// respect to the coordinates.
    fn affine_slopes(
        &self,
        affine: &Affine,
        pattern: &[f64],
        scratch: &mut Scratch,
        sums: &mut [f64],
    ) {
        let q = frame_dim(self.d);
        let Scratch { theta, nearby, frame, units, slopes, chain, .. } = scratch;
        slopes.resize(self.k * q, 0.0);
        chain.resize(self.dim() * q, 0.0);
        let map = affine.map(self.model, theta, frame);
        affine.sums(&map, pattern, sums, Some(slopes));
        affine.chain(self.model, theta, nearby, STEP, frame, units, chain);
    }

    /// The sums by building the records, and for derivatives their differences in each coordinate
    /// of theta and of the noise.
    fn add_up(
        &self,
        pattern: &[f64],
        scratch: &mut Scratch,
        sums: &mut [f64],
        with_derivatives: bool,
    ) -> Outcome {
        let (n, d, k) = (self.n, self.d, self.k);
        let record_dim = self.problem.release().query().record_dim();
        let most = self.rows.min(n);
        let Scratch { noise, records, statistics, moved, frame, theta, nearby, slopes, .. } =
            scratch;
        noise.resize(most.max(n) * d, 0.0);
        records.resize(most * record_dim, 0.0);
        statistics.resize(most * k, 0.0);
        moved.resize(most * k, 0.0);
        sums.fill(0.0);
        slopes.clear();
        slopes.resize(self.dim() * k, 0.0);
        for from in (0..n).step_by(most) {
            let rows = most.min(n - from);
            let noise = &mut noise[..rows * d];
            let records = &mut records[..rows * record_dim];
            let statistics = &mut statistics[..rows * k];
            frame.join(pattern, from..from + rows, noise);
            self.statistics(theta, noise, records, statistics)?;
            for row in statistics.chunks_exact(k) {
                sums.iter_mut().zip(row).for_each(|(r, t)| *r += t);
            }
            if !with_derivatives {
                continue;
            }
            let moved = &mut moved[..rows * k];
            for (theta, to) in nearby.chunks_exact(self.p).zip(slopes.chunks_exact_mut(k)) {
                self.statistics(theta, noise, records, moved)?;
                for (row, base) in moved.chunks_exact(k).zip(statistics.chunks_exact(k)) {
                    to.iter_mut().zip(row).zip(base).for_each(|((to, a), b)| *to += a - b);
                }
            }
            let mut at = self.p + d;
            for j in 0..d {
                noise.iter_mut().skip(j).step_by(d).for_each(|e| *e += STEP);
                self.statistics(theta, noise, records, moved)?;
                noise.iter_mut().skip(j).step_by(d).for_each(|e| *e -= STEP);
                moved.iter_mut().zip(&*statistics).for_each(|(t, base)| *t -= base);
                for (row, i) in moved.chunks_exact(k).zip(from..) {
                    dense::axpy(1.0, row, &mut slopes[(self.p + j) * k..][..k]);
                    for l in 0..=j {
                        dense::axpy(pattern[l * n + i], row, &mut slopes[(at + l) * k..][..k]);
                    }
                }
                at += j + 1;
            }
        }
        Ok(())
    }

    fn statistics(
        &self,
        theta: &[f64],
        noise: &[f64],
        records: &mut [f64],
        statistics: &mut [f64],
    ) -> Outcome {
        self.model.forward(theta, noise, records)?;
        self.problem.release().query().statistics(records, statistics)
    }
}

/// The price of a pass of [`Affine`], without and with derivatives, where a pass that builds the
/// records and their statistics is 1.
const AFFINE_PASS: f64 = 0.25;
const AFFINE_SLOPES: f64 = 0.7;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Model, Normal, NormalInverseGamma, Regression};
    use crate::release::mechanism::{Mechanism, Noise};
    use crate::release::query::{Gram, Mean};
    use crate::release::{Aggregate, Query, Release};
    use crate::rng;

    fn problem(query: impl Query + 'static, model: impl Model + 'static, n: usize) -> Problem {
        let k = query.dim();
        let mechanism =
            Mechanism::new(Noise::Laplace, (0..k).map(|k| 0.3 + 0.2 * k as f64).collect()).unwrap();
        let values = (0..k).map(|k| 0.1 * k as f64).collect();
        let release = Release::new(Arc::new(query), mechanism, Aggregate::Sum, n, values).unwrap();
        Problem::new(release, Arc::new(model)).unwrap()
    }

    fn regression(p: usize, n: usize) -> Problem {
        let precision = DMatrix::identity(p + 1, p + 1);
        let prior = NormalInverseGamma::new(vec![0.2; p + 1], &precision, 5.0, 4.0).unwrap();
        let covariance = DMatrix::from_fn(p, p, |i, j| if i == j { 1.3 } else { 0.4 });
        let model = Regression::new(vec![0.3; p], Some(covariance), prior).unwrap();
        problem(Gram::with_range(p, (-1.5, 2.5)).unwrap(), model, n)
    }

    fn close(a: &[f64], b: &[f64], most: f64) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < most * (1.0 + b.abs()), "{a} for {b}");
        }
    }

    /// The short way through the affine map against records, statistics and differences.
    #[test]
    fn the_short_way_gives_the_sums_of_the_records() {
        let normal = Normal::new(0.0, 1.0, 4.0, 3.0).unwrap();
        let of_normal = problem(Mean::new(vec![(-1.0, 2.0)]).unwrap(), normal, 11);
        for problem in [of_normal, regression(1, 8), regression(2, 13), regression(3, 21)] {
            let mut rng = rng::stream(3, 0);
            let mut theta = vec![0.0; problem.model().parameters().len()];
            problem.model().sample_prior(&mut theta, &mut rng).unwrap();
            let records = crate::chain::start::records(&problem, &theta, &mut rng).unwrap();
            let state = State { theta, records };
            let short = Sums::new(&problem).unwrap();
            assert!(short.has_quick_slopes());
            let mut long = Sums::new(&problem).unwrap();
            long.affine = None;
            let (mut pattern, mut scratch) = (Vec::new(), Scratch::default());
            let mut point = Vec::new();
            assert!(short.split(&state, &mut pattern, &mut scratch, &mut point).unwrap());
            let (k, dim) = (short.k, short.dim());
            let mut found = [vec![0.0; k], vec![0.0; k]];
            assert!(short.residual(&point, &pattern, &mut scratch, &mut found[0]).unwrap());
            close(&found[0], state.records.residual(), 1e-10);
            point.iter_mut().enumerate().for_each(|(i, x)| *x += 0.1 - 0.03 * i as f64);
            let mut slopes = [vec![0.0; k * dim], vec![0.0; k * dim]];
            for (i, sums) in [&short, &long].into_iter().enumerate() {
                let (to, slope) = (&mut found[i], &mut slopes[i]);
                assert!(
                    sums.residual_and_slope(&point, &pattern, &mut scratch, to, slope).unwrap()
                );
            }
            close(&found[0], &found[1], 1e-10);
            close(&slopes[0], &slopes[1], 2e-3);
            let mut pulls = [vec![0.0; dim], vec![0.0; dim]];
            for (i, sums) in [&short, &long].into_iter().enumerate() {
                let (to, pull) = (&mut found[i], &mut pulls[i]);
                let (spring, room) = (|_: usize, r: f64| r.tanh(), &mut Vec::new());
                assert!(
                    sums.residual_and_pull(&point, &pattern, spring, &mut scratch, to, room, pull)
                        .unwrap()
                );
            }
            close(&pulls[0], &pulls[1], 2e-3);
            let mut built = [state.records.all().to_vec(), state.records.all().to_vec()];
            for (sums, records) in [&short, &long].into_iter().zip(&mut built) {
                let mut theta = state.theta.clone();
                sums.join(&point, &pattern, &mut scratch, &mut theta, records).unwrap();
            }
            close(&built[0], &built[1], 1e-10);
        }
    }
}
