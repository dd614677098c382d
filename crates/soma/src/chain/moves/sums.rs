//! The residual of the release as a function of theta and the frame, at a given pattern.

use nalgebra::{DMatrix, DVector};

use super::State;
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
        let rows = model.batch_size().max(release.query().batch_size());
        (n > d).then_some(Sums { problem, model, n, d, k, p, rows, target, scales })
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

    /// The gradient of [`log_prior`](Self::log_prior). That of theta is by differences.
    pub(super) fn log_prior_gradient(&self, point: &[f64]) -> DVector<f64> {
        let mut gradient = DVector::zeros(point.len());
        let mut moved = point[..self.p].to_vec();
        for c in 0..self.p {
            moved[c] = point[c] + STEP;
            let above = self.model.log_prior_free(&moved);
            moved[c] = point[c] - STEP;
            let below = self.model.log_prior_free(&moved);
            moved[c] = point[c];
            gradient[c] = (above - below) / (2.0 * STEP);
        }
        let mut precision = vec![0.0; point.len() - self.p];
        let (_, of_frame) = gradient.as_mut_slice().split_at_mut(self.p);
        frame::log_prior_shape(self.n, self.d, &point[self.p..], of_frame, &mut precision);
        gradient
    }

    /// Minus the second derivatives of [`log_prior`](Self::log_prior): by differences for theta,
    /// of which only the diagonal is kept where the matrix is not positive definite.
    pub(super) fn log_prior_precision(&self, point: &[f64]) -> DMatrix<f64> {
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
        let mut precision = DMatrix::zeros(dim, dim);
        precision.view_mut((0, 0), (p, p)).copy_from(&of_theta);
        let (mut gradient, mut of_frame) = (vec![0.0; dim - p], vec![0.0; dim - p]);
        frame::log_prior_shape(self.n, self.d, &point[p..], &mut gradient, &mut of_frame);
        of_frame.iter().enumerate().for_each(|(i, x)| precision[(p + i, p + i)] = *x);
        precision
    }

    /// The point at which the state is; its pattern goes into `pattern`.
    pub(super) fn split(
        &self,
        state: &State,
        pattern: &mut Vec<f64>,
    ) -> Outcome<Option<DVector<f64>>> {
        pattern.resize(self.n * self.d, 0.0);
        self.model.inverse(&state.theta, state.records.all(), pattern)?;
        let Some(frame) = Frame::split(pattern, self.d) else { return Ok(None) };
        let mut point = DVector::zeros(self.dim());
        let (free, coordinates) = point.as_mut_slice().split_at_mut(self.p);
        self.model.unconstrain(&state.theta, free);
        frame.coordinates(self.n, coordinates);
        Ok(point.iter().all(|x| x.is_finite()).then_some(point))
    }

    /// theta and all records at a point.
    pub(super) fn join(
        &self,
        point: &[f64],
        pattern: &[f64],
        theta: &mut [f64],
        noise: &mut Vec<f64>,
        records: &mut [f64],
    ) -> Outcome {
        let (free, coordinates) = point.split_at(self.p);
        self.model.constrain(free, theta);
        let mut frame = Frame::default();
        let _exists = frame.set(self.n, self.d, coordinates);
        noise.resize(pattern.len(), 0.0);
        frame.join(pattern, noise);
        self.model.forward(theta, noise, records)
    }

    /// Puts a state at a point.
    pub(super) fn place(&self, point: &[f64], pattern: &[f64], state: &mut State) -> Outcome {
        let mut records = vec![0.0; state.records.all().len()];
        self.join(point, pattern, &mut state.theta, &mut Vec::new(), &mut records)?;
        state.records.set_all(self.problem.release(), &records)
    }

    /// Passes over the records that one evaluation of the residual takes.
    pub(super) fn passes(&self, with_derivatives: bool) -> u64 {
        if with_derivatives { 1 + (self.p + self.d) as u64 } else { 1 }
    }

    /// The residual at a point, in noise units, and its derivatives with respect to the
    /// coordinates where they are wanted. `false` where there is no such point.
    pub(super) fn residual(
        &self,
        point: &[f64],
        pattern: &[f64],
        scratch: &mut Scratch,
        residual: &mut DVector<f64>,
        mut derivatives: Option<&mut DMatrix<f64>>,
    ) -> Outcome<bool> {
        let (free, coordinates) = point.split_at(self.p);
        let (d, k) = (self.d, self.k);
        let record_dim = self.problem.release().query().record_dim();
        scratch.theta.resize(self.p, 0.0);
        self.model.constrain(free, &mut scratch.theta);
        if !scratch.frame.set(self.n, d, coordinates) || !self.log_prior_theta(free).is_finite() {
            return Ok(false);
        }
        let most = self.rows.min(self.n);
        scratch.noise.resize(most * d, 0.0);
        scratch.records.resize(most * record_dim, 0.0);
        scratch.statistics.resize(most * k, 0.0);
        scratch.moved.resize(most * k, 0.0);
        let nearby = match derivatives {
            Some(_) => self.nearby(free),
            None => Vec::new(),
        };
        residual.fill(0.0);
        if let Some(to) = derivatives.as_deref_mut() {
            to.fill(0.0);
        }
        for chunk in pattern.chunks(most * d) {
            let rows = chunk.len() / d;
            let noise = &mut scratch.noise[..rows * d];
            let records = &mut scratch.records[..rows * record_dim];
            let statistics = &mut scratch.statistics[..rows * k];
            scratch.frame.join(chunk, noise);
            self.statistics(&scratch.theta, noise, records, statistics)?;
            for row in statistics.chunks_exact(k) {
                residual.iter_mut().zip(row).for_each(|(r, t)| *r += t);
            }
            let Some(to) = derivatives.as_deref_mut() else { continue };
            let moved = &mut scratch.moved[..rows * k];
            for (c, theta) in nearby.iter().enumerate() {
                self.statistics(theta, noise, records, moved)?;
                add_differences(moved, statistics, &mut to.as_mut_slice()[c * k..][..k]);
            }
            let mut at = self.p + d;
            for j in 0..d {
                noise.iter_mut().skip(j).step_by(d).for_each(|e| *e += STEP);
                self.statistics(&scratch.theta, noise, records, moved)?;
                noise.iter_mut().skip(j).step_by(d).for_each(|e| *e -= STEP);
                let all = to.as_mut_slice();
                moved.iter_mut().zip(&*statistics).for_each(|(t, base)| *t -= base);
                for (row, z) in moved.chunks_exact(k).zip(chunk.chunks_exact(d)) {
                    add_scaled(row, 1.0, &mut all[(self.p + j) * k..][..k]);
                    for l in 0..=j {
                        add_scaled(row, z[l], &mut all[(at + l) * k..][..k]);
                    }
                }
                at += j + 1;
            }
        }
        for ((r, s), b) in residual.iter_mut().zip(&self.target).zip(&self.scales) {
            *r = s - *r / b;
        }
        if let Some(to) = derivatives {
            self.to_coordinates(&scratch.frame, to);
        }
        Ok(true)
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

    /// theta moved by a step in each of its unconstrained coordinates.
    fn nearby(&self, free: &[f64]) -> Vec<Vec<f64>> {
        let moved = |c: usize| {
            let mut free = free.to_vec();
            free[c] += STEP;
            let mut theta = vec![0.0; self.p];
            self.model.constrain(&free, &mut theta);
            theta
        };
        (0..self.p).map(moved).collect()
    }

    /// From differences of the sums to derivatives of the residual.
    fn to_coordinates(&self, frame: &Frame, derivatives: &mut DMatrix<f64>) {
        let mut units = vec![1.0; self.p];
        units.extend(frame.units(self.n));
        for (mut column, unit) in derivatives.column_iter_mut().zip(units) {
            for (value, scale) in column.iter_mut().zip(&self.scales) {
                *value *= -unit / (STEP * scale);
            }
        }
    }
}

fn add_differences(rows: &[f64], base: &[f64], to: &mut [f64]) {
    let k = to.len();
    for (row, base) in rows.chunks_exact(k).zip(base.chunks_exact(k)) {
        for ((to, a), b) in to.iter_mut().zip(row).zip(base) {
            *to += a - b;
        }
    }
}

#[inline(always)]
fn add_scaled(row: &[f64], by: f64, to: &mut [f64]) {
    to.iter_mut().zip(row).for_each(|(to, x)| *to += by * x);
}
