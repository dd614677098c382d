//! Groups of cells that no sharp margin distinguishes.
//!
//! Moves of records within a group preserve all margins that define the groups. A partition of the
//! cells is defined by the margins of at least a given precision: two cells are in one group if
//! they are in the same sums of these margins. Less precise margins refine the partition; each
//! distinct partition is listed once, from the coarsest to the finest.

use std::collections::HashMap;

use super::problem::CountProblem;

/// A partition of the cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Groups {
    /// The cells of each group.
    pub(super) cells: Vec<Vec<usize>>,
}

/// The largest number of partitions, since moves are made in each.
const MOST: usize = 3;

/// The partitions by margins, from the most precise on.
pub(super) fn partitions(problem: &CountProblem) -> Vec<Groups> {
    let cells = problem.table().cells();
    let mut margins: Vec<(f64, usize)> = problem
        .published()
        .iter()
        .enumerate()
        .filter(|(_, row)| row.cells.len() > 1 && row.cells.len() < cells)
        .map(|(row, published)| (published.law.sd(), row))
        .collect();
    margins.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut found: Vec<Groups> = Vec::new();
    let mut of_cell = vec![0; cells];
    let mut at = 0;
    while at < margins.len() && found.len() < MOST {
        // Margins of similar precision together.
        let sharp = margins[at].0 * 1.5;
        while at < margins.len() && margins[at].0 <= sharp {
            let row = margins[at].1;
            let mut inside = vec![false; cells];
            problem.published()[row].cells.iter().for_each(|&(cell, _)| inside[cell] = true);
            refine(&mut of_cell, &inside);
            at += 1;
        }
        let groups = Groups::new(&of_cell);
        let splits = groups.cells.len() > 1 && groups.cells.iter().any(|group| group.len() > 1);
        if splits && found.last() != Some(&groups) {
            found.push(groups);
        }
    }
    found
}

/// Splits each group into the cells inside and outside, and renumbers the groups from 0.
fn refine(of_cell: &mut [usize], inside: &[bool]) {
    let mut numbers = HashMap::new();
    for (group, &inside) in of_cell.iter_mut().zip(inside) {
        let next = numbers.len();
        *group = *numbers.entry((*group, inside)).or_insert(next);
    }
}

impl Groups {
    /// From the group index of each cell.
    fn new(of_cell: &[usize]) -> Self {
        let count = of_cell.iter().max().map_or(0, |most| most + 1);
        let mut cells = vec![Vec::new(); count];
        of_cell.iter().enumerate().for_each(|(cell, &group)| cells[group].push(cell));
        Groups { cells }
    }

    /// The log probability of each group.
    pub(super) fn log_shares(&self, log_shares: &[f64]) -> Vec<f64> {
        let sum = |group: &Vec<usize>| {
            let most = group.iter().map(|&c| log_shares[c]).fold(f64::NEG_INFINITY, f64::max);
            most + group.iter().map(|&c| (log_shares[c] - most).exp()).sum::<f64>().ln()
        };
        self.cells.iter().map(sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cross, flat};
    use super::super::{CountProblem, Likelihood, Published, Total};
    use super::*;
    use crate::release::mechanism::Noise;

    #[test]
    fn sharper_margins_come_first() {
        let table = cross(&[2, 3, 2]);
        let mut rows = Vec::new();
        for (kept, scale) in [(&[][..], 0.1), (&[0], 1.0), (&[1], 8.0), (&[0, 1, 2], 9.0)] {
            for margin in table.margin(kept).unwrap() {
                let law = Likelihood::new(Noise::Gaussian, scale, 5.0).unwrap();
                rows.push(Published::sum(margin.label, &margin.cells, law));
            }
        }
        let problem = CountProblem::new(table, rows, Total::Known(60), flat(12)).unwrap();
        let found = partitions(&problem);
        let sizes: Vec<Vec<usize>> =
            found.iter().map(|groups| groups.cells.iter().map(Vec::len).collect()).collect();
        assert_eq!(sizes, [vec![6; 2], vec![2; 6]]);
        assert_eq!(found[1].cells[1], [2, 3]);
        let shares = found[0].log_shares(&[(1.0_f64 / 12.0).ln(); 12]);
        assert!(shares.iter().all(|log| (log - 0.5_f64.ln()).abs() < 1e-12));
    }
}
