//! Moves of theta, and of theta with all records at once.
//!
//! Each leaves the joint posterior of theta and the records,
//!
//! pi(theta, x) = p(theta) prod_i f(x_i | theta) eta(s_dp | S(x)),
//!
//! invariant, and so does any sequence of them that is fixed in advance. They learn their
//! constants in warm-up and from then on hold them: a move that goes on learning from the chain it
//! moves leaves nothing invariant.

mod affine;
mod block;
mod centred;
mod chart;
mod dense;
mod frame;
mod learned;
mod non_centred;
mod pilot;
mod refresh;
mod sums;
#[cfg(test)]
mod tests;
mod trial;

use serde::{Deserialize, Serialize};

use block::{Block, Force};
use centred::Centred;
use chart::Chart;
use non_centred::NonCentred;
use pilot::Pilot;
use refresh::Refresh;
use sums::{Scratch, Sums};

use super::Problem;
use crate::error::Outcome;
use crate::kernel::{Counts, Records};
use crate::release::mechanism::Shape;
use crate::rng::Rng;

/// What a chain is: theta and the records.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The imputed records.
    pub records: Records,
}

/// What a move did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Proposals made.
    pub proposed: u64,
    /// Proposals taken.
    pub accepted: u64,
    /// The work, counted in passes over one record: a record built and its statistic computed.
    pub work: u64,
}

/// Sweeps, of which the work is not known yet.
impl From<Counts> for Tally {
    fn from(counts: Counts) -> Self {
        Tally { proposed: counts.moves, accepted: counts.accepted, work: 0 }
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.proposed += other.proposed;
        self.accepted += other.accepted;
        self.work += other.work;
    }
}

/// Where a move is made: the problem, and what all moves share of what was learned.
struct Setting<'a> {
    problem: &'a Problem,
    /// The problem as a function of theta, frame and pattern, where it is one.
    sums: Option<Sums<'a>>,
    chart: Option<&'a Chart>,
}

impl Setting<'_> {
    fn shape(&self) -> Shape {
        self.problem.release().mechanism().noise().shape()
    }
}

/// A move that leaves the joint posterior of theta and the records invariant.
trait ThetaMove {
    /// Moves the state so many times. Its constants are the same before and after.
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        times: u64,
        rng: &mut Rng,
    ) -> Outcome<Tally>;

    /// The work of a step of so many times.
    fn work(&self, at: &Setting, times: u64) -> u64;

    /// Learns from the state and from what the last step did: called in warm-up only, `share` of
    /// which has passed.
    fn learn(&mut self, at: &Setting, state: &State, last: Tally, share: f64) -> Outcome;
}

/// Which moves of theta a chain makes, as a user chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MovesChoice {
    /// Those that earn their cost, found in warm-up.
    #[default]
    Auto,
    /// theta given the records and nothing else: the paper's chain.
    Centred,
    /// Centred and non-centred in turn.
    Interwoven,
}

impl MovesChoice {
    /// All choices, in the order in which they are listed to a user.
    pub const ALL: [MovesChoice; 3] =
        [MovesChoice::Auto, MovesChoice::Centred, MovesChoice::Interwoven];

    /// The names of all choices, as a user writes them.
    pub const NAMES: [&'static str; 3] = ["auto", "centred", "interwoven"];

    /// The name, as a user writes it.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The choice of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }
}

/// One of the moves, with whatever it has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Move {
    Centred(Centred),
    NonCentred(Box<NonCentred>),
    Block(Box<Block>),
    Refresh(Box<Refresh>),
}

impl Move {
    fn name(&self) -> &'static str {
        match self {
            Move::Centred(_) => "centred",
            Move::NonCentred(_) => "non-centred",
            Move::Block(_) => "block",
            Move::Refresh(_) => "refresh",
        }
    }

    fn as_move(&mut self) -> &mut dyn ThetaMove {
        match self {
            Move::Centred(it) => it,
            Move::NonCentred(it) => it.as_mut(),
            Move::Block(it) => it.as_mut(),
            Move::Refresh(it) => it.as_mut(),
        }
    }
}

/// What the sweeps, or one move of theta, did after warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MoveReport {
    /// `sweep`, or the name of the move.
    pub name: String,
    /// How often it is made in an iteration.
    pub repeats: u64,
    /// What it did.
    pub tally: Tally,
    /// Its share of all work.
    pub share: f64,
}

/// A move, how often it is made in an iteration, and what it did after warm-up.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Slot {
    made: Move,
    repeats: u64,
    tally: Tally,
}

impl Slot {
    fn new(made: Move) -> Self {
        Slot { made, repeats: 1, tally: Tally::default() }
    }
}

/// The moves of theta that a chain makes after each sweep, in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Schedule {
    warmup: u64,
    sweeps: Tally,
    slots: Vec<Slot>,
    chart: Option<Chart>,
    pilot: Option<Pilot>,
}

/// The least warm-up in which anything can be learned.
const LEAST_WARMUP: u64 = 20;

/// Up to as many records, a force that is computed from them at every step may pay.
const FEW_RECORDS: usize = 300;

impl Schedule {
    /// The moves of `choice` that `problem` has, with `warmup` iterations to learn in.
    pub fn new(
        problem: &Problem,
        choice: MovesChoice,
        warmup: u64,
        rng: &mut Rng,
    ) -> Outcome<Self> {
        let mut schedule = Schedule::centred(problem);
        if problem.fixed().is_some() || choice == MovesChoice::Centred || warmup < LEAST_WARMUP {
            return Ok(schedule);
        }
        schedule.warmup = warmup;
        // Counts jump, so that a chart of them has no slopes to show.
        let smooth = problem.release().query().bins().is_none();
        let sums = Sums::new(problem).filter(|_| choice == MovesChoice::Auto && smooth);
        if let Some(sums) = sums {
            let forces = match (sums.has_quick_slopes(), sums.n <= FEW_RECORDS) {
                (true, _) => vec![Force::Exact],
                (false, true) => vec![Force::Chart, Force::OwnSlope, Force::Exact],
                (false, false) => vec![Force::Chart, Force::OwnSlope],
            };
            let slopes = [false, true];
            schedule.pilot = Some(Pilot::new(problem, warmup, forces.len(), slopes.len()));
            let blocks = forces.into_iter().map(|force| Move::Block(Box::new(Block::new(force))));
            let refreshes = slopes.map(|own| Move::Refresh(Box::new(Refresh::new(own))));
            schedule.slots.extend(blocks.chain(refreshes).map(Slot::new));
        } else if let Some(non_centred) = NonCentred::new(problem, rng)? {
            schedule.slots.push(Slot::new(Move::NonCentred(Box::new(non_centred))));
        }
        Ok(schedule)
    }

    /// The paper's chain: one update of theta given the records, where theta is not fixed.
    pub fn centred(problem: &Problem) -> Self {
        let slots = match problem.fixed() {
            Some(_) => Vec::new(),
            None => vec![Slot::new(Move::Centred(Centred))],
        };
        Schedule { warmup: 0, sweeps: Tally::default(), slots, chart: None, pilot: None }
    }

    /// Makes all moves. `iteration` counts from 0; the moves learn while it is below the warm-up.
    /// `sweep` is what the sweep before them did. Returns the work of the moves.
    pub fn step(
        &mut self,
        problem: &Problem,
        state: &mut State,
        iteration: u64,
        sweep: Tally,
        rng: &mut Rng,
    ) -> Outcome<u64> {
        if iteration < self.warmup {
            return self.step_and_learn(problem, state, iteration, sweep, rng);
        }
        self.sweeps += sweep;
        let mut work = 0;
        let at = Setting { problem, sums: Sums::new(problem), chart: self.chart.as_ref() };
        for slot in &mut self.slots {
            let tally = slot.made.as_move().step(&at, state, slot.repeats, rng)?;
            work += tally.work;
            slot.tally += tally;
        }
        Ok(work)
    }

    fn step_and_learn(
        &mut self,
        problem: &Problem,
        state: &mut State,
        iteration: u64,
        sweep: Tally,
        rng: &mut Rng,
    ) -> Outcome<u64> {
        let mut work = 0;
        let share = iteration as f64 / self.warmup as f64;
        let shape = problem.release().mechanism().noise().shape();
        if iteration == 0
            && self.pilot.is_some()
            && let Some(sums) = Sums::new(problem)
        {
            self.chart = Chart::begin(&sums, shape, state, rng)?;
        }
        let at = Setting { problem, sums: Sums::new(problem), chart: self.chart.as_ref() };
        for (index, slot) in self.slots.iter_mut().enumerate().filter(|(_, s)| s.repeats > 0) {
            let before = state.theta.clone();
            let made = slot.made.as_move();
            let tally = made.step(&at, state, slot.repeats, rng)?;
            work += tally.work;
            made.learn(&at, state, tally, share)?;
            if let Some(pilot) = &mut self.pilot {
                let again = made.work(&at, 2) - made.work(&at, 1);
                pilot.watch(problem, iteration, index, (tally, again), &before, &state.theta);
            }
        }
        if let (Some(chart), Some(sums)) = (&mut self.chart, Sums::new(problem)) {
            let mut point = Vec::new();
            if sums.split(state, &mut Vec::new(), &mut Scratch::default(), &mut point)? {
                chart.learn(&sums, shape, &point, rng)?;
            }
        }
        if let Some(pilot) = &mut self.pilot {
            pilot.watch_iteration(problem, iteration, sweep, &state.theta);
            if let Some((repeats, is_over)) = pilot.plan(iteration) {
                self.slots.iter_mut().zip(repeats).for_each(|(slot, times)| slot.repeats = times);
                if is_over {
                    self.pilot = None;
                    self.slots.retain(|slot| slot.repeats > 0);
                }
            }
        }
        Ok(work)
    }

    /// How many iterations the moves learn in.
    pub fn warmup(&self) -> u64 {
        self.warmup
    }

    /// What the sweeps and each move of theta did after warm-up.
    pub fn report(&self) -> Vec<MoveReport> {
        let moves = self.slots.iter().map(|slot| (slot.made.name(), slot.repeats, slot.tally));
        let rows: Vec<_> = std::iter::once(("sweep", 1, self.sweeps)).chain(moves).collect();
        let all: u64 = rows.iter().map(|(_, _, tally)| tally.work).sum();
        let report = |(name, repeats, tally): (&str, u64, Tally)| MoveReport {
            name: name.into(),
            repeats,
            tally,
            share: tally.work as f64 / all.max(1) as f64,
        };
        rows.into_iter().map(report).collect()
    }
}
