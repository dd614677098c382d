//! Cells of similar records, each with a bound of its members' weights.

use rand::RngExt;

use super::Envelope;
use super::partition::Partition;
use crate::kernel::Records;
use crate::kernel::exp::exp;
use crate::kernel::shape::{COST_UNIT, Falloff};
use crate::kernel::vector::{LANES, ONE, Sums, Vector, Weighing};
use crate::rng::Rng;

/// Records are sorted into cells so many at a time.
const BLOCK: usize = 64;
/// 2^i (1 + f) is above 2^(i + f), by less than this factor.
const LOOSE: f64 = 1.062;
/// Cells of records, each with the box of its statistics in whole numbers.
///
/// The mass of a cell is the number of its members times a bound of their weights. The bound comes
/// from whole numbers that are rounded so that it can only be too large, and from
/// 2^i (1 + f) >= 2^(i + f): the bits of a float are its logarithm, piecewise linear.
#[derive(Debug, Clone, Default)]
pub(super) struct Cells {
    /// The place of the grid on which statistics become whole numbers.
    origin: Vec<f64>,
    /// Whether a value had to be moved onto the grid since the sweep began.
    off_grid: bool,
    /// The boxes: LANES cells side by side, coordinate after coordinate.
    low: Vec<u16>,
    high: Vec<u16>,
    /// The boxes again, as they are fitted: cell after cell.
    edges: Vec<[f64; 2]>,
    /// The cells of the records that are being sorted.
    entries: Vec<u16>,
    counts: Vec<f32>,
    members: Vec<Vec<u32>>,
    /// Where the statistic of the replaced record should be, just below, and what all records
    /// alike have to pay for its being outside the box of all statistics.
    aim: Vec<u16>,
    paid: Vec<u16>,
    masses: Vec<f32>,
    /// What a mass is multiplied by to become a bound from below, as far as the width of the box
    /// alone can say; 0 where it says nothing.
    shrink: Vec<f32>,
    parts: [f64; LANES],
    surely: f64,
}

impl Cells {
    /// Sorts all records into the cells of `partition`, and fits the boxes.
    #[inline(always)]
    pub(super) fn fit<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        envelope: &Envelope,
        partition: &Partition,
    ) {
        let k = if K == 0 { records.k() } else { K };
        self.reset::<S>(k, envelope, partition.cells());
        let mut places = 0;
        for rows in records.statistics().chunks(BLOCK * k) {
            partition.cells_of_all::<K>(rows, k, &mut self.entries);
            for r in 0..rows.len() / k {
                let cell = usize::from(self.entries[r]);
                self.enter::<K>(places, cell, &rows[r * k..][..k]);
                places += 1;
            }
        }
        for cell in 0..partition.cells() {
            self.counts[cell] = self.members[cell].len() as f32;
            let at = cell / LANES * k * LANES + cell % LANES;
            let mut width = 0;
            for (c, &[low, high]) in self.edges[cell * k..][..k].iter().enumerate() {
                if low <= high {
                    self.low[at + c * LANES] = below::<S>(low, self.origin[c]);
                    self.high[at + c * LANES] = below::<S>(high, self.origin[c]) + 1;
                    width += u32::from(self.high[at + c * LANES] - self.low[at + c * LANES]) + 1;
                }
            }
            self.shrink[cell] = shrink::<S>(width);
        }
        self.off_grid = self.low.contains(&0) || self.high.contains(&LAST);
    }

    fn reset<S: Falloff>(&mut self, k: usize, envelope: &Envelope, cells: usize) {
        let padded = cells.next_multiple_of(LANES);
        self.origin.clear();
        let middles = envelope.low().iter().zip(envelope.high()).map(|(low, high)| low + high);
        self.origin.extend(middles.map(|twice| 0.5 * twice - 32_768.0 * S::STEP));
        self.off_grid = false;
        fill(&mut self.low, padded * k, u16::MAX);
        fill(&mut self.high, padded * k, 0);
        fill(&mut self.edges, cells * k, [f64::INFINITY, f64::NEG_INFINITY]);
        fill(&mut self.counts, padded, 0.0);
        fill(&mut self.masses, padded, 0.0);
        fill(&mut self.shrink, padded, 0.0);
        fill(&mut self.aim, k, 0);
        fill(&mut self.paid, k, 0);
        self.members.resize(cells.max(self.members.len()), Vec::new());
        self.members.iter_mut().for_each(Vec::clear);
    }

    #[inline(always)]
    fn enter<const K: usize>(&mut self, place: u32, cell: usize, row: &[f64]) {
        self.members[cell].push(place);
        let k = if K == 0 { row.len() } else { K };
        let edges = &mut self.edges[cell * k..][..k];
        for c in 0..k {
            let t = row[c];
            edges[c] = [least(t, edges[c][0]), most(t, edges[c][1])];
        }
    }

    /// Takes aim at where the statistic of the replaced record should be, brought into the box of
    /// all statistics, and computes the masses, relative to the weight at that point.
    #[inline(always)]
    pub(super) fn weigh<S: Falloff, V: Vector, const K: usize>(&mut self, envelope: &Envelope) {
        let k = if K == 0 { self.aim.len() } else { K };
        let (apart, origin) = (&envelope.apart()[..k], &self.origin[..k]);
        let (low, high) = (&envelope.low()[..k], &envelope.high()[..k]);
        let (aim, paid) = (&mut self.aim[..k], &mut self.paid[..k]);
        for c in 0..k {
            let inside = least(most(-apart[c], low[c]), high[c]);
            aim[c] = below::<S>(inside, origin[c]);
            if S::BENDS {
                paid[c] = ((apart[c] + inside).abs() * (2.0 / S::STEP)) as u16;
            }
        }
        let Sums { mut parts, surely } = V::weigh::<S, K>(Weighing {
            low: &self.low,
            high: &self.high,
            aim: &self.aim,
            paid: &self.paid,
            counts: &self.counts,
            shrink: &self.shrink,
            masses: &mut self.masses,
        });
        self.surely = f64::from(surely.iter().sum::<f32>());
        // In four groups, whose sums need not wait for each other.
        for p in [1, 2, 3] {
            for group in 0..LANES / 4 {
                parts[4 * group + p] += parts[4 * group + p - 1];
            }
        }
        for group in 1..LANES / 4 {
            let before = parts[4 * group - 1];
            parts[4 * group..][..4].iter_mut().for_each(|part| *part += before);
        }
        self.parts = parts;
    }

    /// All masses together: an upper bound of W.
    #[inline(always)]
    pub(super) fn total(&self) -> f64 {
        self.parts[LANES - 1]
    }

    /// A lower bound of W; 0 where it is not known.
    #[inline(always)]
    pub(super) fn at_least(&self) -> f64 {
        if self.off_grid { 0.0 } else { self.surely }
    }

    /// The bound of the weights in a cell.
    #[inline(always)]
    pub(super) fn bound(&self, cell: usize) -> f64 {
        f64::from(self.masses[cell]) / f64::from(self.counts[cell])
    }

    /// Draws a cell with probability proportional to its mass.
    #[inline(always)]
    pub(super) fn draw(&self, rng: &mut Rng) -> usize {
        let mut left = rng.random::<f64>() * self.total();
        let part = self.parts[..LANES - 1].iter().map(|&sum| usize::from(sum <= left)).sum();
        left -= if part == 0 { 0.0 } else { self.parts[part - 1] };
        let mut chosen = part;
        let mut cell = part;
        while cell < self.masses.len() {
            let mass = f64::from(self.masses[cell]);
            // Rounding may leave a little over: then the last cell with a mass is it.
            chosen = if mass > 0.0 { cell } else { chosen };
            left -= mass;
            if left < 0.0 {
                break;
            }
            cell += LANES;
        }
        chosen
    }

    /// The places of the records in a cell.
    #[inline(always)]
    pub(super) fn members(&self, cell: usize) -> &[u32] {
        &self.members[cell]
    }

    /// The cell that a place is in, and where it stands among the members.
    pub(super) fn find(&self, place: usize) -> (usize, usize) {
        let slot = |members: &Vec<u32>| members.iter().position(|&i| i as usize == place);
        let found = self.members.iter().enumerate().find_map(|(c, m)| Some((c, slot(m)?)));
        found.expect("every place is in a cell")
    }

    /// The places of all records, those in cell `first` before the others.
    pub(super) fn places(&self, first: usize) -> impl Iterator<Item = usize> {
        let order = (first..self.members.len()).chain(0..first);
        order.flat_map(|cell| self.members[cell].iter().map(|&place| place as usize))
    }

    /// Whether W is surely enough, by bounds from below: every member of a cell is taken to be at
    /// the far corner of its box. Sums of them, in the unit of the masses, are offered to
    /// `is_enough`, the cells around `first` before the others.
    #[inline(always)]
    pub(super) fn suffice<S: Falloff, V: Vector, const K: usize>(
        &self,
        first: usize,
        is_enough: impl Fn(f64) -> bool,
    ) -> bool {
        let k = if K == 0 { self.aim.len() } else { K };
        let (aim, paid) = (&self.aim[..k], &self.paid[..k]);
        if self.off_grid || (S::BENDS && paid.contains(&u16::MAX)) {
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
                        (aim[c] + 1).saturating_sub(low[l]).max(high[l].saturating_sub(aim[c]));
                    let paid = paid[c].saturating_add(1);
                    costs[l] = costs[l].saturating_add(S::units_above(distance, paid));
                }
            }
            let counts = &self.counts[block * LANES..][..LANES];
            let mut weights = [0.0f32; LANES];
            for l in 0..LANES {
                let bits = ONE.saturating_sub(costs[l]);
                weights[l] = f32::from_bits(u32::from(bits) << 16) * counts[l];
            }
            total += f64::from(weights.iter().sum::<f32>()) / LOOSE;
            if is_enough(total) {
                return true;
            }
        }
        false
    }

    /// Every record stands in the box of its cell, and the counts are right.
    #[cfg(test)]
    pub(super) fn check<S: Falloff>(&self, records: &Records) {
        let k = records.k();
        for (cell, members) in self.members.iter().enumerate() {
            assert_eq!(self.counts[cell], members.len() as f32);
            for &place in members {
                for (c, &t) in records.statistic(place as usize).iter().enumerate() {
                    let at = (cell / LANES * k + c) * LANES + cell % LANES;
                    let below = below::<S>(t, self.origin[c]);
                    assert!(self.low[at] <= below && below < self.high[at]);
                }
            }
        }
    }

    /// Moves a place from one cell to another, where its new statistic belongs.
    #[inline(always)]
    pub(super) fn relocate<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        (from, slot): (usize, usize),
        to: usize,
        statistic: &[f64],
    ) {
        let k = if K == 0 { statistic.len() } else { K };
        let place = self.members[from].swap_remove(slot);
        self.members[to].push(place);
        self.counts[from] -= 1.0;
        self.counts[to] += 1.0;
        let (statistic, origin) = (&statistic[..k], &self.origin[..k]);
        let (at, lane) = (to / LANES * k * LANES, to % LANES);
        let (low, high) = (&mut self.low[at..][..k * LANES], &mut self.high[at..][..k * LANES]);
        let (mut width, mut off) = (0, false);
        for c in 0..k {
            let below = below::<S>(statistic[c], origin[c]);
            off |= (below == 0) | (below + 1 == LAST);
            let edges = (low[c * LANES + lane].min(below), high[c * LANES + lane].max(below + 1));
            (low[c * LANES + lane], high[c * LANES + lane]) = edges;
            width += u32::from(edges.1 - edges.0) + 1;
        }
        self.off_grid |= off;
        self.shrink[to] = shrink::<S>(width);
    }
}

/// The least that the weight of a member can be of the bound of its cell, where the box of the
/// cell is `width` steps wide, all coordinates together: a far corner costs at most the width more
/// than a near one, unless the cost bends.
#[inline(always)]
fn shrink<S: Falloff>(width: u32) -> f32 {
    if S::BENDS { 0.0 } else { exp(-f64::from(width) * COST_UNIT) as f32 * (1.0 / LOOSE as f32) }
}

/// The last whole number of the grid.
const LAST: u16 = u16::MAX;

/// The whole number just below a value: the value is at most one step above it. Values off the
/// grid are moved to its edge, which only brings things nearer to each other.
#[inline(always)]
fn below<S: Falloff>(value: f64, origin: f64) -> u16 {
    // Adding 2^52 rounds to the nearest whole number, which is then the lowest bits.
    const SHIFT: f64 = 4503599627370496.0;
    let at = (value - origin) * (1.0 / S::STEP) - 0.5;
    (least(most(at, 0.0), 65_534.0) + SHIFT).to_bits() as u16
}

/// The smaller of two numbers, of which none is NaN: one instruction.
#[inline(always)]
fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger of two numbers, of which none is NaN: one instruction.
#[inline(always)]
fn most(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

fn fill<T: Clone>(all: &mut Vec<T>, length: usize, value: T) {
    all.clear();
    all.resize(length, value);
}
