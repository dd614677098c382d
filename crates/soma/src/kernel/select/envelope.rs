//! The bounding box of the statistics, and bounds of the weights from it.

use crate::numeric::aligned::Aligned;
use crate::numeric::{least, most};
use crate::records::Records;
use crate::simd::cost::{Cost, cost_with, known, sum_over};
use crate::simd::vector::Vector;

/// A box that contains all statistics. It is extended as they are replaced, and recomputed once a
/// sweep.
#[derive(Debug, Clone, Default)]
pub(crate) struct Envelope {
    low: Aligned<f64>,
    high: Aligned<f64>,
    /// Released value minus sum minus the statistic of the current proposal: if the proposal
    /// replaces a record with statistic s, the residual is `apart + s`.
    apart: Aligned<f64>,
    /// One over the widths of the box; 0 for a width of zero.
    per_width: Vec<f64>,
}

impl Envelope {
    /// The box of all statistics.
    #[inline(always)]
    pub(crate) fn fit<V: Vector, const K: usize>(&mut self, records: &Records) {
        let k = if K == 0 { records.k() } else { K };
        self.clear(k);
        self.widen_all::<V, K>(records.statistics());
    }

    /// Extends the box by statistics, row by row.
    #[inline(always)]
    pub(crate) fn widen_all<V: Vector, const K: usize>(&mut self, rows: &[f64]) {
        let k = if K == 0 { self.low.len() } else { K };
        let (low, high) = (&mut self.low[..k], &mut self.high[..k]);
        // A few coordinates of all rows at a time, so that the edges stay in registers.
        let mut c = 0;
        while c + 4 <= k {
            let (mut lower, mut upper) = (V::load(&low[c..]), V::load(&high[c..]));
            for row in rows.chunks_exact(k) {
                let four = V::load(&row[c..]);
                (lower, upper) = (V::min(four, lower), V::max(four, upper));
            }
            V::store(&mut low[c..], lower);
            V::store(&mut high[c..], upper);
            c += 4;
        }
        let rows = if 0 < K && K < 4 { widen_short::<V, K>(low, high, rows) } else { rows };
        while c < k {
            let (mut lower, mut upper) = (low[c], high[c]);
            for row in rows.chunks_exact(k) {
                (lower, upper) = (least(row[c], lower), most(row[c], upper));
            }
            (low[c], high[c]) = (lower, upper);
            c += 1;
        }
    }

    /// Clears the box, for statistics of length k.
    pub(crate) fn clear(&mut self, k: usize) {
        self.low.fill_with(k, f64::INFINITY);
        self.high.fill_with(k, f64::NEG_INFINITY);
        self.apart.fill_with(k, 0.0);
    }

    /// Extends the box by a statistic.
    #[inline(always)]
    pub(crate) fn widen<V: Vector, const K: usize>(&mut self, statistic: &[f64]) {
        widen::<V, K>(&mut self.low, &mut self.high, statistic, statistic);
    }

    /// Extends the box by the box from `low` to `high`.
    #[inline(always)]
    pub(crate) fn widen_by<V: Vector, const K: usize>(&mut self, low: &[f64], high: &[f64]) {
        widen::<V, K>(&mut self.low, &mut self.high, low, high);
    }

    /// The total width over all coordinates.
    pub(crate) fn width(&self) -> f64 {
        self.low.iter().zip(self.high.iter()).map(|(low, high)| high - low).sum()
    }

    /// The lower corner.
    pub(crate) fn low(&self) -> &[f64] {
        &self.low
    }

    /// The upper corner.
    pub(crate) fn high(&self) -> &[f64] {
        &self.high
    }

    /// The residual if the proposal replaces a record with statistic zero.
    #[inline(always)]
    pub(crate) fn apart(&self) -> &[f64] {
        &self.apart
    }

    /// Sets the proposal: costs are those of replacing a record by it.
    #[inline(always)]
    pub(crate) fn propose<V: Vector, const K: usize>(&mut self, residual: &[f64], new: &[f64]) {
        let r = known::<K>(residual);
        let (apart, new) = (&mut self.apart[..r.len()], &new[..r.len()]);
        let mut k = 0;
        while k + 4 <= r.len() {
            V::store(&mut apart[k..], V::sub(V::load(&r[k..]), V::load(&new[k..])));
            k += 4;
        }
        while k < r.len() {
            apart[k] = r[k] - new[k];
            k += 1;
        }
    }

    /// The cost if the proposal replaces a record with statistic `old`: minus the log weight.
    #[inline(always)]
    pub(crate) fn cost<S: Cost, V: Vector, const K: usize>(&self, old: &[f64]) -> f64 {
        cost_with::<S, V, K>(&self.apart, old)
    }

    /// A lower bound of the costs of all records in the box: the minimum in each coordinate.
    #[inline(always)]
    pub(crate) fn least_cost<S: Cost, V: Vector, const K: usize>(&self) -> f64 {
        self.least_cost_at::<S, V, K>(&self.apart)
    }

    /// The same for a given residual `apart` at statistic zero.
    #[inline(always)]
    pub(crate) fn least_cost_at<S: Cost, V: Vector, const K: usize>(&self, apart: &[f64]) -> f64 {
        least_cost_in::<S, V, K>(apart, &self.low, &self.high)
    }

    /// The difference of a cost and the lower bound.
    #[inline(always)]
    pub(crate) fn excess<S: Cost, V: Vector, const K: usize>(&self, old: &[f64]) -> f64 {
        self.cost::<S, V, K>(old) - self.least_cost::<S, V, K>()
    }

    /// A lower bound of this difference for records in the box from `low` to `high`.
    #[inline(always)]
    pub(crate) fn excess_in<S: Cost, V: Vector, const K: usize>(
        &self,
        low: &[f64],
        high: &[f64],
    ) -> f64 {
        least_cost_in::<S, V, K>(&self.apart, low, high) - self.least_cost::<S, V, K>()
    }

    /// An upper bound of the mean cost of the records. The cost is convex, so over an interval it
    /// lies below its chord, and the mean of the chord is the chord at the mean.
    #[inline(always)]
    pub(crate) fn mean_cost<S: Cost, V: Vector, const K: usize>(&self, records: &Records) -> f64 {
        let apart = known::<K>(&self.apart);
        let k = apart.len();
        let (low, high, per_width) = (&self.low[..k], &self.high[..k], &self.per_width[..k]);
        let (target, residual) = (&records.targets()[..k], &records.residual()[..k]);
        let per_n = V::load(&[1.0 / records.n() as f64; 4]);
        let (zero, one) = (V::load(&[0.0; 4]), V::load(&[1.0; 4]));
        let (mut total, mut c) = (zero, 0);
        while c < k {
            let (apart, low) = (V::load_some(&apart[c..]), V::load_some(&low[c..]));
            let at_low = V::cost::<S>(V::add(apart, low));
            let at_high = V::cost::<S>(V::add(apart, V::load_some(&high[c..])));
            let sum = V::sub(V::load_some(&target[c..]), V::load_some(&residual[c..]));
            let part = V::sub(V::mul(sum, per_n), low);
            let part = V::mul(part, V::load_some(&per_width[c..]));
            let part = V::min(V::max(part, zero), one);
            total = V::add(total, V::add(at_low, V::mul(V::sub(at_high, at_low), part)));
            c += 4;
        }
        V::total(total)
    }

    /// Prepares for [`mean_cost`](Envelope::mean_cost), after the box was extended.
    pub(crate) fn divide_by_widths(&mut self) {
        let widths = self.low.iter().zip(self.high.iter()).map(|(low, high)| high - low);
        let per_width = widths.map(|width| if width > 0.0 { 1.0 / width } else { 0.0 });
        self.per_width.clear();
        self.per_width.extend(per_width);
    }
}

/// A lower bound of the costs of records in the box from `low` to `high`.
#[inline(always)]
fn least_cost_in<S: Cost, V: Vector, const K: usize>(
    apart: &[f64],
    low: &[f64],
    high: &[f64],
) -> f64 {
    let apart = known::<K>(apart);
    let (low, high) = (&low[..apart.len()], &high[..apart.len()]);
    let zero = V::load(&[0.0; 4]);
    sum_over!(V, apart.len(), k => {
        let apart = V::load(&apart[k..]);
        let above = V::max(V::add(apart, V::load(&low[k..])), zero);
        let below = V::min(V::add(apart, V::load(&high[k..])), zero);
        V::cost::<S>(V::add(above, below))
    }, S::cost((apart[k] + low[k]).max(0.0) + (apart[k] + high[k]).min(0.0)))
}

/// Whether a statistic is outside the box from `low` to `high`.
#[inline(always)]
pub(crate) fn is_outside<V: Vector, const K: usize>(
    low: &[f64],
    high: &[f64],
    statistic: &[f64],
) -> bool {
    let statistic = known::<K>(statistic);
    let (low, high) = (&low[..statistic.len()], &high[..statistic.len()]);
    let (mut k, mut outside) = (0, 0);
    while k + 4 <= statistic.len() {
        let four = V::load(&statistic[k..]);
        outside |= V::below(four, V::load(&low[k..])) | V::below(V::load(&high[k..]), four);
        k += 4;
    }
    while k < statistic.len() {
        outside |= u32::from((statistic[k] < low[k]) | (high[k] < statistic[k]));
        k += 1;
    }
    outside != 0
}

/// Extends the box from `low` to `high` by the one from `least` to `most`.
#[inline(always)]
pub(crate) fn widen<V: Vector, const K: usize>(
    low: &mut [f64],
    high: &mut [f64],
    least: &[f64],
    most: &[f64],
) {
    let least = known::<K>(least);
    let (low, high, most) =
        (&mut low[..least.len()], &mut high[..least.len()], &most[..least.len()]);
    let mut k = 0;
    while k + 4 <= least.len() {
        let lower = V::min(V::load(&least[k..]), V::load(&low[k..]));
        let upper = V::max(V::load(&most[k..]), V::load(&high[k..]));
        V::store(&mut low[k..], lower);
        V::store(&mut high[k..], upper);
        k += 4;
    }
    while k < least.len() {
        low[k] = if least[k] < low[k] { least[k] } else { low[k] };
        high[k] = if most[k] > high[k] { most[k] } else { high[k] };
        k += 1;
    }
}

/// Extends the box by rows of length K < 4, four at a time. Returns the remaining rows.
#[inline(always)]
fn widen_short<'a, V: Vector, const K: usize>(
    low: &mut [f64],
    high: &mut [f64],
    rows: &'a [f64],
) -> &'a [f64] {
    let mut lower = [V::load(&[f64::INFINITY; 4]); K];
    let mut upper = [V::load(&[f64::NEG_INFINITY; 4]); K];
    let fours = rows.chunks_exact(4 * K);
    let rest = fours.remainder();
    for four in fours {
        for c in 0..K {
            let numbers = V::load(&four[4 * c..]);
            (lower[c], upper[c]) = (V::min(numbers, lower[c]), V::max(numbers, upper[c]));
        }
    }
    for c in 0..K {
        let (mut lowers, mut uppers) = ([0.0; 4], [0.0; 4]);
        V::store(&mut lowers, lower[c]);
        V::store(&mut uppers, upper[c]);
        for j in 0..4 {
            let k = (4 * c + j) % K;
            (low[k], high[k]) = (least(lowers[j], low[k]), most(uppers[j], high[k]));
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::rng;
    use crate::simd::vector::Portable;

    /// The box is the smallest that contains all rows, at every position of the extreme ones.
    #[test]
    fn the_box_is_tight() {
        fn check<const K: usize>(n: usize, rng: &mut rng::Rng) {
            let rows: Vec<f64> = (0..n * K).map(|_| rng.random()).collect();
            let mut envelope = Envelope::default();
            envelope.clear(K);
            envelope.widen_all::<Portable, K>(&rows);
            for k in 0..K {
                let all = || rows.iter().skip(k).step_by(K).copied();
                assert_eq!(envelope.low()[k], all().fold(f64::INFINITY, f64::min));
                assert_eq!(envelope.high()[k], all().fold(f64::NEG_INFINITY, f64::max));
            }
        }
        let mut rng = rng::stream(4, 0);
        for n in 1..40 {
            check::<1>(n, &mut rng);
            check::<3>(n, &mut rng);
            check::<9>(n, &mut rng);
        }
    }
}
