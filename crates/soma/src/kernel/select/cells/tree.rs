//! A partition as a complete binary tree, for fast lookups.

use super::partition::{Node, Partition};

/// Lookups interleaved, to hide latency: the steps of one do not wait for those of another.
const ROWS: usize = 8;

/// The cuts of a [`Partition`] as a complete binary tree in heap order: from cut j, the root being
/// 1, to 2 j at or below it and to 2 j + 1 above. Below a leaf that is less deep, both children
/// lead to the same cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    k: usize,
    depth: usize,
    /// The cuts and their coordinates: 2^depth of each, all coordinates below k.
    at: Vec<f64>,
    coordinates: Vec<u32>,
    /// The cells at the leaves.
    cells: Vec<u16>,
}

impl Tree {
    /// Builds the tree of `partition`, for statistics of length k.
    pub(crate) fn fit(&mut self, partition: &Partition, k: usize) {
        let size = 1 << partition.depth();
        (self.k, self.depth) = (k, partition.depth());
        self.at.clear();
        self.at.resize(size, 0.0);
        self.coordinates.clear();
        self.coordinates.resize(size, 0);
        let nodes = partition.nodes();
        let mut places = vec![0; 2 * size];
        for j in 1..size {
            let Node { at, coordinate, next } = nodes[places[j]];
            self.at[j] = at;
            self.coordinates[j] = coordinate.min(k as u32 - 1);
            (places[2 * j], places[2 * j + 1]) = (usize::from(next[0]), usize::from(next[1]));
        }
        let first = nodes.len() - partition.cells();
        self.cells.clear();
        self.cells.extend(places[size..].iter().map(|place| (place - first) as u16));
    }

    /// Appends to `out` the cells of all statistics in `rows`.
    #[inline(always)]
    pub(crate) fn cells_of_all<const K: usize>(&self, rows: &[f64], out: &mut Vec<u16>) {
        let k = if K == 0 { self.k } else { K };
        let some = rows.chunks_exact(ROWS * k);
        let rest = some.remainder();
        for rows in some {
            out.extend(self.cells_of::<K, ROWS>(rows));
        }
        for row in rest.chunks_exact(k) {
            out.extend(self.cells_of::<K, 1>(row));
        }
    }

    /// The cell that a statistic belongs to.
    #[inline(always)]
    pub(crate) fn cell_of<const K: usize>(&self, row: &[f64]) -> usize {
        usize::from(self.cells_of::<K, 1>(row)[0])
    }

    #[inline(always)]
    fn cells_of<const K: usize, const R: usize>(&self, rows: &[f64]) -> [u16; R] {
        let k = if K == 0 { self.k } else { K };
        assert!(k == self.k && rows.len() == R * k, "{R} statistics of length {}", self.k);
        let mut places = [1; R];
        for _ in 0..self.depth {
            for (r, place) in places.iter_mut().enumerate() {
                // SAFETY: after fewer steps than `depth` the index is below 2^depth, the number of
                // cuts, and all coordinates are below k.
                let (at, value) = unsafe {
                    let coordinate = *self.coordinates.get_unchecked(*place) as usize;
                    (*self.at.get_unchecked(*place), *rows.get_unchecked(r * k + coordinate))
                };
                *place = 2 * *place + usize::from(value > at);
            }
        }
        let mut cells = [0; R];
        for r in 0..R {
            cells[r] = self.cells[places[r] - self.cells.len()];
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::records::Records;
    use crate::release::mechanism::{Mechanism, Noise};
    use crate::release::{Aggregate, Release, query};
    use crate::rng;

    /// The tree finds the cell of the partition, also with leaves of different depths.
    #[test]
    fn statistics_go_the_way_of_the_cuts() {
        let mut rng = rng::stream(11, 0);
        let query = query::Mean::new(vec![(0.0, 1.0); 3]).unwrap();
        let n = 500;
        let rows: Vec<f64> = (0..3 * n).map(|_| rng.random::<f64>().powi(6)).collect();
        let mechanism = Mechanism::new(Noise::Laplace, vec![0.1; 3]).unwrap();
        let release =
            Release::new(std::sync::Arc::new(query), mechanism, Aggregate::Sum, n, vec![80.0; 3]);
        let records = Records::new(&release.unwrap(), rows).unwrap();
        for cells in [1, 2, 13, 64] {
            let (partition, _) = Partition::grow(&records, cells);
            let mut tree = Tree::default();
            tree.fit(&partition, 3);
            let mut found = Vec::new();
            tree.cells_of_all::<3>(records.statistics(), &mut found);
            let first = partition.nodes().len() - partition.cells();
            for (row, cell) in records.statistics().chunks_exact(3).zip(found) {
                let mut place = 0;
                while place < first {
                    let Node { at, coordinate, next } = partition.nodes()[place];
                    place = usize::from(next[usize::from(row[coordinate as usize] > at)]);
                }
                assert_eq!(usize::from(cell), place - first);
            }
        }
    }
}
