//! theta and the frame of the noise together, given its pattern.

use nalgebra::DVector;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::chart::{draw_variances, log_gaussian, normals};
use super::sums::{Scratch, Sums};
use super::trial::Trial;
use super::{Setting, State, Tally, ThetaMove};
use crate::error::Outcome;
use crate::rng::Rng;

/// Moves theta and the frame by one Hamiltonian trajectory, holding the pattern.
///
/// In the coordinates (theta, frame, pattern) the joint posterior is
/// p(theta) p(frame) p(pattern) eta(s_dp | S), see [frame](super::frame). The variances v of the
/// noise's scale mixture are drawn given the residual, so that eta is Gaussian given v. Then a
/// leapfrog trajectory in the whitened coordinates of (theta, frame), with fresh momentum m:
/// its [force](Force) is a function of the coordinates, the pattern, v and frozen constants, so that the trajectory preserves volume and, the momentum
/// turned, leads back to where it came from; whether the force is a gradient of anything does not
/// matter. It is taken with probability min(1, exp(H' - H)), where
/// H = log p(theta) + log p(frame) + log eta(s_dp | S, v) - |m|^2 / 2 is computed from the records
/// themselves. This leaves the posterior given pattern and v invariant, and so the posterior.
///
/// A trajectory costs three passes over the records, and those of the force.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Block {
    force: Force,
    log_step: f64,
    #[serde(skip)]
    memory: Memory,
}

/// What drives a trajectory: a better force is taken more often and costs more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Force {
    /// The gradient on the chart: one pass for the whole trajectory.
    Chart,
    /// The gradient on the chart with the slope of the pattern at hand: 1 + D + dim(theta) passes.
    OwnSlope,
    /// The gradient itself: 1 + D + dim(theta) passes for every step, good for few records.
    Exact,
}

#[derive(Debug, Clone, Default)]
struct Memory {
    pattern: Vec<f64>,
    noise: Vec<f64>,
    scratch: Scratch,
    trial: Trial,
}

/// The acceptance rate that the step is tuned to.
const ACCEPTANCE: f64 = 0.75;

/// The length of a trajectory in whitened coordinates: about a quarter of a turn.
const LENGTH: f64 = 1.5;

impl Block {
    pub(super) fn new(force: Force) -> Self {
        Block { force, log_step: (0.5_f64).ln(), memory: Memory::default() }
    }

    fn work(&self, sums: &Sums) -> u64 {
        let (leapfrogs, n) = (self.leapfrogs() as u64, sums.n as u64);
        // Multiplications on the chart, about fifty of which take as long as a pass.
        let algebra = leapfrogs * (sums.k * sums.dim() * sums.dim() / 50) as u64;
        match self.force {
            Force::Chart => (3 + sums.passes(false)) * n + algebra,
            Force::OwnSlope => (3 + sums.passes(true)) * n + algebra,
            Force::Exact => (3 + (1 + leapfrogs) * sums.passes(true)) * n + algebra / 10,
        }
    }

    fn leapfrogs(&self) -> usize {
        ((LENGTH / self.log_step.exp()).ceil() as usize).clamp(1, 30)
    }
}

impl ThetaMove for Block {
    fn step(&mut self, at: &Setting, state: &mut State, rng: &mut Rng) -> Outcome<Tally> {
        let (Some(sums), Some(chart)) = (&at.sums, at.chart) else { return Ok(Tally::default()) };
        let leapfrogs = self.leapfrogs();
        let mut tally = Tally { proposed: 1, accepted: 0, work: self.work(sums) };
        let Memory { pattern, noise, scratch, trial } = &mut self.memory;
        let Some(point) = sums.split(state, pattern)? else { return Ok(tally) };
        let variances = draw_variances(at.shape(), state.records.residual(), rng);
        let mut x = chart.coordinates(&point);
        let mut momentum = normals(x.len(), rng);
        let before = sums.log_prior(point.as_slice())
            + log_gaussian(state.records.residual(), &variances)
            - 0.5 * momentum.norm_squared();
        let step = self.log_step.exp() * rng.random_range(0.8..1.2);
        let reached = match self.force {
            Force::Exact => leapfrog(leapfrogs, step, &mut x, &mut momentum, |x| {
                chart.gradient(sums, x, &variances, pattern, scratch)
            })?,
            force => {
                let own_slope = force == Force::OwnSlope;
                let Some(local) = chart.at(sums, pattern, own_slope, scratch)? else {
                    return Ok(tally);
                };
                let mut bend = local.bend();
                leapfrog(leapfrogs, step, &mut x, &mut momentum, |x| {
                    Ok(Some(local.gradient(sums, x, &variances, &mut bend)))
                })?
            }
        };
        let next = chart.point(&x);
        let log_prior = sums.log_prior(next.as_slice());
        if !reached || !log_prior.is_finite() || !momentum.iter().all(|m| m.is_finite()) {
            return Ok(tally);
        }
        let mut theta = state.theta.clone();
        trial.build(at.problem, &state.records, |records| {
            sums.join(next.as_slice(), pattern, &mut theta, noise, records)
        })?;
        let after =
            log_prior + log_gaussian(trial.residual(), &variances) - 0.5 * momentum.norm_squared();
        if rng.random::<f64>().ln() < after - before {
            trial.take(&mut state.records);
            state.theta = theta;
            tally.accepted = 1;
        }
        Ok(tally)
    }

    fn learn(&mut self, _: &Setting, _: &State, last: Tally, share: f64) -> Outcome {
        let rate = last.accepted as f64 / last.proposed.max(1) as f64;
        let pace = 0.5 * (1.0 - share).max(0.1);
        self.log_step = (self.log_step + pace * (rate - ACCEPTANCE)).clamp(-3.0, 0.4);
        Ok(())
    }
}

/// The trajectory. `false` where it leaves the space.
fn leapfrog(
    steps: usize,
    step: f64,
    x: &mut DVector<f64>,
    momentum: &mut DVector<f64>,
    mut force: impl FnMut(&DVector<f64>) -> Outcome<Option<DVector<f64>>>,
) -> Outcome<bool> {
    let Some(mut pull) = force(x)? else { return Ok(false) };
    for _ in 0..steps {
        momentum.axpy(0.5 * step, &pull, 1.0);
        x.axpy(step, momentum, 1.0);
        let Some(next) = force(x)? else { return Ok(false) };
        pull = next;
        momentum.axpy(0.5 * step, &pull, 1.0);
    }
    Ok(true)
}
