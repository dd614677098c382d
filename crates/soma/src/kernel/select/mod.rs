//! Selection of a place with probability w_i / W, and the acceptance test.

pub(crate) mod accept;
pub(crate) mod bins;
pub(crate) mod cells;
pub(crate) mod envelope;
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

/// The arguments of a move for a selector.
pub(crate) struct Turn<'a> {
    /// The current cost, -log w_0.
    pub(crate) current: f64,
    pub(crate) records: &'a Records,
    /// The number of weights computed.
    pub(crate) evaluations: &'a mut u64,
    pub(crate) rng: &'a mut Rng,
}

/// A method to select a place with probability w_i / W, and its acceptance test.
pub(crate) trait Selector {
    /// Whether the records exceed the cache, so that they are prefetched, and written at the end of
    /// the batch.
    #[inline(always)]
    fn defers(&self) -> bool {
        false
    }

    /// Preprocesses the statistics of the proposals of a batch.
    #[inline(always)]
    fn prepare<S: Cost, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        envelope: &mut Envelope,
        records: &Records,
    ) {
        let _ = (statistics, envelope, records);
    }

    /// Selects a place for a proposal with statistic `proposal`.
    fn select<S: Cost, V: Vector, const K: usize>(
        &mut self,
        proposal: &[f64],
        envelope: &mut Envelope,
        at: Turn<'_>,
    ) -> Selected;

    /// The acceptance test at the selected place.
    fn accepts<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        envelope: &Envelope,
        at: Turn<'_>,
    ) -> bool;

    /// The statistic of the record at the selected place, if the selector has its own copy and does
    /// not read those of [`Records`] in a sweep.
    #[inline(always)]
    fn old<const K: usize>(&self, choice: &Selected) -> Option<&[f64]> {
        let _ = choice;
        None
    }

    /// Called after proposal j of the batch, with statistic `new`, has replaced the selected
    /// record.
    fn replaced<S: Cost, V: Vector, const K: usize>(
        &mut self,
        choice: &Selected,
        j: usize,
        new: &[f64],
        envelope: &mut Envelope,
        rng: &mut Rng,
    );
}

/// How places are selected. All strategies have the same distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Uniform rejection under one bound of all weights.
    Uniform,
    /// By bounds of all weights, quantised or in single precision.
    Scan,
    /// By cells of similar records, this many.
    Cells(usize),
    /// By the bins of a histogram or the categories of a count.
    Bins,
    /// By cells under the bounds of any separable potential.
    Boxes,
    /// By computing all weights, for a potential without bounds.
    Weights,
}

impl Strategy {
    /// The name, as printed.
    pub fn name(self) -> String {
        match self {
            Strategy::Uniform => "uniform".into(),
            Strategy::Scan => "scan".into(),
            Strategy::Cells(count) => format!("cells-{count}"),
            Strategy::Bins => "bins".into(),
            Strategy::Boxes => "boxes".into(),
            Strategy::Weights => "weights".into(),
        }
    }
}
