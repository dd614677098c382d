//! Selection by a scan of bounds of all weights.

pub(crate) mod columns;
pub(crate) mod quantised;
mod single_precision;

use self::columns::Scanned;
use super::accept::Selected;
use super::envelope::Envelope;
use super::{Selector, Turn};
use crate::rng::Rng;
use crate::simd::cost::Cost;
use crate::simd::vector::Vector;

/// Selects a place with probability w_i / W by bounds of all weights.
pub(crate) struct ScanSelector<'a, T> {
    scanned: &'a mut T,
}

impl<'a, T: Scanned> ScanSelector<'a, T> {
    /// `scanned` must have loaded all records.
    #[inline(always)]
    pub(crate) fn new(scanned: &'a mut T) -> Self {
        ScanSelector { scanned }
    }
}

impl<T: Scanned> Selector for ScanSelector<'_, T> {
    #[inline(always)]
    fn select<S: Cost, V: Vector, const K: usize>(
        &mut self,
        proposal: &[f64],
        _: &mut Envelope,
        at: Turn<'_>,
    ) -> Selected {
        let Turn { current, records, evaluations, rng } = at;
        let (place, cost) =
            self.scanned.select::<S, V, K>(records, proposal, current, evaluations, rng);
        Selected::at(place, cost)
    }

    #[inline(always)]
    fn accepts<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        _: &Envelope,
        at: Turn<'_>,
    ) -> bool {
        let Turn { current, records, evaluations, rng } = at;
        self.scanned.accepts::<S, V, K>(records, choice.cost, current, evaluations, rng)
    }

    #[inline(always)]
    fn replaced<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        _: usize,
        new: &[f64],
        _: &mut Envelope,
        _: &mut Rng,
    ) {
        self.scanned.replace::<V, K>(choice.place, new);
    }
}
