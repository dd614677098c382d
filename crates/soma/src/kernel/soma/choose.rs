//! The choice of the strategy of a sweep.

use super::Strategy;
use crate::kernel::Counts;
use crate::kernel::select::cells::partition::LeafBox;
use crate::kernel::select::cells::partition::Partition;
use crate::kernel::soma::Soma;
use crate::numeric::exp::exp;
use crate::records::Records;
use crate::simd::cost::Cost;
use crate::simd::vector::Vector;

/// Records used as proposals to estimate the number of trials.
const PROPOSALS: usize = 32;
/// One in this many of them is tried at the current residual, the others at likely ones.
const STANDING: usize = 4;
/// The largest number of records weighed for each of them.
const WEIGHED: usize = 64;
/// The choice is repeated after 0, 1, 4, 16, 64 and every 256 sweeps.
const PERIOD: u64 = 256;
/// The choice is revised if its cost is this many times that of another.
const WRONG: f64 = 1.6;
/// Sweeps over which counted trials are averaged.
const LATELY: f64 = 8.0;
/// The cost of a move by uniform rejection: fixed, and per trial. The unit of this and the
/// following is about ten nanoseconds.
const UNIFORM: [f64; 2] = [5.3, 0.8];
/// Statistics of more bytes than this exceed the cache, and each trial costs this much more.
const FAR: (usize, f64) = (1 << 19, 0.6);
/// The cost of a move by a scan: fixed, and per coordinate of each record.
const SCAN: [f64; 2] = [9.5, 0.0033];
/// The cost of a move by cells: fixed, including [`USUAL`] trials; for each coordinate of each
/// cell; and for each further trial.
const CELLS: [f64; 3] = [17.0, 0.012, 1.9];
/// The trials of a move by cells that fit the records.
const USUAL: f64 = 4.0;

impl Soma {
    /// The strategy of this sweep. It depends only on the records and on the number of sweeps made,
    /// so a resumed chain is unchanged.
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
        // Counted trials may show at any time that another strategy would cost far less.
        let counted = self.counted;
        let is_wrong = counted.is_some_and(|trials| {
            by_one_bound(trials, n, k) > WRONG * by_many_bounds(trials, n, k).0
        });
        if let (Some(strategy), false) = (self.strategy, now || is_wrong) {
            return strategy;
        }
        let strategy = match self.forced {
            // For records in bins only the bin may be stored.
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

    /// Grows the cells of `strategy`, if any; they may be given up.
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
        let cells = CELLS[0] + CELLS[1] * (count * k) as f64 + CELLS[2] * (trials - USUAL).max(0.0);
        if SCAN[0] + SCAN[1] * ((n * k) as f64) < cells { Strategy::Scan } else { strategy }
    }

    /// Counts the trials of a sweep, if they are informative about the best strategy.
    pub(crate) fn count(&mut self, counts: Counts) {
        if self.forced.is_none() && self.strategy == Some(Strategy::Uniform) {
            let trials = counts.evaluations as f64 / counts.moves as f64;
            let before = self.counted.unwrap_or(trials);
            self.counted = Some(before + (trials - before) / LATELY);
        }
    }

    /// The expected number of trials per move with `parts`, or under one bound if there are none:
    /// the mean bound over the mean weight, with some records as proposals. A few are tried at the
    /// current residual, and most at residuals drawn from the noise, since the residual changes
    /// many times in a sweep.
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
            if j % STANDING != 0 {
                let part = |c: usize| ((j * residual.len() + c) as f64 * GOLDEN).fract();
                let some: Vec<f64> = (0..residual.len()).map(|c| laplace(part(c))).collect();
                residual.copy_from_slice(&some);
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

    /// The mean bound of the weights of a proposal with `parts`.
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

/// The golden ratio: its multiples modulo 1 are spread evenly (a low-discrepancy sequence).
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The quantile of a Laplace variable of scale 1 at probability `part` > 0.
fn laplace(part: f64) -> f64 {
    let side = 2.0 * part - 1.0;
    -(1.0 - side.abs()).max(1e-9).ln() * side.signum()
}

/// The cheapest strategy if uniform rejection takes this many trials.
fn cheapest(trials: f64, n: usize, k: usize) -> Strategy {
    let (by_one, (by_many, many)) = (by_one_bound(trials, n, k), by_many_bounds(trials, n, k));
    if by_one < by_many { Strategy::Uniform } else { many }
}

/// The cost of a move under one bound of all weights.
fn by_one_bound(trials: f64, n: usize, k: usize) -> f64 {
    let is_far = n * k * size_of::<f64>() >= FAR.0;
    UNIFORM[0] + (UNIFORM[1] + if is_far { FAR.1 } else { 0.0 }) * trials
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
