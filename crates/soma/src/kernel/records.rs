//! The imputed records, and beside each its statistic.

use super::vector::{Portable, Vector};
use crate::error::Outcome;
use crate::release::Release;

/// n records with their statistics, in flat arrays, row after row.
///
/// Statistics, and the residual (released minus the sum of the statistics), are kept in units of
/// the noise scale: then all that a kernel needs of the noise is its shape.
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
    target: Vec<f64>,
    residual: Vec<f64>,
}

impl Records {
    /// The records `records` under `release`.
    pub fn new(release: &Release, records: Vec<f64>) -> Outcome<Self> {
        let (n, d, k) = (release.n(), release.query().record_dim(), release.query().dim());
        assert_eq!(records.len(), n * d, "n records of length {d}");
        let scales = release.sum_scales();
        let target: Vec<f64> = release.sums().iter().zip(&scales).map(|(s, b)| s / b).collect();
        let mut all = Records {
            n,
            per_n: 1.0 / n as f64,
            bins: release.query().bins(),
            units: scales.iter().map(|b| 1.0 / b).collect(),
            d,
            k,
            records,
            statistics: vec![0.0; n * k],
            residual: target.clone(),
            target,
        };
        all.recompute(release)?;
        Ok(all)
    }

    /// Puts other records in the place of all.
    pub fn set_all(&mut self, release: &Release, records: &[f64]) -> Outcome {
        self.records.copy_from_slice(records);
        self.recompute(release)
    }

    /// The statistics of `records`, as many as there are here, and what their residual would be,
    /// both in noise units.
    pub(crate) fn weigh(
        &self,
        release: &Release,
        records: &[f64],
        statistics: &mut [f64],
        residual: &mut Vec<f64>,
    ) -> Outcome {
        release.query().statistics(records, statistics)?;
        to_noise_units(&release.sum_scales(), statistics);
        residual.clone_from(&self.target);
        subtract_rows(statistics, residual);
        Ok(())
    }

    /// Exchanges all records for others, with their statistics and residual as
    /// [`weigh`](Records::weigh) gave them.
    pub(crate) fn exchange(
        &mut self,
        records: &mut Vec<f64>,
        statistics: &mut Vec<f64>,
        residual: &[f64],
    ) {
        assert_eq!((records.len(), statistics.len()), (self.n * self.d, self.n * self.k));
        std::mem::swap(&mut self.records, records);
        std::mem::swap(&mut self.statistics, statistics);
        self.residual.copy_from_slice(residual);
    }

    /// Recomputes all statistics and the residual from the records.
    fn recompute(&mut self, release: &Release) -> Outcome {
        release.query().statistics(&self.records, &mut self.statistics)?;
        to_noise_units(&release.sum_scales(), &mut self.statistics);
        self.refresh();
        Ok(())
    }

    /// The length of a statistic.
    pub(crate) fn k(&self) -> usize {
        self.k
    }

    /// The number of different statistics, if a statistic is the indicator of a bin.
    pub(super) fn bins(&self) -> Option<usize> {
        self.bins
    }

    /// What 1 in coordinate k of a statistic is in noise units.
    #[inline(always)]
    pub(super) fn unit(&self, k: usize) -> f64 {
        self.units[k]
    }

    /// The number of records.
    pub fn n(&self) -> usize {
        self.n
    }

    /// All records, row after row.
    pub fn all(&self) -> &[f64] {
        &self.records
    }

    /// All statistics in noise units, row after row.
    pub fn statistics(&self) -> &[f64] {
        &self.statistics
    }

    /// Record i.
    pub fn record(&self, i: usize) -> &[f64] {
        &self.records[i * self.d..][..self.d]
    }

    /// The statistic of record i, in noise units.
    #[inline]
    pub fn statistic(&self, i: usize) -> &[f64] {
        &self.statistics[i * self.k..][..self.k]
    }

    /// The same where the compiler knows the length of a statistic, K (0 if it does not).
    #[inline(always)]
    pub(crate) fn statistic_known<const K: usize>(&self, i: usize) -> &[f64] {
        let k = if K == 0 { self.k } else { K };
        &self.statistics[i * k..][..k]
    }

    /// Asks for the statistic of record i from memory, to be looked at soon.
    #[inline(always)]
    pub(super) fn prefetch(&self, i: usize) {
        prefetch_row(self.statistics.as_ptr().wrapping_add(i * self.k), self.k);
        prefetch_row(self.records.as_ptr().wrapping_add(i * self.d), self.d);
    }

    /// The mean of coordinate k of the statistics, in noise units.
    #[inline(always)]
    pub(super) fn mean(&self, k: usize) -> f64 {
        (self.target[k] - self.residual[k]) * self.per_n
    }

    /// Released minus sum, in noise units.
    #[inline]
    pub fn residual(&self) -> &[f64] {
        &self.residual
    }

    /// Puts a record with its statistic (in noise units) in the place of record i.
    #[inline]
    pub fn replace(&mut self, i: usize, record: &[f64], statistic: &[f64]) {
        self.replace_known::<Portable, 0>(i, record, statistic);
    }

    /// The same where the compiler knows the length of a statistic, K (0 if it does not).
    #[inline(always)]
    pub(crate) fn replace_known<V: Vector, const K: usize>(
        &mut self,
        i: usize,
        record: &[f64],
        statistic: &[f64],
    ) {
        let k = if K == 0 { self.k } else { K };
        shift::<V, K>(&mut self.residual, &self.statistics[i * k..][..k], statistic);
        self.put::<K>(i, record, statistic);
    }

    /// The residual follows a statistic that is replaced by another.
    #[inline(always)]
    pub(super) fn shift_residual<V: Vector, const K: usize>(&mut self, old: &[f64], new: &[f64]) {
        shift::<V, K>(&mut self.residual, old, new);
    }

    /// The residual follows a record that goes from one bin to another; a bin that is not one of
    /// the coordinates counts for nothing.
    #[inline(always)]
    pub(super) fn shift_bins(&mut self, from: usize, to: usize) {
        if from < self.k {
            self.residual[from] += self.units[from];
        }
        if to < self.k {
            self.residual[to] -= self.units[to];
        }
    }

    /// Puts a record with its statistic in the place of record i; the residual stays as it is.
    #[inline(always)]
    pub(super) fn put<const K: usize>(&mut self, i: usize, record: &[f64], statistic: &[f64]) {
        let k = if K == 0 { self.k } else { K };
        self.statistics[i * k..][..k].copy_from_slice(&statistic[..k]);
        copy_short(&mut self.records[i * self.d..][..self.d], record);
    }

    /// Exchanges the places of two records.
    pub fn swap(&mut self, i: usize, j: usize) {
        for c in 0..self.d {
            self.records.swap(i * self.d + c, j * self.d + c);
        }
        for c in 0..self.k {
            self.statistics.swap(i * self.k + c, j * self.k + c);
        }
    }

    /// Recomputes the residual from the statistics: replaced one by one, it drifts in floating
    /// point.
    pub fn refresh(&mut self) {
        self.residual.copy_from_slice(&self.target);
        subtract_rows(&self.statistics, &mut self.residual);
    }
}

/// Adds to `residual` what is left when `new` is taken from `old`.
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

/// Asks for a row of `k` numbers from memory, to be looked at soon.
#[inline(always)]
pub(super) fn prefetch_row(row: *const f64, k: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, whatever its address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(row.cast());
            _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(k - 1).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (row, k);
}

/// Subtracts each row from `residual`.
fn subtract_rows(rows: &[f64], residual: &mut [f64]) {
    for row in rows.chunks_exact(residual.len()) {
        for (r, t) in residual.iter_mut().zip(row) {
            *r -= t;
        }
    }
}

/// Brings each row of `statistics` into units of the noise scales of the sum.
pub(super) fn to_noise_units(scales: &[f64], statistics: &mut [f64]) {
    if scales.iter().all(|&scale| scale == scales[0]) {
        let unit = 1.0 / scales[0];
        return statistics.iter_mut().for_each(|t| *t *= unit);
    }
    for row in statistics.chunks_exact_mut(scales.len()) {
        row.iter_mut().zip(scales).for_each(|(t, scale)| *t *= 1.0 / scale);
    }
}

/// Copies a record: most are short, and then a loop that the compiler unrolls is faster than a
/// general copy.
#[inline(always)]
fn copy_short(to: &mut [f64], from: &[f64]) {
    match to.len() {
        1 => to[0] = from[0],
        2 => to[..2].copy_from_slice(&from[..2]),
        3 => to[..3].copy_from_slice(&from[..3]),
        _ => to.copy_from_slice(from),
    }
}
