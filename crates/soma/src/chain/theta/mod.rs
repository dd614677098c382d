//! Updates of theta, and of theta with all records.
//!
//! Each leaves the joint posterior of theta and the records,
//!
//! pi(theta, x) = p(theta) prod_i f(x_i | theta) eta(s_dp | S(x)),
//!
//! invariant, and so does any fixed sequence of them. They adapt in warm-up and are fixed
//! afterwards: a move that adapts to its own chain has no invariant distribution in general.

mod bridge;
mod censored;
mod centred;
mod choice;
mod coordinates;
mod hamiltonian;
mod independence;
mod mixture;
mod non_centred;
mod proposed;
mod ridge;
mod smooth;
#[cfg(test)]
mod tests;
mod tuning;

use serde::{Deserialize, Serialize};

pub(in crate::chain) use bridge::SharedDensity;
pub use choice::MovesChoice;
use coordinates::held::Held;
use coordinates::sums::Sums;
use coordinates::surrogate::Surrogate;
pub(in crate::chain) use tuning::schedule::LEAST_WARMUP;
pub use tuning::schedule::{MoveReport, Schedule};

use super::Problem;
use crate::error::Outcome;
use crate::kernel::{Counts, Records};
use crate::release::Potential;
use crate::rng::Rng;
use crate::stored::{Check, MOST_COUNTED, ensure};

/// The state of a chain: theta and the records.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The imputed records.
    pub records: Records,
}

/// The counts of a move.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Proposals made.
    pub proposed: u64,
    /// Proposals accepted.
    pub accepted: u64,
    /// The work in passes over one record: one record built and its statistic computed.
    pub work: u64,
}

/// The counts of sweeps, whose work is not known yet.
impl From<Counts> for Tally {
    fn from(counts: Counts) -> Self {
        Tally { proposed: counts.moves, accepted: counts.accepted, work: 0 }
    }
}

impl Tally {
    pub(in crate::chain) fn check(self) -> Check {
        let fits = self.accepted <= self.proposed
            && self.proposed < MOST_COUNTED
            && self.work < MOST_COUNTED;
        ensure(fits, "the tally of a move is inconsistent")
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.proposed += other.proposed;
        self.accepted += other.accepted;
        self.work += other.work;
    }
}

/// The problem, and the adapted quantities that all updates share.
struct Setting<'a> {
    problem: &'a Problem,
    /// The residual as a function of theta, Bartlett factors and standardised noise, if it is one.
    sums: Option<Sums<'a>>,
    /// The censored coordinates of the records, if they can be redrawn.
    censored: Option<censored::Bounds>,
    surrogate: Option<&'a Surrogate>,
}

impl<'a> Setting<'a> {
    fn new(problem: &'a Problem, surrogate: Option<&'a Surrogate>) -> Self {
        let censored = censored::Bounds::new(problem);
        Setting { problem, sums: Sums::new(problem), censored, surrogate }
    }

    fn potential(&self) -> &'a Potential {
        self.problem.release().potential()
    }
}

/// A move that leaves the joint posterior of theta and the records invariant.
trait ThetaMove {
    /// Moves the state `times` times, in its own coordinates or in those that are `held`. Does not
    /// change the constants of the update.
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        held: &mut Held,
        times: u64,
        rng: &mut Rng,
    ) -> Outcome<Tally>;

    /// The work of `times` moves.
    fn work(&self, at: &Setting, times: u64) -> u64;

    /// Adapts to the state and the counts of the last step. Called in warm-up only; `share` is the
    /// fraction of warm-up that has passed.
    fn learn(&mut self, at: &Setting, state: &State, last: Tally, share: f64) -> Outcome;
}
