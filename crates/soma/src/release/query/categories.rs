//! Counts of categories.

use std::collections::HashSet;

use soma_language::program::Program;

use super::cells::{Axis, Cells};
use super::{
    Query, Sensitivity, bin_sensitivity, bin_sensitivity_to_presence, compiled, write_bins,
    write_indicators,
};
use crate::error::{Invalid, Outcome, shortened};

/// The number of records in each of C categories. A record is one number, 0 to C - 1; any other is
/// counted in the nearest category.
///
/// A replaced record takes one from a count and adds one to another: the sensitivity is 2 in the
/// sum of absolute values and sqrt(2) in the Euclidean norm.
#[derive(Debug, Clone)]
pub struct Categories {
    labels: Vec<String>,
}

impl Categories {
    /// A query on `count` categories, labelled by their numbers.
    pub fn new(count: usize) -> Result<Self, Invalid> {
        Categories::with_labels((0..count).map(|c| c.to_string()).collect())
    }

    /// A query on categories with these labels.
    pub fn with_labels(labels: Vec<String>) -> Result<Self, Invalid> {
        if labels.len() < 2 {
            return Err(Invalid::new(
                "categories",
                "there must be two categories",
                labels.len(),
                "at least two",
            ));
        }
        let mut seen = HashSet::new();
        if let Some(i) = labels.iter().position(|label| !seen.insert(label)) {
            return Err(Invalid::new(
                format!("labels[{i}]"),
                "two categories have the same label",
                shortened(&labels[i]),
                "a different label for each category",
            ));
        }
        Ok(Categories { labels })
    }

    fn bins_in(&self, records: &[f64]) -> impl Iterator<Item = usize> {
        let last = self.labels.len() - 1;
        records.iter().map(move |x| (x.round() as usize).min(last))
    }
}

impl Query for Categories {
    fn kind(&self) -> &'static str {
        "categories"
    }

    fn categories(&self) -> Option<usize> {
        Some(self.labels.len())
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
        vec![(0.0, 1.0); self.labels.len()]
    }

    fn sensitivity(&self) -> Sensitivity {
        bin_sensitivity()
    }

    fn sensitivity_to_presence(&self) -> Sensitivity {
        bin_sensitivity_to_presence()
    }

    fn labels(&self) -> Vec<String> {
        self.labels.clone()
    }

    fn is_integer(&self) -> bool {
        true
    }

    fn counts_records(&self) -> bool {
        true
    }

    fn bins(&self) -> Option<usize> {
        Some(self.labels.len())
    }

    fn bins_of(&self, records: &[f64], out: &mut [u32]) -> bool {
        write_bins(self.bins_in(records), out)
    }

    fn programs(&self) -> Option<Vec<Program>> {
        let last = self.labels.len() - 1;
        let text = |c: usize| match c {
            0 => "x1 < 0.5".to_string(),
            c if c == last => format!("x1 >= {c} - 0.5"),
            c => format!("(x1 >= {c} - 0.5) * (x1 < {c} + 0.5)"),
        };
        compiled(1, &(0..=last).map(text).collect::<Vec<_>>())
    }

    fn cells(&self) -> Option<Cells> {
        Some(Cells::all(vec![Axis { labels: self.labels.clone(), cuts: None }]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::assert_program;
    use super::*;

    #[test]
    fn statistic_is_the_indicator() {
        let query = Categories::new(3).unwrap();
        let mut out = [7.0; 12];
        query.statistics(&[2.0, 0.0, -5.0, 9.0], &mut out).unwrap();
        assert_eq!(out, [0., 0., 1., 1., 0., 0., 1., 0., 0., 0., 0., 1.]);
        let mut bins = [7; 4];
        assert!(query.bins_of(&[2.0, 0.0, -5.0, 9.0], &mut bins));
        assert_eq!(bins, [2, 0, 0, 2]);
        assert_eq!(query.labels(), ["0", "1", "2"]);
    }

    /// The program of the statistics computes the statistics.
    #[test]
    fn program_is_the_query() {
        for count in [2, 5] {
            let query = Categories::new(count).unwrap();
            assert_program(&query, &[0.0, 1.0, 2.0, 3.0, 4.0, -5.0, 9.0]);
        }
    }

    #[test]
    fn labels_are_checked() {
        assert!(Categories::new(1).is_err());
        let labels = ["yes", "no", "yes"].map(String::from).to_vec();
        assert_eq!(Categories::with_labels(labels).unwrap_err().field, "labels[2]");
    }
}
