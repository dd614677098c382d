//! Coupled SOMA by cells of similar records, for many records and sharp releases.

use rand::RngExt;

use super::ensemble::{DARTS, Ensemble};
use super::places::{Choice, Move, Places, Taken, place};
use crate::coupling::pair::{Pair, Proposal};
use crate::kernel::select::accept::{Threshold, by_weighing_all};
use crate::kernel::select::cells::boxes::Cells;
use crate::kernel::select::cells::partition::Partition;
use crate::kernel::select::envelope::Envelope;
use crate::numeric::exp::exp;
use crate::records::Records;
use crate::rng::Rng;
use crate::simd::cost::Cost;
use crate::simd::prefix::integer::Hit;
use crate::simd::vector::Vector;

/// Places per round: fewer than under one bound, since each costs more and the bound is tighter.
const THROWN: usize = 4;

/// After this many rounds all weights are computed.
const ROUNDS: usize = 32;

/// The records of both chains in the cells of one partition of the statistics.
///
/// Cells give each chain bounds e_i of its weights, with sum E; see [`Cells`]. Places are drawn for
/// both chains with probability proportional to b_i = max(e_i / E, e'_i / E'), so that w_i / (E
/// b_i) <= 1, and accepted by [`Ensemble`] rejection. If one chain has accepted, the other
/// continues as in the plain kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct CellDarts {
    chains: [InCells; 2],
}

/// One chain.
#[derive(Debug, Clone, Default)]
struct InCells {
    cells: Cells,
    envelope: Envelope,
    /// The cell of each place, and its slot among the members of the cell.
    homes: Vec<(u32, u32)>,
    /// 1 / E.
    per_total: f64,
    /// The cost that corresponds to a weight of 1, for the current proposal.
    unit: f64,
}

impl InCells {
    #[inline(always)]
    fn fit<S: Cost, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        partition: &Partition,
    ) {
        self.cells.fit::<S, V, K>(records, &mut self.envelope, partition);
        self.homes.resize(records.n(), (0, 0));
        for (cell, slot) in self.cells.members.all(0) {
            self.homes[self.cells.members.place(cell, slot)] = (cell as u32, slot as u32);
        }
    }

    /// Sets the proposal: the bounds are those of replacing a record by it.
    #[inline(always)]
    fn propose<S: Cost, V: Vector, const K: usize>(&mut self, records: &Records, new: &[f64]) {
        self.envelope.propose::<V, K>(records.residual(), new);
        self.unit = self.cells.weigh::<S, V, K>(&self.envelope);
        self.per_total = 1.0 / f64::from(self.cells.masses.total());
    }

    /// A place drawn with probability e_i / E; `None` if the cell has no members.
    #[inline(always)]
    fn draw<V: Vector>(&self, rng: &mut Rng) -> Option<usize> {
        let (Hit { index, mass, .. }, into) = self.cells.masses.draw::<V>(rng);
        let members = self.cells.members.len(index);
        // The position of the point within the mass of the cell determines the member.
        let slot = (into * members as f64 / f64::from(mass)) as usize;
        (members > 0).then(|| self.cells.members.place(index, slot.min(members - 1)))
    }

    /// e_i.
    #[inline(always)]
    fn bound(&self, place: usize) -> f64 {
        let cell = self.homes[place].0 as usize;
        f64::from(self.cells.masses.mass(cell)) / self.cells.members.len(cell) as f64
    }

    /// e_i / E.
    #[inline(always)]
    fn share(&self, place: usize) -> f64 {
        self.bound(place) * self.per_total
    }

    /// Removes the record at `place` from its cell.
    #[inline(always)]
    fn leave<V: Vector, const K: usize>(&mut self, place: usize) {
        let (cell, slot) = self.homes[place];
        self.cells.remove::<V, K>((cell as usize, slot as usize));
        let members = &self.cells.members;
        if (slot as usize) < members.len(cell as usize) {
            self.homes[members.place(cell as usize, slot as usize)] = (cell, slot);
        }
    }

    /// Moves the label of a record from place `from` to `to`.
    #[inline(always)]
    fn relabel(&mut self, from: usize, to: usize) {
        let (cell, slot) = self.homes[from];
        self.cells.members.relabel(cell as usize, slot as usize, to as u32);
        self.homes[to] = (cell, slot);
    }

    /// Adds a record with `statistic` at `place` to `cell`.
    #[inline(always)]
    fn come<S: Cost, V: Vector, const K: usize>(
        &mut self,
        place: usize,
        cell: usize,
        statistic: &[f64],
    ) {
        self.envelope.widen::<V, K>(statistic);
        self.homes[place] = (cell as u32, self.cells.members.len(cell) as u32);
        self.cells.add::<S, V, K>(cell, place as u32, statistic);
    }
}

/// All places, by cells.
pub(crate) struct AllByCells<'a> {
    darts: &'a mut CellDarts,
}

impl<'a> AllByCells<'a> {
    /// Sorts the records of both chains into the cells of `partition`.
    #[inline(always)]
    pub fn begin<S: Cost, V: Vector, const K: usize>(
        darts: &'a mut CellDarts,
        partition: &Partition,
        pair: &Pair,
    ) -> Self {
        for (chain, records) in darts.chains.iter_mut().zip(pair.records()) {
            chain.fit::<S, V, K>(records, partition);
        }
        AllByCells { darts }
    }
}

impl<S: Cost> Places<S> for AllByCells<'_> {
    /// A place for each chain, drawn with probability w_i / W.
    #[inline(always)]
    fn choose<V: Vector, const K: usize>(
        &mut self,
        at: &Move<'_, S>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Choice; 2] {
        let CellDarts { chains } = &mut *self.darts;
        let both = at.pair.records();
        for (side, chain) in chains.iter_mut().enumerate() {
            chain.propose::<S, V, K>(both[side], at.proposal.statistics[side]);
        }
        let chains = &*chains;
        let mut chosen = [(0, 0.0); 2];
        let mut open = [true; 2];
        for _ in 0..ROUNDS {
            let (places, per_bound) = throw::<V>(chains, rng);
            *evaluations += 2 * THROWN as u64;
            let mut thrown = Ensemble::of(places);
            for side in 0..2 {
                let InCells { envelope, unit, per_total, .. } = &chains[side];
                let mut costs = [*unit; DARTS];
                for j in 0..THROWN {
                    let row = both[side].statistic_known::<K>(places[j]);
                    costs[j] = envelope.cost::<S, V, K>(row);
                }
                thrown.weigh(side, costs, *unit, per_bound.map(|b| b * per_total));
            }
            let weight = |side: usize, slot: usize, cost| {
                exp(chains[side].unit - cost) * (chains[side].per_total * per_bound[slot])
            };
            thrown.keep::<V>((&mut open, &mut chosen), at.pair, weight, rng);
            if open != [true; 2] {
                break;
            }
        }
        for side in 0..2 {
            if open[side] {
                chosen[side] = alone::<S, V, K>(&chains[side], both[side], evaluations, rng);
            }
        }
        chosen
    }

    #[inline(always)]
    fn takes<V: Vector, const K: usize>(
        &self,
        side: usize,
        (place, cost): Choice,
        uniform: f64,
        at: &Move<'_, S>,
        evaluations: &mut u64,
    ) -> bool {
        let InCells { cells, envelope, homes, unit, .. } = &self.darts.chains[side];
        let test = Threshold::with(uniform, at.currents[side]);
        let (cell, records) = (homes[place].0 as usize, at.pair.records()[side]);
        let (chosen, cells) = ((cell, cost), (cells, *unit));
        cost <= at.currents[side]
            || is_taken::<S, V, K>(test, chosen, cells, envelope, records, evaluations)
    }

    #[inline(always)]
    fn moved<V: Vector, const K: usize>(
        &mut self,
        _: &Pair,
        taken: [Taken; 2],
        proposal: &Proposal<'_>,
    ) {
        let [first, second] = &mut self.darts.chains;
        let mut cell = 0;
        if let Some(i) = place(taken[0]) {
            cell = first.cells.tree.cell_of::<K>(proposal.statistics[0]);
            first.leave::<V, K>(i);
            first.come::<S, V, K>(i, cell, proposal.statistics[0]);
        }
        let Some(j) = place(taken[1]) else { return };
        if taken[0].is_none() || !proposal.is_common {
            cell = second.cells.tree.cell_of::<K>(proposal.statistics[1]);
        }
        second.leave::<V, K>(j);
        let at = match place(taken[0]) {
            Some(i) if proposal.is_common && i != j => {
                second.relabel(i, j);
                i
            }
            _ => j,
        };
        second.come::<S, V, K>(at, cell, proposal.statistics[1]);
    }
}

/// Draws places with probability proportional to the larger of the two chains' probabilities.
/// Returns them, and one over this probability for each.
///
/// With equally many tries, draws from the first distribution a and draws from the residual of the
/// second, max(0, b - a), together have density a + max(0, b - a) = max(a, b).
#[inline(always)]
fn throw<V: Vector>(chains: &[InCells; 2], rng: &mut Rng) -> ([usize; DARTS], [f64; DARTS]) {
    let (mut places, mut per_bound) = ([0; DARTS], [0.0; DARTS]);
    let mut made = 0;
    let (mut coins, mut left) = (0u64, 0);
    while made < THROWN {
        if left == 0 {
            (coins, left) = (rng.random(), 64);
        }
        let side = (coins & 1) as usize;
        (coins, left) = (coins >> 1, left - 1);
        let Some(place) = chains[side].draw::<V>(rng) else { continue };
        let shares = [chains[0].share(place), chains[1].share(place)];
        if side == 0 || rng.random::<f64>() * shares[1] < shares[1] - shares[0] {
            places[made] = place;
            per_bound[made] = 1.0 / shares[0].max(shares[1]);
            made += 1;
        }
    }
    (places, per_bound)
}

/// A place for one chain alone, drawn with probability w_i / W, and its cost.
#[inline(always)]
fn alone<S: Cost, V: Vector, const K: usize>(
    chain: &InCells,
    records: &Records,
    evaluations: &mut u64,
    rng: &mut Rng,
) -> (usize, f64) {
    for _ in 0..ROUNDS * DARTS {
        let Some(place) = chain.draw::<V>(rng) else { continue };
        let cost = chain.envelope.cost::<S, V, K>(records.statistic_known::<K>(place));
        *evaluations += 1;
        if rng.random::<f64>() * chain.bound(place) < exp(chain.unit - cost) {
            return (place, cost);
        }
    }
    let rows = (0..records.n()).map(|i| records.statistic_known::<K>(i));
    by_weighing_all::<S, K>(&chain.envelope, rows, evaluations, rng)
}

/// Whether a proposal of smaller weight than w_0 is accepted in the place of a member of a cell, at
/// cost `cost`: by lower and upper bounds of W, or by the exact sum. A weight of 1 has cost `unit`.
#[inline(always)]
fn is_taken<S: Cost, V: Vector, const K: usize>(
    test: Threshold,
    (cell, cost): (usize, f64),
    (cells, unit): (&Cells, f64),
    envelope: &Envelope,
    records: &Records,
    evaluations: &mut u64,
) -> bool {
    let part = test.weight(unit);
    let test = test.for_place(cost);
    if cells.suffice::<S, V, K>(cell, |sum| test.is_met_by(part * sum)) {
        return true;
    }
    if !test.is_met_by(part * f64::from(cells.masses.total())) {
        return false;
    }
    let rows = cells.rows(records, cell);
    test.is_met_by_sum::<S, V, K>(envelope, records.n(), rows, unit, evaluations)
}
