//! The Hamiltonian update of theta and the Bartlett factors, given the standardised noise.

use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::chain::theta::coordinates::held::Held;
use crate::chain::theta::coordinates::local::{Local, Work};
use crate::chain::theta::coordinates::standardised::Standardised;
use crate::chain::theta::coordinates::sums::{Scratch, Sums};
use crate::chain::theta::coordinates::surrogate::{Surrogate, fill_normals};
use crate::chain::theta::smooth;
use crate::chain::theta::tuning::prices::Part;
use crate::chain::theta::{Setting, State, Tally, ThetaMove};
use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::numeric::cholesky;
use crate::numeric::dense;
use crate::release::Potential;
use crate::rng::Rng;
use crate::stored::{Check, ensure};

/// Moves theta and the Bartlett factors by Hamiltonian trajectories, with the standardised noise
/// fixed.
///
/// In the coordinates (theta, factors, standardised noise) the joint posterior is p(theta)
/// p(factors) p(noise) eta(s_dp | S), see [factors](crate::chain::theta::coordinates::bartlett).
/// Leapfrog trajectories run in coordinates y that are whitened by the surrogate's covariance, with
/// fresh momentum m. The [force](Force) is a function of the coordinates, the standardised noise
/// and fixed constants, so a trajectory preserves volume and is reversible, whether or not the
/// force is a gradient. (It uses [smooth approximations](crate::chain::theta::smooth) of the
/// potential.) The proposal is accepted with probability min(1, exp(H' - H)), where H = log
/// p(theta) + log p(factors) + log eta(s_dp | S) - |m|^2 / 2 is computed from all records. This
/// leaves the posterior given the standardised noise invariant, and so the posterior.
///
/// A trajectory costs the passes of its force, and one more pass if the force is not the exact
/// gradient.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::chain) struct Hamiltonian {
    force: Force,
    log_step: f64,
    #[serde(skip)]
    path: Path,
}

/// The force of a trajectory: a better force has a higher acceptance rate and costs more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::chain) enum Force {
    /// The gradient of the surrogate: one pass for the whole trajectory.
    Surrogate,
    /// The gradient of the surrogate with the slope at the current standardised noise: one more
    /// evaluation of the residual's derivatives.
    OwnSlope,
    /// The exact gradient: the residual's derivatives at every step, for few records.
    Exact,
}

/// The state of a trajectory.
#[derive(Debug, Clone, Default)]
struct Path {
    y: Vec<f64>,
    momentum: Vec<f64>,
    point: Vec<f64>,
    residual: Vec<f64>,
    /// The gradient with respect to the point, and to y.
    raw: Vec<f64>,
    pull: Vec<f64>,
    of_prior: Vec<f64>,
    slope: Vec<f64>,
    work: Work,
}

/// The target acceptance rate of the step size.
const ACCEPTANCE: f64 = 0.85;

/// The range of the log step size.
const LOG_STEPS: std::ops::RangeInclusive<f64> = -3.0..=0.41;

/// The smallest log step size if records jump.
const LEAST_LOG_STEP_OF_JUMPS: f64 = -1.2;

/// The length of a trajectory in whitened coordinates: between a quarter and a half of a period,
/// since the posterior is wider than the surrogate.
const LENGTH: f64 = 2.2;

/// The size of the smallest walk relative to the largest, and the work of one beside its pass.
const SMALLEST_WALK: f64 = 1e-3;
const WALK: f64 = 40.0;

impl Hamiltonian {
    pub(in crate::chain) fn new(force: Force) -> Self {
        Hamiltonian { force, log_step: (0.5_f64).ln(), path: Path::default() }
    }

    pub(in crate::chain) fn check(&self) -> Check {
        ensure(
            LOG_STEPS.contains(&self.log_step),
            "the step size of the Hamiltonian update is out of range",
        )
    }

    fn leapfrogs(&self) -> usize {
        ((LENGTH / self.log_step.exp()).ceil() as usize).clamp(1, 30)
    }
}

impl ThetaMove for Hamiltonian {
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        held: &mut Held,
        times: u64,
        rng: &mut Rng,
    ) -> Outcome<Tally> {
        let (Some(sums), Some(surrogate)) = (&at.sums, at.surrogate) else {
            return Ok(Tally::default());
        };
        let mut tally = Tally { proposed: times, accepted: 0, work: self.work(at, times) };
        if !held.hold(sums, state, rng)? {
            return Ok(tally);
        }
        let (leapfrogs, length) = (self.leapfrogs(), self.log_step.exp());
        let (path, force) = (&mut self.path, self.force);
        let Held { point, standardised, residual, scratch, .. } = held;
        let local = match force {
            Force::Exact => None,
            force => match surrogate.at(sums, standardised, force == Force::OwnSlope, scratch)? {
                Some(local) => Some(local),
                None => return Ok(tally),
            },
        };
        let potential = at.potential();
        let course = Course { sums, surrogate, local: local.as_ref(), standardised, potential };
        let energy = |point: &[f64], residual: &[f64], momentum: &[f64]| {
            sums.log_prior(point) + potential.log_density(residual)
                - 0.5 * dense::dot(momentum, momentum)
        };
        let mut moved = false;
        for _ in 0..times {
            for _ in 0..walks(sums) {
                moved |=
                    path.walk(sums, standardised, potential, (point, residual), scratch, rng)?;
            }
            path.begin(surrogate, point, rng);
            let before = energy(point, residual, &path.momentum);
            // If records jump the density is rough: random lengths.
            let leapfrogs = if sums.jumps { rng.random_range(1..=leapfrogs) } else { leapfrogs };
            let step = length * rng.random_range(0.8..1.2);
            if !path.follow(&course, leapfrogs, step, scratch)?
                || !sums.log_prior(&path.point).is_finite()
                || (force != Force::Exact
                    && !sums.residual(&path.point, standardised, scratch, &mut path.residual)?)
            {
                continue;
            }
            let after = energy(&path.point, &path.residual, &path.momentum);
            if accepts(after - before, rng) {
                std::mem::swap(point, &mut path.point);
                std::mem::swap(residual, &mut path.residual);
                tally.accepted += 1;
                moved = true;
            }
        }
        if moved {
            held.moved();
        }
        Ok(tally)
    }

    fn learn(&mut self, at: &Setting, _: &State, last: Tally, share: f64) -> Outcome {
        let rate = last.accepted as f64 / last.proposed.max(1) as f64;
        let pace = 0.5 * (1.0 - share).max(0.1);
        // If records jump, even the shortest steps are rejected at times.
        let least = match &at.sums {
            Some(sums) if sums.jumps => LEAST_LOG_STEP_OF_JUMPS,
            _ => *LOG_STEPS.start(),
        };
        self.log_step = (self.log_step + pace * (rate - ACCEPTANCE)).clamp(least, *LOG_STEPS.end());
        Ok(())
    }

    fn work(&self, at: &Setting, times: u64) -> u64 {
        let Some(sums) = &at.sums else { return 0 };
        let gradients = (1 + self.leapfrogs()) as f64;
        let algebra = sums.gradient_algebra(self.force != Force::Exact);
        let (once, each) = match self.force {
            Force::Surrogate => (sums.pass(Part::Residual), sums.pass(Part::Residual)),
            Force::OwnSlope => (sums.pass(Part::Slope), sums.pass(Part::Residual)),
            Force::Exact => (0.0, gradients * sums.pass(Part::Gradient)),
        };
        let walk = walks(sums) as f64 * (sums.pass(Part::Residual) + WALK);
        (once + times as f64 * (each + walk + gradients * algebra)) as u64
    }
}

/// The constants of a trajectory.
struct Course<'a> {
    sums: &'a Sums<'a>,
    surrogate: &'a Surrogate,
    local: Option<&'a Local<'a>>,
    standardised: &'a Standardised,
    potential: &'a Potential,
}

/// How many parameters walk before a trajectory: each twice on average, where the sums of a moved
/// theta cost little and the widths of the prior are known.
fn walks(sums: &Sums) -> usize {
    let may = sums.has_quick_slopes() && sums.model.prior_widths().is_some();
    if may { 2 * sums.p } else { 0 }
}

impl Path {
    /// One parameter, at random, makes a normal step of any size from the width of its prior down to
    /// a thousandth of it: symmetric, so that it is accepted by the ratio of the densities. A
    /// trajectory has steps for the middle of the posterior, and goes along a tail, as that of the
    /// logarithm of a standard deviation near 0, in small pieces.
    fn walk(
        &mut self,
        sums: &Sums,
        standardised: &Standardised,
        potential: &Potential,
        (point, residual): (&mut Vec<f64>, &mut Vec<f64>),
        scratch: &mut Scratch,
        rng: &mut Rng,
    ) -> Outcome<bool> {
        let Some(widths) = sums.model.prior_widths() else { return Ok(false) };
        let c = rng.random_range(0..sums.p);
        let size = widths[c] * SMALLEST_WALK.powf(rng.random::<f64>());
        self.point.clone_from(point);
        self.point[c] += size * rng.sample::<f64, _>(StandardNormal);
        self.residual.resize(sums.k, 0.0);
        let log_prior = sums.log_prior(&self.point);
        if !log_prior.is_finite()
            || !sums.residual(&self.point, standardised, scratch, &mut self.residual)?
        {
            return Ok(false);
        }
        let before = sums.log_prior(point) + potential.log_density(residual);
        let after = log_prior + potential.log_density(&self.residual);
        let is_accepted = accepts(after - before, rng);
        if is_accepted {
            std::mem::swap(point, &mut self.point);
            std::mem::swap(residual, &mut self.residual);
        }
        Ok(is_accepted)
    }

    /// Starts at `point`, with fresh momentum.
    fn begin(&mut self, surrogate: &Surrogate, point: &[f64], rng: &mut Rng) {
        self.y.clear();
        self.y.extend(point.iter().zip(&surrogate.reference).map(|(x, m)| x - m));
        cholesky::solve_lower(&surrogate.spread, &mut self.y);
        self.momentum.resize(point.len(), 0.0);
        fill_normals(&mut self.momentum, rng);
        self.point.clear();
        self.point.extend_from_slice(point);
    }

    /// Leapfrog steps. `false` if they leave the support.
    fn follow(
        &mut self,
        course: &Course,
        leapfrogs: usize,
        step: f64,
        scratch: &mut Scratch,
    ) -> Outcome<bool> {
        if !self.set_pull(course, scratch)? {
            return Ok(false);
        }
        for _ in 0..leapfrogs {
            dense::axpy(0.5 * step, &self.pull, &mut self.momentum);
            dense::axpy(step, &self.momentum, &mut self.y);
            cholesky::times_lower(&course.surrogate.spread, &self.y, &mut self.point);
            dense::axpy(1.0, &course.surrogate.reference, &mut self.point);
            if !self.set_pull(course, scratch)? {
                return Ok(false);
            }
            dense::axpy(0.5 * step, &self.pull, &mut self.momentum);
        }
        Ok(self.momentum.iter().chain(&self.point).all(|x| x.is_finite()))
    }

    /// The force at the point.
    fn set_pull(&mut self, course: &Course, scratch: &mut Scratch) -> Outcome<bool> {
        let Path { point, residual, raw, pull, of_prior, slope, work, .. } = self;
        let &Course { sums, standardised, potential, .. } = course;
        let spring = |k: usize, r: f64| smooth::slope(potential.separate(k), r);
        raw.resize(point.len(), 0.0);
        pull.resize(point.len(), 0.0);
        residual.resize(sums.k, 0.0);
        match course.local {
            Some(local) => local.gradient(sums, point, spring, work, raw),
            None => {
                if !sums.residual_and_pull(
                    point,
                    standardised,
                    spring,
                    scratch,
                    residual,
                    slope,
                    raw,
                )? {
                    return Ok(false);
                }
                of_prior.resize(point.len(), 0.0);
                sums.log_prior_gradient(point, of_prior);
                dense::axpy(1.0, of_prior, raw);
            }
        }
        cholesky::times_lower_transposed(&course.surrogate.spread, raw, pull);
        Ok(true)
    }
}
