//! How a place is drawn with probability w_i / W, and whether the proposal is put there.

pub(crate) mod accept;
pub(crate) mod bins;
pub(crate) mod cells;
pub(crate) mod envelope;
pub(crate) mod ordered;
pub(crate) mod scan;
pub(crate) mod separable;
pub(crate) mod uniform;

use serde::{Deserialize, Serialize};

use self::accept::Selected;
use self::envelope::Envelope;
use crate::records::Records;
use crate::rng::Rng;
use crate::simd::cost::Cost;
use crate::simd::vector::Vector;

/// A move to be made: what a selector works with.
pub(crate) struct Turn<'a> {
    /// The cost of the residual as it stands, -log w_0.
    pub(crate) current: f64,
    pub(crate) records: &'a Records,
    /// Counts the weights that are computed.
    pub(crate) evaluations: &'a mut u64,
    pub(crate) rng: &'a mut Rng,
}

/// A way to draw a place with probability w_i / W, and to say whether it is taken.
pub(crate) trait Selector {
    /// Whether the records exceed the cache, so that they are prefetched, and written at the end of
    /// the batch.
    #[inline(always)]
    fn defers(&self) -> bool {
        false
    }

    /// Looks at the statistics of the proposals of a batch.
    #[inline(always)]
    fn prepare<S: Cost, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        envelope: &mut Envelope,
        records: &Records,
    ) {
        let _ = (statistics, envelope, records);
    }

    /// Draws a place for a proposal with statistic `proposal`.
    fn select<S: Cost, V: Vector, const K: usize>(
        &mut self,
        proposal: &[f64],
        envelope: &mut Envelope,
        at: Turn<'_>,
    ) -> Selected;

    /// Whether the proposal is put in the chosen place.
    fn accepts<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        envelope: &Envelope,
        at: Turn<'_>,
    ) -> bool;

    /// The statistic of the record in the chosen place, where the selector has a copy of its own,
    /// and does not look at those of [`Records`] in a sweep.
    #[inline(always)]
    fn old<const K: usize>(&self, choice: &Selected) -> Option<&[f64]> {
        let _ = choice;
        None
    }

    /// Proposal j of the batch, with statistic `new`, was put in the chosen place.
    fn replaced<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
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
    /// By cells of similar records, this many.
    Cells(usize),
    /// By the bins of a histogram or the categories of a count.
    Bins,
    /// By way of sums along the line, for a single statistic under Laplace noise.
    Ordered,
    /// By cells under the bounds of any separable potential.
    Boxes,
    /// By weighing all records, for a potential of which nothing is known but its values.
    Weights,
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
            Strategy::Boxes => "boxes".into(),
            Strategy::Weights => "weights".into(),
        }
    }
}
