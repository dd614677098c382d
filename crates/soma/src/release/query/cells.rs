//! The cells of a query that counts records.

use super::table::joined;

/// One classification of records: the levels of a factor, or the bins of a coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The label of each level.
    pub labels: Vec<String>,
    /// The cut points in increasing order, if the levels are the bins of a coordinate: one cut
    /// fewer than levels; a record at a cut belongs to the level above it. `None` if a record is
    /// the index of its cell.
    pub cuts: Option<Vec<f64>>,
}

/// A table whose cells determine the statistic of a record, and its released margin.
///
/// The cells are all combinations of the levels, the last axis varying fastest. The released
/// numbers are the margin over the axes `kept`: all axes give the cells themselves, none the number
/// of records.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// The axes of the table.
    pub axes: Vec<Axis>,
    /// The axes of the released margin, in their order in the release.
    pub kept: Vec<usize>,
}

impl Cells {
    /// A table with every cell released.
    pub fn all(axes: Vec<Axis>) -> Self {
        let kept = (0..axes.len()).collect();
        Cells { axes, kept }
    }

    /// Whether a record is the index of its cell, and not a point in it.
    pub fn is_of_levels(&self) -> bool {
        self.axes.iter().all(|axis| axis.cuts.is_none())
    }

    /// The number of cells of the table.
    pub fn count(&self) -> usize {
        self.axes.iter().map(|axis| axis.labels.len()).product()
    }

    /// The label of each cell.
    pub fn labels(&self) -> Vec<String> {
        joined(&self.axes.iter().map(|axis| axis.labels.as_slice()).collect::<Vec<_>>())
    }

    /// The cell of a record.
    pub fn cell_of(&self, record: &[f64]) -> usize {
        let coordinates = self.axes.iter().zip(record);
        if self.axes.iter().all(|axis| axis.cuts.is_some()) {
            return coordinates.fold(0, |cell, (axis, &x)| {
                let cuts = axis.cuts.as_deref().unwrap_or_default();
                cell * axis.labels.len() + cuts.partition_point(|&cut| cut <= x)
            });
        }
        record.first().map_or(0, |x| (x.round() as usize).min(self.count() - 1))
    }

    /// The index of the released sum that contains a cell.
    pub fn sum_of(&self, cell: usize) -> usize {
        let level = |axis: usize| {
            let stride: usize = self.axes[axis + 1..].iter().map(|a| a.labels.len()).product();
            cell / stride % self.axes[axis].labels.len()
        };
        self.kept.iter().fold(0, |sum, &axis| sum * self.axes[axis].labels.len() + level(axis))
    }
}
