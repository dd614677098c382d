//! theta given the records.

use serde::{Deserialize, Serialize};

use super::{Setting, State, Tally, ThetaMove};
use crate::error::Outcome;
use crate::rng::Rng;

/// The paper's update: theta moves given the records, which stay.
///
/// Given the records, theta does not depend on the release, so that a move which leaves the law of
/// theta given the records invariant, as [`Model::update`](crate::model::Model::update) does,
/// leaves the joint posterior invariant. It mixes well where the release is sharp, and creeps
/// where the noise hides what the imputed records seem to say.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Centred;

impl ThetaMove for Centred {
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        times: u64,
        rng: &mut Rng,
    ) -> Outcome<Tally> {
        for _ in 0..times {
            at.problem.model().update(&mut state.theta, state.records.all(), rng)?;
        }
        Ok(Tally { proposed: times, accepted: times, work: self.work(at, times) })
    }

    fn work(&self, at: &Setting, times: u64) -> u64 {
        times * at.problem.release().n() as u64
    }

    fn learn(&mut self, _: &Setting, _: &State, _: Tally, _: f64) -> Outcome {
        Ok(())
    }
}
