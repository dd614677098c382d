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
mod built;
mod centred;
mod chart;
mod dense;
mod frame;
mod held;
mod hidden;
mod learned;
mod local;
mod non_centred;
mod passes;
mod pattern;
mod pilot;
mod prices;
mod prior;
mod refresh;
mod sums;
#[cfg(test)]
mod tests;
mod trial;
mod upper;

use serde::{Deserialize, Serialize};

use block::{Block, Force};
use centred::Centred;
use chart::Chart;
use held::Held;
use non_centred::NonCentred;
use pilot::{Pilot, Plan};
use refresh::Refresh;
use sums::Sums;

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
    /// What clamping hides of the records, where that can be redrawn.
    hidden: Option<hidden::Bounds>,
    chart: Option<&'a Chart>,
}

impl<'a> Setting<'a> {
    fn new(problem: &'a Problem, chart: Option<&'a Chart>) -> Self {
        let hidden = hidden::Bounds::new(problem);
        Setting { problem, sums: Sums::new(problem), hidden, chart }
    }

    fn shape(&self) -> Shape {
        self.problem.release().mechanism().noise().shape()
    }
}

/// A move that leaves the joint posterior of theta and the records invariant.
trait ThetaMove {
    /// Moves the state so many times, in its own coordinates or in those that are `held`. The
    /// constants of the move are the same before and after.
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        held: &mut Held,
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

    /// Whether it is made in the coordinates that are held through an iteration.
    fn is_held(&self) -> bool {
        matches!(self, Move::Block(_) | Move::Refresh(_))
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
    /// It is made in one of so many iterations.
    pub every: u64,
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
    /// In one of how many iterations there is a sweep, and the centred move with it.
    every: u64,
    chart: Option<Chart>,
    pilot: Option<Pilot>,
    #[serde(skip)]
    held: Held,
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
            let redraws_hidden = hidden::Bounds::new(problem).is_some();
            schedule.slots = vec![Slot::new(Move::Centred(Centred { redraws_hidden }))];
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
        let every = 1;
        let slots = match problem.fixed() {
            Some(_) => Vec::new(),
            None => vec![Slot::new(Move::Centred(Centred::default()))],
        };
        Schedule {
            warmup: 0,
            every,
            sweeps: Tally::default(),
            slots,
            chart: None,
            pilot: None,
            held: Held::default(),
        }
    }

    /// Whether the records are to be swept in an iteration, which counts from 0. Where the moves of
    /// theta renew the records too, they need not be in every one.
    pub fn sweeps_in(&self, iteration: u64) -> bool {
        iteration.is_multiple_of(self.every)
    }

    /// In one of how many iterations there is a sweep.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// Makes all moves. `iteration` counts from 0; the moves learn while it is below the warm-up.
    /// `sweep` is what the sweep before them did, if there was one; without one there is no centred
    /// move. Returns the work of the moves.
    pub fn step(
        &mut self,
        problem: &Problem,
        state: &mut State,
        iteration: u64,
        sweep: Option<Tally>,
        rng: &mut Rng,
    ) -> Outcome<u64> {
        if iteration < self.warmup {
            return self.step_and_learn(problem, state, iteration, sweep, rng);
        }
        self.sweeps += sweep.unwrap_or_default();
        let mut work = 0;
        let at = Setting::new(problem, self.chart.as_ref());
        self.held.forget();
        let is_made = |slot: &&mut Slot| sweep.is_some() || slot.made.is_held();
        let mut hold = at.sums.as_ref().map_or(0.0, Sums::hold) as u64;
        for slot in self.slots.iter_mut().filter(is_made) {
            let made = slot.made.as_move();
            let mut tally = made.step(&at, state, &mut self.held, slot.repeats, rng)?;
            if slot.made.is_held() {
                tally.work += std::mem::take(&mut hold);
            }
            work += tally.work;
            slot.tally += tally;
        }
        self.held.land(&at, state)?;
        Ok(work)
    }

    fn step_and_learn(
        &mut self,
        problem: &Problem,
        state: &mut State,
        iteration: u64,
        sweep: Option<Tally>,
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
        let at = Setting::new(problem, self.chart.as_ref());
        self.held.forget();
        let is_made = |slot: &Slot| slot.repeats > 0 && (sweep.is_some() || slot.made.is_held());
        for (index, slot) in self.slots.iter_mut().enumerate().filter(|(_, slot)| is_made(slot)) {
            let before = state.theta.clone();
            let made = slot.made.as_move();
            let tally = made.step(&at, state, &mut self.held, slot.repeats, rng)?;
            self.held.land(&at, state)?;
            work += tally.work;
            made.learn(&at, state, tally, share)?;
            if let Some(pilot) = &mut self.pilot {
                let did = (tally.accepted, made.work(&at, 1), made.work(&at, 2));
                pilot.watch(problem, iteration, index, did, &before, &state.theta);
            }
        }
        // What a part of the moves reaches in a short time is no picture of the posterior.
        let learns = self.pilot.as_ref().is_none_or(|pilot| pilot.makes_all(iteration));
        if let (Some(chart), Some(sums), true) = (&mut self.chart, Sums::new(problem), learns)
            && self.held.hold(&sums, state)?
        {
            chart.learn(&sums, shape, &self.held.point, rng)?;
        }
        if let Some(pilot) = &mut self.pilot {
            let hold = Sums::new(problem).map_or(0.0, |sums| sums.hold());
            let swept = sweep.unwrap_or_default();
            pilot.watch_iteration(problem, iteration, swept, hold, &state.theta);
            if let Some(Plan { repeats, every, walks, is_last }) = pilot.plan(iteration) {
                self.slots.iter_mut().zip(repeats).for_each(|(slot, times)| slot.repeats = times);
                self.every = every;
                for slot in &mut self.slots {
                    if let Move::Refresh(refresh) = &mut slot.made {
                        refresh.walk(walks);
                    }
                }
                if is_last {
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
        let every = |slot: &Slot| if slot.made.is_held() { 1 } else { self.every };
        let moves = self.slots.iter().map(|s| (s.made.name(), s.repeats, every(s), s.tally));
        let sweeps = ("sweep", 1, self.every, self.sweeps);
        let rows: Vec<_> = std::iter::once(sweeps).chain(moves).collect();
        let all: u64 = rows.iter().map(|(_, _, _, tally)| tally.work).sum();
        let report = |(name, repeats, every, tally): (&str, u64, u64, Tally)| MoveReport {
            name: name.into(),
            repeats,
            every,
            tally,
            share: tally.work as f64 / all.max(1) as f64,
        };
        rows.into_iter().map(report).collect()
    }
}
