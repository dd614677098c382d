//! Moves of theta, and of theta with all records at once.
//!
//! Each leaves the joint posterior of theta and the records,
//!
//! pi(theta, x) = p(theta) prod_i f(x_i | theta) eta(s_dp | S(x)),
//!
//! invariant, and so does any sequence of them that is fixed in advance. They learn their
//! constants in warm-up and from then on hold them: a move that goes on learning from the chain it
//! moves leaves nothing invariant.

mod centred;
mod learned;
mod non_centred;
mod trial;

use serde::{Deserialize, Serialize};

use centred::Centred;
use non_centred::NonCentred;

use super::Problem;
use crate::error::Outcome;
use crate::kernel::Records;
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

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.proposed += other.proposed;
        self.accepted += other.accepted;
        self.work += other.work;
    }
}

/// A move that leaves the joint posterior of theta and the records invariant.
trait ThetaMove {
    /// Moves the state. Its constants are the same before and after.
    fn step(&mut self, problem: &Problem, state: &mut State, rng: &mut Rng) -> Outcome<Tally>;

    /// Learns from the state and from what the last step did: called in warm-up only, `share` of
    /// which has passed.
    fn learn(&mut self, problem: &Problem, state: &State, last: Tally, share: f64) -> Outcome;
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
}

impl Move {
    fn name(&self) -> &'static str {
        match self {
            Move::Centred(_) => "centred",
            Move::NonCentred(_) => "non-centred",
        }
    }

    fn as_move(&mut self) -> &mut dyn ThetaMove {
        match self {
            Move::Centred(it) => it,
            Move::NonCentred(it) => it.as_mut(),
        }
    }
}

/// What one move did after warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MoveReport {
    /// The name of the move.
    pub name: String,
    /// How often it is made in an iteration.
    pub repeats: u64,
    /// What it did.
    pub tally: Tally,
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
    slots: Vec<Slot>,
}

impl Schedule {
    /// The moves of `choice` that `problem` has, with `warmup` iterations to learn in.
    pub fn new(
        problem: &Problem,
        choice: MovesChoice,
        warmup: u64,
        rng: &mut Rng,
    ) -> Outcome<Self> {
        let mut slots = Vec::new();
        if problem.fixed().is_none() {
            slots.push(Slot::new(Move::Centred(Centred)));
            if choice != MovesChoice::Centred
                && let Some(non_centred) = NonCentred::new(problem, rng)?
            {
                slots.push(Slot::new(Move::NonCentred(Box::new(non_centred))));
            }
        }
        Ok(Schedule { warmup, slots })
    }

    /// The paper's chain: one update of theta given the records, where theta is not fixed.
    pub fn centred(problem: &Problem) -> Self {
        let slots = match problem.fixed() {
            Some(_) => Vec::new(),
            None => vec![Slot::new(Move::Centred(Centred))],
        };
        Schedule { warmup: 0, slots }
    }

    /// Makes all moves. `iteration` counts from 0; the moves learn while it is below the warm-up.
    pub fn step(
        &mut self,
        problem: &Problem,
        state: &mut State,
        iteration: u64,
        rng: &mut Rng,
    ) -> Outcome {
        let warming = iteration < self.warmup;
        for slot in &mut self.slots {
            for _ in 0..slot.repeats {
                let tally = slot.made.as_move().step(problem, state, rng)?;
                if warming {
                    let share = iteration as f64 / self.warmup as f64;
                    slot.made.as_move().learn(problem, state, tally, share)?;
                } else {
                    slot.tally += tally;
                }
            }
        }
        Ok(())
    }

    /// How many iterations the moves learn in.
    pub fn warmup(&self) -> u64 {
        self.warmup
    }

    /// What each move did after warm-up.
    pub fn report(&self) -> Vec<MoveReport> {
        let report = |slot: &Slot| MoveReport {
            name: slot.made.name().into(),
            repeats: slot.repeats,
            tally: slot.tally,
        };
        self.slots.iter().map(report).collect()
    }
}
