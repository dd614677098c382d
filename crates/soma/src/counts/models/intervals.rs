//! Intervals of the line: the cells of a histogram.

use crate::error::{Invalid, finite};
use crate::rng::Rng;

/// The smallest log probability of a cell, about that of the smallest positive number: a cell whose
/// probability underflows is unlikely but not impossible.
const LEAST: f64 = -745.0;

/// The cells between `cuts`: one more than cuts; the first and the last are unbounded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cuts(pub(super) Vec<f64>);

impl Cuts {
    /// Cuts in increasing order, all inside the support of the model.
    pub(super) fn new(cuts: Vec<f64>, support: (f64, f64)) -> Result<Self, Invalid> {
        for (k, &cut) in cuts.iter().enumerate() {
            finite(&format!("cuts[{k}]"), cut)?;
            let before = if k == 0 { support.0 } else { cuts[k - 1] };
            if cut <= before || cut >= support.1 {
                return Err(Invalid::new(
                    format!("cuts[{k}]"),
                    "the cuts must increase within the support of the model",
                    cut,
                    format!("increasing numbers between {} and {}", support.0, support.1),
                ));
            }
        }
        if cuts.is_empty() {
            return Err(Invalid::new("cuts", "must not be empty", "none", "at least one cut"));
        }
        Ok(Cuts(cuts))
    }

    pub(super) fn cells(&self) -> usize {
        self.0.len() + 1
    }

    /// The cell of a record of one number: one at a cut is in the cell above it.
    pub(super) fn cell_of(&self, record: &[f64]) -> Option<usize> {
        let &x = record.first()?;
        Some(self.0.partition_point(|&cut| cut <= x))
    }

    /// The log probabilities of the cells from those of the two tails at each cut. A cell is the
    /// difference of two tails on its own side of the median, to avoid cancellation.
    pub(super) fn log_shares(&self, tails: impl Fn(f64) -> (f64, f64), out: &mut [f64]) {
        let mut last = (f64::NEG_INFINITY, 0.0);
        for (cell, share) in out.iter_mut().enumerate() {
            let next = match self.0.get(cell) {
                Some(&cut) => tails(cut),
                None => (0.0, f64::NEG_INFINITY),
            };
            let below = next.0 < last.1;
            let (large, small) = if below { (next.0, last.0) } else { (last.1, next.1) };
            *share = log_difference(large, small).max(LEAST);
            last = next;
        }
    }

    /// Records of the cells, `counts[cell]` of each cell, drawn by `draw` between the ends of the cell.
    /// What rounding puts outside is moved to the nearest number inside.
    pub(super) fn records(
        &self,
        counts: &[i64],
        rng: &mut Rng,
        mut draw: impl FnMut((f64, f64), &mut Rng) -> f64,
    ) -> Vec<f64> {
        let mut records = Vec::with_capacity(counts.iter().sum::<i64>().max(0) as usize);
        for (cell, &count) in counts.iter().enumerate() {
            let low = if cell == 0 { f64::NEG_INFINITY } else { self.0[cell - 1] };
            let high = self.0.get(cell).copied().unwrap_or(f64::INFINITY);
            // A record at a cut is in the cell above it.
            records.extend((0..count).map(|_| draw((low, high), rng).clamp(low, high.next_down())));
        }
        records
    }

    /// A point for each cell: its midpoint, or half the width of the neighbouring cell beyond the
    /// last cut.
    pub(super) fn middles(&self) -> Vec<f64> {
        let cuts = &self.0;
        let last = cuts.len() - 1;
        let half = |k: usize| if last == 0 { 1.0 } else { 0.5 * (cuts[k + 1] - cuts[k]) };
        let mut middles = vec![cuts[0] - half(0)];
        middles.extend(cuts.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])));
        middles.push(cuts[last] + half(last.saturating_sub(1)));
        middles
    }

    /// The mean and variance of a histogram with these shares.
    pub(super) fn moments(&self, shares: &[f64]) -> (f64, f64) {
        let middles = self.middles();
        let mean: f64 = middles.iter().zip(shares).map(|(x, p)| x * p).sum();
        let variance = middles.iter().zip(shares).map(|(x, p)| p * (x - mean) * (x - mean)).sum();
        (mean, variance)
    }
}

/// ln(e^large - e^small); minus infinity if rounding makes it negative.
fn log_difference(large: f64, small: f64) -> f64 {
    if small == f64::NEG_INFINITY {
        return large;
    }
    if small >= large {
        return f64::NEG_INFINITY;
    }
    large + (-(small - large).exp_m1()).ln()
}
