//! The cells of a record: sets of records on which some statistics are constant, with their
//! probabilities.
//!
//! The record is cut into *rows*, all combinations of a value of each discrete variable and of an
//! interval of each continuous one that the statistics depend on only through comparisons. The
//! probability of a row is the product over its variables, in order, of the probability of the value
//! or of the interval given the values before it. A cell is the union of the rows on which the
//! statistics are equal.

mod computed;
mod cut;
mod label;
mod probability;

use std::collections::HashMap;
use std::fmt;

use crate::model::Model;
use crate::program::{Inputs, Program, Workspace};
use crate::statistics::Statistics;
use cut::Cut;

/// The largest number of rows: their probabilities are computed at each theta.
const MAX_ROWS: usize = 4096;

/// The largest number of cells.
const MAX_CELLS: usize = 512;

/// The cells of the record of a model, for some statistics.
///
/// ```
/// use soma_language::{Data, Model, RecordCells, Statistics, Workspace};
/// let model = Model::new("p ~ beta(1, 1)", "x ~ binomial(2, p)", &Data::new())?;
/// let statistics = Statistics::new(&["x > 0"], &model)?;
/// let cells = RecordCells::new(&model, &[&statistics])?;
/// assert_eq!(cells.labels(), ["x=0", "x>=1"]);
/// assert_eq!(cells.values(), [[0.0], [1.0]]);
/// let mut logs = [0.0; 2];
/// cells.log_probabilities(&[0.5], &mut logs, &mut Workspace::new());
/// assert!((logs[0] - 0.25f64.ln()).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RecordCells {
    labels: Vec<String>,
    values: Vec<Vec<f64>>,
    /// How each coordinate of a record is cut.
    cuts: Vec<Cut>,
    /// The cell of each row.
    cell_of: Vec<usize>,
    /// A record in each row.
    points: Vec<f64>,
    /// The ends of the interval of each coordinate in each row, low and high in turn.
    ends: Vec<f64>,
    log_probability: Program,
    noise: Program,
}

impl fmt::Debug for RecordCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordCells").field("labels", &self.labels).finish_non_exhaustive()
    }
}

impl RecordCells {
    /// The cells of the record of `model` on which all `statistics` are constant. The error says why
    /// there are none, or too many.
    pub fn new(model: &Model, statistics: &[&Statistics]) -> Result<Self, String> {
        let cuts = cut::cuts(model, statistics)?;
        let count = cuts.iter().try_fold(1usize, |count, cut| count.checked_mul(cut.parts()));
        let Some(rows) = count.filter(|&count| count <= MAX_ROWS) else {
            return Err(format!(
                "the statistics depend on more than {MAX_ROWS} combinations of values"
            ));
        };
        let (mut points, mut ends) = (Vec::new(), Vec::new());
        for row in 0..rows {
            for (cut, part) in cuts.iter().zip(parts(&cuts, row)) {
                points.push(cut.point(part));
                ends.extend(cut.ends(part));
            }
        }
        let mut own = vec![Vec::new(); rows];
        let mut workspace = Workspace::new();
        for statistics in statistics {
            let mut out = vec![0.0; rows * statistics.dim()];
            statistics.evaluate(&points, &mut out, &mut workspace);
            for (own, values) in own.iter_mut().zip(out.chunks_exact(statistics.dim())) {
                own.extend(values.iter().map(|value| value + 0.0));
            }
        }
        let (mut values, mut known) = (Vec::new(), HashMap::new());
        let mut cell_of = Vec::with_capacity(rows);
        for own in own {
            let bits: Vec<u64> = own.iter().map(|value: &f64| value.to_bits()).collect();
            let cell = *known.entry(bits).or_insert_with(|| {
                values.push(own);
                values.len() - 1
            });
            cell_of.push(cell);
        }
        if values.len() > MAX_CELLS {
            return Err(format!("the statistics take more than {MAX_CELLS} different values"));
        }
        let names: Vec<&str> =
            statistics.iter().flat_map(|s| s.labels()).map(String::as_str).collect();
        let labels = match label::of_variables(model, &cuts, &cell_of, values.len()) {
            Some(labels) => labels,
            None => computed::labels(model, statistics, &cuts, &cell_of, values.len())
                .unwrap_or_else(|| label::of_values(model, &cuts, &cell_of, &values, &names)),
        };
        let (log_probability, noise) = probability::programs(model, &cuts);
        Ok(RecordCells { labels, values, cuts, cell_of, points, ends, log_probability, noise })
    }

    /// How many cells there are.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// A name for each cell: the values of the variables, or of the statistics if these do not
    /// determine them one by one.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The values of all statistics on each cell.
    pub fn values(&self) -> &[Vec<f64>] {
        &self.values
    }

    /// The cell of a record of the model.
    pub fn cell_of(&self, record: &[f64]) -> usize {
        let row = self
            .cuts
            .iter()
            .zip(record)
            .fold(0, |row, (cut, &x)| row * cut.parts() + cut.part_of(x));
        self.cell_of[row]
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.cell_of.len()
    }

    /// The cell of each row.
    pub fn cell_of_row(&self) -> &[usize] {
        &self.cell_of
    }

    /// The log probability of each cell at theta; NaN where it cannot be computed.
    pub fn log_probabilities(&self, theta: &[f64], out: &mut [f64], workspace: &mut Workspace) {
        let mut rows = vec![0.0; self.rows()];
        self.log_probabilities_of_rows(theta, &mut rows, workspace);
        out.fill(f64::NEG_INFINITY);
        for (&cell, &log) in self.cell_of.iter().zip(&rows) {
            out[cell] = out[cell].max(log);
        }
        let mut sums = vec![0.0; out.len()];
        for (&cell, &log) in self.cell_of.iter().zip(&rows) {
            if log != f64::NEG_INFINITY {
                sums[cell] += (log - out[cell]).exp();
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            if sum != 0.0 {
                *out += sum.ln();
            }
        }
    }

    /// The same of each row.
    pub fn log_probabilities_of_rows(
        &self,
        theta: &[f64],
        out: &mut [f64],
        workspace: &mut Workspace,
    ) {
        let inputs =
            Inputs { theta, records: &self.points, beside_rows: &self.ends, ..Inputs::default() };
        self.log_probability.run(inputs, self.rows(), workspace, &mut [], out);
    }

    /// The intervals of the noise of a record that put it into each row, low and high in turn: a
    /// record of standard normal noise, of which each coordinate is drawn between these in turn, has
    /// the law of a record in the row.
    pub fn noise_of_rows(&self, theta: &[f64], workspace: &mut Workspace) -> Vec<f64> {
        let inputs =
            Inputs { theta, records: &self.points, beside_rows: &self.ends, ..Inputs::default() };
        let mut out = vec![0.0; self.rows() * self.noise.row_outputs.len()];
        self.noise.run(inputs, self.rows(), workspace, &mut [], &mut out);
        out
    }

    /// Moves a record that was made from noise of `row` into the row, where rounding has put it
    /// outside.
    pub fn mend(&self, row: usize, record: &mut [f64]) {
        for ((cut, part), x) in self.cuts.iter().zip(parts(&self.cuts, row)).zip(record) {
            *x = cut.nearest(part, *x);
        }
    }
}

/// The part of each coordinate in a row; the last coordinate varies fastest.
fn parts(cuts: &[Cut], row: usize) -> Vec<usize> {
    let mut rest = row;
    let mut parts: Vec<usize> = cuts
        .iter()
        .rev()
        .map(|cut| {
            let part = rest % cut.parts();
            rest /= cut.parts();
            part
        })
        .collect();
    parts.reverse();
    parts
}
