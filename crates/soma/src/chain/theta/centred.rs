//! The centred update: theta given the records.

use serde::{Deserialize, Serialize};

use crate::chain::theta::coordinates::held::Held;
use crate::chain::theta::{Setting, State, Tally, ThetaMove};
use crate::error::Outcome;
use crate::rng::Rng;

/// The paper's update: theta moves given the records.
///
/// Given the records, theta is independent of the release. So an update that leaves the conditional
/// of theta given the records invariant, as [`Model::update`](crate::model::Model::update) does,
/// leaves the joint posterior invariant. It mixes well for sharp releases, and slowly if the
/// privacy noise dominates.
///
/// Before it, [censored](crate::chain::theta::censored) coordinates may be redrawn: a few such
/// rounds come close to a draw of theta given the clamped records. A round leaves a coordinate beyond
/// its clamp, so that whether there are any may decide on further rounds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(in crate::chain) struct Centred {
    pub(in crate::chain) redraws_censored: bool,
    /// Whether no coordinate was censored in the last step.
    #[serde(skip)]
    is_plain: bool,
}

/// Rounds of redrawing the censored coordinates and theta: each is cheap compared with a sweep.
const ROUNDS: u64 = 3;

impl Centred {
    pub(in crate::chain) fn new(redraws_censored: bool) -> Self {
        Centred { redraws_censored, is_plain: false }
    }

    fn rounds(&self) -> u64 {
        if self.redraws_censored && !self.is_plain { ROUNDS } else { 1 }
    }
}

impl ThetaMove for Centred {
    fn step(
        &mut self,
        at: &Setting,
        state: &mut State,
        held: &mut Held,
        times: u64,
        rng: &mut Rng,
    ) -> Outcome<Tally> {
        held.let_go(at, state)?;
        let model = at.problem.model();
        let censored =
            at.censored.as_ref().zip(model.transport()).filter(|_| self.redraws_censored);
        self.is_plain = false;
        let mut round = 0;
        while round < times * self.rounds() {
            if let Some((censored, transport)) = censored {
                self.is_plain = censored.redraw(transport, state, rng)? == 0;
            }
            model.update(&mut state.theta, state.records.all(), rng)?;
            round += 1;
        }
        Ok(Tally { proposed: times, accepted: times, work: self.work(at, times) })
    }

    fn work(&self, at: &Setting, times: u64) -> u64 {
        let n = at.problem.release().n();
        let censored = if self.redraws_censored { 0.2 } else { 0.0 };
        let each = 10.0 + (at.problem.model().price(n).update + censored) * n as f64;
        times * self.rounds() * each as u64
    }

    fn learn(&mut self, _: &Setting, _: &State, _: Tally, _: f64) -> Outcome {
        Ok(())
    }
}
