//! The choice of the strategy of a sweep: the cheapest for the expected number of trials of a move.

use super::Strategy;
use crate::kernel::Counts;
use crate::kernel::select::cells::partition::LeafBox;
use crate::kernel::select::cells::partition::Partition;
use crate::kernel::soma::Soma;
use crate::numeric::exp::exp;
use crate::records::Records;
use crate::simd::cost::Cost;
use crate::simd::vector::Vector;

/// Records that serve as proposals in the estimate of the number of trials.
const PROPOSALS: usize = 32;
/// One in this many of them meets the current residual, the others residuals drawn from the noise.
const AT_CURRENT: usize = 4;
/// The largest number of records that are weighed for each of them.
const WEIGHED: usize = 64;
/// The choice is made after 0, 1, 4, 16 and 64 sweeps, and then every 256.
const PERIOD: u64 = 256;
/// The choice is also revised once its counted cost is this many times that of another strategy.
const REVISED_AT: f64 = 1.6;
/// The time constant, in sweeps, of the running mean of counted trials.
const AVERAGED: f64 = 8.0;
/// The cost of a move by uniform rejection: a constant, and per trial. The unit of this and of the
/// next costs is about ten nanoseconds.
const UNIFORM: [f64; 2] = [5.3, 0.8];
/// If the statistics have more bytes than this they exceed the cache, and a trial costs this much
/// more.
const UNCACHED: (usize, f64) = (1 << 19, 0.6);
/// The cost of a move by a scan: a constant, and per coordinate of each record.
const SCAN: [f64; 2] = [9.5, 0.0033];
/// The cost of a move by cells: a constant, which includes [`FITTED_TRIALS`] trials; per coordinate of
/// each cell; and per further trial.
const CELLS: [f64; 3] = [17.0, 0.012, 1.9];
/// The trials of a move by cells that fit the records well.
const FITTED_TRIALS: f64 = 4.0;

impl Soma {
    /// The strategy of this sweep. It depends on the records, on the number of sweeps and on counts
    /// of trials, never on a clock: a resumed chain draws the same.
    #[inline(always)]
    pub(crate) fn choose<S: Cost, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
    ) -> Strategy {
        let now = match self.sweeps {
            sweeps if sweeps < PERIOD => {
                sweeps == 0 || (sweeps.is_power_of_two() && sweeps.trailing_zeros() % 2 == 0)
            }
            sweeps => sweeps % PERIOD == 0,
        };
        self.sweeps += 1;
        let (n, k) = (records.n(), records.k());
        // Between those sweeps, counted trials can show that another strategy costs far less.
        let counted = self.counted;
        let is_wrong = counted.is_some_and(|trials| {
            by_one_bound(trials, n, k) > REVISED_AT * by_many_bounds(trials, n, k).0
        });
        if let (Some(strategy), false) = (self.strategy, now || is_wrong) {
            return strategy;
        }
        let strategy = match self.forced {
            // Of records in bins only the bin may be stored: no other strategy can weigh them.
            _ if records.bins().is_some() => Strategy::Bins,
            Some(strategy) => strategy,
            None => {
                self.envelope.fit::<V, K>(records);
                let trials = match counted {
                    Some(trials) => trials,
                    None => self.trials::<S, V, K>(records, &[]),
                };
                self.trials = trials;
                cheapest(trials, n, k)
            }
        };
        let strategy = self.grow::<S, V, K>(records, strategy);
        self.strategy = Some(strategy);
        self.counted = counted.filter(|_| strategy == Strategy::Uniform);
        strategy
    }

    /// Grows the cells of `strategy`, if it has any. If they do not fit the records it is a scan
    /// instead.
    #[inline(always)]
    fn grow<S: Cost, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        strategy: Strategy,
    ) -> Strategy {
        let Strategy::Cells(count) = strategy else { return strategy };
        let (partition, parts) = Partition::grow(records, count);
        self.partition = partition;
        if self.forced.is_some() {
            return strategy;
        }
        let trials = self.trials::<S, V, K>(records, &parts);
        let (n, k) = (records.n(), records.k());
        let cells =
            CELLS[0] + CELLS[1] * (count * k) as f64 + CELLS[2] * (trials - FITTED_TRIALS).max(0.0);
        if SCAN[0] + SCAN[1] * ((n * k) as f64) < cells { Strategy::Scan } else { strategy }
    }

    /// Updates the running mean of trials. Only those under one bound say what each strategy would
    /// cost.
    pub(crate) fn count(&mut self, counts: Counts) {
        if self.forced.is_none() && self.strategy == Some(Strategy::Uniform) {
            let trials = counts.evaluations as f64 / counts.moves as f64;
            let before = self.counted.unwrap_or(trials);
            self.counted = Some(before + (trials - before) / AVERAGED);
        }
    }

    /// The expected number of trials per move with `parts`, or under one bound if there are none:
    /// the mean bound over the mean weight, with some records as proposals. A few meet the current
    /// residual, and most a residual drawn from the noise, since it changes many times in a sweep.
    #[inline(always)]
    fn trials<S: Cost, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        parts: &[LeafBox],
    ) -> f64 {
        let n = records.n();
        let (proposals, weighed) = (PROPOSALS, WEIGHED.min(n));
        let mut trials = 0.0;
        let mut residual = vec![0.0; records.k()];
        for j in 0..proposals {
            let proposal = records.statistic(j * n / proposals);
            residual.copy_from_slice(records.residual());
            if j % AT_CURRENT != 0 {
                let len = residual.len();
                for (c, r) in residual.iter_mut().enumerate() {
                    *r = l1_quantile(((j * len + c) as f64 * GOLDEN).fract());
                }
            }
            self.envelope.propose::<V, K>(&residual, proposal);
            let mut mean = 0.0;
            for i in 0..weighed {
                let old = records.statistic(i * n / weighed);
                mean += exp(-self.envelope.excess::<S, V, K>(old)) / weighed as f64;
            }
            let bound = if parts.is_empty() { 1.0 } else { self.bound::<S, V, K>(parts) };
            trials += (bound / mean.max(1e-300)).min(1e9);
        }
        trials / proposals as f64
    }

    /// The mean over the records of the bounds of their weights, for cells `parts`.
    #[inline(always)]
    fn bound<S: Cost, V: Vector, const K: usize>(&self, parts: &[LeafBox]) -> f64 {
        let (mut mass, mut looked_at) = (0.0, 0);
        for part in parts {
            let least = self.envelope.excess_in::<S, V, K>(&part.low, &part.high);
            mass += part.count as f64 * exp(-least);
            looked_at += part.count;
        }
        mass / looked_at as f64
    }
}

/// The golden ratio minus 1: its multiples modulo 1 are a low-discrepancy sequence.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The quantile at `probability` > 0 of the density proportional to exp(-|r|).
fn l1_quantile(probability: f64) -> f64 {
    let side = 2.0 * probability - 1.0;
    -(1.0 - side.abs()).max(1e-9).ln() * side.signum()
}

/// The cheapest strategy if uniform rejection takes this many trials.
fn cheapest(trials: f64, n: usize, k: usize) -> Strategy {
    let (by_one, (by_many, many)) = (by_one_bound(trials, n, k), by_many_bounds(trials, n, k));
    if by_one < by_many { Strategy::Uniform } else { many }
}

/// The cost of a move under one bound of all weights.
fn by_one_bound(trials: f64, n: usize, k: usize) -> f64 {
    let is_far = n * k * size_of::<f64>() >= UNCACHED.0;
    UNIFORM[0] + (UNIFORM[1] + if is_far { UNCACHED.1 } else { 0.0 }) * trials
}

/// The cheaper of the strategies with many bounds, with its cost.
fn by_many_bounds(trials: f64, n: usize, k: usize) -> (f64, Strategy) {
    let cells = cells(trials, n);
    let scan = SCAN[0] + SCAN[1] * (n * k) as f64;
    let by_cells = CELLS[0] + CELLS[1] * (cells * k) as f64;
    if scan < by_cells { (scan, Strategy::Scan) } else { (by_cells, Strategy::Cells(cells)) }
}

/// The number of cells for this many trials and records.
fn cells(trials: f64, n: usize) -> usize {
    let wanted = match trials {
        few if few < 100.0 => 32,
        many if many < 1200.0 => 64,
        _ => 128,
    };
    wanted.min((n / 2).next_power_of_two().max(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choice agrees with the measured optimum for the regression problem.
    #[test]
    fn the_cheapest_strategy_is_chosen() {
        for n in [100, 1_000, 1_000_000] {
            assert_eq!(cheapest(1.5, n, 9), Strategy::Uniform);
        }
        assert_eq!(cheapest(3.3, 100_000, 9), Strategy::Uniform);
        assert_eq!(cheapest(5.0, 100, 9), Strategy::Uniform);
        assert_eq!(cheapest(15.0, 100, 9), Strategy::Scan);
        assert_eq!(cheapest(97.0, 100, 9), Strategy::Scan);
        assert_eq!(cheapest(17.0, 1_000, 9), Strategy::Uniform);
        assert_eq!(cheapest(31.0, 100_000, 9), Strategy::Cells(32));
        assert_eq!(cheapest(520.0, 1_000, 9), Strategy::Cells(64));
        assert_eq!(cheapest(5_000.0, 1_000_000, 9), Strategy::Cells(128));
        assert_eq!(cheapest(1.5, 1_000, 1), Strategy::Uniform);
        assert_eq!(cheapest(30.0, 1_000, 1), Strategy::Scan);
        assert_eq!(cheapest(30.0, 20, 1), Strategy::Scan);
    }
}
