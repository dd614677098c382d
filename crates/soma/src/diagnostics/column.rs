//! The figures of one parameter for a verdict.

use serde::{Deserialize, Serialize};

use super::Summary;

/// One parameter: the summary of its draws, and how often they changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The name of the parameter.
    pub name: String,
    /// Its row of the table.
    pub summary: Summary,
    /// Draws of the shortest chain.
    pub draws: usize,
    /// How often a draw differed from the one before it, in each chain.
    pub changes: Vec<usize>,
    /// Whether all draws of all chains are equal.
    pub is_constant: bool,
    /// Whether it is a count of records: `count[...]` or `n`, and integer. A sharp release may
    /// determine it, so it may be constant.
    pub is_count: bool,
    /// Whether it is a comparison: 0 or 1 in every draw. It may be true in all draws, or in nearly
    /// all.
    pub is_comparison: bool,
}

impl Column {
    /// The same of a quantity that is a comparison, if `is_comparison`.
    pub fn comparison(self, is_comparison: bool) -> Self {
        Column { is_comparison, ..self }
    }

    /// Whether it may be constant though the chains are good.
    pub(super) fn may_be_constant(&self) -> bool {
        self.is_count || self.is_comparison
    }

    /// The figures of the chains of a parameter.
    pub fn of<C: AsRef<[f64]>>(name: &str, chains: &[C]) -> Self {
        let changed =
            |chain: &C| chain.as_ref().windows(2).filter(|pair| pair[0] != pair[1]).count();
        let is_whole = |chain: &C| chain.as_ref().iter().all(|x| x.fract() == 0.0);
        let is_count = name.starts_with("count[") || name == "n";
        let mut all = chains.iter().flat_map(|chain| chain.as_ref());
        let first = all.next();
        Column {
            name: name.to_string(),
            summary: Summary::of(chains),
            draws: chains.iter().map(|chain| chain.as_ref().len()).min().unwrap_or(0),
            changes: chains.iter().map(changed).collect(),
            is_count: is_count && chains.iter().all(is_whole),
            is_comparison: false,
            is_constant: first.is_some_and(|first| all.all(|x| x == first)),
        }
    }
}
