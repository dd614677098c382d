//! Counts of records in bins.

use nalgebra::DMatrix;
use soma_language::program::Program;

use super::cells::{self, Cells};
use super::{
    Moments, Query, Sensitivity, bin_sensitivity, bin_sensitivity_to_presence, compiled,
    write_bins, write_indicators,
};
use crate::error::{Invalid, Outcome, finite, interval};

/// The number of records in each cell of a grid: each coordinate of a record is divided into bins,
/// and the K cells are all combinations of them, the last coordinate varying fastest.
///
/// Bin i holds edge i <= x < edge i + 1; values outside the outer edges belong to the nearest bin.
/// Replacing a record lowers one count by one and raises another: the sensitivity is 2 in the sum
/// of absolute values and sqrt(2) in the Euclidean norm.
#[derive(Debug, Clone)]
pub struct Histogram {
    axes: Vec<Axis>,
    cells: usize,
}

#[derive(Debug, Clone)]
struct Axis {
    edges: Vec<f64>,
    bins_per_unit: f64,
}

/// The largest number of cells.
const MOST_CELLS: usize = 1_000_000;

impl Histogram {
    /// A query with the edges of the bins along each coordinate, in increasing order.
    pub fn new(edges: Vec<Vec<f64>>) -> Result<Self, Invalid> {
        let mut cells: usize = 1;
        for (c, edges) in edges.iter().enumerate() {
            if edges.len() < 2 {
                return Err(Invalid::new(
                    format!("edges[{c}]"),
                    "a bin has two edges",
                    format!("{} edges", edges.len()),
                    "at least two numbers, in increasing order",
                ));
            }
            for (i, &edge) in edges.iter().enumerate() {
                finite(&format!("edges[{c}][{i}]"), edge)?;
                if i > 0 && edge <= edges[i - 1] {
                    return Err(Invalid::new(
                        format!("edges[{c}][{i}]"),
                        "edges must increase",
                        edge,
                        format!("a number above {}", edges[i - 1]),
                    ));
                }
            }
            cells = cells.saturating_mul(edges.len() - 1);
        }
        if !(2..=MOST_CELLS).contains(&cells) {
            return Err(Invalid::new(
                "edges",
                "the number of bins is out of range",
                format!("{cells} bins"),
                format!("2 to {MOST_CELLS} bins, in all coordinates together"),
            ));
        }
        let axis = |edges: Vec<f64>| Axis {
            bins_per_unit: (edges.len() - 1) as f64 / (edges[edges.len() - 1] - edges[0]),
            edges,
        };
        Ok(Histogram { axes: edges.into_iter().map(axis).collect(), cells })
    }

    /// A query with bins of equal width: the range and the number of bins of each coordinate.
    pub fn with_equal_bins(axes: &[((f64, f64), usize)]) -> Result<Self, Invalid> {
        let mut edges = Vec::new();
        for (c, &(range, bins)) in axes.iter().enumerate() {
            let (low, high) = interval(&format!("range[{c}]"), range)?;
            if !(1..=MOST_CELLS).contains(&bins) {
                return Err(Invalid::new(
                    format!("bins[{c}]"),
                    "the number of bins is out of range",
                    bins,
                    format!("a whole number from 1 to {MOST_CELLS}"),
                ));
            }
            let at = |i: usize| low + (high - low) * (i as f64 / bins as f64);
            edges.push((0..=bins).map(at).collect());
        }
        Histogram::new(edges)
    }

    /// The cell that a record is counted in.
    #[inline]
    pub fn bin(&self, record: &[f64]) -> usize {
        let along = self.axes.iter().zip(record);
        along.fold(0, |cell, (axis, &x)| cell * (axis.edges.len() - 1) + axis.bin(x))
    }

    fn bins_in(&self, records: &[f64]) -> impl Iterator<Item = usize> {
        records.chunks_exact(self.axes.len()).map(|record| self.bin(record))
    }
}

impl Axis {
    /// Starts from the bin of an equally spaced grid, and corrects it by the edges.
    #[inline]
    fn bin(&self, x: f64) -> usize {
        let last = self.edges.len() - 2;
        let mut bin = (((x - self.edges[0]) * self.bins_per_unit) as usize).min(last);
        while bin > 0 && x < self.edges[bin] {
            bin -= 1;
        }
        while bin < last && x >= self.edges[bin + 1] {
            bin += 1;
        }
        bin
    }

    fn labels(&self) -> Vec<String> {
        self.edges.windows(2).map(|edge| format!("[{}, {})", edge[0], edge[1])).collect()
    }

    fn middle(&self, bin: usize) -> f64 {
        0.5 * self.edges[bin] + 0.5 * self.edges[bin + 1]
    }
}

impl Query for Histogram {
    fn kind(&self) -> &'static str {
        "histogram"
    }

    fn record_dim(&self) -> usize {
        self.axes.len()
    }

    fn dim(&self) -> usize {
        self.cells
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        write_indicators(self.cells, self.bins_in(records), out);
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        vec![(0.0, 1.0); self.cells]
    }

    fn sensitivity(&self) -> Sensitivity {
        bin_sensitivity()
    }

    fn sensitivity_to_presence(&self) -> Sensitivity {
        bin_sensitivity_to_presence()
    }

    fn labels(&self) -> Vec<String> {
        let mut labels = vec![String::new()];
        for axis in &self.axes {
            let bins = axis.labels();
            labels = labels
                .iter()
                .flat_map(|label| bins.iter().map(move |bin| format!("{label}{bin}")))
                .collect();
        }
        labels
    }

    fn is_integer(&self) -> bool {
        true
    }

    fn counts_records(&self) -> bool {
        true
    }

    fn bins(&self) -> Option<usize> {
        Some(self.cells)
    }

    fn bins_of(&self, records: &[f64], out: &mut [u32]) -> bool {
        write_bins(self.bins_in(records), out)
    }

    /// A cell is a product of bins, the last coordinate's varying fastest.
    fn programs(&self) -> Option<Vec<Program>> {
        let of_axis = |(axis, j): (&Axis, usize)| {
            let last = axis.edges.len() - 2;
            let of_bin = |bin: usize| {
                let above = format!("(x{j} >= {:?})", axis.edges[bin]);
                let below = format!("(x{j} < {:?})", axis.edges[bin + 1]);
                match bin {
                    0 if last == 0 => format!("(x{j} == x{j})"),
                    0 => below,
                    bin if bin == last => above,
                    _ => format!("{above} * {below}"),
                }
            };
            (0..=last).map(of_bin).collect::<Vec<String>>()
        };
        let mut axes = self.axes.iter().zip(1..).map(of_axis);
        let first = axes.next()?;
        let texts = axes.fold(first, |cells, bins| {
            let with = |cell: &String| bins.iter().map(|bin| format!("{cell} * {bin}")).collect();
            cells.iter().flat_map::<Vec<String>, _>(with).collect()
        });
        compiled(self.axes.len(), &texts)
    }

    fn cells(&self) -> Option<Cells> {
        let axis = |axis: &Axis| cells::Axis {
            labels: axis.labels(),
            cuts: Some(axis.edges[1..axis.edges.len() - 1].to_vec()),
        };
        Some(Cells::all(self.axes.iter().map(axis).collect()))
    }

    /// The moments of records at the midpoints of their bins.
    fn moments(&self, means: &[f64]) -> Option<Moments> {
        let total: f64 = means.iter().map(|share| share.max(0.0)).sum();
        if total <= 0.0 {
            return None;
        }
        let d = self.axes.len();
        let (mut mean, mut second) = (vec![0.0; d], DMatrix::<f64>::zeros(d, d));
        let mut point = vec![0.0; d];
        for (cell, share) in means.iter().enumerate() {
            let weight = share.max(0.0) / total;
            let mut cell = cell;
            for (x, axis) in point.iter_mut().zip(&self.axes).rev() {
                *x = axis.middle(cell % (axis.edges.len() - 1));
                cell /= axis.edges.len() - 1;
            }
            for i in 0..d {
                mean[i] += weight * point[i];
                for j in 0..d {
                    second[(i, j)] += weight * point[i] * point[j];
                }
            }
        }
        let covariance = DMatrix::from_fn(d, d, |i, j| second[(i, j)] - mean[i] * mean[j]);
        Some(Moments { mean, covariance: Some(covariance) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use rand::RngExt;

    #[test]
    fn program_is_the_query() {
        let query = Histogram::new(vec![vec![-1.0, 0.0, 0.5, 3.0]]).unwrap();
        super::super::assert_program(&query, &[-4.0, -1.0, -0.5, 0.0, 0.2, 0.5, 2.0, 3.0, 9.0]);
        let query = Histogram::new(vec![vec![-1.0, 0.0, 1.0], vec![0.0, 0.2, 0.5, 1.0]]).unwrap();
        let records = [-0.5, 0.1, 0.5, 0.1, -0.5, 0.3, 0.5, 0.3, -0.5, 0.5, 0.0, 2.0];
        super::super::assert_program(&query, &records);
    }

    #[test]
    fn bins_are_those_of_the_edges() {
        let edges = vec![-1.0, -0.9, 0.0, 3.0, 3.5];
        let query = Histogram::new(vec![edges.clone()]).unwrap();
        let mut rng = stream(1, 0);
        let inside = (0..2000).map(|_| rng.random_range(-2.0..5.0));
        for x in inside.chain(edges.clone()).chain([f64::INFINITY, f64::NEG_INFINITY]) {
            let expected = edges[1..4].iter().filter(|edge| x >= **edge).count();
            assert_eq!(query.bin(&[x]), expected, "{x}");
        }
    }

    #[test]
    fn equal_bins_have_their_edges() {
        let query = Histogram::with_equal_bins(&[((0.0, 1.0), 10)]).unwrap();
        for i in 0..10 {
            assert_eq!(query.bin(&[i as f64 / 10.0]), i);
        }
        assert_eq!(query.bin(&[1.0]), 9);
        assert_eq!(query.labels()[3], "[0.3, 0.4)");
    }

    #[test]
    fn cells_are_all_combinations() {
        let query = Histogram::with_equal_bins(&[((0.0, 2.0), 2), ((0.0, 3.0), 3)]).unwrap();
        assert_eq!((query.dim(), query.record_dim(), query.bins()), (6, 2, Some(6)));
        let mut out = [9.0; 12];
        query.statistics(&[1.5, 0.5, 0.5, 2.5], &mut out).unwrap();
        assert_eq!(out, [0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0.]);
        assert_eq!(query.labels()[3], "[1, 2)[0, 1)");
        let moments = query.moments(&[0.0, 0.0, 0.25, 0.75, 0.0, 0.0]).unwrap();
        assert_eq!(moments.mean, [0.25 * 0.5 + 0.75 * 1.5, 0.25 * 2.5 + 0.75 * 0.5]);
        let covariance = moments.covariance.unwrap();
        assert!((covariance[(0, 1)] + 0.1875 * 2.0).abs() < 1e-12);
    }

    #[test]
    fn bad_edges_are_refused() {
        assert!(Histogram::new(vec![]).is_err());
        assert!(Histogram::new(vec![vec![0.0]]).is_err());
        assert!(Histogram::new(vec![vec![0.0, 1.0]]).is_err());
        let refused = Histogram::new(vec![vec![0.0, 1.0, 1.0]]).unwrap_err();
        assert_eq!(refused.field, "edges[0][2]");
        assert!(Histogram::new(vec![vec![0.0, f64::NAN, 1.0]]).is_err());
        assert!(Histogram::with_equal_bins(&[((0.0, 1.0), 1_000_000); 4]).is_err());
    }
}
