//! Cells of similar records, each with a bound of its members' weights.

use super::grid::{LAST, below, put_on_grid};
use super::members::Members;
use super::partition::Partition;
use super::tree::Tree;
use crate::kernel::select::envelope::Envelope;
use crate::kernel::select::envelope::{is_outside, widen};
use crate::numeric::aligned::Aligned;
use crate::numeric::{least, most};
use crate::records::Records;
use crate::simd::cost::{Cost, sum_over};
use crate::simd::prefix::integer::IntegerPrefix;
use crate::simd::vector::{LANES, ONE, Vector, Weighing, lane};

/// Statistics of more bytes than this exceed the cache: members are drawn in advance and
/// prefetched.
const FAR: usize = 1 << 19;
/// Records per block when they are sorted into cells.
const BLOCK: usize = 64;
/// 2^i (1 + f) exceeds 2^(i + f) by less than this factor.
const LOOSE: f32 = 1.062;
/// Safety factor of the masses against rounding.
const SLACK: f32 = 1.0 + 1e-6;
/// If the total mass is below 64 per cell, rescale by 2^12 (at most 2^96) to bound the error of
/// rounding up.
const FEWEST: u32 = 64;
const MORE: i32 = 12;
const MOST: i32 = 96;

/// Cells of records, each with the bounding box of its statistics on an integer grid.
///
/// The mass of a cell is the number of its members times a bound of their weights, as an integer;
/// the unit is small, so that the error of rounding up is small. The bound is computed in integers
/// rounded towards larger masses, and with 2^i (1 + f) >= 2^(i + f): the bits of a float are its
/// logarithm, piecewise linear.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cells {
    /// The partition as a tree.
    pub(crate) tree: Tree,
    /// The origin of the grid on which statistics are quantised.
    origin: Vec<f64>,
    /// Whether a value was clamped to the grid since the sweep began.
    off_grid: bool,
    /// The boxes: LANES cells side by side, in the order of [`lane`], coordinate by coordinate. The
    /// lower edges are one step lower, since the target is rounded down.
    low: Aligned<u16>,
    high: Aligned<u16>,
    /// The unquantised boxes, cell by cell: lower edges, then upper edges.
    edges: Vec<f64>,
    /// The cells of the records at the start of the sweep.
    entries: Vec<u16>,
    /// The numbers of members times 2^parts, rounded up.
    counts: Aligned<f32>,
    /// Chosen so that the total mass is below 2^31.
    parts: i32,
    pub(crate) members: Members,
    /// Whether the cells hold copies of the statistics.
    copies: bool,
    /// The statistic of the replaced record that minimises the cost, rounded down; and the cost
    /// common to all records because it lies outside the box of all statistics.
    aim: Aligned<u16>,
    paid: Aligned<u16>,
    pub(crate) masses: IntegerPrefix,
    /// The factor from a mass to a lower bound of the weights, from the width of the box alone; 0
    /// if there is no such bound.
    shrink: Aligned<f32>,
    /// The total width of each box over all coordinates, in steps.
    widths: Vec<u32>,
    /// The lower bound of W: the sum of these products, as an integer.
    at_least: u32,
}

impl Cells {
    /// Sorts all records into the cells of `partition`, and computes all boxes.
    #[inline(always)]
    pub(crate) fn fit<S: Cost, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        envelope: &mut Envelope,
        partition: &Partition,
    ) {
        let k = if K == 0 { records.k() } else { K };
        self.copies = size_of_val(records.statistics()) >= FAR;
        self.reset(k, partition.cells());
        self.tree.fit(partition, k);
        // In blocks that stay in the cache.
        for rows in records.statistics().chunks(BLOCK * k) {
            let before = self.entries.len();
            self.tree.cells_of_all::<K>(rows, &mut self.entries);
            for (&cell, row) in self.entries[before..].iter().zip(rows.chunks_exact(k)) {
                let (low, high) = self.edges[2 * usize::from(cell) * k..][..2 * k].split_at_mut(k);
                widen::<V, K>(low, high, row, row);
            }
        }
        let row = |place| records.statistic_known::<K>(place);
        if self.copies {
            self.members.sort::<K>(self.counts.len(), &self.entries, k, row);
        } else {
            self.members.sort::<0>(self.counts.len(), &self.entries, 0, row);
        }
        envelope.clear(k);
        for edges in self.edges.chunks_exact(2 * k) {
            envelope.widen_by::<V, K>(&edges[..k], &edges[k..]);
        }
        let middles = envelope.low().iter().zip(envelope.high()).map(|(low, high)| low + high);
        self.origin.extend(middles.map(|twice| 0.5 * twice - 32_768.0 * S::STEP));
        self.parts = 29 - records.n().ilog2() as i32;
        for cell in 0..partition.cells() {
            self.counts[cell] = self.count(cell);
            if self.members.len(cell) > 0 {
                self.fit_box::<S>(cell, k);
            }
        }
        self.off_grid = self.low.contains(&0) || self.high.contains(&LAST);
    }

    fn reset(&mut self, k: usize, cells: usize) {
        let padded = cells.next_power_of_two().max(LANES);
        self.origin.clear();
        self.entries.clear();
        self.low.fill_with(padded * k, u16::MAX);
        self.high.fill_with(padded * k, 0);
        self.edges.clear();
        for _ in 0..cells {
            self.edges.extend(std::iter::repeat_n(f64::INFINITY, k));
            self.edges.extend(std::iter::repeat_n(f64::NEG_INFINITY, k));
        }
        self.counts.fill_with(padded, 0.0);
        self.shrink.fill_with(padded, 0.0);
        self.widths.clear();
        self.widths.resize(padded, 0);
        self.aim.fill_with(k, 0);
        self.paid.fill_with(k, 0);
        self.masses.resize(padded);
    }

    /// Quantises the edges of a cell.
    fn fit_box<S: Cost>(&mut self, cell: usize, k: usize) {
        let at = box_of(cell, k);
        let (low, high) = self.edges[2 * cell * k..][..2 * k].split_at(k);
        let (origin, mut width) = (&self.origin, 0);
        for c in 0..k {
            let (low, high) = (below::<S>(low[c], origin[c]), below::<S>(high[c], origin[c]));
            let edges = (low.saturating_sub(1), high + 1);
            (self.low[at + c * LANES], self.high[at + c * LANES]) = edges;
            width += u32::from(edges.1 - edges.0);
        }
        self.widths[cell] = width;
        self.shrink[cell] = shrink::<S>(width);
    }

    /// Computes the target statistic, clamped to the box of all statistics, and the masses. Returns
    /// the cost of a mass of 1.
    #[inline(always)]
    pub(crate) fn weigh<S: Cost, V: Vector, const K: usize>(&mut self, envelope: &Envelope) -> f64 {
        let k = if K == 0 { self.aim.len() } else { K };
        let (apart, origin) = (&envelope.apart()[..k], &self.origin[..k]);
        let (low, high) = (&envelope.low()[..k], &envelope.high()[..k]);
        let aim = &mut self.aim[..k];
        let zero = V::load(&[0.0; 4]);
        let cost = sum_over!(V, k, c => {
            let apart = V::load(&apart[c..]);
            let wanted = V::sub(zero, apart);
            let inside = V::min(V::max(wanted, V::load(&low[c..])), V::load(&high[c..]));
            put_on_grid::<S, V>(inside, V::load(&origin[c..]), &mut aim[c..]);
            V::cost::<S>(V::add(apart, inside))
        }, {
            let inside = least(most(-apart[c], low[c]), high[c]);
            aim[c] = below::<S>(inside, origin[c]);
            S::cost(apart[c] + inside)
        });
        if S::IS_CURVED {
            for c in 0..k {
                let inside = least(most(-apart[c], low[c]), high[c]);
                self.paid[c] = ((apart[c] + inside).abs() * (2.0 / S::STEP)) as u16;
            }
        }
        self.fill::<S, V, K>(0);
        let mut more = 0;
        while self.masses.total() < FEWEST * self.counts.len() as u32 && more < MOST {
            more += MORE;
            self.refill::<S, V, K>(more);
        }
        cost + std::f64::consts::LN_2 * f64::from(self.parts + more)
    }

    /// Computes the masses in units smaller by 2^more.
    #[inline(always)]
    fn fill<S: Cost, V: Vector, const K: usize>(&mut self, more: i32) {
        let (spans, at_least) = V::weigh::<S, K>(Weighing {
            low: &self.low,
            high: &self.high,
            aim: &self.aim,
            paid: &self.paid,
            ones: ONE + 128 * more as u16,
            counts: &self.counts,
            shrink: &self.shrink,
            sums: self.masses.sums_mut(),
        });
        self.masses.set_spans(spans);
        self.at_least = at_least;
    }

    /// The same for a proposal far from all cells.
    #[cold]
    #[inline(never)]
    fn refill<S: Cost, V: Vector, const K: usize>(&mut self, more: i32) {
        self.fill::<S, V, K>(more);
    }

    /// Whether there is a lower bound of W: not if a value was clamped to the grid, or the cost is
    /// curved.
    #[inline(always)]
    pub(crate) fn have_least<S: Cost>(&self) -> bool {
        !S::IS_CURVED && !self.off_grid
    }

    /// The lower bound of W, in units of the masses.
    #[inline(always)]
    pub(crate) fn at_least(&self) -> f64 {
        f64::from(self.at_least)
    }

    /// The part of the lower bound of W that belongs to `cell`.
    #[inline(always)]
    pub(crate) fn at_least_in(&self, cell: usize) -> f64 {
        // Masses are rounded up: subtract one.
        let mass = self.masses.mass(cell) - 1;
        f64::from((mass as f32 * self.shrink[cell]) as u32)
    }

    /// Whether the cells hold copies of the statistics, so that those of `Records` are not read in
    /// a sweep.
    #[inline(always)]
    pub(crate) fn hold_copies(&self) -> bool {
        self.copies
    }

    /// The statistic of a member of a cell.
    #[inline(always)]
    pub(crate) fn row<'a, const K: usize>(
        &'a self,
        records: &'a Records,
        cell: usize,
        slot: usize,
    ) -> &'a [f64] {
        if self.copies {
            self.copied_row::<K>(cell, slot)
        } else {
            records.statistic_known::<K>(self.members.place(cell, slot))
        }
    }

    /// The copied statistic of a member of a cell.
    #[inline(always)]
    pub(crate) fn copied_row<const K: usize>(&self, cell: usize, slot: usize) -> &[f64] {
        self.members.row::<K>(cell, slot)
    }

    /// The statistics of all records, beginning with cell `first`.
    pub(crate) fn rows<'a>(
        &'a self,
        records: &'a Records,
        first: usize,
    ) -> impl Iterator<Item = &'a [f64]> {
        self.members.all(first).map(|(cell, slot)| self.row::<0>(records, cell, slot))
    }

    /// Whether lower bounds of the weights suffice: each member is assumed at the far corner of the
    /// box of its cell. Partial sums are passed to `is_enough`, beginning with the cells around
    /// `first`. They are in units of the masses, and too small if the unit was reduced.
    #[inline(always)]
    pub(crate) fn suffice<S: Cost, V: Vector, const K: usize>(
        &self,
        first: usize,
        is_enough: impl Fn(f64) -> bool,
    ) -> bool {
        let k = if K == 0 { self.aim.len() } else { K };
        let (aim, paid) = (&self.aim[..k], &self.paid[..k]);
        if self.off_grid || (S::IS_CURVED && paid.contains(&u16::MAX)) {
            return false;
        }
        let blocks = self.counts.len() / LANES;
        let mut total = 0.0;
        for step in 0..blocks {
            let block = (first / LANES + step) % blocks;
            let at = block * k * LANES;
            let (low, high) = (&self.low[at..][..k * LANES], &self.high[at..][..k * LANES]);
            let mut costs = [0u16; LANES];
            for c in 0..k {
                let (low, high) = (&low[c * LANES..][..LANES], &high[c * LANES..][..LANES]);
                for l in 0..LANES {
                    let distance =
                        aim[c].saturating_sub(low[l]).max(high[l].saturating_sub(aim[c]));
                    let paid = paid[c].saturating_add(1);
                    costs[l] = costs[l].saturating_add(S::units_above(distance, paid));
                }
            }
            let counts = &self.counts[block * LANES..][..LANES];
            let mut weights = [0.0f32; LANES];
            for l in 0..LANES {
                let bits = ONE.saturating_sub(costs[l]);
                weights[l] = f32::from_bits(u32::from(bits) << 16) * counts[lane(l)];
            }
            total += f64::from(weights.iter().sum::<f32>() / LOOSE);
            if is_enough(total) {
                return true;
            }
        }
        false
    }

    /// Checks that every record is in the box of its cell, and the counts.
    #[cfg(test)]
    pub(crate) fn check<S: Cost>(&self, records: &Records) {
        let k = records.k();
        for cell in 0..self.members.groups() {
            assert_eq!(self.counts[cell], self.count(cell));
            for slot in 0..self.members.len(cell) {
                let row = self.row::<0>(records, cell, slot);
                assert_eq!(row, records.statistic(self.members.place(cell, slot)));
                for (c, &t) in row.iter().enumerate() {
                    let at = box_of(cell, k) + c * LANES;
                    let below = below::<S>(t, self.origin[c]);
                    assert!(self.low[at] < below && below < self.high[at]);
                }
            }
        }
    }

    /// Removes a member from its cell. Returns its place.
    #[inline(always)]
    pub(crate) fn remove<V: Vector, const K: usize>(
        &mut self,
        (cell, slot): (usize, usize),
    ) -> u32 {
        let place = if self.copies {
            self.members.swap_remove::<K>(cell, slot)
        } else {
            self.members.swap_remove::<0>(cell, slot)
        };
        self.recount::<V>(cell);
        place
    }

    #[inline(always)]
    fn push<const K: usize>(&mut self, cell: usize, place: u32, row: &[f64]) {
        if self.copies {
            self.members.push::<K>(cell, place, row);
        } else {
            self.members.push::<0>(cell, place, &[]);
        }
    }

    #[inline(always)]
    fn recount<V: Vector>(&mut self, cell: usize) {
        let count = self.count(cell);
        V::put(&mut self.counts[cell / 8 * 8..], cell % 8, count);
    }

    /// The number of members of a cell times 2^parts, rounded up.
    #[inline(always)]
    fn count(&self, cell: usize) -> f32 {
        let parts = f32::from_bits(((127 + self.parts) as u32) << 23);
        self.members.len(cell) as f32 * (parts * SLACK)
    }

    /// Adds the record at `place` to the cell of its statistic.
    #[inline(always)]
    pub(crate) fn add<S: Cost, V: Vector, const K: usize>(
        &mut self,
        to: usize,
        place: u32,
        statistic: &[f64],
    ) {
        let k = if K == 0 { statistic.len() } else { K };
        let statistic = &statistic[..k];
        self.push::<K>(to, place, statistic);
        self.recount::<V>(to);
        let (low, high) = self.edges[2 * to * k..][..2 * k].split_at(k);
        if is_outside::<V, K>(low, high, statistic) {
            self.widen_box::<S, K>(to, statistic);
        }
    }

    /// Extends the box of a cell by a statistic, which is rarely outside in many coordinates.
    #[inline(always)]
    fn widen_box<S: Cost, const K: usize>(&mut self, cell: usize, statistic: &[f64]) {
        let k = if K == 0 { statistic.len() } else { K };
        let (low, high) = self.edges[2 * cell * k..][..2 * k].split_at_mut(k);
        let lane = box_of(cell, k);
        for c in 0..k {
            let (t, at) = (statistic[c], lane + c * LANES);
            if t < low[c] {
                low[c] = t;
                let edge = below::<S>(t, self.origin[c]).saturating_sub(1);
                self.widths[cell] += u32::from(self.low[at].saturating_sub(edge));
                self.low[at] = self.low[at].min(edge);
                self.off_grid |= edge == 0;
            }
            if t > high[c] {
                high[c] = t;
                let edge = below::<S>(t, self.origin[c]) + 1;
                self.widths[cell] += u32::from(edge.saturating_sub(self.high[at]));
                self.high[at] = self.high[at].max(edge);
                self.off_grid |= edge == LAST;
            }
        }
        self.shrink[cell] = shrink::<S>(self.widths[cell]);
    }
}

/// The offset of the box of a cell.
#[inline(always)]
fn box_of(cell: usize, k: usize) -> usize {
    cell / LANES * k * LANES + lane(cell % LANES)
}

/// A lower bound of the ratio of a member's weight to the bound of its cell, for a box of total
/// width `width` steps: for a piecewise linear cost the far corner costs at most the width more
/// than the near one. By 2^i (1 + f) again, divided by its error factor.
#[inline(always)]
fn shrink<S: Cost>(width: u32) -> f32 {
    let bits = u32::from(ONE).saturating_sub(width);
    if S::IS_CURVED { 0.0 } else { f32::from_bits(bits << 16) * (1.0 / (LOOSE * LOOSE)) }
}
