//! Which strategy a sweep takes.

use super::{Partition, Soma, Strategy};
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
/// Up to so many trials a move, drawing places uniformly is cheaper than finding a cell.
const FEW: f64 = 12.0;
/// What a scan costs, in trials: whatever n is, and for each coordinate of each record.
const SCAN: [f64; 2] = [4.5, 0.0055];
/// Beyond so many, twice as many cells pay.
const MANY: f64 = 80.0;

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
            Some(strategy) => strategy,
            None if records.bins().is_some() => Strategy::Bins,
            None => {
                self.envelope.fit::<V, K>(records);
                let trials = self.uniform_trials::<S, V, K>(records);
                let scan = SCAN[0] + SCAN[1] * (records.n() * records.k()) as f64;
                if trials < FEW.min(scan) {
                    Strategy::Uniform
                } else if scan < 2.0 * FEW {
                    Strategy::Scan
                } else {
                    cells(trials, records.n())
                }
            }
        };
        if let Strategy::Cells(count) = strategy {
            self.partition = Partition::grow(records, count);
        }
        self.strategy = Some(strategy);
        strategy
    }

    /// About how many trials a move takes if places are drawn uniformly: the largest weight that
    /// the box allows over the mean weight, for some records in the place of offers.
    #[inline(always)]
    fn uniform_trials<S: Falloff, V: Vector, const K: usize>(&mut self, records: &Records) -> f64 {
        let n = records.n();
        let (offers, weighed) = (OFFERS.min(n), WEIGHED.min(n));
        let mut trials = 0.0;
        for j in 0..offers {
            let offer = records.statistic(j * n / offers);
            self.envelope.offer::<V, K>(records.residual(), offer);
            let least = self.envelope.least_cost::<S, V, K>();
            let mut share = 0.0;
            for i in 0..weighed {
                let old = records.statistic(i * n / weighed);
                share += exp(least - self.envelope.cost::<S, V, K>(old)) / weighed as f64;
            }
            trials += 1.0 / share.max(1e-9);
        }
        trials / offers as f64
    }
}

/// How many cells suit so many trials and records.
fn cells(trials: f64, n: usize) -> Strategy {
    let wanted = if trials < MANY { 64 } else { 128 };
    let most = (n / 2).next_power_of_two().max(16);
    Strategy::Cells(if n >= 20_000 { 2 * wanted } else { wanted.min(most) })
}
