//! Which strategy a sweep takes.

use super::ordered::MOST_RANGE;
use super::partition::Part;
use super::{Envelope, Partition, Soma, Strategy};
use crate::kernel::Records;
use crate::kernel::exp::exp;
use crate::kernel::shape::Falloff;
use crate::kernel::vector::Vector;

/// So many records stand in for offers, to see how many trials one would take.
const OFFERS: usize = 8;
/// So many records, at most, are weighed against each of them.
const WEIGHED: usize = 64;
/// The choice is made anew after 0, 1, 4, 16, 64 and every 256 sweeps.
const PERIOD: u64 = 256;
/// What a move costs beside its trials when places are drawn uniformly. The unit of this and of
/// what follows is the cost of a trial.
const UNIFORM: f64 = 6.5;
/// What a move costs by a scan: whatever n is, and for each coordinate of each record.
const SCAN: [f64; 2] = [10.3, 0.0055];
/// What a move costs by way of cells: whatever their number is, with the few trials that it takes
/// where they suit; for each coordinate of each cell; and for each trial beyond [`USUAL`].
const CELLS: [f64; 3] = [17.5, 0.009, 1.5];
/// What a move costs by way of sums along the line.
const ORDERED: f64 = 16.0;
/// The trials that a move takes by way of cells that suit.
const USUAL: f64 = 4.0;

impl Soma {
    /// The strategy of this sweep. It depends on the records and on the number of sweeps made, and
    /// on nothing else, so that a chain that is taken up again goes on as it would have.
    #[inline(always)]
    pub(super) fn choose<S: Falloff, V: Vector, const K: usize>(
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
        if let (Some(strategy), false) = (self.strategy, now) {
            return strategy;
        }
        let strategy = match self.forced {
            // Of records in bins nothing but the bin may be kept.
            _ if records.bins().is_some() => Strategy::Bins,
            Some(strategy) if strategy != Strategy::Ordered => strategy,
            forced => {
                self.envelope.fit::<V, K>(records);
                let is_line = records.k() == 1 && !S::BENDS && self.envelope.width() <= MOST_RANGE;
                if forced.is_some() {
                    if is_line { Strategy::Ordered } else { Strategy::Scan }
                } else {
                    let trials = self.trials::<S, V, K>(records, |_| 1.0);
                    cheapest(trials, records.n(), records.k(), is_line)
                }
            }
        };
        let strategy = self.grow::<S, V, K>(records, strategy);
        self.strategy = Some(strategy);
        strategy
    }

    /// Grows the cells of `strategy`, if there are any; they may turn out not to suit.
    #[inline(always)]
    fn grow<S: Falloff, V: Vector, const K: usize>(
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
        let trials = self.trials::<S, V, K>(records, |envelope| {
            let looked_at: usize = parts.iter().map(|part| part.count).sum();
            let least = |part: &Part| envelope.excess_in::<S, V, K>(&part.low, &part.high);
            let mass = |part: &Part| part.count as f64 * exp(-least(part));
            parts.iter().map(mass).sum::<f64>() / looked_at as f64
        });
        let (n, k) = (records.n(), records.k());
        let cells = CELLS[0] + CELLS[1] * (count * k) as f64 + CELLS[2] * (trials - USUAL).max(0.0);
        if SCAN[0] + SCAN[1] * ((n * k) as f64) < cells { Strategy::Scan } else { strategy }
    }

    /// About how many trials a move takes: `bound`, the mean of what bounds the weights, over the
    /// mean weight, for some records in the place of offers.
    #[inline(always)]
    fn trials<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        bound: impl Fn(&Envelope) -> f64,
    ) -> f64 {
        let n = records.n();
        let (offers, weighed) = (OFFERS.min(n), WEIGHED.min(n));
        let mut trials = 0.0;
        for j in 0..offers {
            let offer = records.statistic(j * n / offers);
            self.envelope.offer::<V, K>(records.residual(), offer);
            let mut mean = 0.0;
            for i in 0..weighed {
                let old = records.statistic(i * n / weighed);
                mean += exp(-self.envelope.excess::<S, V, K>(old)) / weighed as f64;
            }
            trials += (bound(&self.envelope) / mean.max(1e-300)).min(1e9);
        }
        trials / offers as f64
    }
}

/// The strategy that costs least where drawing places uniformly takes so many trials; `is_line` if
/// there is a single statistic under Laplace noise.
fn cheapest(trials: f64, n: usize, k: usize, is_line: bool) -> Strategy {
    let cells = cells(trials, n);
    let scan = SCAN[0] + SCAN[1] * (n * k) as f64;
    let by_cells = CELLS[0] + CELLS[1] * (cells * k) as f64;
    if is_line && ORDERED < (UNIFORM + trials).min(scan) {
        return Strategy::Ordered;
    }
    if UNIFORM + trials < scan.min(by_cells) {
        Strategy::Uniform
    } else if scan < by_cells {
        Strategy::Scan
    } else {
        Strategy::Cells(cells)
    }
}

/// How many cells suit so many trials and records.
fn cells(trials: f64, n: usize) -> usize {
    let wanted = match trials {
        few if few < 40.0 => 32,
        many if many < 1000.0 => 64,
        _ => 128,
    };
    wanted.min((n / 2).next_power_of_two().max(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choice as it was measured to be best for the regression problem.
    #[test]
    fn the_cheapest_strategy_is_chosen() {
        for n in [100, 1_000, 1_000_000] {
            assert_eq!(cheapest(1.5, n, 9, false), Strategy::Uniform);
        }
        assert_eq!(cheapest(11.0, 100, 9, false), Strategy::Scan);
        assert_eq!(cheapest(97.0, 100, 9, false), Strategy::Scan);
        assert_eq!(cheapest(17.0, 1_000, 9, false), Strategy::Cells(32));
        assert_eq!(cheapest(520.0, 1_000, 9, false), Strategy::Cells(64));
        assert_eq!(cheapest(5_000.0, 1_000_000, 9, false), Strategy::Cells(128));
        assert_eq!(cheapest(1.5, 1_000, 1, true), Strategy::Uniform);
        assert_eq!(cheapest(30.0, 10_000, 1, true), Strategy::Ordered);
        assert_eq!(cheapest(30.0, 20, 1, true), Strategy::Scan);
    }
}
