//! SOMA at a cost that does not grow with the number of records.

mod choose;
#[cfg(test)]
mod tests;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use super::KernelChoice;
use super::counts::{Counts, SweepCost};
use super::select::bins::Bins;
use super::select::cells::CellSelector;
use super::select::cells::ahead::Ahead;
use super::select::cells::boxes::Cells;
use super::select::cells::partition::Partition;
use super::select::envelope::Envelope;
use super::select::scan::ScanSelector;
use super::select::scan::columns::{Columns, Scanned};
use super::select::scan::quantised::Quantised;
use super::select::separable::Separable;
use super::select::uniform::candidates::Candidates;
use super::select::uniform::outliers::Outliers;
use super::select::uniform::{MANY, UniformSelector};
use super::select::{Selector, Strategy, Turn, bins};
use super::table::{Context, Coupling, KernelOptions, RecordKernel, RecordSizes};
use crate::error::{Invalid, Outcome};
use crate::records::proposals::Batches;
use crate::records::{Batch, Proposals, Records};
use crate::release::Release;
use crate::release::potential::{Norm, Potential};
use crate::rng::Rng;
use crate::simd::cost::{Cost, L1, L2, log_density_with};
use crate::simd::specialise::{Work, specialised};
use crate::simd::vector::{Portable, Vector};
use crate::stored::{Check, MOST_COUNTED, ensure};

/// The cost of a bound of one record's weight if the bounds of all are vectorised.
const BOUND: f64 = 0.03;

/// SOMA on all records, with the transition kernel of [`SomaScan`](super::SomaScan), which computes
/// all weights.
///
/// A place is selected with probability w_i / W by rejection under a bound of the weights, which
/// does not need W. The acceptance test is decided by bounds of W, or by a partial sum. So a move
/// costs a few weights, independently of n. The [`Strategy`] is chosen at the start of some sweeps,
/// from counts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Soma {
    forced: Option<Strategy>,
    strategy: Option<Strategy>,
    partition: Partition,
    sweeps: u64,
    /// Trials per move in the last sweeps, if they are informative about the best strategy.
    #[serde(default)]
    counted: Option<f64>,
    /// The expected trials of uniform rejection at the last choice.
    #[serde(skip)]
    trials: f64,
    #[serde(skip)]
    cells: Cells,
    #[serde(skip)]
    ahead: Ahead,
    #[serde(skip)]
    candidates: Candidates,
    #[serde(skip)]
    outliers: Outliers,
    #[serde(skip)]
    columns: Columns,
    #[serde(skip)]
    quantised: Quantised,
    #[serde(skip)]
    bins: Bins,
    #[serde(skip)]
    separable: Separable,
    #[serde(skip)]
    envelope: Envelope,
    #[serde(skip)]
    batch: Batch,
}

impl Soma {
    /// The kernel; it chooses its strategy.
    pub fn new() -> Self {
        Soma::default()
    }

    /// The kernel with a fixed strategy. [`Strategy::Bins`] is for queries with bins, and the only
    /// one for them.
    pub fn with_strategy(strategy: Strategy) -> Self {
        Soma { forced: Some(strategy), ..Soma::default() }
    }

    /// The cells of the last sweep with cells.
    pub(crate) fn partition(&self) -> &Partition {
        &self.partition
    }

    /// The expected trials of uniform rejection; 0 if not estimated.
    pub(crate) fn usual_trials(&self) -> f64 {
        self.trials
    }

    /// The strategy of the last sweep.
    pub fn strategy(&self) -> Option<Strategy> {
        self.strategy
    }

    /// The moves of a sweep for a potential that is neither L1 nor L2: under its bounds over boxes
    /// if it has them, and otherwise by computing all weights.
    fn make_plain_moves(
        &mut self,
        records: &mut Records,
        proposals: &mut dyn Proposals,
        potential: &Potential,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let batches = Batches::new(records.n(), proposals, &mut self.batch);
        if !potential.is_separable() || self.forced == Some(Strategy::Weights) {
            self.strategy = Some(Strategy::Weights);
            return self.separable.weigh_all(potential, records, batches, rng);
        }
        if records.bins().is_some() {
            self.strategy = Some(Strategy::Bins);
            return bins::make_moves::<_, Portable>(
                &mut self.bins,
                potential,
                records,
                batches,
                rng,
            );
        }
        self.strategy = Some(Strategy::Boxes);
        self.separable.make_moves(potential, records, batches, rng)
    }
}

impl RecordKernel for Soma {
    const NAME: &'static str = "soma";
    const AUTO_RANK: Option<usize> = Some(1);

    fn choice(_: KernelOptions, _: usize) -> KernelChoice {
        KernelChoice::Soma
    }

    fn build(_: KernelChoice, _: usize) -> Result<Self, Invalid> {
        Ok(Soma::new())
    }

    fn cost(&self, n: f64) -> SweepCost {
        match self.strategy {
            Some(Strategy::Scan) => {
                SweepCost { per_sweep: 10.0, per_move: 8.2 + BOUND * n, per_weight: 1.0 }
            }
            Some(Strategy::Cells(_)) => {
                SweepCost { per_sweep: 100.0, per_move: 18.0, per_weight: 1.5 }
            }
            Some(Strategy::Bins) => SweepCost { per_sweep: 10.0, per_move: 4.0, per_weight: 1.0 },
            Some(Strategy::Boxes) => {
                SweepCost { per_sweep: 100.0, per_move: 60.0, per_weight: 2.0 }
            }
            Some(Strategy::Weights) => SweepCost { per_sweep: 5.0, per_move: 5.0, per_weight: 2.0 },
            Some(Strategy::Uniform) | None => {
                SweepCost { per_sweep: 10.0, per_move: 4.5, per_weight: 0.7 }
            }
        }
    }

    /// Statistics by cell, with spare capacity in each; or places by bin.
    fn memory(records: RecordSizes) -> u64 {
        let RecordSizes { n, statistic_dim, is_coded } = records;
        let for_each: usize = if is_coded { 4 } else { 10 * (statistic_dim + 1) };
        (n as u64).saturating_mul(for_each as u64)
    }

    fn coupling(&self) -> Coupling {
        Coupling::AllPlaces
    }

    /// Checks that the strategy is valid for the release, and that the cells can be indexed without
    /// bound checks.
    fn check(&self, release: &Release) -> Check {
        let k = release.query().dim();
        let (potential, has_bins) = (release.potential(), release.query().bins().is_some());
        self.partition.check(k)?;
        if let Some(strategy) = self.strategy {
            let has_norm = !has_bins && potential.norm().is_some();
            let fits = match strategy {
                Strategy::Bins => has_bins && potential.is_separable(),
                Strategy::Uniform | Strategy::Scan => has_norm,
                Strategy::Cells(_) => has_norm && self.partition.cells() > 0,
                Strategy::Boxes => !has_bins && !has_norm && potential.is_separable(),
                Strategy::Weights => !potential.is_separable(),
            };
            ensure(fits, "the strategy is not valid for this release")?;
        }
        ensure(self.forced.is_none(), "the strategy of a stored chain must not be fixed")?;
        let counted = self.counted.is_none_or(|trials| trials.is_finite() && trials >= 0.0);
        ensure(counted && self.sweeps < MOST_COUNTED, "the counts of the sweeps are out of range")
    }

    fn sweep(&mut self, at: Context<'_>) -> Outcome<Counts> {
        let Context { records, proposals, potential, rng } = at;
        let k = records.k();
        let is_plain = matches!(self.forced, Some(Strategy::Boxes | Strategy::Weights));
        let Some(norm) = potential.norm().filter(|_| !is_plain) else {
            return self.make_plain_moves(records, proposals, potential, rng);
        };
        let moves = Moves { soma: self, records, proposals, rng };
        let counts = match norm {
            Norm::L1 => specialised::<_, L1>(moves, k, Arch::new())?,
            Norm::L2 => specialised::<_, L2>(moves, k, Arch::new())?,
        };
        self.count(counts);
        Ok(counts)
    }
}

struct Moves<'a> {
    soma: &'a mut Soma,
    records: &'a mut Records,
    proposals: &'a mut dyn Proposals,
    rng: &'a mut Rng,
}

impl Work for Moves<'_> {
    type Output = Outcome<Counts>;

    #[inline(always)]
    fn run<S: Cost, V: Vector, const K: usize>(self) -> Outcome<Counts> {
        let Moves { soma, records, proposals, rng } = self;
        let strategy = soma.choose::<S, V, K>(records);
        let Soma { partition, ahead, columns, quantised, cells, .. } = soma;
        let Soma { candidates, outliers, bins, envelope, batch, .. } = soma;
        let batches = Batches::new(records.n(), proposals, batch);
        match strategy {
            Strategy::Uniform => {
                let selector = UniformSelector::begin::<V, K>(
                    candidates, outliers, envelope, records, MANY, rng,
                );
                make_moves::<S, V, K, _>(selector, envelope, records, batches, rng)
            }
            Strategy::Scan if quantised.suit_all::<S, V, K>(records) => {
                let selector = ScanSelector::new(quantised);
                make_moves::<S, V, K, _>(selector, envelope, records, batches, rng)
            }
            Strategy::Scan => {
                columns.load::<V, K>(records, 0..records.n());
                let selector = ScanSelector::new(columns);
                make_moves::<S, V, K, _>(selector, envelope, records, batches, rng)
            }
            Strategy::Cells(_) => {
                let cells = (cells, ahead);
                let selector =
                    CellSelector::begin::<S, V, K>(cells, partition, records, envelope, rng);
                make_moves::<S, V, K, _>(selector, envelope, records, batches, rng)
            }
            Strategy::Bins => bins::make_moves::<S, V>(bins, &S::default(), records, batches, rng),
            Strategy::Boxes | Strategy::Weights => {
                unreachable!("made by make_plain_moves")
            }
        }
    }
}

#[inline(always)]
fn make_moves<S: Cost, V: Vector, const K: usize, T: Selector>(
    mut selector: T,
    envelope: &mut Envelope,
    records: &mut Records,
    mut batches: Batches,
    rng: &mut Rng,
) -> Outcome<Counts> {
    let mut counts = Counts { moves: batches.moves(), ..Counts::default() };
    let mut current = -log_density_with::<S, V, K>(records.residual());
    let mut pending: Vec<(usize, usize)> = Vec::new();
    // Whether statistics are written to the records at the end of the batch only.
    let mut are_late = false;
    while let Some(places) = batches.next(rng)? {
        selector.prepare::<S, V, K>(batches.batch().statistics(), envelope, records);
        for j in 0..places.len() {
            let (y, t) = (batches.batch().record(j), batches.batch().statistic(j));
            let evaluations = &mut counts.evaluations;
            let at = Turn { current, records, evaluations, rng };
            let choice = selector.select::<S, V, K>(t, envelope, at);
            let evaluations = &mut counts.evaluations;
            let at = Turn { current, records, evaluations, rng };
            if !selector.accepts::<S, V, K>(&choice, envelope, at) {
                continue;
            }
            if selector.defers() {
                match selector.old::<K>(&choice) {
                    Some(old) => {
                        records.shift_residual::<V, K>(old, t);
                        records.prefetch_statistic::<K>(choice.place);
                        are_late = true;
                    }
                    None => records.replace_statistic::<V, K>(choice.place, t),
                }
                records.prefetch_record(choice.place);
                pending.push((choice.place, j));
            } else {
                records.replace_known::<V, K>(choice.place, y, t);
            }
            selector.replaced::<S, V, K>(&choice, j, t, envelope, rng);
            current = choice.cost;
            counts.accepted += 1;
        }
        for (place, j) in pending.drain(..) {
            if are_late {
                records.put_statistic::<K>(place, batches.batch().statistic(j));
            }
            records.put_record(place, batches.batch().record(j));
        }
    }
    Ok(counts)
}
