//! SOMA at a cost that does not grow with the number of records.

pub(crate) mod accept;
mod ahead;
mod bins;
mod candidates;
pub(crate) mod celled;
pub(crate) mod cells;
mod choose;
pub(crate) mod envelope;
mod grid;
mod ladder;
pub(crate) mod members;
mod ordered;
mod outliers;
pub(crate) mod partition;
mod scan;
mod sums;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod uniform;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use self::accept::Choice;
use self::ahead::Ahead;
use self::bins::Bins;
use self::candidates::Candidates;
use self::celled::CellSelector;
use self::cells::Cells;
use self::envelope::Envelope;
use self::ordered::{Order, OrderedSelector};
use self::outliers::Outliers;
use self::partition::Partition;
use self::scan::ScanSelector;
use self::uniform::UniformSelector;
use super::columns::{Columns, Scanned};
use super::offers::Batches;
use super::shape::{Falloff, log_density_with};
use super::specialise::{Work, specialised};
use super::steps::Steps;
use super::vector::Vector;
use super::{Batch, Counts, Offers, Records};
use crate::chain::check::{Check, MOST_COUNTED, ensure};
use crate::error::Outcome;
use crate::release::Release;
use crate::release::mechanism::Shape;
use crate::rng::Rng;

/// A way to draw a place with probability w_i / W, and to say whether it is taken.
trait Selector {
    /// Whether records are far away in memory, so that they are better asked for, and written when
    /// the batch is done.
    #[inline(always)]
    fn defers(&self) -> bool {
        false
    }

    /// Looks at the statistics of the offers of a batch.
    #[inline(always)]
    fn prepare<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        envelope: &mut Envelope,
        records: &Records,
    ) {
        let _ = (statistics, envelope, records);
    }

    /// Draws a place for an offer with statistic `offer`; `current` is the cost of the residual as
    /// it stands.
    fn select<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        offer: &[f64],
        current: f64,
        envelope: &mut Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Choice;

    /// Whether the offer is put in the chosen place.
    fn accepts<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        current: f64,
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool;

    /// The statistic of the record in the chosen place, where the selector has a copy of its own, and
    /// does not look at those of [`Records`] in a sweep.
    #[inline(always)]
    fn old<const K: usize>(&self, choice: &Choice) -> Option<&[f64]> {
        let _ = choice;
        None
    }

    /// Offer j of the batch, with statistic `new`, was put in the chosen place.
    fn replaced<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        j: usize,
        new: &[f64],
        envelope: &mut Envelope,
        rng: &mut Rng,
    );
}

/// How places are drawn. The law of a move is the same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Uniformly, under one bound of all weights.
    Uniform,
    /// By bounds of all weights, which are computed in whole numbers or in single precision.
    Scan,
    /// By way of so many cells of similar records.
    Cells(usize),
    /// By way of the bins of a histogram, or the categories of a count.
    Bins,
    /// By way of sums along the line, for a single statistic under Laplace noise.
    Ordered,
}

impl Strategy {
    /// The name, as it is printed.
    pub fn name(self) -> String {
        match self {
            Strategy::Uniform => "uniform".into(),
            Strategy::Scan => "scan".into(),
            Strategy::Cells(count) => format!("cells-{count}"),
            Strategy::Bins => "bins".into(),
            Strategy::Ordered => "ordered".into(),
        }
    }
}

/// SOMA on all records, with the transition law of [`SomaScan`](super::SomaScan), which makes the
/// same moves by weighing every record.
///
/// A place is drawn with probability w_i / W by rejection under a bound of the weights, which
/// needs no W; and whether it is taken is decided by bounds of W, or by as many terms of the sum as
/// it takes. So a move costs a handful of weights, however many records there are. Which
/// [`Strategy`] is taken is decided now and then at the start of a sweep, by counting.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Soma {
    forced: Option<Strategy>,
    strategy: Option<Strategy>,
    partition: Partition,
    sweeps: u64,
    /// Trials a move in the last sweeps, where these say which strategy is best.
    #[serde(default)]
    counted: Option<f64>,
    /// The trials that a uniformly drawn place was thought to take, when the choice was made last.
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
    steps: Steps,
    #[serde(skip)]
    bins: Bins,
    #[serde(skip)]
    order: Order,
    #[serde(skip)]
    envelope: Envelope,
    #[serde(skip)]
    batch: Batch,
}

impl Soma {
    /// The kernel; it chooses how places are drawn.
    pub fn new() -> Self {
        Soma::default()
    }

    /// The kernel with places drawn as `strategy` says. [`Strategy::Bins`] is for queries with
    /// bins, and they have no other; [`Strategy::Ordered`] is for a single statistic under Laplace
    /// noise, and there is a scan in its place where it does not suit.
    pub fn with_strategy(strategy: Strategy) -> Self {
        Soma { forced: Some(strategy), ..Soma::default() }
    }

    /// Whether what is kept from sweep to sweep fits `release`: a strategy that it has, and cells
    /// that the selector can index by without looking.
    pub(super) fn check(&self, release: &Release) -> Check {
        let k = release.query().dim();
        let has_bins = release.query().bins().is_some();
        let is_line = k == 1 && release.mechanism().noise().shape() == Shape::Absolute;
        self.partition.check(k)?;
        for strategy in [self.forced, self.strategy].into_iter().flatten() {
            let fits = match strategy {
                Strategy::Bins => has_bins,
                Strategy::Uniform | Strategy::Scan => !has_bins,
                Strategy::Ordered => !has_bins && is_line,
                Strategy::Cells(_) => !has_bins && self.partition.cells() > 0,
            };
            ensure(fits, "the strategy is not for this release")?;
        }
        ensure(self.forced.is_none(), "the strategy of a chain is its own choice")?;
        let counted = self.counted.is_none_or(|trials| trials.is_finite() && trials >= 0.0);
        ensure(counted && self.sweeps < MOST_COUNTED, "the counts of the sweeps are none")
    }

    /// The cells of the last sweep by way of cells.
    pub(crate) fn partition(&self) -> &Partition {
        &self.partition
    }

    /// About how many trials a uniformly drawn place takes; 0 where that was not looked at.
    pub(crate) fn usual_trials(&self) -> f64 {
        self.trials
    }

    /// How places were drawn in the last sweep.
    pub fn strategy(&self) -> Option<Strategy> {
        self.strategy
    }

    pub(super) fn sweep(
        &mut self,
        records: &mut Records,
        offers: &mut dyn Offers,
        shape: Shape,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let k = records.k();
        let counts =
            specialised(Moves { soma: self, records, offers, rng }, shape, k, Arch::new())?;
        self.count(counts);
        Ok(counts)
    }
}

struct Moves<'a> {
    soma: &'a mut Soma,
    records: &'a mut Records,
    offers: &'a mut dyn Offers,
    rng: &'a mut Rng,
}

impl Work for Moves<'_> {
    type Output = Outcome<Counts>;

    #[inline(always)]
    fn run<S: Falloff, V: Vector, const K: usize>(self) -> Outcome<Counts> {
        let Moves { soma, records, offers, rng } = self;
        let strategy = soma.choose::<S, V, K>(records);
        let Soma { partition, ahead, columns, steps, cells, .. } = soma;
        let Soma { candidates, outliers, bins, order, envelope, batch, .. } = soma;
        let batches = Batches::new(records.n(), offers, batch);
        match strategy {
            Strategy::Uniform => {
                let selector =
                    UniformSelector::begin::<V, K>(candidates, outliers, envelope, records, rng);
                make_moves::<S, V, K, _>(selector, envelope, records, batches, rng)
            }
            Strategy::Scan if steps.suit_all::<S, V, K>(records) => {
                let selector = ScanSelector::new(steps);
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
            Strategy::Ordered => {
                let selector = OrderedSelector::begin::<V, K>(order, records, envelope);
                make_moves::<S, V, K, _>(selector, envelope, records, batches, rng)
            }
            Strategy::Bins => bins::make_moves::<S, V>(bins, records, batches, rng),
        }
    }
}

#[inline(always)]
fn make_moves<S: Falloff, V: Vector, const K: usize, T: Selector>(
    mut selector: T,
    envelope: &mut Envelope,
    records: &mut Records,
    mut batches: Batches,
    rng: &mut Rng,
) -> Outcome<Counts> {
    let mut counts = Counts { moves: batches.moves(), ..Counts::default() };
    let mut current = -log_density_with::<S, V, K>(records.residual());
    let mut pending: Vec<(usize, usize)> = Vec::new();
    // Whether statistics are put into the records only when the batch is done.
    let mut are_late = false;
    while let Some(places) = batches.next(rng)? {
        selector.prepare::<S, V, K>(batches.batch().statistics(), envelope, records);
        for j in 0..places.len() {
            let (y, t) = (batches.batch().record(j), batches.batch().statistic(j));
            let evaluations = &mut counts.evaluations;
            let choice =
                selector.select::<S, V, K>(t, current, envelope, records, evaluations, rng);
            if !selector.accepts::<S, V, K>(&choice, current, envelope, records, evaluations, rng) {
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
