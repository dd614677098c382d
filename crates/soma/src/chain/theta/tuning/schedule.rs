//! The moves of theta that a chain makes, in order, and what each of them did.

use serde::{Deserialize, Serialize};

use crate::chain::Problem;
use crate::chain::theta::bridge::Bridge;
use crate::chain::theta::censored;
use crate::chain::theta::centred::Centred;
use crate::chain::theta::coordinates::held::Held;
use crate::chain::theta::coordinates::sums::Sums;
use crate::chain::theta::coordinates::surrogate::Surrogate;
use crate::chain::theta::hamiltonian::{Force, Hamiltonian};
use crate::chain::theta::independence::Independence;
use crate::chain::theta::non_centred::NonCentred;
use crate::chain::theta::ridge::Ridge;
use crate::chain::theta::tuning::pilot::{Candidates, MOST_REPEATS, Outlook, Pilot, Plan};
use crate::chain::theta::{MovesChoice, Setting, State, Tally, ThetaMove};
use crate::error::Outcome;
use crate::rng::Rng;
use crate::stored::{Check, ensure};

/// One of the moves, with whatever it has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::chain) enum Move {
    Centred(Centred),
    NonCentred(Box<NonCentred>),
    Hamiltonian(Box<Hamiltonian>),
    Independence(Box<Independence>),
    Ridge(Ridge),
    Bridge(Box<Bridge>),
}

impl Move {
    fn name(&self) -> &'static str {
        match self {
            Move::Centred(_) => "centred",
            Move::NonCentred(_) => "non-centred",
            Move::Hamiltonian(_) => "hamiltonian",
            Move::Independence(_) => "independence",
            Move::Ridge(_) => "ridge",
            Move::Bridge(_) => "bridge",
        }
    }

    /// Whether it is made in the coordinates that are held through an iteration.
    fn is_held(&self) -> bool {
        matches!(self, Move::Hamiltonian(_) | Move::Independence(_) | Move::Ridge(_))
    }

    /// Whether it is made in iterations with a sweep only.
    fn follows_sweep(&self) -> bool {
        matches!(self, Move::Centred(_) | Move::NonCentred(_))
    }

    pub(in crate::chain::theta) fn as_move(&mut self) -> &mut dyn ThetaMove {
        match self {
            Move::Centred(it) => it,
            Move::NonCentred(it) => it.as_mut(),
            Move::Hamiltonian(it) => it.as_mut(),
            Move::Independence(it) => it.as_mut(),
            Move::Ridge(it) => it,
            Move::Bridge(it) => it.as_mut(),
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
pub(in crate::chain) struct Slot {
    pub(in crate::chain) made: Move,
    repeats: u64,
    pub(in crate::chain) tally: Tally,
}

impl Slot {
    fn new(made: Move) -> Self {
        Slot { made, repeats: 1, tally: Tally::default() }
    }

    fn check(&self, problem: &Problem) -> Check {
        ensure(self.repeats <= MOST_REPEATS, "a move is made too often")?;
        self.tally.check()?;
        match &self.made {
            Move::Centred(_) | Move::Ridge(_) => Ok(()),
            Move::Bridge(made) => made.check(problem),
            Move::NonCentred(made) => made.check(problem),
            Move::Hamiltonian(made) => made.check(),
            Move::Independence(made) => made.check(),
        }
    }
}

/// The moves of theta that a chain makes after each sweep, in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Schedule {
    warmup: u64,
    pub(in crate::chain) sweeps: Tally,
    pub(in crate::chain) slots: Vec<Slot>,
    /// In one of how many iterations there is a sweep, and the centred move with it.
    every: u64,
    surrogate: Option<Surrogate>,
    pilot: Option<Pilot>,
    /// What the moves will do, as the pilot had it.
    outlook: Option<Outlook>,
    #[serde(skip)]
    held: Held,
    /// theta after the centred move of the last iteration of warm-up.
    #[serde(skip)]
    centred: Vec<f64>,
}

/// The least warm-up in which anything can be learned.
pub(in crate::chain) const LEAST_WARMUP: u64 = 20;

/// Up to as many records, a force that is computed from them at every step may pay.
const FEW_RECORDS: usize = 300;

/// The same where records jump, and the surrogate is a poor guide.
const FEW_THAT_JUMP: usize = 5000;

impl Schedule {
    /// The moves of `choice` that `problem` has, with `warmup` iterations to learn in.
    pub fn new(
        problem: &Problem,
        choice: MovesChoice,
        warmup: u64,
        rng: &mut Rng,
    ) -> Outcome<Self> {
        let mut schedule = Schedule { warmup, ..Schedule::centred(problem) };
        if problem.fixed().is_some() || choice == MovesChoice::Centred || warmup < LEAST_WARMUP {
            return Ok(schedule);
        }
        // Counts jump, so that a surrogate of them has no slopes to show over short steps.
        let bins = problem.release().query().bins().is_some();
        let sums =
            Sums::new(problem).filter(|sums| choice == MovesChoice::Auto && (sums.jumps || !bins));
        if let Some(sums) = sums {
            let redraws_censored = censored::Bounds::new(problem).is_some();
            schedule.slots = vec![Slot::new(Move::Centred(Centred::new(redraws_censored)))];
            let forces = match (sums.has_quick_slopes(), sums.n <= FEW_RECORDS) {
                (true, _) => vec![Force::Exact],
                _ if sums.jumps && sums.n <= FEW_THAT_JUMP => {
                    vec![Force::Surrogate, Force::Exact]
                }
                _ if sums.jumps => vec![Force::Surrogate],
                (false, true) => vec![Force::Surrogate, Force::OwnSlope, Force::Exact],
                (false, false) => vec![Force::Surrogate, Force::OwnSlope],
            };
            let slopes: &[bool] = if sums.jumps { &[false] } else { &[false, true] };
            let counts = Candidates {
                hamiltonians: forces.len(),
                independences: slopes.len(),
                has_ridge: Ridge::exists(&sums),
                has_bridge: Bridge::exists(&sums),
            };
            schedule.pilot = Some(Pilot::new(problem, warmup, counts));
            let hamiltonians = forces
                .into_iter()
                .map(|force| Move::Hamiltonian(Box::new(Hamiltonian::new(force))));
            let independences =
                slopes.iter().map(|&own| Move::Independence(Box::new(Independence::new(own))));
            let ridge = counts.has_ridge.then(|| Move::Ridge(Ridge::default()));
            let bridge = counts.has_bridge.then(|| Move::Bridge(Box::default()));
            let moves = hamiltonians.chain(independences).chain(ridge).chain(bridge);
            schedule.slots.extend(moves.map(Slot::new));
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
            surrogate: None,
            pilot: None,
            outlook: None,
            held: Held::default(),
            centred: Vec::new(),
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

    /// What the moves will do, as the pilot had it; nothing is known of moves without a pilot, and
    /// of the paper's chain.
    pub(in crate::chain) fn outlook(&self) -> Option<&Outlook> {
        self.outlook.as_ref()
    }

    /// theta after the centred move of the last iteration, which was one of warm-up.
    pub(in crate::chain) fn centred_theta(&self) -> &[f64] {
        &self.centred
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
        let at = Setting::new(problem, self.surrogate.as_ref());
        self.held.forget();
        let is_made = |slot: &&mut Slot| sweep.is_some() || !slot.made.follows_sweep();
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

    pub(in crate::chain) fn step_and_learn(
        &mut self,
        problem: &Problem,
        state: &mut State,
        iteration: u64,
        sweep: Option<Tally>,
        rng: &mut Rng,
    ) -> Outcome<u64> {
        let mut work = 0;
        let share = iteration as f64 / self.warmup as f64;
        if iteration == 0
            && self.pilot.is_some()
            && let Some(sums) = Sums::new(problem)
        {
            self.surrogate = Surrogate::begin(&sums, state, rng)?;
        }
        let at = Setting::new(problem, self.surrogate.as_ref());
        self.held.forget();
        let is_made =
            |slot: &Slot| slot.repeats > 0 && (sweep.is_some() || !slot.made.follows_sweep());
        for (index, slot) in self.slots.iter_mut().enumerate().filter(|(_, slot)| is_made(slot)) {
            let before = state.theta.clone();
            let made = slot.made.as_move();
            let tally = made.step(&at, state, &mut self.held, slot.repeats, rng)?;
            self.held.land(&at, state)?;
            if index == 0 {
                self.centred.clone_from(&state.theta);
            }
            work += tally.work;
            made.learn(&at, state, tally, share)?;
            if let Some(pilot) = &mut self.pilot {
                let did = (tally.accepted, made.work(&at, 1), made.work(&at, 2));
                pilot.watch(problem, iteration, index, did, &before, &state.theta);
            }
        }
        // What a part of the moves reaches in a short time is no picture of the posterior.
        let learns = self.pilot.as_ref().is_none_or(|pilot| pilot.makes_all(iteration));
        if let (Some(surrogate), Some(sums), true) =
            (&mut self.surrogate, Sums::new(problem), learns)
            && self.held.hold(&sums, state, rng)?
        {
            surrogate.learn(&sums, &self.held.point, rng)?;
        }
        self.follow(problem, iteration, sweep, &state.theta);
        Ok(work)
    }

    /// An iteration without records: theta was drawn from its prior.
    pub(in crate::chain) fn pass(&mut self, problem: &Problem, iteration: u64, theta: &[f64]) {
        if iteration < self.warmup {
            self.follow(problem, iteration, None, theta);
        }
    }

    /// The pilot sees where an iteration led, and may change the moves.
    fn follow(&mut self, problem: &Problem, iteration: u64, sweep: Option<Tally>, theta: &[f64]) {
        if let Some(pilot) = &mut self.pilot {
            let hold = Sums::new(problem).map_or(0.0, |sums| sums.hold());
            let swept = sweep.unwrap_or_default();
            pilot.watch_iteration(problem, iteration, swept, hold, theta);
            if let Some(plan) = pilot.plan(iteration) {
                let Plan { repeats, every, walks, outlook, is_last } = plan;
                self.slots.iter_mut().zip(repeats).for_each(|(slot, times)| slot.repeats = times);
                self.every = every;
                self.outlook = outlook;
                for slot in &mut self.slots {
                    if let Move::Independence(refresh) = &mut slot.made {
                        refresh.walk(walks);
                    }
                }
                if is_last {
                    self.pilot = None;
                    self.slots.retain(|slot| slot.repeats > 0);
                }
            }
        }
    }

    /// Whether these are moves that a chain of `problem` can make.
    pub(in crate::chain) fn check(&self, problem: &Problem) -> Check {
        let sums = Sums::new(problem);
        ensure(Pilot::allows(self.every), "the sweeps are too rare")?;
        self.sweeps.check()?;
        ensure(
            self.slots.is_empty() == problem.fixed().is_some(),
            "the moves are of another theta",
        )?;
        for (index, slot) in self.slots.iter().enumerate() {
            slot.check(problem)?;
            ensure(slot.made.follows_sweep() || sums.is_some(), "a move has no coordinates")?;
            let is_centred = matches!(slot.made, Move::Centred(_));
            ensure(is_centred == (index == 0), "the centred move is not the first")?;
        }
        if let Some(surrogate) = &self.surrogate {
            let sums = sums.as_ref().ok_or("there is a surrogate of no coordinates")?;
            surrogate.check(sums)?;
        }
        let Some(pilot) = &self.pilot else { return Ok(()) };
        ensure(sums.is_some(), "there is a pilot of no coordinates")?;
        pilot.check(problem, self.warmup)?;
        let of = |is: fn(&Move) -> bool| self.slots.iter().filter(|slot| is(&slot.made)).count();
        let hamiltonians = of(|made| matches!(made, Move::Hamiltonian(_)));
        let independences = of(|made| matches!(made, Move::Independence(_)));
        let ridges = of(|made| matches!(made, Move::Ridge(_)));
        let bridges = of(|made| matches!(made, Move::Bridge(_)));
        let kinds = [hamiltonians, independences, ridges, bridges];
        let counted = pilot.watches(kinds, self.slots.len());
        ensure(counted, "the pilot watches other moves")
    }

    /// Whether a chain with this choice of moves may make these.
    pub(in crate::chain) fn is_of(&self, choice: MovesChoice) -> bool {
        self.slots.iter().all(|slot| match &slot.made {
            Move::Centred(_) => true,
            Move::NonCentred(_) => choice != MovesChoice::Centred,
            Move::Hamiltonian(_) | Move::Independence(_) | Move::Ridge(_) | Move::Bridge(_) => {
                choice == MovesChoice::Auto
            }
        })
    }

    /// How many iterations the moves learn in.
    pub fn warmup(&self) -> u64 {
        self.warmup
    }

    /// What the sweeps and each move of theta did after warm-up.
    pub fn report(&self) -> Vec<MoveReport> {
        let every = |slot: &Slot| if slot.made.follows_sweep() { self.every } else { 1 };
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
