//! The cells: a list of categories, or the cross-table of several factors.

use crate::error::Invalid;

/// The cells of a table, in row-major order of its factors (the last one varies fastest).
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    factors: Vec<Vec<String>>,
    labels: Vec<String>,
}

/// A sum of cells with its label: a cell, a margin or the total.
#[derive(Debug, Clone, PartialEq)]
pub struct Margin {
    /// The levels that it fixes, separated by commas; `total` if none.
    pub label: String,
    /// The cells in the sum.
    pub cells: Vec<usize>,
}

impl Table {
    /// The largest number of cells, since a chain visits each in every iteration.
    pub const MOST: usize = 1 << 22;

    /// One list of categories.
    pub fn list(labels: Vec<String>) -> Result<Self, Invalid> {
        Table::cross(vec![labels])
    }

    /// All combinations of the levels of `factors`.
    pub fn cross(factors: Vec<Vec<String>>) -> Result<Self, Invalid> {
        let cells = factors.iter().try_fold(1usize, |product, f| product.checked_mul(f.len()));
        let cells = cells.filter(|&cells| (2..=Table::MOST).contains(&cells)).ok_or_else(|| {
            let given: Vec<String> = factors.iter().map(|f| f.len().to_string()).collect();
            let allowed = format!("2 to {} cells, at least one level a factor", Table::MOST);
            Invalid::new("cells", "the number of cells is out of range", given.join(" x "), allowed)
        })?;
        let mut labels = Vec::with_capacity(cells);
        for cell in 0..cells {
            let mut names = Vec::with_capacity(factors.len());
            let mut rest = cell;
            for factor in factors.iter().rev() {
                names.push(factor[rest % factor.len()].as_str());
                rest /= factor.len();
            }
            names.reverse();
            labels.push(names.join(","));
        }
        let mut sorted: Vec<&String> = labels.iter().collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Invalid::new(
                "cells",
                "two cells have the same label",
                pair[0],
                "a label for each cell that no other has",
            ));
        }
        Ok(Table { factors, labels })
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.labels.len()
    }

    /// The label of each cell.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The number of levels of each factor.
    pub fn levels(&self) -> Vec<usize> {
        self.factors.iter().map(Vec::len).collect()
    }

    /// The stride of each factor in the order of cells.
    pub(super) fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.factors.len()];
        for f in (1..self.factors.len()).rev() {
            strides[f - 1] = strides[f] * self.factors[f].len();
        }
        strides
    }

    /// The margin over the factors `kept`: for each combination of their levels the cells that have
    /// it. No factor gives the total, all factors the cells themselves.
    pub fn margin(&self, kept: &[usize]) -> Result<Vec<Margin>, Invalid> {
        if let Some(&factor) = kept.iter().find(|&&f| f >= self.factors.len()) {
            let allowed = format!("numbers below {}", self.factors.len());
            return Err(Invalid::new("margin", "there is no such factor", factor, allowed));
        }
        let (levels, strides) = (self.levels(), self.strides());
        let sums: usize = kept.iter().map(|&f| levels[f]).product();
        let mut margins: Vec<Margin> =
            (0..sums).map(|_| Margin { label: String::new(), cells: Vec::new() }).collect();
        for cell in 0..self.cells() {
            let level = |f: usize| cell / strides[f] % levels[f];
            let margin = &mut margins[kept.iter().fold(0, |at, &f| at * levels[f] + level(f))];
            if margin.cells.is_empty() {
                let names: Vec<&str> =
                    kept.iter().map(|&f| self.factors[f][level(f)].as_str()).collect();
                margin.label = if names.is_empty() { "total".into() } else { names.join(",") };
            }
            margin.cells.push(cell);
        }
        Ok(margins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(prefix: &str, count: usize) -> Vec<String> {
        (0..count).map(|i| format!("{prefix}{i}")).collect()
    }

    #[test]
    fn margins_hold_each_cell_once() {
        let table = Table::cross(vec![names("a", 2), names("b", 3), names("c", 4)]).unwrap();
        assert_eq!(table.labels()[23], "a1,b2,c3");
        for kept in [&[][..], &[0], &[1], &[2], &[2, 0], &[0, 1, 2]] {
            let margins = table.margin(kept).unwrap();
            let mut cells: Vec<usize> = margins.iter().flat_map(|m| m.cells.clone()).collect();
            cells.sort_unstable();
            assert_eq!(cells, (0..24).collect::<Vec<usize>>());
        }
        let margins = table.margin(&[2, 0]).unwrap();
        assert_eq!(margins[3].label, "c1,a1");
        assert_eq!(margins[3].cells, [13, 17, 21]);
        assert_eq!(table.margin(&[]).unwrap()[0].label, "total");
    }

    #[test]
    fn bad_tables_are_refused() {
        assert!(Table::list(names("a", 1)).is_err());
        assert!(Table::cross(vec![names("a", 3), Vec::new()]).is_err());
        assert!(Table::cross(vec![names("a", 1 << 20), names("b", 1 << 20)]).is_err());
        assert!(Table::list(vec!["x".into(), "x".into()]).is_err());
        assert!(Table::list(names("a", 3)).unwrap().margin(&[1]).is_err());
    }
}
