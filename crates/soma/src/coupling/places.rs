//! How the places are chosen at which two chains take their offers.

use super::offers::CoupledOffers;
use super::pair::{Offer, Pair};
use crate::kernel::shape::{Falloff, log_density_with};
use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// The place where a chain takes its offer, with the log weight there, if it takes it.
pub(super) type Taken = Option<(usize, f64)>;

/// The place alone.
#[inline(always)]
pub(super) fn place(taken: Taken) -> Option<usize> {
    taken.map(|(place, _)| place)
}

/// log w_0 of both chains.
#[inline(always)]
pub(super) fn currents<S: Falloff, V: Vector, const K: usize>(pair: &Pair) -> [f64; 2] {
    let [first, second] = pair.records();
    [log_density_with::<S, V, K>(first.residual()), log_density_with::<S, V, K>(second.residual())]
}

/// A coupling of the choices of a place. Each chain alone must choose and take as the plain kernel
/// does.
pub(super) trait Places {
    /// Whether the second chain may be relabelled where both take the same offer.
    fn relabels(&self) -> bool;

    /// Looks at the first `size` offers of a batch.
    #[inline(always)]
    fn prepare<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        offers: &CoupledOffers<'_>,
        size: usize,
    ) {
        let _ = (pair, offers, size);
    }

    /// Where each chain takes its offer in move number `turn` of a sweep; `currents` are the
    /// log w_0 of both.
    fn choose<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        currents: [f64; 2],
        turn: usize,
        offer: &Offer<'_>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Taken; 2];

    /// The offers that were taken are in their places, and the second chain is relabelled.
    #[inline(always)]
    fn moved<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        taken: [Taken; 2],
        offer: &Offer<'_>,
    ) {
        let _ = (pair, taken, offer);
    }
}
