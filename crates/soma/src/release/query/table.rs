//! Counts of a cross-table, or of a margin of it.

use super::cells::{Axis, Cells};
use super::{
    Query, Sensitivity, bin_sensitivity, bin_sensitivity_to_presence, write_bins, write_indicators,
};
use crate::error::{Invalid, Outcome, shortened};

/// The number of records for each combination of the levels of some factors: the cells of a
/// cross-table, a margin of it, or the number of all records.
///
/// A record is the index of its cell among all combinations of the levels of all factors, the last
/// one varying fastest. Replacing a record lowers one count by one and raises another: the
/// sensitivity is 2 in the sum of absolute values and sqrt(2) in the Euclidean norm. The number of
/// all records does not change: its sensitivity is 0.
#[derive(Debug, Clone)]
pub struct CrossTable {
    cells: Cells,
    /// The released sum that contains each cell.
    sums: Vec<u32>,
    labels: Vec<String>,
}

impl CrossTable {
    /// The largest number of cells.
    pub const MOST: usize = 1 << 20;

    /// The margin over the factors `kept` of the table with these levels of each factor.
    pub fn new(levels: Vec<Vec<String>>, kept: Vec<usize>) -> Result<Self, Invalid> {
        for (f, labels) in levels.iter().enumerate() {
            let mut sorted: Vec<&String> = labels.iter().collect();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(Invalid::new(
                    format!("axes[{f}]"),
                    "two levels of a factor have the same label",
                    shortened(pair[0]),
                    "a different label for each level",
                ));
            }
        }
        let counts: Vec<String> = levels.iter().map(|labels| labels.len().to_string()).collect();
        let cells = levels.iter().try_fold(1usize, |all, labels| all.checked_mul(labels.len()));
        if !cells.is_some_and(|cells| (2..=Self::MOST).contains(&cells)) {
            let allowed = format!("2 to {} cells, at least one level for each factor", Self::MOST);
            let given = if counts.is_empty() { "no factor".into() } else { counts.join(" x ") };
            return Err(Invalid::new("axes", "this is not a table", given, allowed));
        }
        for (k, &factor) in kept.iter().enumerate() {
            if factor >= levels.len() || kept[..k].contains(&factor) {
                return Err(Invalid::new(
                    format!("margin[{k}]"),
                    "a margin keeps some of the factors, each once",
                    factor,
                    format!("numbers from 0 to {}, all different", levels.len() - 1),
                ));
            }
        }
        let labels = joined(&kept.iter().map(|&f| levels[f].as_slice()).collect::<Vec<_>>());
        let axes = levels.into_iter().map(|labels| Axis { labels, cuts: None }).collect();
        let cells = Cells { axes, kept };
        let sums = (0..cells.count()).map(|cell| cells.sum_of(cell) as u32).collect();
        Ok(CrossTable { cells, sums, labels })
    }

    fn bins_in(&self, records: &[f64]) -> impl Iterator<Item = usize> {
        records.chunks_exact(1).map(|record| self.sums[self.cells.cell_of(record)] as usize)
    }

    fn is_whole(&self) -> bool {
        self.cells.kept.len() == self.cells.axes.len()
    }
}

/// The labels of all combinations of levels, separated by commas; `total` for no factor.
pub(super) fn joined(levels: &[&[String]]) -> Vec<String> {
    let Some((first, rest)) = levels.split_first() else { return vec!["total".into()] };
    rest.iter().fold(first.to_vec(), |labels, levels| {
        let pairs = labels.iter().flat_map(|label| levels.iter().map(move |l| (label, l)));
        pairs.map(|(label, level)| format!("{label},{level}")).collect()
    })
}

impl Query for CrossTable {
    fn kind(&self) -> &'static str {
        "table"
    }

    /// If the release has every cell, in the order of the cells.
    fn categories(&self) -> Option<usize> {
        let in_order = self.cells.kept.windows(2).all(|pair| pair[0] < pair[1]);
        (self.is_whole() && in_order).then_some(self.labels.len())
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn dim(&self) -> usize {
        self.labels.len()
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        write_indicators(self.labels.len(), self.bins_in(records), out);
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        let low = if self.labels.len() == 1 { 1.0 } else { 0.0 };
        vec![(low, 1.0); self.labels.len()]
    }

    fn sensitivity(&self) -> Sensitivity {
        if self.labels.len() == 1 {
            return Sensitivity { l1: 0.0, l2: 0.0 };
        }
        bin_sensitivity()
    }

    fn sensitivity_to_presence(&self) -> Sensitivity {
        bin_sensitivity_to_presence()
    }

    fn counts_records(&self) -> bool {
        true
    }

    fn labels(&self) -> Vec<String> {
        self.labels.clone()
    }

    fn is_integer(&self) -> bool {
        true
    }

    fn bins(&self) -> Option<usize> {
        Some(self.labels.len())
    }

    fn bins_of(&self, records: &[f64], out: &mut [u32]) -> bool {
        write_bins(self.bins_in(records), out)
    }

    fn cells(&self) -> Option<Cells> {
        Some(self.cells.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(counts: &[usize]) -> Vec<Vec<String>> {
        let names = |(f, &count): (usize, &usize)| {
            let letter = char::from(b'a' + f as u8);
            (0..count).map(|level| format!("{letter}{level}")).collect()
        };
        counts.iter().enumerate().map(names).collect()
    }

    /// Every record is counted in the sum of its levels.
    #[test]
    fn margins_count_by_level() {
        for kept in [vec![], vec![1], vec![2, 0], vec![0, 1, 2], vec![1, 0, 2]] {
            let query = CrossTable::new(levels(&[2, 3, 4]), kept.clone()).unwrap();
            let labels = query.labels();
            assert_eq!(labels.len(), query.dim());
            for cell in 0..24 {
                let names = [cell / 12, cell / 4 % 3, cell % 4];
                let names = [0, 1, 2].map(|f| format!("{}{}", ["a", "b", "c"][f], names[f]));
                let own: Vec<&str> = kept.iter().map(|&f| names[f].as_str()).collect();
                let label = if own.is_empty() { "total".into() } else { own.join(",") };
                let mut bin = [9];
                assert!(query.bins_of(&[cell as f64], &mut bin));
                assert_eq!(labels[bin[0] as usize], label, "{kept:?}");
            }
        }
        let query = |kept| CrossTable::new(levels(&[2, 3]), kept).unwrap();
        assert_eq!(query(vec![0, 1]).categories(), Some(6));
        assert_eq!(query(vec![1, 0]).categories(), None);
        assert_eq!(query(vec![1]).categories(), None);
    }

    #[test]
    fn bad_tables_are_refused() {
        let field = |counts: &[usize], kept: &[usize]| {
            CrossTable::new(levels(counts), kept.to_vec()).unwrap_err().field
        };
        assert_eq!(field(&[2, 0], &[]), "axes");
        assert_eq!(field(&[], &[]), "axes");
        assert_eq!(field(&[1 << 19, 4], &[]), "axes");
        assert_eq!(field(&[2, 2], &[0, 2]), "margin[1]");
        assert_eq!(field(&[2, 2], &[1, 1]), "margin[1]");
        let twice = vec![vec!["x".to_string(), "x".to_string()]];
        assert_eq!(CrossTable::new(twice, vec![0]).unwrap_err().field, "axes[0]");
    }
}
