//! Which moves earn their cost: found in the first part of warm-up.

mod choose;
mod parts;

use std::ops::Range;

pub(in crate::chain) use parts::Outlook;
use serde::{Deserialize, Serialize};

use crate::chain::theta::Tally;
use crate::chain::theta::coordinates::sums::Sums;
use crate::chain::{ITERATION_WORK, KERNEL_TRIAL, Problem};
use crate::diagnostics::ess_bulk;
use crate::stored::{Check, MOST_COUNTED, ensure, finite};

/// Watches how far each move takes theta, and at what cost in counted work.
///
/// The figure of merit of a move is 1 - rho, where rho is the correlation of a parameter before
/// and after the move, the smallest over the parameters: half the mean squared jump over the
/// variance.
///
/// theta is reckoned as two parts. One varies within standardised noise: its share of the variance
/// is the merit of a Hamiltonian update over its acceptance rate, since a Hamiltonian update that
/// is taken is nearly a fresh draw there. The other goes with the standardised noise, and no number
/// of Hamiltonian updates moves it; how much of it a sweep leaves is seen in a second part of the
/// pilot, in which the best Hamiltonian update is made alone and its effective draws are counted. A
/// independence update moves both. So the correlations of draws that are so many iterations apart
/// are a sum of two powers, and the effective draws of an iteration with any number of moves, and
/// with a sweep in every iteration or in one of a few, can be reckoned.
///
/// Where the paper's chain seems to be worth most, it is made by itself in a third part, and its
/// effective draws are counted too; it is taken only where they are enough to be told from none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::chain) struct Pilot {
    from: u64,
    /// The end of the first part, of the second, and of the third if there is one.
    until: u64,
    end: u64,
    last: u64,
    /// For each slot of the schedule.
    slots: Vec<Watched>,
    candidates: Candidates,
    /// Whether the posterior may have any shape, and Hamiltonian updates are cheap.
    bends: bool,
    sweeps: Tally,
    /// The work of changing to the coordinates of Hamiltonian updates and independence updates and
    /// back.
    hold: f64,
    count: f64,
    mean: Vec<f64>,
    scatter: Vec<f64>,
    /// The first unconstrained theta that was seen, where the widths of the prior are known.
    first: Vec<f64>,
    /// The free parameters after each iteration of the second part, and of the third.
    hamiltonian_alone: Vec<Vec<f64>>,
    centred_alone: Vec<Vec<f64>>,
}

/// What the slots of a schedule are: first the centred move, then so many variants of the
/// Hamiltonian update and of the independence update, the ridge and the bridge.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(in crate::chain) struct Candidates {
    pub(in crate::chain) hamiltonians: usize,
    pub(in crate::chain) independences: usize,
    pub(in crate::chain) has_ridge: bool,
    pub(in crate::chain) has_bridge: bool,
}

impl Candidates {
    fn hamiltonians(&self) -> Range<usize> {
        1..1 + self.hamiltonians
    }

    fn independences(&self) -> Range<usize> {
        1 + self.hamiltonians..1 + self.hamiltonians + self.independences
    }

    fn ridge(&self) -> Option<usize> {
        self.has_ridge.then_some(1 + self.hamiltonians + self.independences)
    }

    fn bridge(&self) -> Option<usize> {
        self.has_bridge.then_some(self.count() - 1)
    }

    fn count(&self) -> usize {
        let others = self.has_ridge as usize + self.has_bridge as usize;
        1 + self.hamiltonians + self.independences + others
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Watched {
    accepted: u64,
    /// The work of being made once, and once more, in all steps.
    once: u64,
    again: u64,
    squared_jumps: Vec<f64>,
    steps: f64,
}

impl Watched {
    /// The work of so many repeats.
    fn cost(&self, times: u64) -> f64 {
        let per_step = 1.0 / self.steps.max(1.0);
        match times {
            0 => 0.0,
            times => per_step * (self.once as f64 + (times - 1) as f64 * self.again as f64),
        }
    }

    fn check(&self, p: usize) -> Check {
        let most = [self.accepted, self.once, self.again].into_iter().max().unwrap_or(0);
        ensure(most < MOST_COUNTED && self.steps.is_finite(), "the counts of the pilot are none")?;
        let length = if self.squared_jumps.is_empty() { 0 } else { p };
        finite("the jumps of the pilot", length, &self.squared_jumps)
    }

    fn rate(&self) -> f64 {
        self.accepted as f64 / self.steps.max(1.0)
    }
}

/// How often each slot is made in an iteration, and in one of how many iterations there is a sweep
/// with the centred move.
#[derive(Debug, Clone)]
pub(in crate::chain) struct Plan {
    pub(in crate::chain) repeats: Vec<u64>,
    pub(in crate::chain) every: u64,
    /// The share of independence updates in which theta walks.
    pub(in crate::chain) walks: f64,
    /// What that will do, where it is more than the paper's chain.
    pub(in crate::chain) outlook: Option<Outlook>,
    pub(in crate::chain) is_last: bool,
}

/// The most iterations of the three parts of a pilot.
const MOST: u64 = 150;
const MOST_ALONE: u64 = 120;
const MOST_ALONE_OF_BENDS: u64 = 300;
const MOST_CENTRED: u64 = 120;

/// How often a move is made in an iteration at most, and how seldom a sweep.
pub(in crate::chain) const MOST_REPEATS: u64 = 4;
const EVERY: [u64; 2] = [1, 2];

/// A independence update that is taken less often than this may leave a chain where it is for long,
/// so that sweeps are not to be spared.
const SURE: f64 = 0.5;

/// Where it is taken less often than this, theta walks in half of the independence updates.
const RARE: f64 = 0.4;

/// A Hamiltonian update of less than this share of a sweep's work is cheap.
const CHEAP: f64 = 0.3;

/// Where the posterior bends, a Hamiltonian update of less than so many times a sweep's work is not made
/// alone in an iteration.
const RASH: f64 = 4.0;

/// Draws that say less new than this are worth less than their effective number: each has to be
/// stored and read.
const ENOUGH: f64 = 0.3;

/// How many Hamiltonian updates an iteration has in the second half of the second part, where the
/// posterior bends.
const FAR: u64 = 3;

/// The fewest draws of a part that tell anything.
const LEAST_ALONE: usize = 24;

/// The fewest effective draws of an iteration that a part with the centred move alone tells from
/// none, and the fewest iterations that it takes to tell.
const LEAST_TOLD: f64 = 0.25;
const LEAST_CENTRED: u64 = 60;

/// A correlation at this lag and above this size is no accident of a short run.
const LAG: usize = 8;
const SLOW: f64 = 0.5;

impl Pilot {
    /// A pilot of a schedule whose slots are these.
    pub(in crate::chain) fn new(problem: &Problem, warmup: u64, candidates: Candidates) -> Self {
        let until = (warmup / 4).min(MOST);
        let bends =
            Sums::new(problem).is_some_and(|sums| sums.has_quick_slopes() && sums.model.may_bend());
        let most_alone = if bends { MOST_ALONE_OF_BENDS } else { MOST_ALONE };
        let alone = (warmup / if bends { 3 } else { 5 }).min(most_alone);
        let end = until + alone;
        let p = problem.model().parameters().len();
        Pilot {
            from: until / 3,
            until,
            end,
            last: end + MOST_CENTRED.min((KERNEL_TRIAL * warmup as f64) as u64 - end),
            slots: vec![Watched::default(); candidates.count()],
            candidates,
            bends,
            sweeps: Tally::default(),
            hold: 0.0,
            count: 0.0,
            mean: vec![0.0; p],
            scatter: vec![0.0; p],
            first: Vec::new(),
            hamiltonian_alone: vec![Vec::new(); p],
            centred_alone: vec![Vec::new(); p],
        }
    }

    /// Whether a sweep may be made in one of `every` iterations.
    pub(in crate::chain) fn allows(every: u64) -> bool {
        EVERY.contains(&every)
    }

    /// Whether this is a pilot in a warm-up of so many iterations.
    pub(in crate::chain) fn check(&self, problem: &Problem, warmup: u64) -> Check {
        let most = 16;
        let Candidates { hamiltonians, independences, .. } = self.candidates;
        ensure(
            (1..=most).contains(&hamiltonians) && (1..=most).contains(&independences),
            "it has no moves",
        )?;
        let begun = Pilot::new(problem, warmup, self.candidates);
        let times = |pilot: &Pilot| [pilot.from, pilot.until, pilot.end, pilot.last];
        let fits = times(self) == times(&begun) && self.slots.len() == begun.slots.len();
        ensure(fits, "the pilot is of another warm-up")?;
        let p = begun.mean.len();
        finite("the mean of the pilot", p, &self.mean)?;
        finite("the scatter of the pilot", p, &self.scatter)?;
        finite(
            "the first theta of the pilot",
            if self.first.is_empty() { 0 } else { p },
            &self.first,
        )?;
        finite("the counts of the pilot", 2, &[self.hold, self.count])?;
        for alone in [&self.hamiltonian_alone, &self.centred_alone] {
            let length = alone.first().map_or(0, Vec::len);
            ensure(alone.len() == p && length as u64 <= self.last, "its draws are of another run")?;
            alone.iter().try_for_each(|draws| finite("a draw of the pilot", length, draws))?;
        }
        self.sweeps.check()?;
        self.slots.iter().try_for_each(|slot| slot.check(p))
    }

    /// Whether it watches a schedule with so many Hamiltonian, independence, ridge and bridge
    /// updates, and so many moves in all.
    pub(in crate::chain) fn watches(&self, kinds: [usize; 4], all: usize) -> bool {
        let Candidates { hamiltonians, independences, has_ridge, has_bridge } = self.candidates;
        kinds == [hamiltonians, independences, has_ridge.into(), has_bridge.into()]
            && all == self.candidates.count()
    }

    /// Whether all moves are made in an iteration, so that theta goes wherever it can.
    pub(in crate::chain) fn makes_all(&self, iteration: u64) -> bool {
        iteration < self.until
    }

    /// What to do from the next iteration on, where that changes.
    pub(in crate::chain) fn plan(&self, iteration: u64) -> Option<Plan> {
        let next = iteration + 1;
        if next == self.until {
            let mut repeats = self.only_centred();
            let hamiltonian = self.best_of(self.candidates.hamiltonians());
            repeats[hamiltonian] = 1;
            self.paying_ridge(hamiltonian).into_iter().for_each(|ridge| repeats[ridge] = 1);
            Some(Plan { repeats, every: 1, walks: 0.0, outlook: None, is_last: false })
        } else if self.bends && next == self.until + self.half() {
            let mut repeats = self.only_centred();
            let hamiltonian = self.best_of(self.candidates.hamiltonians());
            repeats[hamiltonian] = FAR;
            self.paying_ridge(hamiltonian).into_iter().for_each(|ridge| repeats[ridge] = 1);
            Some(Plan { repeats, every: 1, walks: 0.0, outlook: None, is_last: false })
        } else if next == self.end {
            let is_counted = self.last - self.end >= LEAST_CENTRED;
            let plan = self.choose(if is_counted { self.most_centred_draws() } else { 0.0 });
            let is_last = plan.repeats != self.only_centred() || !is_counted;
            Some(Plan { is_last, ..plan })
        } else if next == self.last {
            Some(self.choose(self.centred_draws()))
        } else {
            None
        }
    }

    /// The iterations of the second part with one Hamiltonian update each.
    fn half(&self) -> u64 {
        (self.end - self.until) / if self.bends { 2 } else { 1 }
    }

    /// The effective draws of an iteration with one Hamiltonian update, and with [`FAR`] of them.
    fn hamiltonian_draws(&self) -> [Option<f64>; 2] {
        let half = self.half() as usize;
        let of = |range: Range<usize>| {
            let all = self.hamiltonian_alone.iter();
            self.effective(
                &all.map(|x| x.get(range.clone()).unwrap_or(&[]).to_vec()).collect::<Vec<_>>(),
            )
        };
        let end = self.hamiltonian_alone.first().map_or(0, Vec::len);
        [of(0..half.min(end)), if self.bends { of(half..end.max(half)) } else { None }]
    }

    fn only_centred(&self) -> Vec<u64> {
        let mut repeats = vec![0; self.slots.len()];
        repeats[0] = 1;
        repeats
    }

    /// The unconstrained theta, on which moves are judged. Where the widths of the prior are known,
    /// distances from the first theta that was seen are squeezed to these: far out in a tail of the
    /// posterior, as in that of the logarithm of a standard deviation near 0, a long way says little.
    fn free(&mut self, problem: &Problem, theta: &[f64]) -> Vec<f64> {
        let mut free = theta.to_vec();
        let Some(model) = problem.model().transport() else { return free };
        model.unconstrain(theta, &mut free);
        if let Some(widths) = model.prior_widths().filter(|_| self.bends) {
            if self.first.is_empty() {
                self.first.clone_from(&free);
            }
            for ((x, first), width) in free.iter_mut().zip(&self.first).zip(widths) {
                *x = width * ((*x - first) / width).tanh();
            }
        }
        free
    }

    /// Slot `index` made a move; to make it once, or twice, is so much work.
    pub(in crate::chain) fn watch(
        &mut self,
        problem: &Problem,
        iteration: u64,
        index: usize,
        (accepted, once, twice): (u64, u64, u64),
        before: &[f64],
        after: &[f64],
    ) {
        if !(self.from..self.until).contains(&iteration) {
            return;
        }
        let (before, after) = (self.free(problem, before), self.free(problem, after));
        let slot = &mut self.slots[index];
        slot.accepted += accepted;
        slot.once += once;
        slot.again += twice - once;
        slot.steps += 1.0;
        add_squares(&mut slot.squared_jumps, &before, &after);
        self.count += 1.0;
        for ((mean, scatter), x) in self.mean.iter_mut().zip(&mut self.scatter).zip(&after) {
            let gap = x - *mean;
            *mean += gap / self.count;
            *scatter += gap * (x - *mean);
        }
    }

    /// An iteration is over: its sweep, the work of holding its coordinates, and where it led.
    pub(in crate::chain) fn watch_iteration(
        &mut self,
        problem: &Problem,
        iteration: u64,
        sweep: Tally,
        hold: f64,
        theta: &[f64],
    ) {
        self.hold = hold;
        let is_hamiltonian = iteration < self.end;
        match iteration {
            i if i < self.from => return,
            i if i < self.until => {
                self.sweeps += sweep;
                return;
            }
            _ => {}
        }
        let free = self.free(problem, theta);
        let alone =
            if is_hamiltonian { &mut self.hamiltonian_alone } else { &mut self.centred_alone };
        alone.iter_mut().zip(free).for_each(|(all, value)| all.push(value));
    }

    /// The slot among these that takes theta furthest for its cost.
    fn best_of(&self, slots: Range<usize>) -> usize {
        let value = |slot: &usize| self.merit(&[*slot]) / self.slots[*slot].cost(1).max(1.0);
        slots.max_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or(0)
    }

    /// How far theta is taken by these slots, made one after the other.
    fn merit(&self, slots: &[usize]) -> f64 {
        let mut left = vec![1.0; self.scatter.len()];
        for slot in slots.iter().map(|slot| &self.slots[*slot]) {
            let per_step = 1.0 / (2.0 * slot.steps.max(1.0));
            let variances = self.scatter.iter().map(|s| s / (self.count - 1.0).max(1.0));
            let shares =
                slot.squared_jumps.iter().zip(variances).map(|(sum, v)| sum * per_step / v);
            left.iter_mut().zip(shares).for_each(|(left, share)| *left *= (1.0 - share).max(0.0));
        }
        let least = left.iter().fold(1.0, |least, left| (1.0 - left).min(least));
        if least.is_finite() { least.min(0.95) } else { 0.0 }
    }

    /// What the acceptance rate of an independence update says of it. Where the posterior bends, a
    /// low rate is that of some places, and in others hardly a proposal is accepted.
    fn trust(&self, slot: usize) -> f64 {
        if self.bends { (self.slots[slot].rate() / RARE).min(1.0).powi(2) } else { 1.0 }
    }

    /// The work of a sweep with the centred move.
    fn per_sweep(&self) -> f64 {
        self.sweeps.work as f64 / self.slots[0].steps.max(1.0) + self.slots[0].cost(1)
    }

    /// The ridge, where it earns its cost beside this Hamiltonian update.
    fn paying_ridge(&self, hamiltonian: usize) -> Option<usize> {
        let ridge = self.candidates.ridge()?;
        let without = self.per_sweep() + self.hold + self.slots[hamiltonian].cost(1);
        let value = |slots: &[usize], work: f64| {
            let merit = self.merit(slots);
            worth(merit / (2.0 - merit), work)
        };
        let with = without + self.slots[ridge].cost(1);
        (value(&[hamiltonian, ridge], with) > value(&[hamiltonian], without)).then_some(ridge)
    }

    /// The effective draws of an iteration with the centred move alone, if a sweep renewed all
    /// records.
    fn most_centred_draws(&self) -> f64 {
        let merit = self.merit(&[0]);
        merit / (2.0 - merit)
    }

    /// The same as they were counted. Few of them are none: of a chain that creeps, a short part
    /// cannot tell how slowly it does, and such a choice would be for good.
    fn centred_draws(&self) -> f64 {
        let counted = self.effective(&self.centred_alone).unwrap_or(0.0);
        if counted < LEAST_TOLD { 0.0 } else { counted.min(self.most_centred_draws()) }
    }

    /// The smallest number of effective draws for each of these draws of the parameters, if they
    /// are enough to tell.
    fn effective(&self, draws: &[Vec<f64>]) -> Option<f64> {
        let count = draws.first().map_or(0, Vec::len);
        if count < LEAST_ALONE {
            return None;
        }
        let least = draws.iter().map(|all| ess_bulk(&[all])).fold(f64::INFINITY, f64::min);
        let share = (least / count as f64).min(0.9);
        // Of a slow chain a short run sees so little that it takes that for all there is; what it
        // moved in some iterations, against the variance that all moves together have shown, tells
        // more.
        let variances = self.scatter.iter().map(|s| s / (self.count - 1.0).max(1.0));
        let left = draws.iter().zip(variances).map(|(all, variance)| {
            let jumps = all.iter().zip(&all[LAG..]).map(|(a, b)| (a - b) * (a - b));
            let mean = all.iter().sum::<f64>() / count as f64;
            let own = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count as f64;
            let variance = variance.min(4.0 * own);
            1.0 - jumps.sum::<f64>() / (2.0 * variance * (count - LAG) as f64)
        });
        let left = left.fold(0.0, f64::max);
        let slow = if left > SLOW { left.min(0.999).powf(1.0 / LAG as f64) } else { 0.0 };
        share.is_finite().then(|| share.min((1.0 - slow) / (1.0 + slow)))
    }
}

/// Adds the squared jump of each parameter.
fn add_squares(sums: &mut Vec<f64>, before: &[f64], after: &[f64]) {
    sums.resize(before.len(), 0.0);
    for ((sum, a), b) in sums.iter_mut().zip(after).zip(before) {
        *sum += (a - b) * (a - b);
    }
}

/// What so many effective draws for so much work are worth.
fn worth(draws: f64, work: f64) -> f64 {
    draws / (work + ITERATION_WORK) * (draws / ENOUGH).min(1.0).sqrt()
}
