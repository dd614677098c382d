//! Places drawn by way of cells.

use rand::RngExt;

use super::accept::{Choice, Threshold, by_scan, most_trials};
use super::cells::Cells;
use super::partition::Partition;
use super::{Envelope, Selector};
use crate::kernel::Records;
use crate::kernel::exp::exp;
use crate::kernel::shape::Falloff;
use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// Draws a cell with probability proportional to its mass (its members times a bound of their
/// weights), a member of it uniformly, and keeps it with probability w_i / bound: then the place
/// kept has probability w_i / W, whatever W is. The number of trials has mean mass / W.
pub(super) struct CellSelector<'a> {
    cells: &'a mut Cells,
    partition: &'a Partition,
    least: f64,
    /// The cells of the offers of the batch.
    offers: Vec<u16>,
}

impl<'a> CellSelector<'a> {
    #[inline(always)]
    pub(super) fn begin<S: Falloff, V: Vector, const K: usize>(
        cells: &'a mut Cells,
        partition: &'a Partition,
        records: &Records,
        envelope: &Envelope,
    ) -> Self {
        cells.fit::<S, V, K>(records, envelope, partition);
        CellSelector { cells, partition, least: 0.0, offers: Vec::new() }
    }
}

impl Selector for CellSelector<'_> {
    #[inline(always)]
    fn prepare<const K: usize>(&mut self, statistics: &[f64], k: usize) {
        self.partition.cells_of_all::<K>(statistics, k, &mut self.offers);
    }

    #[inline(always)]
    fn select<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Choice {
        self.least = envelope.least_cost::<S, V, K>();
        self.cells.weigh::<S, V, K>(envelope);
        for _ in 0..most_trials(records.n()) {
            let cell = self.cells.draw(rng);
            let members = self.cells.members(cell);
            if members.is_empty() {
                continue;
            }
            let slot = rng.random_range(0..members.len() as u32) as usize;
            let place = members[slot] as usize;
            let cost = envelope.cost::<S, V, K>(records.statistic_known::<K>(place));
            *evaluations += 1;
            if rng.random::<f64>() * self.cells.bound(cell) < exp(self.least - cost) {
                return Choice { place, cost, cell, slot };
            }
        }
        let (place, cost) = by_scan::<S, K>(envelope, records, evaluations, rng);
        let (cell, slot) = self.cells.find(place);
        Choice { place, cost, cell, slot }
    }

    #[inline(always)]
    fn accepts<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        current: f64,
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool {
        if choice.cost <= current {
            return true;
        }
        let threshold = Threshold::draw(current, rng);
        let unit = threshold.weight(self.least);
        if threshold.is_met_by(unit * self.cells.at_least()) {
            return true;
        }
        let threshold = threshold.for_place(choice.cost);
        if self.cells.suffice::<S, V, K>(choice.cell, |sum| threshold.is_met_by(unit * sum)) {
            return true;
        }
        if !threshold.is_met_by(unit * self.cells.total()) {
            return false;
        }
        let places = self.cells.places(choice.cell);
        threshold.is_met_by_sum::<S, V, K>(envelope, records, places, unit, evaluations)
    }

    #[inline(always)]
    fn replaced<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        j: usize,
        new: &[f64],
    ) {
        let to = usize::from(self.offers[j]);
        self.cells.relocate::<S, V, K>((choice.cell, choice.slot), to, new);
    }
}
