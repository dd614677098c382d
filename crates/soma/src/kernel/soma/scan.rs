//! Places drawn by a scan in single precision.

use super::accept::Choice;
use super::{Envelope, Selector};
use crate::kernel::Records;
use crate::kernel::columns::Columns;
use crate::kernel::shape::Falloff;
use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// Draws a place with probability w_i / W by bounds of all weights; see [`Columns`].
pub(super) struct ScanSelector<'a> {
    columns: &'a mut Columns,
}

impl<'a> ScanSelector<'a> {
    #[inline(always)]
    pub(super) fn begin<V: Vector, const K: usize>(
        columns: &'a mut Columns,
        records: &Records,
    ) -> Self {
        columns.load::<V, K>(records, 0..records.n());
        ScanSelector { columns }
    }
}

impl Selector for ScanSelector<'_> {
    #[inline(always)]
    fn select<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        offer: &[f64],
        current: f64,
        _: &mut Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Choice {
        let (place, cost) =
            self.columns.select::<S, V, K>(records, offer, current, evaluations, rng);
        Choice::at(place, cost)
    }

    #[inline(always)]
    fn accepts<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        current: f64,
        _: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool {
        self.columns.accepts::<S, V, K>(records, choice.cost, current, evaluations, rng)
    }

    #[inline(always)]
    fn replaced<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        _: usize,
        new: &[f64],
        _: &mut Envelope,
        _: &mut Rng,
    ) {
        self.columns.replace::<V, K>(choice.place, new);
    }
}
