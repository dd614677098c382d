//! The imputed records and their statistics.

use super::codes::{MOST_CODES, bin, counts, indicators};
use crate::error::Outcome;
use crate::numeric::aligned::Aligned;
use crate::numeric::pages;
use crate::release::query::BATCH;
use crate::release::{NoiseUnits, Query, Release};
use crate::simd::prefetch::{prefetch, prefetch_row};
use crate::simd::vector::{Portable, Vector};

/// n records with their statistics, in flat arrays, row by row.
///
/// If a statistic is the indicator of one of at most 255 bins, the distinct statistics are stored
/// once, and for each record the index of its own.
///
/// Statistics and the residual (released value minus the sum of the statistics) are in units of the
/// noise scale, so that a kernel depends on the shape of the noise only.
#[derive(Debug, Clone, PartialEq)]
pub struct Records {
    n: usize,
    per_n: f64,
    bins: Option<usize>,
    units: Vec<f64>,
    d: usize,
    k: usize,
    records: Vec<f64>,
    statistics: Vec<f64>,
    /// The row of `statistics` of each record; empty if each record has its own row.
    codes: Vec<u8>,
    target: Vec<f64>,
    residual: Aligned<f64>,
}

/// Whether the bin of each record is stored instead of its statistic.
pub(crate) fn is_coded(query: &dyn Query) -> bool {
    query.bins().is_some() && query.dim() <= MOST_CODES
}

impl Records {
    /// The `given` records under `release`.
    pub fn new(release: &Release, given: Vec<f64>) -> Outcome<Self> {
        let (n, d, k) = (release.n(), release.query().record_dim(), release.query().dim());
        assert_eq!(given.len(), n * d, "n records of length {d}");
        let (mut records, mut statistics) = (pages::with_room(n * d), Vec::new());
        records.extend(given);
        let noise_units = NoiseUnits::new(release);
        let target = noise_units.target(release);
        let units: Vec<f64> = noise_units.scales().iter().map(|b| 1.0 / b).collect();
        let coded = is_coded(release.query().as_ref());
        if coded {
            statistics = indicators(&units);
        } else {
            pages::resize(&mut statistics, n * k);
        }
        let mut all = Records {
            n,
            per_n: 1.0 / n as f64,
            bins: release.query().bins(),
            d,
            k,
            records,
            statistics,
            codes: vec![0; if coded { n } else { 0 }],
            units,
            residual: Aligned::copy_of(&target),
            target,
        };
        all.recompute(release)?;
        Ok(all)
    }

    /// Replaces all records.
    pub fn set_all(&mut self, release: &Release, records: &[f64]) -> Outcome {
        self.records.copy_from_slice(records);
        self.recompute(release)
    }

    /// The statistics of `records`, of which there must be n, and their residual, both in noise
    /// units.
    pub(crate) fn weigh(
        &self,
        release: &Release,
        records: &[f64],
        statistics: &mut [f64],
        residual: &mut Vec<f64>,
    ) -> Outcome {
        release.query().statistics(records, statistics)?;
        NoiseUnits::new(release).convert(statistics);
        residual.clone_from(&self.target);
        subtract_rows(statistics, residual);
        Ok(())
    }

    /// Swaps all records with others, whose statistics and residual come from
    /// [`weigh`](Records::weigh).
    pub(crate) fn exchange(
        &mut self,
        records: &mut Vec<f64>,
        statistics: &mut Vec<f64>,
        residual: &[f64],
    ) {
        assert_eq!((records.len(), statistics.len()), (self.n * self.d, self.n * self.k));
        std::mem::swap(&mut self.records, records);
        if self.codes.is_empty() {
            std::mem::swap(&mut self.statistics, statistics);
        } else {
            self.encode(0, statistics);
        }
        self.residual.copy_from_slice(residual);
    }

    /// Recomputes all statistics and the residual from the records.
    fn recompute(&mut self, release: &Release) -> Outcome {
        if self.codes.is_empty() {
            release.query().statistics(&self.records, &mut self.statistics)?;
            NoiseUnits::new(release).convert(&mut self.statistics);
        } else {
            // In blocks that stay in the cache.
            let size = release.query().batch_size().max(BATCH);
            let mut statistics = vec![0.0; size * self.k];
            for start in (0..self.n).step_by(size) {
                let count = size.min(self.n - start);
                let statistics = &mut statistics[..count * self.k];
                let records = &self.records[start * self.d..][..count * self.d];
                release.query().statistics(records, statistics)?;
                self.encode(start, statistics);
            }
        }
        self.refresh();
        Ok(())
    }

    /// Sets the bins of consecutive records, from `start` on, from their statistics.
    fn encode(&mut self, start: usize, statistics: &[f64]) {
        let rows = statistics.chunks_exact(self.k);
        for (code, row) in self.codes[start..].iter_mut().zip(rows) {
            *code = bin(row) as u8;
        }
    }

    /// The length of a record.
    pub(crate) fn d(&self) -> usize {
        self.d
    }

    /// Rewrites records in ways that do not change their statistics.
    pub(crate) fn rewrite<T>(&mut self, rewrite: impl FnOnce(&mut [f64]) -> T) -> T {
        rewrite(&mut self.records)
    }

    /// The length of a statistic.
    pub(crate) fn k(&self) -> usize {
        self.k
    }

    /// The number of bins, if a statistic is the indicator of a bin.
    pub(crate) fn bins(&self) -> Option<usize> {
        self.bins
    }

    /// A value of 1 in coordinate k of a statistic, in noise units.
    #[inline(always)]
    pub(crate) fn unit(&self, k: usize) -> f64 {
        self.units[k]
    }

    /// The number of records.
    pub fn n(&self) -> usize {
        self.n
    }

    /// All records, row by row.
    pub fn all(&self) -> &[f64] {
        &self.records
    }

    /// All statistics in noise units, row by row. For a query with bins it may be the distinct ones
    /// only, in the order of the bins, with that of no bin last.
    pub fn statistics(&self) -> &[f64] {
        &self.statistics
    }

    /// The row of the statistic of record i.
    #[inline(always)]
    fn row(&self, i: usize) -> usize {
        if self.codes.is_empty() { i } else { usize::from(self.codes[i]) }
    }

    /// The bin of record i, for a query with bins; K if it is in no bin.
    #[inline(always)]
    pub(crate) fn bin(&self, i: usize) -> usize {
        if self.codes.is_empty() { bin(self.statistic(i)) } else { usize::from(self.codes[i]) }
    }

    /// The released value of coordinate k of the sum, in noise units.
    pub(crate) fn target(&self, k: usize) -> f64 {
        self.target[k]
    }

    /// Record i.
    pub fn record(&self, i: usize) -> &[f64] {
        &self.records[i * self.d..][..self.d]
    }

    /// The statistic of record i, in noise units.
    #[inline]
    pub fn statistic(&self, i: usize) -> &[f64] {
        &self.statistics[self.row(i) * self.k..][..self.k]
    }

    /// The same for a length K known at compile time (0 if unknown).
    #[inline(always)]
    pub(crate) fn statistic_known<const K: usize>(&self, i: usize) -> &[f64] {
        let k = if K == 0 { self.k } else { K };
        &self.statistics[self.row(i) * k..][..k]
    }

    /// The same if each record has its own row, that is without bins.
    #[inline(always)]
    pub(crate) fn row_of_its_own<const K: usize>(&self, i: usize) -> &[f64] {
        let k = if K == 0 { self.k } else { K };
        &self.statistics[i * k..][..k]
    }

    /// Prefetches the statistic of record i.
    #[inline(always)]
    pub(crate) fn prefetch_statistic<const K: usize>(&self, i: usize) {
        let k = if K == 0 { self.k } else { K };
        prefetch_row(self.statistics.as_ptr().wrapping_add(i * k), k);
    }

    /// Prefetches record i.
    #[inline(always)]
    pub(crate) fn prefetch_record(&self, i: usize) {
        prefetch_row(self.records.as_ptr().wrapping_add(i * self.d), self.d);
    }

    /// The mean of coordinate k of the statistics, in noise units.
    #[inline(always)]
    pub(crate) fn mean(&self, k: usize) -> f64 {
        (self.target[k] - self.residual[k]) * self.per_n
    }

    /// All released values, in noise units.
    #[inline(always)]
    pub(crate) fn targets(&self) -> &[f64] {
        &self.target
    }

    /// Released values minus sums, in noise units.
    #[inline]
    pub fn residual(&self) -> &[f64] {
        &self.residual
    }

    /// Replaces record i by a record with its statistic (in noise units).
    #[inline]
    pub fn replace(&mut self, i: usize, record: &[f64], statistic: &[f64]) {
        self.replace_known::<Portable, 0>(i, record, statistic);
    }

    /// The same for a length K known at compile time (0 if unknown).
    #[inline(always)]
    pub(crate) fn replace_known<V: Vector, const K: usize>(
        &mut self,
        i: usize,
        record: &[f64],
        statistic: &[f64],
    ) {
        self.replace_statistic::<V, K>(i, statistic);
        self.put_record(i, record);
    }

    /// Replaces the statistic of record i; the record itself is written later.
    #[inline(always)]
    pub(crate) fn replace_statistic<V: Vector, const K: usize>(
        &mut self,
        i: usize,
        statistic: &[f64],
    ) {
        let k = if K == 0 { self.k } else { K };
        let row = self.row(i);
        shift::<V, K>(&mut self.residual, &self.statistics[row * k..][..k], statistic);
        self.put_statistic::<K>(i, statistic);
    }

    /// Updates the residual for a statistic that is replaced by another.
    #[inline(always)]
    pub(crate) fn shift_residual<V: Vector, const K: usize>(&mut self, old: &[f64], new: &[f64]) {
        shift::<V, K>(&mut self.residual, old, new);
    }

    /// Prefetches record i and its bin.
    #[inline(always)]
    pub(crate) fn prefetch_binned(&self, i: usize) {
        prefetch(self.records.as_ptr().wrapping_add(i * self.d));
        if self.codes.is_empty() {
            prefetch_row(self.statistics.as_ptr().wrapping_add(i * self.k), self.k);
        } else {
            prefetch(self.codes.as_ptr().wrapping_add(i));
        }
    }

    /// Replaces record i by a record in `bin` (K for no bin). Does not update the residual.
    #[inline(always)]
    pub(crate) fn put_in_bin(&mut self, i: usize, record: &[f64], bin: usize) {
        self.put_record(i, record);
        self.set_bin(i, bin);
    }

    /// Sets the residual from the number of members of each bin.
    pub(crate) fn set_residual_of_bins(&mut self, members: impl Iterator<Item = i64>) {
        for (b, members) in members.take(self.k).enumerate() {
            self.residual[b] = self.target[b] - members as f64 * self.units[b];
        }
    }

    /// Sets the statistic of record i to the indicator of a bin.
    #[inline(always)]
    fn set_bin(&mut self, i: usize, bin: usize) {
        if !self.codes.is_empty() {
            self.codes[i] = bin as u8;
            return;
        }
        let row = &mut self.statistics[i * self.k..][..self.k];
        row.fill(0.0);
        if bin < self.k {
            row[bin] = self.units[bin];
        }
    }

    /// Writes record i without its statistic.
    #[inline(always)]
    pub(crate) fn put_record(&mut self, i: usize, record: &[f64]) {
        copy_short(&mut self.records[i * self.d..][..self.d], record);
    }

    /// Writes the statistic of record i. Does not update the residual.
    #[inline(always)]
    pub(crate) fn put_statistic<const K: usize>(&mut self, i: usize, statistic: &[f64]) {
        let k = if K == 0 { self.k } else { K };
        if self.codes.is_empty() {
            self.statistics[i * k..][..k].copy_from_slice(&statistic[..k]);
        } else {
            self.codes[i] = bin(&statistic[..k]) as u8;
        }
    }

    /// Swaps two records.
    pub fn swap(&mut self, i: usize, j: usize) {
        swap_rows(&mut self.records, self.d, i, j);
        if self.codes.is_empty() {
            swap_rows(&mut self.statistics, self.k, i, j);
        } else {
            self.codes.swap(i, j);
        }
    }

    /// Recomputes the residual from the statistics: incremental updates drift in floating point.
    pub fn refresh(&mut self) {
        self.residual.copy_from_slice(&self.target);
        if self.codes.is_empty() {
            return subtract_rows(&self.statistics, &mut self.residual);
        }
        for ((r, unit), count) in self.residual.iter_mut().zip(&self.units).zip(counts(&self.codes))
        {
            *r -= f64::from(count) * unit;
        }
    }
}

/// Adds `old` minus `new` to `residual`.
#[inline(always)]
fn shift<V: Vector, const K: usize>(residual: &mut [f64], old: &[f64], new: &[f64]) {
    let k = if K == 0 { residual.len() } else { K };
    let (residual, old, new) = (&mut residual[..k], &old[..k], &new[..k]);
    let mut c = 0;
    while c + 4 <= k {
        let change = V::sub(V::load(&old[c..]), V::load(&new[c..]));
        let shifted = V::add(V::load(&residual[c..]), change);
        V::store(&mut residual[c..], shifted);
        c += 4;
    }
    while c < k {
        residual[c] += old[c] - new[c];
        c += 1;
    }
}

/// Swaps two rows of length `k`.
fn swap_rows(rows: &mut [f64], k: usize, i: usize, j: usize) {
    let (i, j) = (i.min(j), i.max(j));
    if i < j {
        let (before, after) = rows.split_at_mut(j * k);
        before[i * k..][..k].swap_with_slice(&mut after[..k]);
    }
}

/// Subtracts each row from `residual`.
fn subtract_rows(rows: &[f64], residual: &mut [f64]) {
    for row in rows.chunks_exact(residual.len()) {
        for (r, t) in residual.iter_mut().zip(row) {
            *r -= t;
        }
    }
}

/// Copies a record. Most are short, and an unrolled loop is then faster than a general copy.
#[inline(always)]
pub(crate) fn copy_short(to: &mut [f64], from: &[f64]) {
    match (to, from) {
        ([a], [x]) => *a = *x,
        ([a, b], [x, y]) => (*a, *b) = (*x, *y),
        ([a, b, c], [x, y, z]) => (*a, *b, *c) = (*x, *y, *z),
        (to, from) => to.copy_from_slice(from),
    }
}
