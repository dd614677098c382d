//! Records whose statistic is the indicator of a bin: they share their weights.

use rand::RngExt;

use super::ahead::Ahead;
use super::members::Members;
use crate::error::Outcome;
use crate::kernel::exp::exp;
use crate::kernel::offers::Batches;
use crate::kernel::shape::Falloff;
use crate::kernel::{Counts, Records};
use crate::rng::Rng;

/// The largest exponent that is used: weights are only compared, so that more is no more.
const MOST: f64 = 600.0;
/// Weights with exponents up to this can be multiplied and summed as they are.
const MILD: f64 = 150.0;

/// The records of each bin, and what their weights are made of.
///
/// All records of a bin have the same weight, w_0 times what leaving the bin makes of it, times
/// what arriving at the bin of the offer does; and w_0 itself in the bin of the offer. Two bins
/// change with a move.
#[derive(Debug, Clone, Default)]
pub(super) struct Bins {
    members: Vec<Members>,
    ahead: Ahead,
    /// The logarithms of these factors, and the factors.
    leaving: Vec<[f64; 2]>,
    arriving: Vec<[f64; 2]>,
    /// The same for a step away from zero, and towards it, where the cost is linear.
    steps: Vec<[[f64; 2]; 2]>,
    /// Whether no factor is too large or too small to be multiplied.
    mild: bool,
}

/// The bin of a statistic, which is the indicator of it in noise units.
#[inline(always)]
fn bin(statistic: &[f64]) -> usize {
    let mut bin = statistic.len();
    for (b, &t) in statistic.iter().enumerate() {
        bin = if t != 0.0 { b } else { bin };
    }
    bin
}

impl Bins {
    #[inline(always)]
    fn fit<S: Falloff>(&mut self, records: &Records, rng: &mut Rng) {
        // One more bin, for records that are in none.
        let bins = records.k() + 1;
        self.members.resize(bins, Members::default());
        self.members.iter_mut().for_each(Members::clear);
        for i in 0..records.n() {
            self.members[bin(records.statistic(i))].push::<0>(i as u32, &[]);
        }
        self.ahead.start(&self.members, 0, rng);
        self.leaving.clear();
        self.leaving.resize(bins, [0.0, 1.0]);
        self.arriving.clear();
        self.arriving.resize(bins, [0.0, 1.0]);
        self.steps.clear();
        let steps = |unit: f64| [[-unit, exp(-unit)], [unit, exp(unit.min(MOST))]];
        self.steps.extend((0..bins - 1).map(|b| steps(records.unit(b))));
        self.mild = (0..bins - 1).all(|b| records.unit(b) < MILD);
        for b in 0..bins {
            self.weigh::<S>(records, b);
        }
    }

    /// Computes the factors of a bin.
    #[inline(always)]
    fn weigh<S: Falloff>(&mut self, records: &Records, b: usize) {
        let Some(&r) = records.residual().get(b) else { return };
        let (unit, cost) = (records.unit(b), S::cost(r));
        if !S::BENDS && r.abs() >= unit {
            // On one side of zero the cost is linear: the factors are always the same.
            let [down, up] = self.steps[b];
            (self.leaving[b], self.arriving[b]) = if r > 0.0 { (down, up) } else { (up, down) };
            return;
        }
        let (leaving, arriving) = (cost - S::cost(r + unit), cost - S::cost(r - unit));
        self.leaving[b] = [leaving, exp(leaving.min(MOST))];
        self.arriving[b] = [arriving, exp(arriving.min(MOST))];
        self.mild &= leaving.abs().max(arriving.abs()) < MILD;
    }
}

/// SOMA moves: W is the sum over the bins of members times weight, so that the bin is drawn with
/// its exact probability, and any record in it will do. A move costs one weight for each bin.
#[inline(always)]
pub(super) fn make_moves<S: Falloff>(
    bins: &mut Bins,
    records: &mut Records,
    mut batches: Batches,
    rng: &mut Rng,
) -> Outcome<Counts> {
    bins.fit::<S>(records, rng);
    let k = records.k();
    let mut counts = Counts { moves: batches.moves(), ..Counts::default() };
    // Records are written later, when their places in memory have come near.
    let mut pending: Vec<(usize, usize)> = Vec::new();
    while let Some(places) = batches.next(rng)? {
        for j in 0..places.len() {
            let to = bin(batches.batch().statistic(j));
            counts.evaluations += k as u64 + 1;
            let Some(from) = bins.select(to, rng) else { continue };
            let place = bins.relocate(from, to, rng);
            records.prefetch(place);
            pending.push((place, j));
            counts.accepted += 1;
            if from != to {
                records.shift_bins(from, to);
                bins.weigh::<S>(records, from);
                bins.weigh::<S>(records, to);
            }
        }
        for (place, j) in pending.drain(..) {
            records.put::<0>(place, batches.batch().record(j), batches.batch().statistic(j));
        }
    }
    Ok(counts)
}

impl Bins {
    /// The place that an offer would take, the records staying as they are.
    #[cfg(test)]
    pub(super) fn frozen<S: Falloff>(
        &mut self,
        records: &Records,
        statistic: &[f64],
        rng: &mut Rng,
    ) -> Option<usize> {
        self.fit::<S>(records, rng);
        let from = self.select(bin(statistic), rng)?;
        Some(self.relocate(from, bin(statistic), rng))
    }

    /// Every record is in its bin, and the factors are those of the residual.
    #[cfg(test)]
    pub(super) fn check<S: Falloff>(&self, records: &Records) {
        assert_eq!(self.members.iter().map(Members::len).sum::<usize>(), records.n());
        for (b, members) in self.members.iter().enumerate() {
            for slot in 0..members.len() {
                assert_eq!(bin(records.statistic(members.place(slot))), b);
            }
        }
        for (b, &r) in records.residual().iter().enumerate() {
            let factor = |change: f64| (S::cost(r) - S::cost(r + change)).exp();
            let unit = records.unit(b);
            assert!((self.leaving[b][1] / factor(unit) - 1.0).abs() < 1e-9);
            assert!((self.arriving[b][1] / factor(-unit) - 1.0).abs() < 1e-9);
        }
    }

    /// Moves a record from one bin, drawn uniformly from it, to another; returns its place.
    #[inline(always)]
    fn relocate(&mut self, from: usize, to: usize, rng: &mut Rng) -> usize {
        let slot = self.ahead.take(from, &self.members[from], 0, rng) as usize;
        if from == to {
            return self.members[from].place(slot);
        }
        let place = self.members[from].swap_remove::<0>(slot, 0);
        self.ahead.left((from, slot), &self.members[from], 0, rng);
        self.members[to].push::<0>(place, &[]);
        self.ahead.came(to, &self.members[to], rng);
        place as usize
    }

    /// Draws the bin of the record that is replaced; none if the offer is refused.
    #[inline(always)]
    fn select(&self, to: usize, rng: &mut Rng) -> Option<usize> {
        if !self.mild {
            return self.select_by_logarithms(to, rng);
        }
        let mass = |b: usize| {
            if b == to { 0.0 } else { self.members[b].len() as f64 * self.leaving[b][1] }
        };
        let (stay, arrive) = (self.members[to].len() as f64, self.arriving[to][1]);
        let others: f64 = (0..self.members.len()).map(mass).sum();
        let total = stay + arrive * others;
        let mut left = rng.random::<f64>() * total - stay;
        if left < 0.0 {
            return Some(to);
        }
        left /= arrive;
        let mut from = to;
        for b in 0..self.members.len() {
            let mass = mass(b);
            from = if mass > 0.0 && left >= 0.0 { b } else { from };
            left -= mass;
        }
        // Rounding may leave a little where nobody is: it belongs to the bin of the offer.
        if self.members[from].len() == 0 {
            return None;
        }
        let short = 1.0 - arrive * self.leaving[from][1];
        let taken = from == to || short <= 0.0 || rng.random::<f64>() * (total + short) < total;
        taken.then_some(from)
    }

    /// The same relative to the largest weight, where weights differ beyond all measure.
    #[cold]
    #[inline(never)]
    fn select_by_logarithms(&self, to: usize, rng: &mut Rng) -> Option<usize> {
        let log = |b: usize| if b == to { 0.0 } else { self.leaving[b][0] + self.arriving[to][0] };
        let bins = || (0..self.members.len()).filter(|&b| self.members[b].len() > 0);
        let top = bins().map(log).fold(f64::NEG_INFINITY, f64::max);
        let mass = |b: usize| self.members[b].len() as f64 * exp((log(b) - top).min(0.0));
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
        (short <= 0.0 || rng.random::<f64>() * (total + short) < total).then_some(from)
    }
}
