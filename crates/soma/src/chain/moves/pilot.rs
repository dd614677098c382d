//! Which moves earn their cost: found in the first part of warm-up.

use serde::{Deserialize, Serialize};

use super::Tally;
use crate::chain::Problem;

/// Watches how far each move takes theta, and at what cost in counted work.
///
/// The figure of merit of a move is 1 - rho, where rho is the correlation of a parameter before
/// and after the move, the smallest over the parameters: half the mean squared jump over the
/// variance. Repeated and taken together, moves are reckoned as if each left rho of what was there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pilot {
    from: u64,
    until: u64,
    /// For each slot of the schedule.
    slots: Vec<Watched>,
    /// How many of them, after the first, are variants of the block.
    blocks: usize,
    sweeps: Tally,
    count: f64,
    mean: Vec<f64>,
    scatter: Vec<f64>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Watched {
    tally: Tally,
    squared_jumps: Vec<f64>,
    steps: f64,
}

/// The most iterations of a pilot.
const MOST: u64 = 160;

/// How often a move is made in an iteration at most.
const MOST_REPEATS: u64 = 4;

/// An iteration should leave no more than this of what was there, if the moves can do it: a draw
/// that says little new still has to be stored and read.
const ENOUGH: f64 = 0.4;

/// What a block's merit counts for where nothing renews the pattern but the sweeps: its jumps show
/// how theta moves within a pattern, and not how soon it would come back.
const WITHOUT_REFRESH: f64 = 0.5;

impl Pilot {
    /// A pilot of a schedule whose slots are the centred move, and then `blocks` and `refreshes`
    /// variants of the two others.
    pub(super) fn new(problem: &Problem, warmup: u64, blocks: usize, refreshes: usize) -> Self {
        let until = (warmup / 2).min(MOST);
        let p = problem.model().parameters().len();
        Pilot {
            from: until / 3,
            until,
            slots: vec![Watched::default(); 1 + blocks + refreshes],
            blocks,
            sweeps: Tally::default(),
            count: 0.0,
            mean: vec![0.0; p],
            scatter: vec![0.0; p],
        }
    }

    pub(super) fn is_over(&self, iteration: u64) -> bool {
        iteration + 1 >= self.until
    }

    /// Slot `index` made a move.
    pub(super) fn watch(
        &mut self,
        problem: &Problem,
        iteration: u64,
        index: usize,
        tally: Tally,
        before: &[f64],
        after: &[f64],
    ) {
        if iteration < self.from {
            return;
        }
        let free = |theta: &[f64]| {
            let mut free = theta.to_vec();
            if let Some(model) = problem.model().transport() {
                model.unconstrain(theta, &mut free);
            }
            free
        };
        let (before, after) = (free(before), free(after));
        let slot = &mut self.slots[index];
        slot.tally += tally;
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

    /// The sweep of an iteration.
    pub(super) fn watch_sweep(&mut self, iteration: u64, tally: Tally) {
        if iteration >= self.from {
            self.sweeps += tally;
        }
    }

    /// How often each slot should be made in an iteration; 0 for those that do not earn their
    /// cost. The first, the centred move, always stays.
    pub(super) fn choose(&self) -> Vec<u64> {
        let merit: Vec<f64> = self.slots.iter().map(|slot| self.merit(slot)).collect();
        let cost: Vec<f64> =
            self.slots.iter().map(|slot| slot.tally.work as f64 / slot.steps.max(1.0)).collect();
        let sweeps = self.sweeps.work as f64 / self.slots[0].steps.max(1.0);
        let best_of = |slots: std::ops::Range<usize>| {
            let value = |slot: &usize| merit[*slot] / cost[*slot].max(1.0);
            slots.max_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or(0)
        };
        let block = best_of(1..1 + self.blocks);
        let refresh = best_of(1 + self.blocks..self.slots.len());
        let mut only_centred = vec![0; self.slots.len()];
        only_centred[0] = 1;
        let mut best = (false, 0.0, only_centred.clone());
        for blocks in 0..=MOST_REPEATS {
            for refreshes in 0..=MOST_REPEATS {
                // Blocks alone leave the pattern to the sweeps.
                let trust = if refreshes == 0 { WITHOUT_REFRESH } else { 1.0 };
                let left = (1.0 - merit[0])
                    * (1.0 - trust * merit[block]).powi(blocks as i32)
                    * (1.0 - merit[refresh]).powi(refreshes as i32);
                let all = sweeps
                    + cost[0]
                    + blocks as f64 * cost[block]
                    + refreshes as f64 * cost[refresh];
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
