//! What a curator computes: a statistic of each record, summed over the records.

mod below;
mod categories;
mod cells;
mod centred_squares;
mod combined;
mod count;
mod gram;
mod histogram;
mod log_sum;
mod mean;
mod moments;
mod slots;
mod table;
mod text;

use std::fmt::Debug;
use std::sync::Arc;

pub use below::Below;
pub use categories::Categories;
pub use cells::{Axis, Cells};
pub use centred_squares::CentredSquares;
pub(crate) use combined::Combined;
pub use count::Count;
pub use gram::Gram;
pub use histogram::Histogram;
pub use log_sum::LogSum;
pub use mean::Mean;
pub use moments::MomentSums;
pub(crate) use slots::Slots;
pub use table::CrossTable;
pub use text::Text;

use nalgebra::DMatrix;

use crate::error::Outcome;

/// How many records are handed to a model or a query at a time, unless it asks for more: few
/// enough that they stay in the first-level cache.
pub(crate) const BATCH: usize = 64;

/// How far the sum of the statistics can move when one record is replaced by another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    /// In the sum of absolute values, which Laplace noise is scaled to.
    pub l1: f64,
    /// In the Euclidean norm, which Gaussian noise is scaled to.
    pub l2: f64,
}

/// A query: the statistic t(record) of dimension K of a record of dimension D.
pub trait Query: Debug + Send + Sync {
    /// The name of this kind of query in a spec.
    fn kind(&self) -> &'static str;

    /// D, the length of a record.
    fn record_dim(&self) -> usize;

    /// K, the length of the statistic.
    fn dim(&self) -> usize;

    /// The statistics of the records in `records` (row after row), into `out` (row after row).
    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome;

    /// The smallest and largest value of each coordinate of the statistic.
    fn bounds(&self) -> Vec<(f64, f64)>;

    /// The sensitivity of the sum when one record is replaced.
    fn sensitivity(&self) -> Sensitivity;

    /// The sensitivity of the sum when a record is added or removed: how large a statistic can be.
    /// That of a statistic whose coordinates range freely over the bounds, unless the query knows
    /// better.
    fn sensitivity_to_presence(&self) -> Sensitivity {
        let most = |(low, high): (f64, f64)| low.abs().max(high.abs());
        let most: Vec<f64> = self.bounds().into_iter().map(most).collect();
        Sensitivity {
            l1: most.iter().sum(),
            l2: most.iter().map(|size| size * size).sum::<f64>().sqrt(),
        }
    }

    /// A name for each coordinate of the statistic.
    fn labels(&self) -> Vec<String>;

    /// Whether statistics are whole numbers, so that discrete noise can be added to their sum.
    fn is_integer(&self) -> bool {
        false
    }

    /// How many records [`statistics`](Query::statistics) is best given at a time: many, where a
    /// call costs much, as it does in an interpreted language.
    fn batch_size(&self) -> usize {
        BATCH
    }

    /// The number of different statistics, where a statistic is one of a few: the bins of a
    /// histogram, the categories of a count. Then the statistic is the indicator of the bin.
    fn bins(&self) -> Option<usize> {
        None
    }

    /// The bins of the records in `records`, where a statistic is the indicator of one, into `out`:
    /// from 0 up to, and not including, K, and K for a record that is in none. Returns false, and leaves `out` alone, where nothing but the statistics says them.
    fn bins_of(&self, records: &[f64], out: &mut [u32]) -> bool {
        let _ = (records, out);
        false
    }

    /// The number of categories, where a record is the number of a category and the statistic counts
    /// them all.
    fn categories(&self) -> Option<usize> {
        None
    }

    /// Whether the statistics of every record add up to 1, so that all of them together count the
    /// records.
    fn counts_records(&self) -> bool {
        false
    }

    /// The same query on records of length `d`, where it does not look at what is in them.
    fn for_any_record(&self, d: usize) -> Option<Arc<dyn Query>> {
        let _ = d;
        None
    }

    /// The table of cells that the statistic is a count or a margin of, where it is one: then the
    /// release depends on a record only through its cell.
    fn cells(&self) -> Option<Cells> {
        None
    }

    /// What coordinate k of the statistic is of coordinate k of the record, once that is clamped,
    /// where it is a function of it alone.
    fn coordinate_map(&self) -> Option<CoordinateMap> {
        None
    }

    /// The statistics as moments of clamped coordinates, where that is what they are: then their
    /// sums and the derivatives of these can be had quickly.
    fn clamped_moments(&self) -> Option<ClampedMoments> {
        None
    }

    /// The statistics as they were understood, where they were written as text.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Roughly the moments of a record that the means `means` of the statistic speak of, as far
    /// as they do: where chains start depends on it, and nothing else.
    fn moments(&self, means: &[f64]) -> Option<Moments> {
        let _ = means;
        None
    }
}

/// What a statistic is of a clamped coordinate of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoordinateMap {
    /// The coordinate itself.
    Identity,
    /// Its logarithm.
    Log,
}

/// Statistics that are first and second moments of u_j = (x_j - centre_j) / half_width_j, each u_j
/// clamped to \[-1, 1\].
#[derive(Debug, Clone, PartialEq)]
pub struct ClampedMoments {
    /// The middle of the range of each coordinate.
    pub centre: Vec<f64>,
    /// Half the width of the range of each coordinate.
    pub half_width: Vec<f64>,
    /// The statistics.
    pub terms: Vec<MomentTerm>,
}

/// The statistic offset + factor u_i u_j, where u_D stands for 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentTerm {
    /// i and j, i <= j and i < D.
    pub variables: [usize; 2],
    /// The offset.
    pub offset: f64,
    /// The factor.
    pub factor: f64,
}

/// The mean of a record, and its covariance where that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    /// The mean of each coordinate.
    pub mean: Vec<f64>,
    /// The covariance matrix. With noise in it, it need not be positive definite.
    pub covariance: Option<DMatrix<f64>>,
}

/// The sensitivity of a statistic whose coordinates range freely over `bounds`.
pub fn box_sensitivity(bounds: &[(f64, f64)]) -> Sensitivity {
    let widths = bounds.iter().map(|(low, high)| high - low);
    Sensitivity {
        l1: widths.clone().sum(),
        l2: widths.map(|width| width * width).sum::<f64>().sqrt(),
    }
}

/// The sensitivity of counts in bins: a replaced record leaves one and enters another.
fn bin_sensitivity() -> Sensitivity {
    Sensitivity { l1: 2.0, l2: std::f64::consts::SQRT_2 }
}

/// The sensitivity of counts in bins to a record that is added or removed: it is in one bin.
fn bin_sensitivity_to_presence() -> Sensitivity {
    Sensitivity { l1: 1.0, l2: 1.0 }
}

/// Writes each bin in turn. Returns true: they are said.
fn write_bins(bins: impl Iterator<Item = usize>, out: &mut [u32]) -> bool {
    out.iter_mut().zip(bins).for_each(|(to, bin)| *to = bin as u32);
    true
}

/// Writes for each bin in turn a row of zeros with a one in its place.
fn write_indicators(count: usize, bins: impl Iterator<Item = usize>, out: &mut [f64]) {
    out.fill(0.0);
    for (row, bin) in out.chunks_exact_mut(count).zip(bins) {
        row[bin] = 1.0;
    }
}
