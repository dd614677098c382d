//! The acceptance test without the sum of all weights.

use rand::RngExt;

use super::Turn;
use super::envelope::Envelope;
use super::scan::columns::draw_by_cost;
use crate::numeric::exp::{LOOSE, exp, exp_above};
use crate::records::Records;
use crate::rng::Rng;
use crate::simd::cost::{Cost, costs_with};
use crate::simd::vector::{Portable, Vector};

/// A place drawn with probability w_i / W, and the cost of the proposal there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selected {
    pub(crate) place: usize,
    pub(crate) cost: f64,
    /// The cell of the place, if there are cells, and its slot among the members.
    pub(crate) cell: usize,
    pub(crate) slot: usize,
}

impl Selected {
    /// A place without a cell.
    #[inline(always)]
    pub(crate) fn at(place: usize, cost: f64) -> Self {
        Selected { place, cost, cell: 0, slot: 0 }
    }

    /// A place drawn from all weights, without a cell.
    pub(crate) fn by_weighing_all<S: Cost, const K: usize>(
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Self {
        let rows = records.statistics().chunks_exact(records.k());
        let (place, cost) = by_weighing_all::<S, K>(envelope, rows, evaluations, rng);
        Selected::at(place, cost)
    }
}

/// Exponents are truncated here: weights are only compared, and beyond exp(600) every comparison is
/// decided.
pub(crate) const MOST: f64 = 600.0;

/// The test W / w_0 >= c with c = (1 - w_i / w_0) U / (1 - U), for a place of smaller weight than
/// w_0: it is W / (W + w_0 - w_i) >= U, solved for W.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threshold {
    uniform: f64,
    /// 1 - w_i / w_0 for the selected place; 1 before it is known.
    short: f64,
    /// The current cost.
    current: f64,
}

impl Threshold {
    /// Draws U, for a place that is not yet known: then c is an upper bound.
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

    /// Whether a sum of weights `total` passes the test.
    #[inline(always)]
    pub(crate) fn is_met_by(&self, total: f64) -> bool {
        total * (1.0 - self.uniform) >= self.short * self.uniform
    }

    /// Whether n weights pass the test that are, on average or each, at least that of `cost`.
    #[inline(always)]
    pub(crate) fn is_met_by_all(&self, records: &Records, cost: f64) -> bool {
        // A margin of 1e-9 for rounding.
        self.is_met_by(records.n() as f64 * (1.0 - 1e-9) * self.weight(cost))
    }

    /// Sums lower bounds of the weights, from `place` on and then of the other records, until they
    /// pass the test.
    #[inline(always)]
    fn is_met_by_bounds<S: Cost, V: Vector, const K: usize>(
        &self,
        envelope: &Envelope,
        records: &Records,
        place: usize,
        evaluations: &mut u64,
    ) -> bool {
        let k = if K == 0 { records.k() } else { K };
        let (before, after) = records.statistics().split_at(place * k);
        let (current, most) = (V::load(&[self.current; 4]), V::load(&[MOST; 4]));
        let mut total = V::load(&[0.0; 4]);
        for rows in after.chunks_exact(AT_ONCE * k).chain(before.chunks_exact(AT_ONCE * k)) {
            for four in rows.chunks_exact(4 * k) {
                let row = [&four[..k], &four[k..][..k], &four[2 * k..][..k], &four[3 * k..][..k]];
                let costs = costs_with::<S, V, K>(envelope.apart(), row);
                total = V::add(total, V::exp_above(V::min(V::sub(current, costs), most)));
            }
            *evaluations += AT_ONCE as u64;
            // A margin of 1e-9 for rounding.
            if self.is_met_by(V::total(total) * ((1.0 - 1e-9) / LOOSE)) {
                return true;
            }
        }
        false
    }

    /// Sums weights until they pass the test, or until the rest cannot. `rows` are the statistics
    /// of all n records, each once; `most` is a bound of all weights.
    #[inline(always)]
    pub(crate) fn is_met_by_sum<'a, S: Cost, V: Vector, const K: usize>(
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

/// Rows summed between two tests.
const AT_ONCE: usize = 16;

/// The acceptance test with one box of all statistics.
#[derive(Debug, Clone)]
pub(crate) struct OneBox {
    /// From this number of records on, bounds of the weights are summed first: they nearly always
    /// decide.
    many: usize,
    /// The lower bound of the costs in the box.
    pub(crate) least: f64,
    /// The probability that the lower bound of W / w_0 for the whole batch does not decide a
    /// proposal: that U is at least floor / (1 + floor).
    doubt: f64,
}

impl OneBox {
    /// With at least `many` records, bounds of the weights are summed first.
    #[inline(always)]
    pub(crate) fn new(many: usize) -> Self {
        OneBox { many, least: 0.0, doubt: 0.0 }
    }

    /// Extends the box by all proposals of the batch. A replacement moves the residual by at most
    /// the width of the box, and so does the cost if it is L1.
    #[inline(always)]
    pub(crate) fn prepare<S: Cost, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        envelope: &mut Envelope,
        records: &Records,
    ) {
        envelope.widen_all::<V, K>(statistics);
        envelope.divide_by_widths();
        let least = exp(-envelope.width());
        let floor = if S::IS_CURVED { 0.0 } else { records.n() as f64 * (1.0 - 1e-9) * least };
        self.doubt = 1.0 / (1.0 + floor);
    }

    /// U, if the lower bound does not decide the proposal.
    #[inline(always)]
    fn doubtful(&self, rng: &mut Rng) -> Option<f64> {
        Some(rng.random()).filter(|uniform| *uniform >= 1.0 - self.doubt)
    }

    /// The acceptance test at the selected place. Squeeze first: it accepts nearly always, so the
    /// branch predicts.
    #[inline(always)]
    pub(crate) fn accepts<S: Cost, V: Vector, const K: usize>(
        &self,
        choice: &Selected,
        envelope: &Envelope,
        at: Turn<'_>,
    ) -> bool {
        let Turn { current, records, evaluations, rng } = at;
        let Some(uniform) = self.doubtful(rng) else { return true };
        let threshold = Threshold::with(uniform, current);
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
        if records.n() >= self.many
            && threshold.is_met_by_bounds::<S, V, K>(envelope, records, choice.place, evaluations)
        {
            return true;
        }
        let places = (choice.place..records.n()).chain(0..choice.place);
        let rows = places.map(|place| records.statistic_known::<K>(place));
        let most = threshold.weight(self.least);
        threshold.is_met_by_sum::<S, V, K>(envelope, records.n(), rows, most, evaluations)
    }
}

/// One of `rows`, the statistics of all records, drawn with probability w_i / W from all weights,
/// for proposals not accepted in a fixed number of trials. Trials are independent, so stopping
/// after a fixed number does not change the distribution.
#[cold]
#[inline(never)]
pub(crate) fn by_weighing_all<'a, S: Cost, const K: usize>(
    envelope: &Envelope,
    rows: impl Iterator<Item = &'a [f64]>,
    evaluations: &mut u64,
    rng: &mut Rng,
) -> (usize, f64) {
    let costs: Vec<f64> = rows.map(|row| envelope.cost::<S, Portable, K>(row)).collect();
    *evaluations += costs.len() as u64;
    draw_by_cost(&costs, rng)
}

/// The sum of the weights of `rows`, the statistics of all records, relative to that of cost
/// `unit`.
#[cold]
#[inline(never)]
pub(crate) fn sum_of_weights<'a, S: Cost, const K: usize>(
    envelope: &Envelope,
    rows: impl Iterator<Item = &'a [f64]>,
    unit: f64,
    evaluations: &mut u64,
) -> f64 {
    let weight = |row| exp((unit - envelope.cost::<S, Portable, K>(row)).min(MOST));
    rows.inspect(|_| *evaluations += 1).map(weight).sum()
}

/// The number of trials after which all weights are computed.
#[inline(always)]
pub(crate) fn most_trials(n: usize) -> usize {
    64 + n / 4
}
