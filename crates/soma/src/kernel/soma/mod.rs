//! SOMA at a cost that does not grow with the number of records.

mod accept;
mod bins;
mod celled;
mod cells;
mod choose;
mod envelope;
mod partition;
#[cfg(test)]
mod tests;
mod uniform;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use self::accept::Choice;
use self::bins::Bins;
use self::celled::CellSelector;
use self::cells::Cells;
use self::envelope::Envelope;
use self::partition::Partition;
use self::uniform::UniformSelector;
use super::offers::Batches;
use super::shape::{Falloff, log_density_with};
use super::specialise::{Work, specialised};
use super::vector::Vector;
use super::{Batch, Counts, Offers, Records};
use crate::error::Outcome;
use crate::release::mechanism::Shape;
use crate::rng::Rng;

/// A way to draw a place with probability w_i / W, and to say whether it is taken.
trait Selector {
    /// Looks at the statistics, of length k, of the offers of a batch.
    fn prepare<const K: usize>(&mut self, statistics: &[f64], k: usize) {
        let _ = (statistics, k);
    }

    /// Draws a place for the offer that `envelope` holds.
    fn select<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Choice;

    /// Whether the offer is put in the chosen place; `current` is the cost of the residual as it
    /// stands.
    fn accepts<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        current: f64,
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool;

    /// Offer j of the batch, with statistic `new`, was put in the chosen place.
    fn replaced<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        j: usize,
        new: &[f64],
    ) {
        let _ = (choice, j, new);
    }
}

/// How places are drawn. The law of a move is the same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Uniformly, under one bound of all weights.
    Uniform,
    /// By way of so many cells of similar records.
    Cells(usize),
    /// By way of the bins of a histogram, or the categories of a count.
    Bins,
}

impl Strategy {
    /// The name, as it is printed.
    pub fn name(self) -> String {
        match self {
            Strategy::Uniform => "uniform".into(),
            Strategy::Cells(count) => format!("cells-{count}"),
            Strategy::Bins => "bins".into(),
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
    #[serde(skip)]
    cells: Cells,
    #[serde(skip)]
    bins: Bins,
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
    /// bins only.
    pub fn with_strategy(strategy: Strategy) -> Self {
        Soma { forced: Some(strategy), ..Soma::default() }
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
        specialised(Moves { soma: self, records, offers, rng }, shape, k, Arch::new())
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
        soma.envelope.fit::<V, K>(records);
        let strategy = soma.choose::<S, V, K>(records);
        let Soma { partition, cells, bins, envelope, batch, .. } = soma;
        let batches = Batches::new(records.n(), offers, batch);
        match strategy {
            Strategy::Uniform => {
                let selector = UniformSelector::begin(records, rng);
                make_moves::<S, V, K, _>(selector, envelope, records, batches, rng)
            }
            Strategy::Cells(_) => {
                let selector = CellSelector::begin::<S, V, K>(cells, partition, records, envelope);
                make_moves::<S, V, K, _>(selector, envelope, records, batches, rng)
            }
            Strategy::Bins => bins::make_moves::<S>(bins, records, batches, rng),
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
    while let Some(places) = batches.next(rng)? {
        selector.prepare::<K>(batches.batch().statistics(), records.k());
        for j in 0..places.len() {
            let (y, t) = (batches.batch().record(j), batches.batch().statistic(j));
            envelope.offer::<V, K>(records.residual(), t);
            let evaluations = &mut counts.evaluations;
            let choice = selector.select::<S, V, K>(envelope, records, evaluations, rng);
            if !selector.accepts::<S, V, K>(&choice, current, envelope, records, evaluations, rng) {
                continue;
            }
            records.replace_known::<V, K>(choice.place, y, t);
            envelope.widen::<V, K>(t);
            selector.replaced::<S, V, K>(&choice, j, t);
            current = choice.cost;
            counts.accepted += 1;
        }
    }
    Ok(counts)
}
