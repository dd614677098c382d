//! The residual of the release as a function of theta and the Bartlett factors, at a given
//! standardised noise.

use crate::chain::Problem;
use crate::chain::theta::State;
use crate::chain::theta::coordinates::affine::Affine;
use crate::chain::theta::coordinates::bartlett::{Bartlett, factors_dim};
use crate::chain::theta::coordinates::standardised::Standardised;
use crate::chain::theta::smooth;
use crate::error::Outcome;
use crate::interrupt;
use crate::model::Transport;
use crate::numeric::dense;
use crate::release::NoiseUnits;
use crate::rng::Rng;

/// The step of finite differences, in units of a standard normal and of the unconstrained theta.
pub(in crate::chain) const STEP: f64 = 1e-4;

/// A step of finite differences at x: of this size, or longer if x is so large that the difference
/// would lose its digits.
pub(in crate::chain) fn step(x: f64, size: f64) -> f64 {
    size.max(1e-9 * x.abs())
}

/// A problem whose records are functions of theta, Bartlett factors and standardised noise. The
/// coordinates of a point are the unconstrained theta and then those of the Bartlett factors.
pub(in crate::chain) struct Sums<'a> {
    pub(in crate::chain) problem: &'a Problem,
    pub(in crate::chain) model: &'a dyn Transport,
    /// The affine fast path, if model and query have it.
    affine: Option<Affine>,
    /// Whether records jump as theta and their noise move, so that differences are taken over [long
    /// steps](crate::chain::theta::coordinates::jumps).
    pub(in crate::chain) jumps: bool,
    pub(in crate::chain) n: usize,
    /// The length of a record's noise.
    pub(in crate::chain) d: usize,
    /// The number of statistics.
    pub(in crate::chain) k: usize,
    /// The number of parameters.
    pub(in crate::chain) p: usize,
    /// Rows per block: few enough to stay in the first-level cache, unless the model or the query
    /// requires more.
    pub(in crate::chain) rows: usize,
    pub(in crate::chain) units: NoiseUnits,
    target: Vec<f64>,
}

/// Buffers, reused across evaluations.
#[derive(Debug, Clone, Default)]
pub(in crate::chain) struct Scratch {
    pub(in crate::chain) noise: Vec<f64>,
    pub(in crate::chain) records: Vec<f64>,
    pub(in crate::chain) statistics: Vec<f64>,
    pub(in crate::chain) moved: Vec<f64>,
    pub(in crate::chain) factors: Bartlett,
    /// The map from the columns of standardised noise to the noise with these Bartlett factors.
    pub(in crate::chain) map: Bartlett,
    pub(in crate::chain) theta: Vec<f64>,
    /// theta moved by a step in each of its unconstrained coordinates: up and, if records jump,
    /// down.
    pub(in crate::chain) nearby: Vec<f64>,
    /// The length of each step, or of both together.
    pub(in crate::chain) steps: Vec<f64>,
    pub(in crate::chain) units: Vec<f64>,
    /// Derivatives of the sums: a row for each coordinate, or for each statistic if affine.
    pub(in crate::chain) slopes: Vec<f64>,
    pub(in crate::chain) chain: Vec<f64>,
    pub(in crate::chain) forces: Vec<f64>,
    pub(in crate::chain) pull: Vec<f64>,
}

impl<'a> Sums<'a> {
    /// `None` if the model is not a function of noise, or the noise of n records has no Bartlett
    /// factors.
    pub(in crate::chain) fn new(problem: &'a Problem) -> Option<Self> {
        let model = problem.model().transport().filter(|model| model.is_standard())?;
        let jumps = !model.is_smooth();
        let release = problem.release();
        let units = NoiseUnits::new(release);
        let target = units.target(release);
        let (n, d, k) = (release.n(), model.noise_dim(), release.query().dim());
        let p = model.parameters().len();
        let rows = model.rows_at_once().max(release.query().batch_size());
        let affine = Affine::new(model, release.query().as_ref(), &units);
        (n > d).then_some(Sums { problem, model, affine, jumps, n, d, k, p, rows, units, target })
    }

    /// The precision that approximates the noise of each statistic, if no scale mixture is drawn.
    pub(in crate::chain) fn precisions(&self) -> Vec<f64> {
        smooth::precisions(self.problem.release().potential(), self.k)
    }

    /// The number of coordinates of a point.
    pub(in crate::chain) fn dim(&self) -> usize {
        self.p + factors_dim(self.d)
    }

    /// The coordinates of the state; its standardised noise is written to `standardised`. The noise
    /// of discrete variables is drawn given their values.
    pub(in crate::chain) fn split(
        &self,
        state: &State,
        standardised: &mut Standardised,
        scratch: &mut Scratch,
        point: &mut Vec<f64>,
        rng: &mut Rng,
    ) -> Outcome<bool> {
        let (n, d) = (self.n, self.d);
        // Records that are affine in their noise have its standardised noise, and so have their
        // distances from the first record, which avoid cancellation far from zero.
        let origin = match &self.affine {
            Some(_) => state.records.record(0).to_vec(),
            None => vec![0.0; d],
        };
        let rows = if self.affine.is_some() {
            state.records.all()
        } else {
            scratch.noise.resize(n * d, 0.0);
            let records = state.records.all();
            self.model.draw_noise(&state.theta, records, &mut scratch.noise, rng)?;
            &scratch.noise
        };
        for (j, column) in standardised.columns_mut(n, d).chunks_exact_mut(n).enumerate() {
            let from = rows[j..].iter().step_by(d);
            column.iter_mut().zip(from).for_each(|(to, x)| *to = x - origin[j]);
        }
        if !standardised.measure(d) {
            return Ok(false);
        }
        scratch.factors.clone_from(standardised.base());
        if let Some(affine) = &self.affine {
            affine.factors(self.model, &state.theta, &origin, &mut scratch.factors);
        }
        point.resize(self.dim(), 0.0);
        let (free, coordinates) = point.split_at_mut(self.p);
        self.model.unconstrain(&state.theta, free);
        scratch.factors.coordinates(n, coordinates);
        Ok(point.iter().all(|x| x.is_finite()))
    }

    /// theta and all records at a point.
    pub(in crate::chain) fn join(
        &self,
        point: &[f64],
        standardised: &Standardised,
        scratch: &mut Scratch,
        theta: &mut [f64],
        records: &mut [f64],
    ) -> Outcome {
        let (free, coordinates) = point.split_at(self.p);
        self.model.constrain(free, theta);
        let Scratch { factors, map, noise, .. } = scratch;
        let _exists = factors.set(self.n, self.d, coordinates);
        standardised.compose(factors, map);
        if let Some(affine) = &self.affine {
            affine.records(&affine.map(self.model, theta, map), standardised.columns(), records);
            return Ok(());
        }
        noise.resize(self.n * self.d, 0.0);
        map.join(standardised.columns(), 0..self.n, noise);
        self.model.forward(theta, noise, records)
    }

    /// Sets a state to a point.
    pub(in crate::chain) fn place(
        &self,
        point: &[f64],
        standardised: &Standardised,
        scratch: &mut Scratch,
        state: &mut State,
    ) -> Outcome {
        let mut records = vec![0.0; state.records.all().len()];
        self.join(point, standardised, scratch, &mut state.theta, &mut records)?;
        state.records.set_all(self.problem.release(), &records)
    }

    /// Whether derivatives take only a few passes.
    pub(in crate::chain) fn has_quick_slopes(&self) -> bool {
        self.affine.is_some()
    }

    /// theta, its neighbours if derivatives are needed, and the Bartlett factors at a point.
    /// `false` if the point is not in the support.
    fn set(
        &self,
        point: &[f64],
        standardised: &Standardised,
        scratch: &mut Scratch,
        with_derivatives: bool,
    ) -> bool {
        let (free, coordinates) = point.split_at(self.p);
        let p = self.p;
        scratch.theta.resize(p, 0.0);
        self.model.constrain(free, &mut scratch.theta);
        if !scratch.factors.set(self.n, self.d, coordinates)
            || !self.log_prior_theta(free).is_finite()
        {
            return false;
        }
        standardised.compose(&scratch.factors, &mut scratch.map);
        if with_derivatives && self.jumps {
            self.set_long_steps(free, standardised, scratch);
        } else if with_derivatives {
            scratch.nearby.resize(p * p, 0.0);
            let moved = &mut scratch.moved;
            moved.clear();
            moved.extend_from_slice(free);
            scratch.steps.clear();
            for (c, theta) in scratch.nearby.chunks_exact_mut(p).enumerate() {
                moved[c] = free[c] + step(free[c], STEP);
                scratch.steps.push(moved[c] - free[c]);
                self.model.constrain(moved, theta);
                moved[c] = free[c];
            }
        }
        if with_derivatives {
            scratch.units.resize(coordinates.len(), 0.0);
            scratch.factors.units(self.n, &mut scratch.units);
        }
        true
    }

    /// Converts sums to the residual.
    pub(in crate::chain) fn to_residual(&self, sums: &mut [f64]) {
        for ((r, s), b) in sums.iter_mut().zip(&self.target).zip(self.units.scales()) {
            *r = s - *r / b;
        }
    }

    /// The residual at a point, in noise units. `false` if the point is not in the support.
    pub(in crate::chain) fn residual(
        &self,
        point: &[f64],
        standardised: &Standardised,
        scratch: &mut Scratch,
        residual: &mut [f64],
    ) -> Outcome<bool> {
        interrupt::check()?;
        if !self.set(point, standardised, scratch, false) {
            return Ok(false);
        }
        let exists = match &self.affine {
            Some(affine) => {
                let map = affine.map(self.model, &scratch.theta, &scratch.map);
                affine.sums(&map, standardised.columns(), residual);
                map.is_finite()
            }
            None => self.add_up(standardised, scratch, residual, false)?,
        };
        self.to_residual(residual);
        Ok(exists)
    }

    /// The residual at a point and its derivatives with respect to the coordinates, a row for each
    /// statistic. `false` if the point is not in the support.
    pub(in crate::chain) fn residual_and_slope(
        &self,
        point: &[f64],
        standardised: &Standardised,
        scratch: &mut Scratch,
        residual: &mut [f64],
        slope: &mut [f64],
    ) -> Outcome<bool> {
        interrupt::check()?;
        if !self.set(point, standardised, scratch, true) {
            return Ok(false);
        }
        let dim = point.len();
        let exists = match &self.affine {
            Some(affine) => {
                let Scratch { theta, map, slopes, .. } = scratch;
                let q = factors_dim(self.d);
                slopes.resize(self.k * q, 0.0);
                let map = affine.map(self.model, theta, map);
                affine.sums_and_slopes(&map, standardised, residual, slopes);
                self.set_chain(affine, scratch);
                for (k, of_map) in scratch.slopes.chunks_exact(q).enumerate() {
                    for (c, chain) in scratch.chain.chunks_exact(q).enumerate() {
                        slope[k * dim + c] = -dense::dot(of_map, chain) / self.units.scales()[k];
                    }
                }
                map.is_finite()
            }
            None => {
                let exists = self.add_up(standardised, scratch, residual, true)?;
                let of_theta = scratch.steps.iter().map(|step| 1.0 / step);
                let units =
                    of_theta.chain(scratch.units.iter().map(|unit| unit / self.noise_step()));
                for (c, (row, unit)) in scratch.slopes.chunks_exact(self.k).zip(units).enumerate() {
                    for (k, (value, scale)) in row.iter().zip(self.units.scales()).enumerate() {
                        slope[k * dim + c] = -value * unit / scale;
                    }
                }
                exists
            }
        };
        self.to_residual(residual);
        Ok(exists)
    }

    /// The residual r at a point, and the gradient with respect to the coordinates of a function of
    /// r with derivatives `-spring(r_k)`. `false` if the point is not in the support.
    #[expect(clippy::too_many_arguments)]
    pub(in crate::chain) fn residual_and_pull(
        &self,
        point: &[f64],
        standardised: &Standardised,
        spring: impl Fn(usize, f64) -> f64,
        scratch: &mut Scratch,
        residual: &mut [f64],
        slope: &mut Vec<f64>,
        gradient: &mut [f64],
    ) -> Outcome<bool> {
        interrupt::check()?;
        let Some(affine) = &self.affine else {
            slope.resize(self.k * point.len(), 0.0);
            if !self.residual_and_slope(point, standardised, scratch, residual, slope)? {
                return Ok(false);
            }
            gradient.fill(0.0);
            for (k, (row, r)) in slope.chunks_exact(point.len()).zip(&*residual).enumerate() {
                dense::axpy(-spring(k, *r), row, gradient);
            }
            return Ok(true);
        };
        if !self.set(point, standardised, scratch, true) {
            return Ok(false);
        }
        let map = affine.map(self.model, &scratch.theta, &scratch.map);
        affine.sums(&map, standardised.columns(), residual);
        self.to_residual(residual);
        self.set_chain(affine, scratch);
        let Scratch { forces, pull, chain, .. } = scratch;
        forces.clear();
        forces.extend(
            residual
                .iter()
                .zip(self.units.scales())
                .enumerate()
                .map(|(k, (r, b))| spring(k, *r) / b),
        );
        let q = factors_dim(self.d);
        pull.resize(q, 0.0);
        affine.pull(&map, standardised, forces, pull);
        for (to, chain) in gradient.iter_mut().zip(chain.chunks_exact(q)) {
            *to = dense::dot(chain, pull);
        }
        Ok(map.is_finite())
    }

    /// The derivatives of the affine map with respect to the coordinates.
    fn set_chain(&self, affine: &Affine, scratch: &mut Scratch) {
        let Scratch { theta, nearby, steps, factors, units, chain, .. } = scratch;
        chain.resize(self.dim() * factors_dim(self.d), 0.0);
        affine.chain(self.model, theta, (nearby, steps), factors, units, chain);
    }
}

#[cfg(test)]
mod tests;
