//! Whether the chosen place is taken, without the sum of all weights.

use rand::RngExt;

use super::Envelope;
use crate::kernel::Records;
use crate::kernel::columns::draw_by_cost;
use crate::kernel::exp::{LOOSE, exp, exp_above};
use crate::kernel::shape::Falloff;
use crate::kernel::vector::{Portable, Vector};
use crate::rng::Rng;

/// A place drawn with probability w_i / W, and the cost of putting the offer there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) place: usize,
    pub(crate) cost: f64,
    /// The cell that the place is in, where there are cells, and its place among the members.
    pub(crate) cell: usize,
    pub(crate) slot: usize,
}

impl Choice {
    /// A place, where there are no cells.
    #[inline(always)]
    pub(super) fn at(place: usize, cost: f64) -> Self {
        Choice { place, cost, cell: 0, slot: 0 }
    }

    /// A place drawn by weighing all records, where there are no cells.
    pub(super) fn by_weighing_all<S: Falloff, const K: usize>(
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Self {
        let rows = records.statistics().chunks_exact(records.k());
        let (place, cost) = by_weighing_all::<S, K>(envelope, rows, evaluations, rng);
        Choice::at(place, cost)
    }
}

/// The largest exponent that is used: weights are only compared, so that more is no more.
pub(super) const MOST: f64 = 600.0;

/// The test W / w_0 >= c with c = (1 - w_i / w_0) U / (1 - U), which decides a move to a place of
/// less weight than w_0: it is W / (W + w_0 - w_i) >= U, solved for W.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threshold {
    uniform: f64,
    /// One less the weight of the chosen place relative to w_0; 1 before that is known.
    short: f64,
    /// The cost of the residual as it stands.
    current: f64,
}

impl Threshold {
    /// Draws U, for a place that is not yet known: the test is then harder than it will be.
    #[inline(always)]
    pub(crate) fn draw(current: f64, rng: &mut Rng) -> Self {
        Threshold::with(rng.random(), current)
    }

    /// The test with a given U.
    #[inline(always)]
    pub(crate) fn with(uniform: f64, current: f64) -> Self {
        Threshold { uniform, short: 1.0, current }
    }

    /// The test for a place of cost `chosen`.
    #[inline(always)]
    pub(crate) fn for_place(self, chosen: f64) -> Self {
        Threshold { short: 1.0 - exp(self.current - chosen), ..self }
    }

    /// The weight of a cost, relative to w_0.
    #[inline(always)]
    pub(crate) fn weight(&self, cost: f64) -> f64 {
        exp((self.current - cost).min(MOST))
    }

    /// Whether a sum of weights of `total` is enough.
    #[inline(always)]
    pub(crate) fn is_met_by(&self, total: f64) -> bool {
        total * (1.0 - self.uniform) >= self.short * self.uniform
    }

    /// Whether n weights are enough that are, on average or each, not below that of `cost`.
    #[inline(always)]
    pub(crate) fn is_met_by_all(&self, records: &Records, cost: f64) -> bool {
        // A little is taken off for rounding.
        self.is_met_by(records.n() as f64 * (1.0 - 1e-9) * self.weight(cost))
    }

    /// Adds up weights until they are enough, or until what is left cannot make them enough.
    /// `rows` are the statistics of all n records, each once; `most` is a bound of all weights.
    #[inline(always)]
    pub(crate) fn is_met_by_sum<'a, S: Falloff, V: Vector, const K: usize>(
        &self,
        envelope: &Envelope,
        n: usize,
        rows: impl Iterator<Item = &'a [f64]>,
        most: f64,
        evaluations: &mut u64,
    ) -> bool {
        let (mut total, mut left) = (0.0, n as f64);
        for row in rows {
            *evaluations += 1;
            total += self.weight(envelope.cost::<S, V, K>(row));
            left -= 1.0;
            if self.is_met_by(total) {
                return true;
            }
            if !self.is_met_by(total + left * most) {
                return false;
            }
        }
        false
    }
}

/// The acceptance where there is one box of all statistics.
#[derive(Debug, Clone, Default)]
pub(super) struct OneBox {
    /// The least cost that the box allows.
    pub(super) least: f64,
    /// A bound of W / w_0 from below that holds for all offers of the batch; 0 if there is none.
    floor: f64,
}

impl OneBox {
    /// Widens the box to hold all offers of the batch. A replacement moves the residual, and so,
    /// unless it bends, the cost, by no more than the box is wide.
    #[inline(always)]
    pub(super) fn prepare<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        envelope: &mut Envelope,
        records: &Records,
    ) {
        envelope.widen_all::<V, K>(statistics);
        envelope.divide_by_widths();
        let least = exp(-envelope.width());
        self.floor = if S::BENDS { 0.0 } else { records.n() as f64 * (1.0 - 1e-9) * least };
    }

    /// Whether the offer is put in the chosen place. What hardly ever fails comes first: a branch
    /// that goes either way is dear.
    #[inline(always)]
    pub(super) fn accepts<S: Falloff, V: Vector, const K: usize>(
        &self,
        choice: &Choice,
        current: f64,
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool {
        let threshold = Threshold::draw(current, rng);
        if threshold.is_met_by(self.floor) {
            return true;
        }
        let mean = envelope.mean_cost::<S, V, K>(records);
        let below = exp_above((current - mean).min(MOST)) * (1.0 / LOOSE);
        if threshold.is_met_by(records.n() as f64 * (1.0 - 1e-9) * below) || choice.cost <= current
        {
            return true;
        }
        let threshold = threshold.for_place(choice.cost);
        if threshold.is_met_by_all(records, mean) {
            return true;
        }
        let places = (choice.place..records.n()).chain(0..choice.place);
        let rows = places.map(|place| records.statistic_known::<K>(place));
        let most = threshold.weight(self.least);
        threshold.is_met_by_sum::<S, V, K>(envelope, records.n(), rows, most, evaluations)
    }
}

/// One of `rows`, the statistics of all records, drawn with probability w_i / W by weighing all,
/// for offers that few trials do not place. Trials are independent of each other, so that the law
/// does not change if they are given up after a number that is fixed beforehand.
#[cold]
#[inline(never)]
pub(crate) fn by_weighing_all<'a, S: Falloff, const K: usize>(
    envelope: &Envelope,
    rows: impl Iterator<Item = &'a [f64]>,
    evaluations: &mut u64,
    rng: &mut Rng,
) -> (usize, f64) {
    let costs: Vec<f64> = rows.map(|row| envelope.cost::<S, Portable, K>(row)).collect();
    *evaluations += costs.len() as u64;
    draw_by_cost(&costs, rng)
}

/// After so many trials all records are weighed instead.
#[inline(always)]
pub(crate) fn most_trials(n: usize) -> usize {
    64 + n / 4
}
