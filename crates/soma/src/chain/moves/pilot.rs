//! Which moves earn their cost: found in the first part of warm-up.

use serde::{Deserialize, Serialize};

use super::Tally;
use crate::chain::Problem;
use crate::diagnostics::ess_bulk;

/// Watches how far each move takes theta, and at what cost in counted work.
///
/// The figure of merit of a move is 1 - rho, where rho is the correlation of a parameter before
/// and after the move, the smallest over the parameters: half the mean squared jump over the
/// variance. Repeated and taken together, moves are reckoned as if each left rho of what was there.
///
/// A block moves theta within a pattern only. One that is taken is nearly a fresh draw there, so
/// that its merit over its acceptance rate is the share of theta's variance within a pattern, and
/// no number of blocks goes beyond it. How soon the sweeps alone renew the pattern is seen in a
/// second part of the pilot, with the best block alone: its effective draws are counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pilot {
    from: u64,
    /// The end of the first part, and of the second.
    until: u64,
    end: u64,
    /// For each slot of the schedule.
    slots: Vec<Watched>,
    /// How many of them, after the first, are variants of the block.
    blocks: usize,
    sweeps: Tally,
    count: f64,
    mean: Vec<f64>,
    scatter: Vec<f64>,
    /// The free parameters after each iteration of the second part.
    alone: Vec<Vec<f64>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Watched {
    tally: Tally,
    /// The work of one more repeat.
    again: u64,
    squared_jumps: Vec<f64>,
    steps: f64,
}

impl Watched {
    /// The work of a step, and of one more repeat in it.
    fn cost(&self) -> f64 {
        self.tally.work as f64 / self.steps.max(1.0)
    }

    fn again(&self) -> f64 {
        self.again as f64 / self.steps.max(1.0)
    }
}

/// The most iterations of the two parts of a pilot.
const MOST: u64 = 100;
const MOST_ALONE: u64 = 80;

/// How often a move is made in an iteration at most.
const MOST_REPEATS: u64 = 4;

/// An iteration should leave no more than this of what was there, if the moves can do it: a draw
/// that says little new still has to be stored and read.
const ENOUGH: f64 = 0.4;

/// The fewest draws of the second part that tell anything; and what their effective number is
/// worth, since a short run does not see what is slower than itself.
const LEAST_ALONE: usize = 30;
const SHORT_RUN: f64 = 0.7;

impl Pilot {
    /// A pilot of a schedule whose slots are the centred move, and then `blocks` and `refreshes`
    /// variants of the two others.
    pub(super) fn new(problem: &Problem, warmup: u64, blocks: usize, refreshes: usize) -> Self {
        let until = (warmup / 3).min(MOST);
        let p = problem.model().parameters().len();
        Pilot {
            from: until / 3,
            until,
            end: until + (warmup / 3).min(MOST_ALONE),
            slots: vec![Watched::default(); 1 + blocks + refreshes],
            blocks,
            sweeps: Tally::default(),
            count: 0.0,
            mean: vec![0.0; p],
            scatter: vec![0.0; p],
            alone: vec![Vec::new(); p],
        }
    }

    /// What to do from the next iteration on, where that changes: how often each slot is made, and
    /// whether the pilot is over.
    pub(super) fn plan(&self, iteration: u64) -> Option<(Vec<u64>, bool)> {
        match iteration + 1 {
            next if next == self.until => {
                let mut repeats = vec![0; self.slots.len()];
                repeats[0] = 1;
                repeats[self.best_of(1..1 + self.blocks)] = 1;
                Some((repeats, false))
            }
            next if next >= self.end => Some((self.choose(), true)),
            _ => None,
        }
    }

    fn free(problem: &Problem, theta: &[f64]) -> Vec<f64> {
        let mut free = theta.to_vec();
        if let Some(model) = problem.model().transport() {
            model.unconstrain(theta, &mut free);
        }
        free
    }

    /// Slot `index` made a move; once more would have taken the work `again`.
    pub(super) fn watch(
        &mut self,
        problem: &Problem,
        iteration: u64,
        index: usize,
        (tally, again): (Tally, u64),
        before: &[f64],
        after: &[f64],
    ) {
        if !(self.from..self.until).contains(&iteration) {
            return;
        }
        let (before, after) = (Pilot::free(problem, before), Pilot::free(problem, after));
        let slot = &mut self.slots[index];
        slot.tally += tally;
        slot.again += again;
        slot.steps += 1.0;
        slot.squared_jumps.resize(before.len(), 0.0);
        for ((sum, a), b) in slot.squared_jumps.iter_mut().zip(&after).zip(&before) {
            *sum += (a - b) * (a - b);
        }
        self.count += 1.0;
        for ((mean, scatter), x) in self.mean.iter_mut().zip(&mut self.scatter).zip(&after) {
            let gap = x - *mean;
            *mean += gap / self.count;
            *scatter += gap * (x - *mean);
        }
    }

    /// An iteration is over: its sweep, and where it led.
    pub(super) fn watch_iteration(
        &mut self,
        problem: &Problem,
        iteration: u64,
        sweep: Tally,
        theta: &[f64],
    ) {
        if (self.from..self.until).contains(&iteration) {
            self.sweeps += sweep;
        } else if iteration >= self.until {
            let free = Pilot::free(problem, theta);
            self.alone.iter_mut().zip(free).for_each(|(all, value)| all.push(value));
        }
    }

    /// The slot among these that takes theta furthest for its cost.
    fn best_of(&self, slots: std::ops::Range<usize>) -> usize {
        let value = |slot: &usize| {
            let slot = &self.slots[*slot];
            self.merit(slot) / slot.cost().max(1.0)
        };
        slots.max_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or(0)
    }

    /// What an iteration with one block and no refresh leaves of what was there.
    fn left_alone(&self) -> Option<f64> {
        let draws = self.alone[0].len();
        let least = self.alone.iter().map(|all| ess_bulk(&[all])).fold(f64::INFINITY, f64::min);
        let share = (SHORT_RUN * least / draws as f64).min(0.9);
        (draws >= LEAST_ALONE && share.is_finite()).then(|| (1.0 - share) / (1.0 + share))
    }

    /// How often each slot should be made in an iteration; 0 for those that do not earn their
    /// cost. The first, the centred move, always stays.
    fn choose(&self) -> Vec<u64> {
        let merit: Vec<f64> = self.slots.iter().map(|slot| self.merit(slot)).collect();
        // The first of a few repeats costs more than the others.
        let cost_of = |slot: usize, times: u64| match times {
            0 => 0.0,
            times => self.slots[slot].cost() + (times - 1) as f64 * self.slots[slot].again(),
        };
        let sweeps = self.sweeps.work as f64 / self.slots[0].steps.max(1.0);
        let block = self.best_of(1..1 + self.blocks);
        let refresh = self.best_of(1 + self.blocks..self.slots.len());
        let rate = self.slots[block].tally.accepted as f64 / self.slots[block].steps.max(1.0);
        let within = (merit[block] / rate.max(merit[block]).max(1e-9)).min(0.95);
        let left_by = |blocks: u64| 1.0 - within * (1.0 - (1.0 - rate).powi(blocks as i32));
        // Without a look at blocks alone: as if the sweeps renewed nothing.
        let alone = self.left_alone().unwrap_or(1.0 - 0.5 * merit[block]);
        let mut only_centred = vec![0; self.slots.len()];
        only_centred[0] = 1;
        let mut best = (false, 0.0, only_centred.clone());
        for blocks in 0..=MOST_REPEATS {
            for refreshes in 0..=MOST_REPEATS {
                let left = match (blocks, refreshes) {
                    (0, 0) => 1.0 - merit[0],
                    (blocks, 0) => alone * left_by(blocks) / left_by(1),
                    _ => {
                        let refreshed = (1.0 - merit[refresh]).powi(refreshes as i32);
                        (1.0 - merit[0]) * left_by(blocks) * refreshed
                    }
                };
                let all =
                    sweeps + cost_of(0, 1) + cost_of(block, blocks) + cost_of(refresh, refreshes);
                let rate = (1.0 - left) / (1.0 + left) / all.max(1.0);
                let enough = left <= ENOUGH;
                if (enough, rate) > (best.0, best.1) {
                    let mut repeats = only_centred.clone();
                    repeats[block] = blocks;
                    repeats[refresh] = refreshes;
                    best = (enough, rate, repeats);
                }
            }
        }
        best.2
    }

    fn merit(&self, slot: &Watched) -> f64 {
        let per_step = 1.0 / (2.0 * slot.steps.max(1.0));
        let variances = self.scatter.iter().map(|s| s / (self.count - 1.0).max(1.0));
        let shares = slot.squared_jumps.iter().zip(variances).map(|(sum, v)| sum * per_step / v);
        let least = shares.fold(f64::INFINITY, f64::min);
        if least.is_finite() { least.min(0.95) } else { 0.0 }
    }
}
