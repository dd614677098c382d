//! Places drawn by way of cells.

use rand::RngExt;

use super::accept::{Choice, Threshold, by_weighing_all, most_trials};
use super::ahead::Ahead;
use super::cells::Cells;
use super::partition::Partition;
use super::{Envelope, Selector};
use crate::kernel::Records;
use crate::kernel::exp::{LOOSE, exp, exp_above};
use crate::kernel::shape::Falloff;
use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// Statistics of more bytes than this are waited for, unless they are asked for ahead of their use.
const NEAR: usize = 1 << 19;

/// Draws a cell with probability proportional to its mass (its members times a bound of their
/// weights), a member of it uniformly, and keeps it with probability w_i / bound: then the place
/// kept has probability w_i / W, whatever W is. The number of trials has mean mass / W.
pub(super) struct CellSelector<'a> {
    cells: &'a mut Cells,
    partition: &'a Partition,
    /// The members that come next, where they take long to come from memory.
    ahead: Option<&'a mut Ahead>,
    least: f64,
    /// The cells of the offers of the batch.
    offers: Vec<u16>,
}

impl<'a> CellSelector<'a> {
    #[inline(always)]
    pub(super) fn begin<S: Falloff, V: Vector, const K: usize>(
        (cells, ahead): (&'a mut Cells, &'a mut Ahead),
        partition: &'a Partition,
        records: &Records,
        envelope: &mut Envelope,
        rng: &mut Rng,
    ) -> Self {
        cells.fit::<S, V, K>(records, envelope, partition);
        let is_near = size_of_val(records.statistics()) < NEAR;
        let ahead = if is_near {
            None
        } else {
            ahead.start(&cells.members, records.k(), rng);
            Some(ahead)
        };
        CellSelector { cells, partition, ahead, least: 0.0, offers: Vec::new() }
    }

    /// Draws a cell and a member of it; none if rounding has led to a cell without members.
    #[inline(always)]
    fn draw(&mut self, k: usize, rng: &mut Rng) -> Option<(usize, usize)> {
        let cell = self.cells.masses.draw(rng.random());
        let members = &self.cells.members[cell];
        if members.len() == 0 {
            return None;
        }
        let slot = match &mut self.ahead {
            Some(ahead) => ahead.take(cell, members, k, rng),
            None => rng.random_range(0..members.len() as u32),
        };
        Some((cell, slot as usize))
    }

    /// Whether a member of `cell` is kept whose weight is exp(-loss) in the unit of the masses.
    #[inline(always)]
    fn keeps(&self, cell: usize, loss: f64, rng: &mut Rng) -> bool {
        let (mass, count) = self.cells.mass_and_count(cell);
        let bar = rng.random::<f64>() * mass;
        let above = exp_above(-loss) * count;
        bar * LOOSE < above || (bar < above && bar < exp(-loss) * count)
    }
}

impl Selector for CellSelector<'_> {
    const DEFERS: bool = true;

    #[inline(always)]
    fn prepare<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        _: &mut Envelope,
        records: &Records,
    ) {
        self.partition.cells_of_all::<K>(statistics, records.k(), &mut self.offers);
    }

    #[inline(always)]
    fn select<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        offer: &[f64],
        _: f64,
        envelope: &mut Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Choice {
        let k = records.k();
        envelope.offer::<V, K>(records.residual(), offer);
        self.least = envelope.least_cost::<S, V, K>();
        self.cells.weigh::<S, V, K>(envelope);
        for _ in 0..most_trials(records.n()) {
            let Some((cell, slot)) = self.draw(k, rng) else { continue };
            let cost = envelope.cost::<S, V, K>(self.cells.row::<K>(cell, slot));
            *evaluations += 1;
            if self.keeps(cell, cost - self.least, rng) {
                return Choice { place: self.cells.members[cell].place(slot), cost, cell, slot };
            }
        }
        let (index, cost) =
            by_weighing_all::<S, K>(envelope, self.cells.rows(0, k), evaluations, rng);
        let (cell, slot) = self.cells.locate(index);
        Choice { place: self.cells.members[cell].place(slot), cost, cell, slot }
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
        if !S::BENDS && threshold.is_met_by(unit * self.cells.at_least()) {
            return true;
        }
        let threshold = threshold.for_place(choice.cost);
        if self.cells.suffice::<S, V, K>(choice.cell, |sum| threshold.is_met_by(unit * sum)) {
            return true;
        }
        if !threshold.is_met_by(unit * self.cells.masses.total()) {
            return false;
        }
        let rows = self.cells.rows(choice.cell, records.k());
        threshold.is_met_by_sum::<S, V, K>(envelope, records.n(), rows, unit, evaluations)
    }

    #[inline(always)]
    fn old<const K: usize>(&self, choice: &Choice) -> &[f64] {
        self.cells.row::<K>(choice.cell, choice.slot)
    }

    #[inline(always)]
    fn replaced<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        j: usize,
        new: &[f64],
        envelope: &mut Envelope,
        rng: &mut Rng,
    ) {
        envelope.widen::<V, K>(new);
        let (from, to) = ((choice.cell, choice.slot), usize::from(self.offers[j]));
        let place = self.cells.remove::<V, K>(from);
        if let Some(ahead) = &mut self.ahead {
            ahead.left(from, &self.cells.members[from.0], new.len(), rng);
        }
        self.cells.add::<S, V, K>(to, place, new);
        if let Some(ahead) = &mut self.ahead {
            ahead.came(to, &self.cells.members[to], rng);
        }
    }
}
