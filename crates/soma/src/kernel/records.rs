//! The imputed records, and beside each its statistic.

use crate::error::Outcome;
use crate::release::Release;

/// n records with their statistics, in flat arrays, row after row.
///
/// Statistics, and the residual (released minus the sum of the statistics), are kept in units of
/// the noise scale: then all that a kernel needs of the noise is its shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Records {
    n: usize,
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

    /// Released minus sum, in noise units.
    #[inline]
    pub fn residual(&self) -> &[f64] {
        &self.residual
    }

    /// Puts a record with its statistic (in noise units) in the place of record i.
    #[inline]
    pub fn replace(&mut self, i: usize, record: &[f64], statistic: &[f64]) {
        let old = &mut self.statistics[i * self.k..][..self.k];
        for ((r, o), y) in self.residual.iter_mut().zip(&*old).zip(statistic) {
            *r += o - y;
        }
        old.copy_from_slice(statistic);
        self.records[i * self.d..][..self.d].copy_from_slice(record);
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

/// Subtracts each row from `residual`.
fn subtract_rows(rows: &[f64], residual: &mut [f64]) {
    for row in rows.chunks_exact(residual.len()) {
        for (r, t) in residual.iter_mut().zip(row) {
            *r -= t;
        }
    }
}

/// Divides each row of `statistics` by the noise scales of the sum.
pub(super) fn to_noise_units(scales: &[f64], statistics: &mut [f64]) {
    for row in statistics.chunks_exact_mut(scales.len()) {
        row.iter_mut().zip(scales).for_each(|(t, scale)| *t /= scale);
    }
}
