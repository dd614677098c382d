//! A table, its published numbers, and a model of its cells.

use std::collections::HashSet;
use std::sync::Arc;

use super::exact::{Exact, Kept};
use super::noisy::Synthetic;
use super::published::{Likelihood, Published};
use super::reports::Reports;
use super::shares::{Shares, Terms};
use super::state::{State, sums};
use super::table::Table;
use crate::error::Invalid;
use crate::release::{SizePrior, Total};

/// The target of a chain of counts.
#[derive(Debug, Clone)]
pub struct CountProblem {
    table: Table,
    published: Vec<Published>,
    total: Total,
    shares: Shares,
    /// The sum of the Dirichlet parameters; 0 for a model.
    alpha_sum: f64,
    /// The offset of the published numbers of each cell in `of_cell`; one more than the number of
    /// cells.
    starts: Vec<usize>,
    /// The published numbers that contain a cell, and its weight.
    of_cell: Vec<(usize, i64)>,
    /// What people reported of their cells, where that is what was published.
    reports: Option<Reports>,
    /// Synthetic records, where these were published in the place of the noisy counts.
    synthetic: Option<Synthetic>,
    /// What all counts are drawn at once from, while a chain uses it.
    exact: Kept,
}

impl CountProblem {
    /// The posterior of the counts of `table` and of the parameters of `shares`, given the
    /// published numbers.
    pub fn new(
        table: Table,
        published: Vec<Published>,
        total: Total,
        shares: Shares,
    ) -> Result<Self, Invalid> {
        let cells = table.cells();
        total.check()?;
        shares.check(cells)?;
        let mut starts = vec![0; cells + 1];
        for row in &published {
            row.check(cells)?;
            row.cells.iter().for_each(|&(cell, _)| starts[cell + 1] += 1);
        }
        for cell in 0..cells {
            if starts[cell + 1] == 0 && total == Total::Unknown(SizePrior::Flat) {
                return Err(Invalid::new(
                    "n",
                    "a flat prior needs every cell to be in a published number",
                    format!("the cell {} is in none", table.labels()[cell]),
                    "n = a number, a proper prior of n, or a published total",
                ));
            }
            starts[cell + 1] += starts[cell];
        }
        let mut of_cell = vec![(0, 0); starts[cells]];
        let mut filled = starts.clone();
        for (row, entry) in published.iter().enumerate() {
            for &(cell, weight) in &entry.cells {
                of_cell[filled[cell]] = (row, weight);
                filled[cell] += 1;
            }
        }
        let alpha_sum = alpha_sum(&shares);
        Ok(CountProblem {
            table,
            published,
            total,
            shares,
            alpha_sum,
            starts,
            of_cell,
            reports: None,
            synthetic: None,
            exact: Kept::default(),
        })
    }

    /// The same given reports: the probabilities of the cells are then those of a report.
    pub(super) fn with_reports(self, reports: Reports) -> Self {
        CountProblem { reports: Some(reports), exact: Kept::default(), ..self }
    }

    /// The same given synthetic records: the published numbers are then those of a guess, and a chain
    /// imputes them.
    pub(super) fn with_synthetic(self, synthetic: Synthetic) -> Self {
        CountProblem { synthetic: Some(synthetic), exact: Kept::default(), ..self }
    }

    /// What all counts are drawn at once from, where only their sum ties them together. Computed anew
    /// if nobody has it.
    pub(crate) fn exact(&self) -> Option<Arc<Exact>> {
        self.exact.get(self)
    }

    /// Whether what was published are reports or synthetic records, and not sums with noise.
    pub fn is_layered(&self) -> bool {
        self.reports.is_some() || self.synthetic.is_some()
    }

    /// Synthetic records, where these were published.
    pub(super) fn synthetic(&self) -> Option<&Synthetic> {
        self.synthetic.as_ref()
    }

    /// Takes another law of the published number `row`.
    pub(super) fn set_law(&mut self, row: usize, law: Likelihood) {
        self.published[row].law = law;
        self.exact = Kept::default();
    }

    /// What people reported of their cells, where that is what was published.
    pub(super) fn reports(&self) -> Option<&Reports> {
        self.reports.as_ref()
    }

    /// Takes other probabilities of the same cells.
    pub(super) fn set_shares(&mut self, shares: Shares) {
        self.alpha_sum = alpha_sum(&shares);
        self.shares = shares;
        self.exact = Kept::default();
    }

    /// The cells.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The published numbers.
    pub fn published(&self) -> &[Published] {
        &self.published
    }

    /// n, or its prior.
    pub fn total(&self) -> Total {
        self.total
    }

    /// The model of the cells' probabilities.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The published numbers that contain `cell`, and its weight.
    pub(super) fn rows_of(&self, cell: usize) -> &[(usize, i64)] {
        &self.of_cell[self.starts[cell]..self.starts[cell + 1]]
    }

    /// The log prior of the counts at `state`.
    pub(super) fn terms<'a>(&'a self, log_shares: &'a [f64]) -> Terms<'a> {
        match &self.shares {
            Shares::Dirichlet(alpha) => Terms::Dirichlet { alpha, sum: self.alpha_sum },
            Shares::Model(_) => Terms::Multinomial { log_shares },
        }
    }

    /// The named sums that are not single cells, each once: outputs in addition to the cells.
    pub fn margins(&self) -> impl Iterator<Item = (usize, &Published)> {
        let mut seen = HashSet::new();
        let is_margin = |row: &Published| row.cells.len() > 1 && !row.label.is_empty();
        let rows = self.published.iter().enumerate().filter(move |(_, row)| is_margin(row));
        rows.filter(move |(_, row)| seen.insert(row.label.as_str()))
    }

    /// The names of the outputs: parameters, shares, counts, margins, and n if unknown.
    pub fn outputs(&self) -> Vec<String> {
        let labels = self.table.labels();
        let mut names = match &self.shares {
            Shares::Dirichlet(_) => Vec::new(),
            Shares::Model(model) => model.parameters(),
        };
        if self.shows_shares() {
            let name = |(cell, label): (usize, &String)| share_name(cell, label);
            names.extend(labels.iter().enumerate().map(name));
        }
        names.extend(labels.iter().map(|label| format!("count[{label}]")));
        names.extend(self.margins().map(|(_, row)| format!("count[{}]", row.label)));
        if self.total.known().is_none() {
            names.push("n".into());
        }
        names
    }

    /// The number of coordinates of theta: none for a Dirichlet prior.
    pub(super) fn theta_dim(&self) -> usize {
        match &self.shares {
            Shares::Dirichlet(_) => 0,
            Shares::Model(model) => model.dim(),
        }
    }

    /// How many values a draw holds.
    pub fn output_count(&self) -> usize {
        let parameters = match &self.shares {
            Shares::Dirichlet(_) => 0,
            Shares::Model(model) => model.parameters().len(),
        };
        let shares = if self.shows_shares() { self.table.cells() } else { 0 };
        let n = usize::from(self.total.known().is_none());
        parameters + shares + self.table.cells() + self.margins().count() + n
    }

    pub(super) fn shows_shares(&self) -> bool {
        match &self.shares {
            Shares::Dirichlet(_) => true,
            Shares::Model(model) => model.shows_shares(),
        }
    }

    /// The outputs of a state.
    pub(super) fn output(&self, state: &State) -> Vec<f64> {
        let mut values = match &self.shares {
            Shares::Dirichlet(_) => state.shares.clone(),
            Shares::Model(model) => model.output(&state.theta),
        };
        if let (Shares::Model(_), true) = (&self.shares, self.shows_shares()) {
            let mut logs = state.log_shares.clone();
            if let Some(reports) = &self.reports {
                reports.truth().log_shares(&state.theta, &mut logs);
            }
            values.extend(logs.iter().map(|l| l.exp()));
        }
        self.push_counts(&state.counts, &state.sums, &mut values);
        values
    }

    /// The outputs of counts: the counts, the margins, and n if it is unknown.
    fn push_counts(&self, counts: &[i64], sums: &[i64], values: &mut Vec<f64>) {
        values.extend(counts.iter().map(|&count| count as f64));
        values.extend(self.margins().map(|(row, _)| sums[row] as f64));
        if self.total.known().is_none() {
            values.push(counts.iter().sum::<i64>() as f64);
        }
    }

    /// The outputs from the counts of imputed records and the theta of their model: shares for a
    /// Dirichlet prior, and otherwise the parameters of the model.
    pub fn output_of(&self, theta: &[f64], counts: &[i64]) -> Vec<f64> {
        let mut values = theta.to_vec();
        if let (Shares::Model(model), true) = (&self.shares, self.shows_shares()) {
            let mut log_shares = vec![0.0; counts.len()];
            model.log_shares(theta, &mut log_shares);
            values.extend(log_shares.iter().map(|log| log.exp()));
        }
        self.push_counts(counts, &sums(self, counts), &mut values);
        values
    }

    /// The normalised log density of the published numbers given the true sums.
    pub fn log_density(&self, sums: &[i64]) -> f64 {
        self.published.iter().zip(sums).map(|(row, &sum)| row.law.log_density(sum as f64)).sum()
    }
}

/// The sum of the Dirichlet parameters; 0 for a model.
fn alpha_sum(shares: &Shares) -> f64 {
    match shares {
        Shares::Dirichlet(alpha) => alpha.iter().sum(),
        Shares::Model(_) => 0.0,
    }
}

/// The name of the share of a cell: `p[label]`, unless the label is the index.
pub(super) fn share_name(cell: usize, label: &str) -> String {
    if label == cell.to_string() { format!("p{cell}") } else { format!("p[{label}]") }
}
