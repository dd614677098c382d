//! Where n is unknown: the records that there are, without the empty slots.

#[cfg(test)]
mod tests;

use super::Problem;
use super::theta::State;
use crate::error::Outcome;
use crate::records::Records;

/// The problem and the state of the records in the occupied slots.
///
/// Given which slots are occupied, n is known. The prior of n, and each part that only counts
/// records, are then constants, so that theta and the records have the posterior of a release with
/// public n: a sweep of these records and every theta update that leaves that posterior invariant
/// leaves the whole one invariant. What an empty slot contains is not part of the state: it is
/// drawn from the model when the slot is filled.
///
/// It costs a pass over the records to get there, and one to return.
#[derive(Debug)]
pub(super) struct Present {
    pub(super) problem: Problem,
    pub(super) state: State,
}

/// Whether a slot holds a record.
pub(super) fn is_held(slot: &[f64]) -> bool {
    slot[0] == 1.0
}

impl Present {
    /// The number of records that are present.
    pub(super) fn count(state: &State) -> usize {
        state.records.all().chunks_exact(state.records.d()).filter(|slot| is_held(slot)).count()
    }

    /// The records that are present; `None` if there are none.
    pub(super) fn of(problem: &Problem, state: &State) -> Outcome<Option<Self>> {
        let d = state.records.d();
        let slots = || state.records.all().chunks_exact(d).filter(|slot| is_held(slot));
        let n = Present::count(state);
        if n == 0 {
            return Ok(None);
        }
        let problem = problem.of_present(n)?;
        let mut records = Vec::with_capacity(n * (d - 1));
        slots().for_each(|slot| records.extend_from_slice(&slot[1..]));
        let records = Records::new(problem.release(), records)?;
        let state = State { theta: state.theta.clone(), records };
        Ok(Some(Present { problem, state }))
    }

    /// Writes theta and the records to the slots that they came from.
    pub(super) fn put_back(self, problem: &Problem, state: &mut State) -> Outcome {
        let d = state.records.d();
        let mut slots = state.records.all().to_vec();
        let held = slots.chunks_exact_mut(d).filter(|slot| is_held(slot));
        let own = self.state.records.all().chunks_exact(d - 1);
        held.zip(own).for_each(|(slot, record)| slot[1..].copy_from_slice(record));
        state.theta = self.state.theta;
        state.records.set_all(problem.release(), &slots)
    }
}
