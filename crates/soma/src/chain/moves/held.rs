//! A state in the coordinates of the block and the refresh, held through an iteration.

use super::pattern::Pattern;
use super::sums::{Scratch, Sums};
use super::trial::Trial;
use super::{Setting, State};
use crate::error::Outcome;

/// theta, the frame and the pattern of a state. Moves that are made one after the other in these
/// coordinates share the split into them and the way back to records, whose cost is that of a few
/// proposals.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    /// Whether the coordinates are those of the state, or of where it has been moved to.
    is_on: bool,
    has_moved: bool,
    pub(super) point: Vec<f64>,
    pub(super) pattern: Pattern,
    pub(super) residual: Vec<f64>,
    pub(super) scratch: Scratch,
    theta: Vec<f64>,
    trial: Trial,
}

impl Held {
    /// Finds the coordinates of the state, unless they are at hand. `false` where it has none.
    pub(super) fn hold(&mut self, sums: &Sums, state: &State) -> Outcome<bool> {
        if !self.is_on {
            let Held { point, pattern, scratch, .. } = self;
            self.is_on = sums.split(state, pattern, scratch, point)?;
            self.residual.clear();
            self.residual.extend_from_slice(state.records.residual());
            self.has_moved = false;
        }
        Ok(self.is_on)
    }

    /// The coordinates have been changed.
    pub(super) fn moved(&mut self) {
        self.has_moved = true;
    }

    /// Brings the state to where it has been moved.
    pub(super) fn land(&mut self, at: &Setting, state: &mut State) -> Outcome {
        let (true, Some(sums)) = (self.is_on && self.has_moved, &at.sums) else { return Ok(()) };
        let Held { point, pattern, scratch, theta, trial, .. } = self;
        theta.resize(sums.p, 0.0);
        trial.build(at.problem, &state.records, |records| {
            sums.join(point, pattern, scratch, theta, records)
        })?;
        trial.take(&mut state.records);
        state.theta.copy_from_slice(theta);
        self.has_moved = false;
        Ok(())
    }

    /// The state is to be moved in other coordinates.
    pub(super) fn let_go(&mut self, at: &Setting, state: &mut State) -> Outcome {
        self.land(at, state)?;
        self.is_on = false;
        Ok(())
    }

    /// The state may have changed since.
    pub(super) fn forget(&mut self) {
        (self.is_on, self.has_moved) = (false, false);
    }
}
