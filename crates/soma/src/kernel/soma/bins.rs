//! Records whose statistic is the indicator of a bin: they share their weights.

use rand::{Rng as _, RngExt};

use super::sums::Sums;
use crate::error::Outcome;
use crate::kernel::exp::exp;
use crate::kernel::offers::Batches;
use crate::kernel::records::prefetch_row;
use crate::kernel::shape::{Falloff, sum_over};
use crate::kernel::vector::Vector;
use crate::kernel::{Batch, Counts, Records};
use crate::rng::Rng;

/// The largest exponent that is used: weights are only compared, so that more is no more.
const MOST: f64 = 600.0;
/// Weights with exponents up to this can be multiplied and summed as they are.
const MILD: f64 = 150.0;

/// The records, bin by bin, and what their weights are made of.
///
/// All records of a bin have the same weight: w_0 times what leaving the bin makes of it, times
/// what arriving at the bin of the offer does; and w_0 itself in the bin of the offer. Two bins
/// change with a move.
///
/// Nothing but the numbers of members decides about a move: while a sweep lasts the records stand in
/// lists, one for each bin, and the lists follow later, when what they need has come from memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Bins {
    bins: Vec<Bin>,
    sums: Sums,
    /// The records of each bin, row after row, and their places.
    rows: Vec<Vec<f64>>,
    places: Vec<Vec<u32>>,
    /// What to multiply the coordinates of a statistic by to have the sum say its bin.
    readers: Vec<f64>,
    /// The bins of the offers of a batch.
    targets: Vec<u32>,
    /// What is still to be done to the lists: take a member, of so many, out of a bin, and put an
    /// offer into another.
    pending: Vec<(u32, u32, u32, u32)>,
    /// Whether no factor is too large or too small to be multiplied.
    mild: bool,
}

/// What the weights of the records of one bin are made of.
#[derive(Debug, Clone, Copy)]
struct Bin {
    /// How many records there are.
    count: i64,
    /// What leaving the bin makes of a weight, and one over that.
    leaving: [f64; 2],
    /// The same for arriving at it.
    arriving: [f64; 2],
    /// What was released, and what a record has of it, in noise units.
    target: f64,
    unit: f64,
    /// The residual is `offset + (full - count) unit`, with 0 <= offset < unit.
    offset: f64,
    full: i64,
    /// [`Bin::leaving`] and [`Bin::arriving`] where the cost is linear on either side of zero: for
    /// a residual below -unit, up to 0, up to unit, and beyond.
    linear: [[[f64; 2]; 2]; 4],
}

/// A factor and one over it, and the same the other way round.
#[inline(always)]
fn factors(log: f64) -> [[f64; 2]; 2] {
    let factor = exp(log.clamp(-MOST, MOST));
    [[factor, 1.0 / factor], [1.0 / factor, factor]]
}

impl Bin {
    /// The bin of the records that are in none: they weigh the same whoever leaves or arrives.
    const OUTSIDE: Bin = Bin {
        count: 0,
        leaving: [1.0; 2],
        arriving: [1.0; 2],
        target: 0.0,
        unit: 0.0,
        offset: 0.0,
        full: 0,
        linear: [[[1.0; 2]; 2]; 4],
    };

    /// An empty bin for which `target` was released, in noise units, of which a record has `unit`.
    fn new(target: f64, unit: f64) -> Self {
        let full = (target / unit).floor();
        let offset = target - full * unit;
        let ([up, down], [more, less]) = (factors(unit), factors(2.0 * offset - unit));
        let linear = [[up, down], [less, down], [down, more], [down, up]];
        Bin { target, unit, offset, full: full as i64, linear, ..Bin::OUTSIDE }
    }

    #[inline(always)]
    fn residual(&self) -> f64 {
        self.offset + (self.full - self.count) as f64 * self.unit
    }

    /// The logarithms of what leaving and arriving make of a weight.
    #[inline(always)]
    fn logs<S: Falloff>(&self) -> [f64; 2] {
        let r = self.residual();
        [S::cost(r) - S::cost(r + self.unit), S::cost(r) - S::cost(r - self.unit)]
    }

    /// Brings the factors up to date. Returns whether they may be multiplied.
    #[inline(always)]
    fn weigh<S: Falloff>(&mut self) -> bool {
        if !S::BENDS {
            let steps = (self.full - self.count).clamp(-2, 1) + 2;
            [self.leaving, self.arriving] = self.linear[steps as usize & 3];
            return true;
        }
        let [leaving, arriving] = self.logs::<S>();
        [self.leaving, self.arriving] = [factors(leaving)[0], factors(arriving)[0]];
        leaving.abs().max(arriving.abs()) < MILD
    }
}

impl Bins {
    /// The bin of a statistic, which is the indicator of it in noise units; the last one if it is
    /// in none.
    #[inline(always)]
    fn bin<V: Vector>(&self, statistic: &[f64]) -> u32 {
        let k = self.readers.len();
        let (t, reader) = (&statistic[..k], &self.readers[..k]);
        let said =
            sum_over!(V, k, c => V::mul(V::load(&t[c..]), V::load(&reader[c..])), t[c] * reader[c]);
        (said as u32).wrapping_sub(1).min(k as u32)
    }

    /// Takes the records over into lists.
    #[inline(always)]
    fn fit<S: Falloff, V: Vector>(&mut self, records: &Records) {
        // One more bin, for records that are in none.
        let k = records.k();
        self.rows.resize(k + 1, Vec::new());
        self.rows.iter_mut().for_each(Vec::clear);
        self.places.resize(k + 1, Vec::new());
        self.places.iter_mut().for_each(Vec::clear);
        self.readers.clear();
        self.readers.extend((0..k).map(|b| (b as f64 + 1.5) / records.unit(b)));
        for i in 0..records.n() {
            let b = records.bin(i);
            push_row(&mut self.rows[b], records.record(i));
            self.places[b].push(i as u32);
        }
        self.bins.resize(k + 1, Bin::OUTSIDE);
        self.mild = true;
        for b in 0..k {
            let (target, unit) = (records.target(b), records.unit(b));
            if [target, unit] != [self.bins[b].target, self.bins[b].unit] {
                self.bins[b] = Bin::new(target, unit);
            }
            self.mild &= unit < MILD;
        }
        self.bins[k] = Bin::OUTSIDE;
        for (bin, places) in self.bins.iter_mut().zip(&self.places) {
            bin.count = places.len() as i64;
        }
        self.sums.resize(k + 1);
        for b in 0..=k {
            self.weigh::<S>(b);
        }
        self.sums.total_up(0);
    }

    /// Brings the factors of a bin up to date with the number of its members.
    #[inline(always)]
    fn weigh<S: Falloff>(&mut self, b: usize) {
        let bin = &mut self.bins[b];
        self.mild &= bin.weigh::<S>();
        self.sums.set(b, bin.count as f64 * bin.leaving[0]);
    }

    /// Makes a move with an offer in bin `to`. Returns the bin that a record is taken out of, and
    /// which of its members, any one being as good as another; none if the offer is refused.
    #[inline(always)]
    fn advance<S: Falloff>(&mut self, to: usize, rng: &mut Rng) -> Option<(usize, usize)> {
        let (from, slot) = self.select::<S>(to, rng)?;
        self.bins[from].count -= 1;
        self.bins[to].count += 1;
        self.weigh::<S>(from);
        self.weigh::<S>(to);
        self.sums.total_up(from.min(to));
        Some((from, slot))
    }
}

impl Bins {
    /// Draws what [`advance`](Bins::advance) returns. All is divided by the factor of arriving.
    #[inline(always)]
    fn select<S: Falloff>(&self, to: usize, rng: &mut Rng) -> Option<(usize, usize)> {
        if !self.mild {
            return self.select_by_logarithms::<S>(to, rng);
        }
        let [arriving, inverse] = self.bins[to].arriving;
        // In the bin of the offer the weight is w_0, and so at least what the cost, which is
        // convex, would have made of it: the mass that is missing is put last.
        let (mass, sum) = (self.sums.mass(to), self.sums.total());
        let total = sum + (self.bins[to].count as f64 * inverse - mass).max(0.0);
        loop {
            let bits = rng.next_u64();
            let left = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * total;
            let (from, into) =
                if left < sum { self.sums.at(left) } else { (to, mass + (left - sum)) };
            let bin = &self.bins[from];
            // Rounding may lead to where nobody is.
            if bin.count == 0 {
                continue;
            }
            // How far the draw went into the bin is uniform, and says which member it is.
            let stays = usize::from(from == to);
            let slot = (into * [bin.leaving[1], arriving][stays]) as u32;
            let short = [inverse - bin.leaving[0], 0.0][stays].max(0.0);
            let taken = passes(total, total + short, bits, rng);
            return taken.then_some((from, slot.min(bin.count as u32 - 1) as usize));
        }
    }

    /// The same relative to the largest weight, where weights differ beyond all measure.
    #[cold]
    #[inline(never)]
    fn select_by_logarithms<S: Falloff>(&self, to: usize, rng: &mut Rng) -> Option<(usize, usize)> {
        let arriving = self.bins[to].logs::<S>()[1];
        let log = |b: usize| if b == to { 0.0 } else { self.bins[b].logs::<S>()[0] + arriving };
        let bins = || (0..self.bins.len()).filter(|&b| self.bins[b].count > 0);
        let top = bins().map(log).fold(f64::NEG_INFINITY, f64::max);
        let mass = |b: usize| self.bins[b].count as f64 * exp((log(b) - top).min(0.0));
        let total: f64 = bins().map(mass).sum();
        let mut left = rng.random::<f64>() * total;
        let mut from = None;
        for b in bins() {
            from = if mass(b) > 0.0 { Some(b) } else { from };
            left -= mass(b);
            if left < 0.0 {
                break;
            }
        }
        let from = from?;
        let short = exp((-top).min(MOST)) - exp(log(from) - top);
        let taken = short <= 0.0 || rng.random::<f64>() * (total + short) < total;
        taken.then(|| (from, rng.random_range(0..self.bins[from].count as usize)))
    }
}

/// True with probability `part` / `whole`. The last 11 bits of `bits` decide, but for one case in
/// 2,048.
#[inline(always)]
fn passes(part: f64, whole: f64, bits: u64, rng: &mut Rng) -> bool {
    const CELLS: f64 = 2048.0;
    let (cell, sought) = ((bits % 2048) as f64, CELLS * part);
    if (cell + 1.0) * whole <= sought {
        return true;
    }
    cell * whole < sought && (cell + rng.random::<f64>()) * whole < sought
}

/// Appends a record; most are of one number.
#[inline(always)]
fn push_row(rows: &mut Vec<f64>, record: &[f64]) {
    match record {
        &[x] => rows.push(x),
        _ => rows.extend_from_slice(record),
    }
}

/// SOMA moves: W is the sum over the bins of members times weight, so that the bin is drawn with
/// its exact probability, and any record in it will do. A move computes the weights of two bins.
#[inline(always)]
pub(super) fn make_moves<S: Falloff, V: Vector>(
    bins: &mut Bins,
    records: &mut Records,
    batches: Batches,
    rng: &mut Rng,
) -> Outcome<Counts> {
    bins.fit::<S, V>(records);
    let outcome = bins.make_moves::<S, V>(records.d(), batches, rng);
    records.take_bins(&bins.rows, &bins.places);
    outcome
}

impl Bins {
    #[inline(always)]
    fn make_moves<S: Falloff, V: Vector>(
        &mut self,
        d: usize,
        mut batches: Batches,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let k = self.readers.len();
        let mut counts = Counts { moves: batches.moves(), ..Counts::default() };
        while let Some(places) = batches.next(rng)? {
            let mut targets = std::mem::take(&mut self.targets);
            targets.clear();
            for j in 0..places.len() {
                targets.push(self.bin::<V>(batches.batch().statistic(j)));
            }
            for (j, &to) in targets.iter().enumerate() {
                let Some((from, slot)) = self.advance::<S>(to as usize, rng) else { continue };
                prefetch_row(self.rows[from].as_ptr().wrapping_add(slot * d), d);
                prefetch_row(self.places[from].as_ptr().wrapping_add(slot).cast(), 1);
                self.pending.push((from as u32, to, slot as u32, j as u32));
            }
            self.targets = targets;
            counts.accepted += self.pending.len() as u64;
            self.catch_up(d, batches.batch());
        }
        counts.evaluations = k as u64 + 1 + 2 * counts.accepted;
        Ok(counts)
    }

    /// Does to the lists what is still to be done.
    #[inline(always)]
    fn catch_up(&mut self, d: usize, batch: &Batch) {
        for (from, to, slot, j) in self.pending.drain(..) {
            let rows = &mut self.rows[from as usize];
            let place = self.places[from as usize].swap_remove(slot as usize);
            let (slot, last) = (slot as usize * d, rows.len() - d);
            for c in 0..d {
                rows[slot + c] = rows[last + c];
            }
            rows.truncate(last);
            self.places[to as usize].push(place);
            push_row(&mut self.rows[to as usize], batch.record(j as usize));
        }
    }

    /// Counts the places that an offer would take in so many draws, the records staying as they
    /// are, and, last, how often it would be refused.
    #[cfg(test)]
    pub(super) fn frozen<S: Falloff, V: Vector>(
        &mut self,
        records: &Records,
        statistic: &[f64],
        draws: usize,
        rng: &mut Rng,
    ) -> Vec<u64> {
        self.fit::<S, V>(records);
        let to = self.bin::<V>(statistic) as usize;
        let mut members = vec![Vec::new(); self.bins.len()];
        (0..records.n()).for_each(|i| members[records.bin(i)].push(i));
        let mut taken = vec![0; records.n() + 1];
        for _ in 0..draws {
            let place = self.select::<S>(to, rng).map(|(from, slot)| members[from][slot]);
            taken[place.unwrap_or(records.n())] += 1;
        }
        taken
    }

    /// Every record is in its bin, and the factors are those of the residual.
    #[cfg(test)]
    pub(super) fn check<S: Falloff, V: Vector>(&self, records: &Records) {
        for (b, rows) in self.rows.iter().enumerate() {
            let members = self.places[b].len();
            for &place in &self.places[b] {
                assert_eq!(self.bin::<V>(records.statistic(place as usize)), b as u32);
            }
            assert_eq!((members, members), (rows.len() / records.d(), self.bins[b].count as usize));
        }
        for (b, &r) in records.residual().iter().enumerate() {
            let factor = |change: f64| (S::cost(r) - S::cost(r + change)).exp();
            let unit = records.unit(b);
            assert!((self.bins[b].leaving[0] / factor(unit) - 1.0).abs() < 1e-9);
            assert!((self.bins[b].arriving[0] / factor(-unit) - 1.0).abs() < 1e-9);
        }
    }
}
