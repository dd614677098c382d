//! The problem of counts that a release of records is, where it is one.

use std::sync::Arc;

use super::problem::CountProblem;
use super::published::{CountLaw, Likelihood, Published};
use super::shares::Shares;
use super::table::Table;
use super::total::Total;
use crate::error::Invalid;
use crate::release::mechanism::{Noise, Publishing};
use crate::release::query::{Axis, Cells};
use crate::release::{Aggregate, Mechanism, Part, Release};

impl CountProblem {
    /// The counts behind `release`, with the probabilities of the cells from `shares`, which is
    /// asked for those of the axes of the table. An error says why the release cannot be read so.
    pub fn of_release(
        release: &Release,
        shares: impl FnOnce(&[Axis]) -> Option<Shares>,
    ) -> Result<Self, String> {
        let cells = release.cells()?;
        let shares = shares(&cells.axes)
            .ok_or("the model gives no probabilities of the cells of the query")?;
        let said = |invalid: Invalid| invalid.to_string();
        let axes = cells.axes.iter().map(|axis| axis.labels.clone()).collect();
        let table = Table::cross(axes).map_err(said)?;
        let mut rows = Vec::new();
        for part in release.record_parts() {
            let mechanism = part.mechanism().ok_or_else(|| {
                format!("the part {:?} has a law of several sums together", part.name())
            })?;
            rows.extend(rows_of(&part, mechanism, &cells, &table, release.n()).map_err(said)?);
        }
        let problem = CountProblem::new(table, rows, Total::of(release), shares).map_err(said)?;
        Ok(problem.with_cells(cells))
    }
}

/// A row for each number of a part: the sum of its cells, under the law that it was released with.
fn rows_of(
    part: &Part,
    mechanism: &Mechanism,
    cells: &Cells,
    table: &Table,
    n: usize,
) -> Result<Vec<Published>, Invalid> {
    // A part that says no cells counts all records.
    let kept = part.query().cells().map_or_else(Vec::new, |cells| cells.kept);
    let margins = table.margin(&kept)?;
    let numbers = part.values().iter().zip(mechanism.scales()).zip(margins);
    numbers
        .map(|((&value, &scale), margin)| {
            let law = likelihood(mechanism, scale, value)?;
            let law = match part.aggregate() {
                Aggregate::Sum => law,
                Aggregate::Mean => law.of_mean(n as f64),
            };
            let label = label(cells, &kept, margin.cells[0]);
            Ok(Published::sum(label, &margin.cells, law))
        })
        .collect()
}

/// The levels that a sum keeps, with a star for the axes that it is summed over.
fn label(cells: &Cells, kept: &[usize], cell: usize) -> String {
    if kept.is_empty() {
        return "total".into();
    }
    let (mut rest, mut names) = (cell, Vec::with_capacity(cells.axes.len()));
    for (number, axis) in cells.axes.iter().enumerate().rev() {
        let level = axis.labels[rest % axis.labels.len()].as_str();
        names.push(if kept.contains(&number) { level } else { "*" });
        rest /= axis.labels.len();
    }
    names.reverse();
    names.join(",")
}

fn likelihood(mechanism: &Mechanism, scale: f64, value: f64) -> Result<Likelihood, Invalid> {
    let (noise, publishing) = (mechanism.noise(), *mechanism.publishing());
    if publishing.is_plain() {
        return Likelihood::new(noise, scale, value);
    }
    Ok(Likelihood::Other(Arc::new(AsPublished { noise, publishing, scale, value })))
}

/// A noisy value that was put on a lattice, rounded, clamped or suppressed.
#[derive(Debug)]
struct AsPublished {
    noise: Noise,
    publishing: Publishing,
    scale: f64,
    value: f64,
}

impl CountLaw for AsPublished {
    fn log_density(&self, truth: f64) -> f64 {
        self.publishing.log_density(self.noise, self.scale, self.value, truth)
    }

    fn centre(&self) -> f64 {
        self.value.clamp(self.publishing.low, self.publishing.high)
    }

    fn sd(&self) -> f64 {
        self.noise.variance(self.scale).sqrt()
    }
}
