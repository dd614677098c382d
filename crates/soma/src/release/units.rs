//! Statistics and released values in units of the noise.

use super::Release;

/// Converts statistics to noise units: (t - centre) / scale.
///
/// The residual is the released value minus the sum of the statistics. If they are far from zero
/// compared with their range, that is a small difference of large numbers, with cancellation: at
/// 1e8 the sum of 1,000 statistics is known to 1e-5. So the middle of the range is subtracted from
/// each of them, and n times the middle from the sum.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NoiseUnits {
    scales: Vec<f64>,
    /// Empty if nothing is subtracted.
    centre: Vec<f64>,
}

impl NoiseUnits {
    pub(crate) fn new(release: &Release) -> Self {
        let centre: Vec<f64> = release.query().bounds().into_iter().map(centre).collect();
        let is_needed = centre.iter().any(|&centre| centre != 0.0);
        NoiseUnits {
            scales: release.sum_scales(),
            centre: if is_needed { centre } else { Vec::new() },
        }
    }

    /// The scale of each statistic.
    pub(crate) fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// What is subtracted from statistic k.
    pub(crate) fn centre(&self, k: usize) -> f64 {
        self.centre.get(k).copied().unwrap_or(0.0)
    }

    /// The released values as sums in these units.
    pub(crate) fn target(&self, release: &Release) -> Vec<f64> {
        let n = release.n() as f64;
        let sum = |(k, (value, unit)): (usize, (f64, f64))| {
            (value - n / unit * self.centre(k)) * unit / self.scales[k]
        };
        release.answers().into_iter().zip(release.sum_units()).enumerate().map(sum).collect()
    }

    /// Subtracts the centre from rows of statistics.
    pub(crate) fn subtract_centre(&self, statistics: &mut [f64]) {
        if self.centre.is_empty() {
            return;
        }
        for row in statistics.chunks_exact_mut(self.centre.len()) {
            row.iter_mut().zip(&self.centre).for_each(|(t, centre)| *t -= centre);
        }
    }

    /// Converts rows of statistics to these units. Returns whether all of them are numbers.
    pub(crate) fn convert(&self, statistics: &mut [f64]) -> bool {
        self.subtract_centre(statistics);
        if self.scales.iter().all(|&scale| scale == self.scales[0]) {
            let unit = 1.0 / self.scales[0];
            return are_numbers(statistics.iter_mut().map(|t| {
                *t *= unit;
                *t
            }));
        }
        let rows = statistics.chunks_exact_mut(self.scales.len());
        are_numbers(rows.flat_map(|row| {
            row.iter_mut().zip(&self.scales).map(|(t, scale)| {
                *t *= 1.0 / scale;
                *t
            })
        }))
    }
}

/// Whether none of the values is NaN. The flags are as wide as the values, so that the compiler
/// checks several at a time.
fn are_numbers(values: impl Iterator<Item = f64>) -> bool {
    values.fold(0, |found: u64, t| found | u64::from(t.is_nan())) == 0
}

/// The middle of a range that is farther from zero than it is wide; otherwise zero, since there is
/// no cancellation.
fn centre((low, high): (f64, f64)) -> f64 {
    let middle = 0.5 * low + 0.5 * high;
    if middle.is_finite() && middle.abs() > high - low { middle } else { 0.0 }
}
