//! The coordinates of the Hamiltonian and the independence update, kept through an iteration.

use crate::chain::theta::coordinates::standardised::Standardised;
use crate::chain::theta::coordinates::sums::{Scratch, Sums};
use crate::chain::theta::proposed::Trial;
use crate::chain::theta::{Setting, State};
use crate::error::Outcome;
use crate::rng::Rng;

/// theta, the Bartlett factors and the standardised noise of a state. Successive updates in these
/// coordinates share the transformation to them and back to records, which costs as much as a few
/// proposals.
#[derive(Debug, Clone, Default)]
pub(in crate::chain) struct Held {
    /// Whether the coordinates are valid, and whether they have moved since they were computed.
    is_on: bool,
    has_moved: bool,
    pub(in crate::chain) point: Vec<f64>,
    pub(in crate::chain) standardised: Standardised,
    pub(in crate::chain) residual: Vec<f64>,
    pub(in crate::chain) scratch: Scratch,
    theta: Vec<f64>,
    trial: Trial,
}

impl Held {
    /// Computes the coordinates of the state, unless they are valid. `false` if it has none.
    pub(in crate::chain) fn hold(
        &mut self,
        sums: &Sums,
        state: &State,
        rng: &mut Rng,
    ) -> Outcome<bool> {
        if !self.is_on {
            let Held { point, standardised, scratch, .. } = self;
            self.is_on = sums.split(state, standardised, scratch, point, rng)?;
            self.residual.clear();
            self.residual.extend_from_slice(state.records.residual());
            self.has_moved = false;
        }
        Ok(self.is_on)
    }

    /// Called after the coordinates were changed.
    pub(in crate::chain) fn moved(&mut self) {
        self.has_moved = true;
    }

    /// Updates the state from the coordinates.
    pub(in crate::chain) fn land(&mut self, at: &Setting, state: &mut State) -> Outcome {
        let (true, Some(sums)) = (self.is_on && self.has_moved, &at.sums) else { return Ok(()) };
        let Held { point, standardised, scratch, theta, trial, .. } = self;
        theta.resize(sums.p, 0.0);
        trial.build(at.problem, &state.records, |records| {
            sums.join(point, standardised, scratch, theta, records)
        })?;
        trial.take(&mut state.records);
        state.theta.copy_from_slice(theta);
        self.has_moved = false;
        Ok(())
    }

    /// Updates the state and invalidates the coordinates: the state moves in other coordinates
    /// next.
    pub(in crate::chain) fn let_go(&mut self, at: &Setting, state: &mut State) -> Outcome {
        self.land(at, state)?;
        self.is_on = false;
        Ok(())
    }

    /// Invalidates the coordinates: the state may have changed.
    pub(in crate::chain) fn forget(&mut self) {
        (self.is_on, self.has_moved) = (false, false);
    }
}
