//! A SOMA move by a scan in single precision: a bound of every weight, and few exact weights.

use std::ops::Range;

use rand::RngExt;

use super::single_precision::SinglePrecision;
use crate::numeric::exp::exp;
use crate::numeric::{least, most};
use crate::records::Records;
use crate::rng::Rng;
use crate::simd::cost::{Cost, cost_with, known};
use crate::simd::prefix::float::FloatPrefix;
use crate::simd::vector::{BITS, LANES, ONE_BITS, Points, Vector};

/// 2^i (1 + f) exceeds 2^(i + f) by at most this factor.
const LOOSE: f64 = 1.0615;
/// Outside this range the sum of the masses may have lost terms, and the unit is changed.
const SOUND: Range<f64> = 1e-28..1e28;
/// After this many trials all weights are computed. Trials are independent, so stopping after a
/// fixed number does not change the distribution.
const TRIALS: usize = 64;

/// The statistics of consecutive records in single precision, by columns.
///
/// The mass of a record is a bound of its weight w_i, relative to w_0. It is computed from lower
/// bounds of the costs with a known slack, and with 2^i (1 + f) >= 2^(i + f) for the exponential:
/// the bits of a float are its logarithm, piecewise linear. A record is drawn with probability
/// proportional to its mass, and accepted with probability w_i / mass, in double precision. So
/// record i is selected with probability w_i / W, after about 1.04 trials.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    places: Range<usize>,
    rough: SinglePrecision,
    columns: Vec<f32>,
    /// A statistic before it is written to the columns.
    entry: Vec<f32>,
    masses: FloatPrefix,
    /// The cost of a mass of 1.
    unit: f64,
}

/// The statistics of consecutive records, in a layout for vectorised bounds of all weights.
pub(crate) trait Scanned {
    /// Copies the statistics of the records in `places`.
    fn load<V: Vector, const K: usize>(&mut self, records: &Records, places: Range<usize>);

    /// Sets the statistic of record `i` of these.
    fn replace<V: Vector, const K: usize>(&mut self, i: usize, statistic: &[f64]);

    /// Selects the record to be replaced with probability w_i / W. Returns it and the cost after
    /// the replacement. `current` is the current cost.
    fn select<S: Cost, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        proposal: &[f64],
        current: f64,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> (usize, f64);

    /// The acceptance test for the record that [`select`](Scanned::select) has drawn, at cost
    /// `cost`: probability min(1, W / (W + w_0 - w_i)).
    fn accepts<S: Cost, V: Vector, const K: usize>(
        &self,
        records: &Records,
        cost: f64,
        current: f64,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool;
}

impl Columns {
    /// The number of records.
    #[inline(always)]
    fn len(&self) -> usize {
        self.places.len()
    }

    /// The acceptance test at cost `cost`; see [`Scanned::accepts`].
    #[inline(always)]
    pub(crate) fn is_taken<S: Cost, V: Vector, const K: usize>(
        &self,
        uniform: f64,
        records: &Records,
        cost: f64,
        current: f64,
        evaluations: &mut u64,
    ) -> bool {
        let total = self.masses.total();
        let (most, least) =
            if self.is_too_rough() { (f64::INFINITY, 0.0) } else { (total, total * self.surely()) };
        let standing =
            if self.unit == current { 1.0 } else { exp((self.unit - current).min(600.0)) };
        // w_0 - w_i is at most w_0.
        if least * (1.0 - uniform) >= standing * uniform || cost <= current {
            return true;
        }
        let short = standing - self.weight(cost);
        if let Some(decided) = is_enough(uniform, short, [least, most]) {
            return decided;
        }
        *evaluations += self.len() as u64;
        let mut sum = 0.0;
        for i in 0..self.len() {
            sum += self.weight(self.cost::<S, V, K>(records, i));
        }
        is_enough(uniform, short, [sum; 2]) == Some(true)
    }

    /// The weight of a cost, relative to that of the unit.
    #[inline(always)]
    fn weight(&self, cost: f64) -> f64 {
        exp((self.unit - cost).min(600.0))
    }

    /// Computes all masses for a proposal.
    #[inline(always)]
    pub(crate) fn weigh<S: Cost, V: Vector, const K: usize>(
        &mut self,
        residual: &[f64],
        proposal: &[f64],
        current: f64,
    ) {
        let paid = self.rough.aim::<S, V, K>(residual, proposal);
        self.unit = current;
        self.fill::<S, V, K>(current - paid);
        if !SOUND.contains(&self.masses.total()) {
            self.change_unit::<S, V, K>(paid);
        }
    }

    /// Computes the masses relative to a cost of `unit`, and their prefix sums.
    #[inline(always)]
    fn fill<S: Cost, V: Vector, const K: usize>(&mut self, unit: f64) {
        let k = if K == 0 { self.entry.len() } else { K };
        let unit = (unit + self.rough.slack) * f64::from(BITS) + f64::from(ONE_BITS);
        let (bounds, sums) = self.masses.parts_mut();
        let parts = V::weigh_points::<S, K>(Points {
            columns: &self.columns,
            apart: &self.rough.within[..k],
            beyond: &self.rough.beyond[..k],
            unit: unit as f32,
            masses: bounds,
            sums,
        });
        self.masses.set_parts(parts);
    }

    /// Rescales to a largest mass of about 1, if all masses underflow or overflow relative to w_0.
    #[cold]
    #[inline(never)]
    fn change_unit<S: Cost, V: Vector, const K: usize>(&mut self, paid: f64) {
        let k = self.entry.len();
        let SinglePrecision { within, beyond, .. } = &self.rough;
        let mut lightest = f64::INFINITY;
        for i in 0..self.len() {
            let column = |c: usize| self.columns[(i / LANES * k + c) * LANES + i % LANES];
            let cost = |c: usize| S::cost_beyond(column(c) + within[c], beyond[c]);
            lightest = least((0..k).map(|c| f64::from(cost(c))).sum(), lightest);
        }
        self.unit = lightest + paid;
        self.fill::<S, V, K>(lightest);
    }

    /// Whether single precision is too coarse for the weights.
    #[inline(always)]
    pub(crate) fn is_too_rough(&self) -> bool {
        self.rough.slack > 1.0
    }

    /// A lower bound of the ratio of weight to mass.
    #[inline(always)]
    fn surely(&self) -> f64 {
        most((1.0 - 2.0 * self.rough.slack) * (1.0 / LOOSE) - 1e-4, 0.0)
    }

    /// The same for masses with a bound of exp to a relative error of 3e-4.
    #[inline(always)]
    pub(crate) fn surely_sharp(&self) -> f64 {
        1.0 - 2.0 * self.rough.slack - 3e-4
    }

    /// The masses computed last, with padding.
    #[inline(always)]
    pub(crate) fn masses(&self) -> &[f32] {
        &self.masses.bounds
    }

    /// The cost of a mass of 1.
    #[inline(always)]
    pub(crate) fn unit(&self) -> f64 {
        self.unit
    }

    /// The cost if record `i` is replaced.
    #[inline(always)]
    pub(crate) fn cost<S: Cost, V: Vector, const K: usize>(
        &self,
        records: &Records,
        i: usize,
    ) -> f64 {
        cost_with::<S, V, K>(&self.rough.apart, records.statistic_known::<K>(self.places.start + i))
    }

    /// A record drawn with probability w_i / W from all weights.
    #[cold]
    #[inline(never)]
    fn select_in_full<S: Cost, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> (usize, f64) {
        *evaluations += self.len() as u64;
        let costs: Vec<f64> = (0..self.len()).map(|i| self.cost::<S, V, K>(records, i)).collect();
        self.unit = costs.iter().copied().fold(f64::INFINITY, least);
        draw_by_cost(&costs, rng)
    }
}

impl Scanned for Columns {
    #[inline(always)]
    fn load<V: Vector, const K: usize>(&mut self, records: &Records, places: Range<usize>) {
        let k = if K == 0 { records.k() } else { K };
        let padded = places.len().next_multiple_of(LANES);
        self.columns.clear();
        // Padding: a cost larger than that of any record.
        self.columns.resize(padded * k, 1e18);
        self.masses.resize(padded);
        self.entry.resize(k, 0.0);
        self.rough.begin::<K>(records);
        let all = LANES * k;
        for (i, place) in places.clone().enumerate() {
            let row = records.statistic_known::<K>(place);
            let entry = &mut self.entry[..k];
            self.rough.round::<V, K>(row, entry);
            let columns = &mut self.columns[i / LANES * all..][..all];
            for c in 0..k {
                columns[c * LANES + i % LANES] = entry[c];
            }
        }
        self.places = places;
    }

    #[inline(always)]
    fn replace<V: Vector, const K: usize>(&mut self, i: usize, statistic: &[f64]) {
        let statistic = known::<K>(statistic);
        let k = statistic.len();
        let columns = &mut self.columns[i / LANES * LANES * k..][..LANES * k];
        let entry = &mut self.entry[..k];
        self.rough.round::<V, K>(statistic, entry);
        let eight = i % LANES / 8 * 8;
        for c in 0..k {
            V::put(&mut columns[c * LANES + eight..], i % 8, entry[c]);
        }
    }

    #[inline(always)]
    fn select<S: Cost, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        proposal: &[f64],
        current: f64,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> (usize, f64) {
        self.weigh::<S, V, K>(records.residual(), proposal, current);
        if self.is_too_rough() {
            return self.select_in_full::<S, V, K>(records, evaluations, rng);
        }
        let surely = self.surely();
        for _ in 0..TRIALS {
            // Rounding may select the padding.
            let i = self.masses.draw(rng.random()).min(self.len() - 1);
            let cost = self.cost::<S, V, K>(records, i);
            *evaluations += 1;
            let uniform: f64 = rng.random();
            if uniform < surely
                || uniform * f64::from(self.masses.bounds[i]) < exp((self.unit - cost).min(600.0))
            {
                return (i, cost);
            }
        }
        self.select_in_full::<S, V, K>(records, evaluations, rng)
    }

    #[inline(always)]
    fn accepts<S: Cost, V: Vector, const K: usize>(
        &self,
        records: &Records,
        cost: f64,
        current: f64,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool {
        self.is_taken::<S, V, K>(rng.random(), records, cost, current, evaluations)
    }
}

/// Whether U <= W / (W + short), if bounds of W decide it.
#[inline(always)]
pub(crate) fn is_enough(uniform: f64, short: f64, [least, most]: [f64; 2]) -> Option<bool> {
    // Solved for W.
    let is_met = |total: f64| total * (1.0 - uniform) >= short * uniform;
    match [is_met(least), is_met(most)] {
        [true, _] => Some(true),
        [false, false] => Some(false),
        [false, true] => None,
    }
}

/// Draws one of several with probability proportional to exp(-cost).
pub(crate) fn draw_by_cost(costs: &[f64], rng: &mut Rng) -> (usize, f64) {
    let lightest = costs.iter().copied().fold(f64::INFINITY, least);
    let total: f64 = costs.iter().map(|cost| exp(lightest - cost)).sum();
    let mut left = rng.random::<f64>() * total;
    let mut chosen = 0;
    for (i, cost) in costs.iter().enumerate() {
        let weight = exp(lightest - cost);
        chosen = if weight > 0.0 { i } else { chosen };
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    (chosen, costs[chosen])
}
