//! Queries: a statistic of each record, summed over the records.

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
use soma_language::program::Program;
use soma_language::{Data, Statistics};

use crate::error::Outcome;

/// The number of records passed to a model or a query at a time, unless it requests more: few
/// enough to stay in the first-level cache.
pub(crate) const BATCH: usize = 64;

/// The largest change of the sum of the statistics when one record is replaced by another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    /// In the sum of absolute values, for Laplace noise.
    pub l1: f64,
    /// In the Euclidean norm, for Gaussian noise.
    pub l2: f64,
}

impl Sensitivity {
    /// That of the statistics times a factor.
    pub(crate) fn times(self, factor: f64) -> Self {
        Sensitivity { l1: self.l1 * factor, l2: self.l2 * factor }
    }
}

/// A query: the statistic t(record) of dimension K of a record of dimension D.
pub trait Query: Debug + Send + Sync {
    /// The name of this kind of query in a spec.
    fn kind(&self) -> &'static str;

    /// D, the length of a record.
    fn record_dim(&self) -> usize;

    /// K, the length of the statistic.
    fn dim(&self) -> usize;

    /// Computes the statistics of the records in `records` into `out`, both row by row.
    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome;

    /// The smallest and largest value of each coordinate of the statistic.
    fn bounds(&self) -> Vec<(f64, f64)>;

    /// The sensitivity of the sum when one record is replaced.
    fn sensitivity(&self) -> Sensitivity;

    /// The sensitivity of the sum when a record is added or removed: the largest norm of a
    /// statistic. The default is for coordinates that vary independently within the bounds.
    fn sensitivity_to_presence(&self) -> Sensitivity {
        let most = |(low, high): (f64, f64)| low.abs().max(high.abs());
        let most: Vec<f64> = self.bounds().into_iter().map(most).collect();
        Sensitivity {
            l1: most.iter().sum(),
            l2: most.iter().map(|size| size * size).sum::<f64>().sqrt(),
        }
    }

    /// Whether the statistic depends on coordinate `c` of a record.
    fn reads(&self, c: usize) -> bool {
        let _ = c;
        true
    }

    /// A name for each coordinate of the statistic.
    fn labels(&self) -> Vec<String>;

    /// Whether statistics are integers, so that discrete noise can be added to their sum.
    fn is_integer(&self) -> bool {
        false
    }

    /// The preferred number of records per call of [`statistics`](Query::statistics): many if a
    /// call is expensive, as in an interpreted language.
    fn batch_size(&self) -> usize {
        BATCH
    }

    /// The number of bins, if the statistic is the indicator of a bin: of a histogram, or the
    /// categories of a count.
    fn bins(&self) -> Option<usize> {
        None
    }

    /// Writes the bins of the records in `records` to `out`, if a statistic is the indicator of
    /// one: 0 to K - 1, and K for a record in no bin. Returns false, and leaves `out` unchanged, if
    /// bins are available through the statistics only.
    fn bins_of(&self, records: &[f64], out: &mut [u32]) -> bool {
        let _ = (records, out);
        false
    }

    /// The number of categories, if a record is the index of a category and the statistic counts
    /// all of them.
    fn categories(&self) -> Option<usize> {
        None
    }

    /// Whether the statistics of every record sum to 1, so that their total is the number of
    /// records.
    fn counts_records(&self) -> bool {
        false
    }

    /// The same query on records of length `d`, if it does not depend on their content.
    fn for_any_record(&self, d: usize) -> Option<Arc<dyn Query>> {
        let _ = d;
        None
    }

    /// The table of cells of which the statistic is a count or a margin, if any: then the release
    /// depends on a record only through its cell.
    fn cells(&self) -> Option<Cells> {
        None
    }

    /// Coordinate k of the statistic as a function of the clamped coordinate k of the record, if it
    /// is one.
    fn coordinate_map(&self) -> Option<CoordinateMap> {
        None
    }

    /// The statistics as moments of clamped coordinates, if they are: then their sums and
    /// derivatives have a fast path.
    fn clamped_moments(&self) -> Option<ClampedMoments> {
        None
    }

    /// The statistics as compiled programs, one after the other, where code can be generated from
    /// them.
    fn programs(&self) -> Option<Vec<Program>> {
        None
    }

    /// The statistics as text, if they were written so.
    fn text(&self) -> Option<&Statistics> {
        None
    }

    /// The parsed statistics, if they were written as text.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Approximate moments of a record, as far as the means `means` of the statistic determine
    /// them. Only the start of chains depends on them.
    fn moments(&self, means: &[f64]) -> Option<Moments> {
        let _ = means;
        None
    }
}

/// A statistic as a function of a clamped coordinate of the record.
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

/// The mean of a record, and its covariance if known.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    /// The mean of each coordinate.
    pub mean: Vec<f64>,
    /// The covariance matrix. With noise in it, it need not be positive definite.
    pub covariance: Option<DMatrix<f64>>,
}

/// The sensitivity of a statistic whose coordinates vary independently within `bounds`.
pub fn box_sensitivity(bounds: &[(f64, f64)]) -> Sensitivity {
    let widths = bounds.iter().map(|(low, high)| high - low);
    Sensitivity {
        l1: widths.clone().sum(),
        l2: widths.map(|width| width * width).sum::<f64>().sqrt(),
    }
}

/// The sensitivity of counts in bins: a replaced record leaves one bin and enters another.
fn bin_sensitivity() -> Sensitivity {
    Sensitivity { l1: 2.0, l2: std::f64::consts::SQRT_2 }
}

/// The sensitivity of counts in bins to the addition or removal of a record, which is in one bin.
fn bin_sensitivity_to_presence() -> Sensitivity {
    Sensitivity { l1: 1.0, l2: 1.0 }
}

/// Writes each bin in turn. Returns true: bins are available.
fn write_bins(bins: impl Iterator<Item = usize>, out: &mut [u32]) -> bool {
    out.iter_mut().zip(bins).for_each(|(to, bin)| *to = bin as u32);
    true
}

/// Writes the indicator of each bin in turn.
fn write_indicators(count: usize, bins: impl Iterator<Item = usize>, out: &mut [f64]) {
    out.fill(0.0);
    for (row, bin) in out.chunks_exact_mut(count).zip(bins) {
        row[bin] = 1.0;
    }
}

/// The program of statistics that are written as text about records `x1`, `x2`, ... of `d` numbers.
fn compiled(d: usize, texts: &[String]) -> Option<Vec<Program>> {
    let record: String = (1..=d).map(|j| format!("x{j} ~ normal(0, 1)\n")).collect();
    let model = soma_language::Model::new("", &record, &Data::new()).ok()?;
    Some(vec![Statistics::new(texts, &model).ok()?.program().clone()])
}

/// Compares the program of a query with its statistics.
#[cfg(test)]
fn assert_program(query: &dyn Query, records: &[f64]) {
    use soma_language::Workspace;
    use soma_language::program::Inputs;
    let programs = query.programs().expect("a query with a program");
    let (n, k) = (records.len() / query.record_dim(), query.dim());
    let mut expected = vec![0.0; n * k];
    query.statistics(records, &mut expected).unwrap();
    let mut at = 0;
    for program in programs {
        let own = program.row_outputs.len();
        let mut found = vec![0.0; n * own];
        let inputs = Inputs { records, ..Inputs::default() };
        program.run(inputs, n, &mut Workspace::new(), &mut [], &mut found);
        for (row, expected) in found.chunks_exact(own).zip(expected.chunks_exact(k)) {
            for (x, y) in row.iter().zip(&expected[at..]) {
                assert!((x - y).abs() < 1e-12, "{x} and not {y}");
            }
        }
        at += own;
    }
    assert_eq!(at, k);
}
