//! The autocorrelation of theta under the theta updates, apart from the sweeps.

use serde::{Deserialize, Serialize};

use crate::stored::{Check, ensure};

/// The jumps of theta in the iterations of a trial, and their work.
///
/// Before the theta updates the records are swept until they depend on their start only through
/// theta. The remaining autocorrelation of theta is what no sweep, however good, could remove.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ThetaMoves {
    work: f64,
    count: f64,
    mean: Vec<f64>,
    scatter: Vec<f64>,
    /// Of all updates, and of those after the centred one.
    squared_jumps: [Vec<f64>; 2],
}

impl ThetaMoves {
    /// Whether these are figures of `p` parameters, or empty.
    pub(super) fn check(&self, p: usize) -> Check {
        let [all, others] = &self.squared_jumps;
        let lengths = [&self.mean, &self.scatter, all, others].map(Vec::len);
        ensure(lengths == [0; 4] || lengths == [p; 4], "the trial has another number of parameters")
    }

    /// Called after updates that led from `before` to `after`; the centred one ended at `centred`.
    pub(super) fn watch(&mut self, before: &[f64], centred: &[f64], after: &[f64], work: f64) {
        let [all, others] = &mut self.squared_jumps;
        for sums in [&mut self.mean, &mut self.scatter, all, others] {
            sums.resize(after.len(), 0.0);
        }
        self.work += work;
        self.count += 1.0;
        for (k, new) in after.iter().enumerate() {
            let gap = new - self.mean[k];
            self.mean[k] += gap / self.count;
            self.scatter[k] += gap * (new - self.mean[k]);
            for (jumps, old) in self.squared_jumps.iter_mut().zip([before, centred]) {
                jumps[k] += (new - old[k]) * (new - old[k]);
            }
        }
    }

    /// The work of the theta updates of an iteration.
    pub(super) fn work(&self) -> f64 {
        self.work / self.count.max(1.0)
    }

    /// The largest autocorrelation of a parameter after an iteration, if the autocorrelation of a
    /// sweep is `by_sweep`.
    ///
    /// A sweep by itself does not move theta; the centred update follows the records. If it leaves
    /// the autocorrelation g of theta with fresh records, then an iteration without other updates
    /// leaves 1 - (1 - g) (1 - by_sweep): exact for a Gaussian pair of theta and records. The other
    /// updates multiply that by their own autocorrelation.
    pub(super) fn left(&self, by_sweep: f64) -> f64 {
        let [all, others] = &self.squared_jumps;
        let left = (0..self.scatter.len()).map(|k| {
            let renewed = |jumps: &[f64]| (jumps[k] / (2.0 * self.scatter[k])).min(1.0);
            let by_all = renewed(all);
            let by_others = renewed(others).min(by_all);
            1.0 - by_all + by_sweep * (by_all - by_others)
        });
        left.filter(|left| left.is_finite()).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::rng;

    /// Updates with known correlations: 0.6 for the centred one, and 0.5 for the others.
    #[test]
    fn the_parts_of_the_moves_are_told_apart() {
        let mut rng = rng::stream(3, 0);
        let mut moves = ThetaMoves::default();
        let mut normal = || rng.sample::<f64, _>(StandardNormal);
        let mut theta = [normal(), 7.0];
        for _ in 0..100_000 {
            let centred = [0.6 * theta[0] + 0.8 * normal(), 7.0];
            let after = [0.5 * centred[0] + 0.75_f64.sqrt() * normal(), 7.0];
            moves.watch(&theta, &centred, &after, 3.0);
            theta = after;
        }
        for (by_sweep, left) in [(0.0, 0.3), (0.5, 0.4), (1.0, 0.5)] {
            assert!((moves.left(by_sweep) - left).abs() < 0.01, "{by_sweep}");
        }
        assert_eq!(moves.work(), 3.0);
    }
}
