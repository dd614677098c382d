//! SOMA on two chains by way of cells of similar records, for many records and sharp releases.

use rand::RngExt;

use super::by_darts::{DARTS, keeps};
use super::index::Coupled;
use super::pair::{Offer, Pair};
use super::places::{Places, Taken, place};
use super::sharp::exp_above;
use crate::kernel::Records;
use crate::kernel::exp::exp;
use crate::kernel::shape::Falloff;
use crate::kernel::soma::accept::{Threshold, by_weighing_all};
use crate::kernel::soma::celled::is_taken;
use crate::kernel::soma::cells::Cells;
use crate::kernel::soma::envelope::Envelope;
use crate::kernel::soma::partition::Partition;
use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// So many places are drawn together: each costs more than where they are drawn uniformly, and
/// stands for more of the others.
const THROWN: usize = 4;

/// After so many rounds all records are weighed.
const ROUNDS: usize = 32;

/// The records of both chains in the cells of one partition of the statistics.
///
/// Cells give each chain bounds e_i of its weights, with sum E; see [`Cells`]. Places are drawn
/// for both chains with probability proportional to b_i = max(e_i / E, e'_i / E'), and then as
/// [`Darts`](super::by_darts::Darts) are used, with w_i / (E b_i), which is at most 1, in the place
/// of w_i. Without its partner a chain goes on as the plain kernel does.
#[derive(Debug, Clone, Default)]
pub(super) struct CellDarts {
    chains: [InCells; 2],
    scratch: Vec<[f64; 2]>,
}

/// One chain.
#[derive(Debug, Clone, Default)]
struct InCells {
    cells: Cells,
    envelope: Envelope,
    /// The cell of each place, and its slot among the members.
    homes: Vec<(u32, u32)>,
    /// One over E.
    per_total: f64,
    /// The least cost that any place can have for the present offer.
    least: f64,
}

impl InCells {
    #[inline(always)]
    fn fit<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        partition: &Partition,
    ) {
        self.cells.fit::<S, V, K>(records, &mut self.envelope, partition);
        self.homes.resize(records.n(), (0, 0));
        for (cell, members) in self.cells.members.iter().enumerate() {
            for slot in 0..members.len() {
                self.homes[members.place(slot)] = (cell as u32, slot as u32);
            }
        }
    }

    /// A place drawn with probability e_i / E; none if rounding has led to a cell without members.
    #[inline(always)]
    fn draw<V: Vector>(&self, rng: &mut Rng) -> Option<usize> {
        let (cell, within) = self.cells.masses.find::<V>(rng.random());
        let members = &self.cells.members[cell];
        // What is left of the uniform number is uniform within the mass of the cell.
        let slot = (within / f64::from(self.cells.masses.bounds[cell])) as usize;
        (members.len() > 0).then(|| members.place(slot.min(members.len() - 1)))
    }

    /// e_i.
    #[inline(always)]
    fn bound(&self, place: usize) -> f64 {
        f64::from(self.cells.masses.bounds[self.homes[place].0 as usize])
    }

    /// e_i / E.
    #[inline(always)]
    fn share(&self, place: usize) -> f64 {
        self.bound(place) * self.per_total
    }

    /// The record at `place` leaves its cell.
    #[inline(always)]
    fn leave<V: Vector, const K: usize>(&mut self, place: usize) {
        let (cell, slot) = self.homes[place];
        self.cells.remove::<V, K>((cell as usize, slot as usize));
        let members = &self.cells.members[cell as usize];
        if (slot as usize) < members.len() {
            self.homes[members.place(slot as usize)] = (cell, slot);
        }
    }

    /// The record that was at `from` is at `to` now.
    #[inline(always)]
    fn relabel(&mut self, from: usize, to: usize) {
        let (cell, slot) = self.homes[from];
        self.cells.members[cell as usize].relabel(slot as usize, to as u32);
        self.homes[to] = (cell, slot);
    }

    /// A record with `statistic` comes to `cell`, at `place`.
    #[inline(always)]
    fn come<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        place: usize,
        cell: usize,
        statistic: &[f64],
    ) {
        self.envelope.widen::<V, K>(statistic);
        self.homes[place] = (cell as u32, self.cells.members[cell].len() as u32);
        self.cells.add::<S, V, K>(cell, place as u32, statistic);
    }
}

/// All places, by way of cells.
pub(super) struct AllByCells<'a> {
    darts: &'a mut CellDarts,
    partition: &'a Partition,
}

impl<'a> AllByCells<'a> {
    /// Sorts the records of both chains into the cells of `partition`.
    #[inline(always)]
    pub fn begin<S: Falloff, V: Vector, const K: usize>(
        darts: &'a mut CellDarts,
        partition: &'a Partition,
        pair: &Pair,
    ) -> Self {
        for (chain, records) in darts.chains.iter_mut().zip(pair.records()) {
            chain.fit::<S, V, K>(records, partition);
        }
        AllByCells { darts, partition }
    }
}

impl Places for AllByCells<'_> {
    fn relabels(&self) -> bool {
        true
    }

    #[inline(always)]
    fn choose<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        currents: [f64; 2],
        _: usize,
        offer: &Offer<'_>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Taken; 2] {
        let both = pair.records();
        for (side, records) in both.into_iter().enumerate() {
            let InCells { cells, envelope, least, per_total, .. } = &mut self.darts.chains[side];
            envelope.offer::<V, K>(records.residual(), offer.statistics[side]);
            *least = cells.weigh::<S, V, K>(envelope);
            *per_total = 1.0 / cells.masses.total();
        }
        let chosen = self.darts.chosen::<S, V, K>(pair, evaluations, rng);
        let u: f64 = rng.random();
        let mut taken: [Taken; 2] = [None; 2];
        for side in 0..2 {
            let InCells { cells, envelope, homes, least, .. } = &self.darts.chains[side];
            let (place, cost) = chosen[side];
            let test = Threshold::with(u, -currents[side]);
            let cell = homes[place].0 as usize;
            if cost <= -currents[side]
                || is_taken::<S, V, K>(
                    test,
                    (cell, cost),
                    (cells, *least),
                    envelope,
                    both[side],
                    evaluations,
                )
            {
                taken[side] = Some((place, -cost));
            }
        }
        taken
    }

    #[inline(always)]
    fn moved<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        _: &Pair,
        taken: [Taken; 2],
        offer: &Offer<'_>,
    ) {
        let [first, second] = &mut self.darts.chains;
        let mut cell = 0;
        if let Some(i) = place(taken[0]) {
            cell = self.partition.cell_of::<K>(offer.statistics[0]);
            first.leave::<V, K>(i);
            first.come::<S, V, K>(i, cell, offer.statistics[0]);
        }
        let Some(j) = place(taken[1]) else { return };
        if taken[0].is_none() || !offer.is_common {
            cell = self.partition.cell_of::<K>(offer.statistics[1]);
        }
        second.leave::<V, K>(j);
        let at = match place(taken[0]) {
            Some(i) if offer.is_common && i != j => {
                second.relabel(i, j);
                i
            }
            _ => j,
        };
        second.come::<S, V, K>(at, cell, offer.statistics[1]);
    }
}

impl CellDarts {
    /// A place for each chain, drawn with probability w_i / W, and the cost of it.
    #[inline(always)]
    fn chosen<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [(usize, f64); 2] {
        let CellDarts { chains, scratch } = self;
        let both = pair.records();
        let mut chosen: [Option<(usize, f64)>; 2] = [None; 2];
        for _ in 0..ROUNDS {
            let (places, per_bound) = throw::<V>(chains, rng);
            *evaluations += 2 * THROWN as u64;
            let mut costs = [[0.0; DARTS]; 2];
            let mut masses = [[0.0; DARTS]; 2];
            let mut totals = [0.0; 2];
            for side in 0..2 {
                let InCells { envelope, least, per_total, .. } = &chains[side];
                let mut losses = [0.0; DARTS];
                for j in 0..THROWN {
                    let row = both[side].statistic_known::<K>(places[j]);
                    costs[side][j] = envelope.cost::<S, V, K>(row);
                    losses[j] = (least - costs[side][j]) as f32;
                }
                for j in 0..THROWN {
                    masses[side][j] = f64::from(exp_above(losses[j])) * (per_total * per_bound[j]);
                }
                totals[side] = masses[side].iter().sum();
            }
            let coupled = Coupled::new([&masses[0], &masses[1]], totals);
            let slots = match coupled.common(rng.random()) {
                Ok(slot) => [slot; 2],
                Err(rest) => {
                    let open = places.map(|place| pair.open_from(place)[0]);
                    coupled.apart(rest, &open, scratch)
                }
            };
            let u: f64 = rng.random();
            for side in 0..2 {
                let (slot, InCells { least, per_total, .. }) = (slots[side], &chains[side]);
                let weight = || exp(least - costs[side][slot]) * (per_total * per_bound[slot]);
                if keeps(u, masses[side][slot], totals[side], weight) {
                    chosen[side] = Some((places[slot], costs[side][slot]));
                }
            }
            if chosen != [None; 2] {
                break;
            }
        }
        [0, 1].map(|side: usize| {
            chosen[side]
                .unwrap_or_else(|| alone::<S, V, K>(&chains[side], both[side], evaluations, rng))
        })
    }
}

/// Draws places with probability proportional to the larger of the two chains' shares. Returns
/// them, and one over this larger share for each.
///
/// Those of the first chain's law a and those of what the second's law b has beyond it, with as
/// many tries at the one as at the other, have density a + max(0, b - a) = max(a, b).
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

/// A place of one chain alone, drawn with probability w_i / W, and the cost of it.
#[inline(always)]
fn alone<S: Falloff, V: Vector, const K: usize>(
    chain: &InCells,
    records: &Records,
    evaluations: &mut u64,
    rng: &mut Rng,
) -> (usize, f64) {
    for _ in 0..ROUNDS * DARTS {
        let Some(place) = chain.draw::<V>(rng) else { continue };
        let cost = chain.envelope.cost::<S, V, K>(records.statistic_known::<K>(place));
        *evaluations += 1;
        if rng.random::<f64>() * chain.bound(place) < exp(chain.least - cost) {
            return (place, cost);
        }
    }
    let rows = (0..records.n()).map(|i| records.statistic_known::<K>(i));
    by_weighing_all::<S, K>(&chain.envelope, rows, evaluations, rng)
}
