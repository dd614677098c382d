//! Selection by cells.

pub(crate) mod ahead;
pub(crate) mod boxes;
mod grid;
pub(crate) mod members;
pub(crate) mod partition;
pub(crate) mod tree;

use self::ahead::{Ahead, FOUR};
use self::boxes::Cells;
use self::partition::Partition;
use super::accept::{MOST, Selected, Threshold, by_weighing_all, most_trials, sum_of_weights};
use super::envelope::Envelope;
use super::{Selector, Turn};
use rand::RngExt;

use crate::numeric::exp::{LOOSE, exp, exp_above};
use crate::records::Records;
use crate::rng::Rng;
use crate::simd::cost::{Cost, costs_with};
use crate::simd::vector::Vector;

/// Draws a cell with probability proportional to its mass (its members times a bound of their
/// weights), a member uniformly, and accepts it with probability w_i / bound. So place i is
/// selected with probability w_i / W. The expected number of trials is mass / W.
pub(crate) struct CellSelector<'a> {
    cells: &'a mut Cells,
    /// Members drawn in advance, if the records exceed the cache.
    ahead: Option<&'a mut Ahead>,
    /// The cost of a mass of 1.
    unit: f64,
    /// The cells of the proposals of the batch.
    proposals: Vec<u16>,
}

impl<'a> CellSelector<'a> {
    #[inline(always)]
    pub(crate) fn begin<S: Cost, V: Vector, const K: usize>(
        (cells, ahead): (&'a mut Cells, &'a mut Ahead),
        partition: &Partition,
        records: &Records,
        envelope: &mut Envelope,
        rng: &mut Rng,
    ) -> Self {
        cells.fit::<S, V, K>(records, envelope, partition);
        let ahead = if cells.hold_copies() {
            ahead.start(&cells.members, rng);
            Some(ahead)
        } else {
            None
        };
        CellSelector { cells, ahead, unit: 0.0, proposals: Vec::new() }
    }

    /// Draws four candidates by inversion of the cumulative masses: cells, and their members unless
    /// these were drawn in advance. Cells without members have almost no mass; a candidate without
    /// a member is never accepted.
    #[inline(always)]
    fn draw_four<V: Vector>(&self, rng: &mut Rng) -> Candidates<V> {
        let (cells, into) = self.cells.masses.draw_four::<V>(rng);
        let mut members = [0.0; FOUR];
        for j in 0..FOUR {
            members[j] = self.cells.members.len(cells[j] as usize) as f64;
        }
        let times = V::load(&members);
        let mut slots = [0; FOUR];
        if let Some(ahead) = &self.ahead {
            for j in 0..FOUR {
                let mut after = 0;
                for before in &cells[..j] {
                    after += usize::from(*before == cells[j]);
                }
                slots[j] = ahead.peek(cells[j] as usize, after);
            }
            return Candidates { cells, slots, bars: into, times };
        }
        // The position within the mass of the cell, times the number of members, determines the
        // member and the position within its part.
        let mut masses = [0.0; FOUR];
        for j in 0..FOUR {
            masses[j] = f64::from(self.cells.masses.mass(cells[j] as usize));
        }
        let (masses, into) = (V::load(&masses), V::mul(into, times));
        let last = V::sub(times, V::load(&[1.0; FOUR]));
        let mut whole = [0; FOUR];
        V::whole(&mut whole, V::min(V::div(into, masses), last));
        let mut passed = [0.0; FOUR];
        for j in 0..FOUR {
            (slots[j], passed[j]) = (u32::from(whole[j]), f64::from(whole[j]));
        }
        let bars = V::sub(into, V::mul(V::load(&passed), masses));
        Candidates { cells, slots, bars, times }
    }

    /// The acceptance test for a proposal whose cost exceeds the current one, as a Bernoulli
    /// factory: a coin whose bias depends on W, without W.
    ///
    /// The test by the lower bound L of W has failed; it took a unit of L for `part` times w_0. It
    /// remains to accept with odds of W - a L to w_0 - w_I + a L, where a is `part` times w_0 -
    /// w_I, in units of the masses. A uniform point is drawn on the cumulative masses, extended by
    /// w_0 - w_I. In the extension, and in the share of a L of a cell's mass, it rejects. Under the
    /// weight of a member it accepts. Elsewhere another point is drawn.
    #[inline(always)]
    fn toss<S: Cost, V: Vector, const K: usize>(
        &mut self,
        (cost, current): (f64, f64),
        part: f64,
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool {
        let short = exp((self.unit - current).min(MOST)) * (1.0 - exp(current - cost));
        let (shown, total) = (part * short, f64::from(self.cells.masses.total()));
        for _ in 0..most_trials(records.n()) / FOUR {
            let four = self.draw_four::<V>(rng);
            let (mut costs, mut bars, mut times) = ([0.0; FOUR], [0.0; FOUR], [0.0; FOUR]);
            V::store(&mut costs, self.costs_of::<S, V, K>(&four, envelope, records));
            V::store(&mut bars, four.bars);
            V::store(&mut times, four.times);
            let (mut looked_at, mut said) = (0, None);
            while looked_at < FOUR && said.is_none() {
                let j = looked_at;
                looked_at += 1;
                if rng.random::<f64>() * (total + short) >= total
                    || bars[j] < shown * self.cells.at_least_in(four.cells[j] as usize)
                {
                    said = Some(false);
                } else if bars[j] < times[j] * exp(self.unit - costs[j]) {
                    said = Some(true);
                }
            }
            *evaluations += looked_at as u64;
            self.use_up(&four, looked_at, rng);
            if let Some(said) = said {
                return said;
            }
        }
        let rows = self.cells.rows(records, 0);
        let weights = sum_of_weights::<S, K>(envelope, rows, self.unit, evaluations);
        rng.random::<f64>() * (weights + short) < weights - shown * self.cells.at_least()
    }

    /// The costs if the proposal replaces four candidates.
    #[inline(always)]
    fn costs_of<S: Cost, V: Vector, const K: usize>(
        &self,
        four: &Candidates<V>,
        envelope: &Envelope,
        records: &Records,
    ) -> V::Four {
        let mut rows: [&[f64]; FOUR] = [&[]; FOUR];
        for (j, row) in rows.iter_mut().enumerate() {
            *row = self.cells.row::<K>(records, four.cells[j] as usize, four.slots[j] as usize);
        }
        costs_with::<S, V, K>(envelope.apart(), rows)
    }

    /// Consumes the first `count` of four candidates, which have decided something. The others are
    /// reused.
    #[inline(always)]
    fn use_up<V: Vector>(&mut self, four: &Candidates<V>, count: usize, rng: &mut Rng) {
        if let Some(ahead) = &mut self.ahead {
            for cell in &four.cells[..count] {
                ahead.pop(*cell as usize, &self.cells.members, rng);
            }
        }
    }

    /// The first accepted one of four candidates, with its cost.
    #[inline(always)]
    fn first_kept<S: Cost, V: Vector, const K: usize>(
        &self,
        four: &Candidates<V>,
        envelope: &Envelope,
        records: &Records,
    ) -> Option<(usize, f64)> {
        let costs = self.costs_of::<S, V, K>(four, envelope, records);
        let above = V::exp_above(V::sub(V::load(&[self.unit; 4]), costs));
        let above = V::mul(above, four.times);
        let loose = V::mul(four.bars, V::load(&[LOOSE; 4]));
        let (surely, mut perhaps) = (V::below(loose, above), V::below(four.bars, above));
        let mut all = [0.0; 4];
        V::store(&mut all, costs);
        while perhaps != 0 {
            let j = perhaps.trailing_zeros() as usize % FOUR;
            if (surely >> j) & 1 == 1 || four.is_kept(j, exp(self.unit - all[j])) {
                return Some((j, all[j]));
            }
            perhaps &= perhaps - 1;
        }
        None
    }
}

/// Drawn members. One is accepted if the number of members times its weight, in units of the
/// masses, exceeds `bar`, which is uniform up to the mass of the cell.
struct Candidates<V: Vector> {
    cells: [u32; FOUR],
    slots: [u32; FOUR],
    bars: V::Four,
    times: V::Four,
}

impl<V: Vector> Candidates<V> {
    /// Whether candidate j, of weight `weight`, is accepted.
    #[inline(always)]
    fn is_kept(&self, j: usize, weight: f64) -> bool {
        let (mut bars, mut times) = ([0.0; FOUR], [0.0; FOUR]);
        V::store(&mut bars, self.bars);
        V::store(&mut times, self.times);
        bars[j] < times[j] * weight
    }
}

impl Selector for CellSelector<'_> {
    #[inline(always)]
    fn defers(&self) -> bool {
        self.cells.hold_copies()
    }

    #[inline(always)]
    fn prepare<S: Cost, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        _: &mut Envelope,
        _: &Records,
    ) {
        self.proposals.clear();
        self.cells.tree.cells_of_all::<K>(statistics, &mut self.proposals);
    }

    #[inline(always)]
    fn select<S: Cost, V: Vector, const K: usize>(
        &mut self,
        proposal: &[f64],
        envelope: &mut Envelope,
        at: Turn<'_>,
    ) -> Selected {
        let Turn { records, evaluations, rng, .. } = at;
        envelope.propose::<V, K>(records.residual(), proposal);
        self.unit = self.cells.weigh::<S, V, K>(envelope);
        // Four at a time: at an acceptance rate of about one half, testing one at a time
        // mispredicts about once per move.
        for _ in 0..most_trials(records.n()) / FOUR {
            let four = self.draw_four::<V>(rng);
            *evaluations += FOUR as u64;
            let kept = self.first_kept::<S, V, K>(&four, envelope, records);
            self.use_up(&four, kept.map_or(FOUR, |(j, _)| j + 1), rng);
            if let Some((j, cost)) = kept {
                let (cell, slot) = (four.cells[j] as usize, four.slots[j] as usize);
                return Selected { place: self.cells.members.place(cell, slot), cost, cell, slot };
            }
        }
        let (index, cost) =
            by_weighing_all::<S, K>(envelope, self.cells.rows(records, 0), evaluations, rng);
        let (cell, slot) = self.cells.members.all(0).nth(index).expect("one of the rows");
        Selected { place: self.cells.members.place(cell, slot), cost, cell, slot }
    }

    #[inline(always)]
    fn accepts<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        envelope: &Envelope,
        at: Turn<'_>,
    ) -> bool {
        let Turn { current, records, evaluations, rng } = at;
        // The test that almost never fails comes first, so that its branch predicts.
        let mut part = 0.0;
        if self.cells.have_least::<S>() {
            part = exp_above((current - self.unit).min(MOST)) * (1.0 / LOOSE);
        }
        let threshold = Threshold::draw(current, rng);
        threshold.is_met_by(part * self.cells.at_least())
            || choice.cost <= current
            || self.toss::<S, V, K>(
                (choice.cost, current),
                part,
                envelope,
                records,
                evaluations,
                rng,
            )
    }

    #[inline(always)]
    fn old<const K: usize>(&self, choice: &Selected) -> Option<&[f64]> {
        Some(self.cells.copied_row::<K>(choice.cell, choice.slot))
    }

    #[inline(always)]
    fn replaced<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        j: usize,
        new: &[f64],
        envelope: &mut Envelope,
        rng: &mut Rng,
    ) {
        envelope.widen::<V, K>(new);
        let (from, to) = ((choice.cell, choice.slot), usize::from(self.proposals[j]));
        let place = self.cells.remove::<V, K>(from);
        if let Some(ahead) = &mut self.ahead {
            ahead.left(from, &self.cells.members, rng);
        }
        self.cells.add::<S, V, K>(to, place, new);
        if let Some(ahead) = &mut self.ahead {
            ahead.came(to, &self.cells.members, rng);
        }
    }
}
