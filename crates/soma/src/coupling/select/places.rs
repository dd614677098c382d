//! The interface of coupled selections of places.

use rand::RngExt;

use crate::coupling::pair::{Pair, Proposal};
use crate::coupling::proposals::CoupledProposals;
use crate::release::potential::Evaluate;
use crate::rng::Rng;
use crate::simd::vector::Vector;

/// A place, and the cost of the proposal there: minus the log weight.
pub(crate) type Choice = (usize, f64);

/// The accepted place and its cost, or `None` on rejection.
pub(crate) type Taken = Option<Choice>;

/// The place alone.
#[inline(always)]
pub(crate) fn place(taken: Taken) -> Option<usize> {
    taken.map(|(place, _)| place)
}

/// The cost of the current residual, -log w_0, in both chains.
#[inline(always)]
pub(crate) fn currents<P: Evaluate, V: Vector, const K: usize>(
    potential: &P,
    pair: &Pair,
) -> [f64; 2] {
    pair.records().map(|records| potential.current_cost::<V, K>(records.residual()))
}

/// A joint move of both chains.
pub(crate) struct Move<'a, P> {
    pub potential: &'a P,
    pub pair: &'a Pair,
    /// The costs of the current residuals.
    pub currents: [f64; 2],
    /// The index of the move in its sweep.
    pub turn: usize,
    pub proposal: Proposal<'a>,
}

/// A coupling of the selections. Marginally each chain must select and accept as the plain kernel
/// does.
pub(crate) trait Places<P: Evaluate> {
    /// Whether the second chain may be relabelled on a joint acceptance.
    fn relabels(&self) -> bool {
        true
    }

    /// Preprocesses the first `size` proposals of a batch.
    #[inline(always)]
    fn prepare<V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        proposals: &CoupledProposals<'_>,
        size: usize,
    ) {
        let _ = (pair, proposals, size);
    }

    /// Selects a place for each chain.
    fn choose<V: Vector, const K: usize>(
        &mut self,
        at: &Move<'_, P>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Choice; 2];

    /// The acceptance test of the chain on this side at the place just selected. `uniform` is
    /// common to both chains.
    fn takes<V: Vector, const K: usize>(
        &self,
        side: usize,
        choice: Choice,
        uniform: f64,
        at: &Move<'_, P>,
        evaluations: &mut u64,
    ) -> bool;

    /// Called after accepted proposals are in their places and the second chain is relabelled.
    #[inline(always)]
    fn moved<V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        taken: [Taken; 2],
        proposal: &Proposal<'_>,
    ) {
        let _ = (pair, taken, proposal);
    }
}

/// The accepted place of each chain.
#[inline(always)]
pub(crate) fn taken<P: Evaluate, V: Vector, const K: usize>(
    places: &mut impl Places<P>,
    at: &Move<'_, P>,
    evaluations: &mut u64,
    rng: &mut Rng,
) -> [Taken; 2] {
    let choices = places.choose::<V, K>(at, evaluations, rng);
    let uniform: f64 = rng.random();
    let mut taken = [None; 2];
    for side in 0..2 {
        if places.takes::<V, K>(side, choices[side], uniform, at, evaluations) {
            taken[side] = Some(choices[side]);
        }
    }
    taken
}
