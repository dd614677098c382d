//! The problem of counts that a release of records is, where it is one.

use super::problem::CountProblem;
use super::published::{Likelihood, Published};
use super::shares::Shares;
use super::table::{Margin, Table};
use crate::error::Invalid;
use crate::release::query::{Axis, Cells, Query};
use crate::release::{Aggregate, Release};

impl CountProblem {
    /// The counts behind `release`, with the probabilities of the cells from `shares`, which is
    /// asked for those of the axes of the table. An error says why the release cannot be read so.
    pub fn of_release(
        release: &Release,
        shares: impl FnOnce(&[Axis]) -> Option<Shares>,
    ) -> Result<Self, String> {
        let query = release.query();
        let cells = query.cells().ok_or_else(|| {
            format!("a {} query sees more of a record than its cell", query.kind())
        })?;
        let shares = shares(&cells.axes)
            .ok_or("the model gives no probabilities of the cells of the query")?;
        let table = Table::of_axes(&cells.axes).map_err(|invalid| invalid.to_string())?;
        let rows = rows(release, query.as_ref(), &cells, &table).map_err(|i| i.to_string())?;
        CountProblem::new(table, rows, release.total(), shares).map_err(|i| i.to_string())
    }
}

impl Table {
    /// The table with these axes.
    fn of_axes(axes: &[Axis]) -> Result<Self, Invalid> {
        Table::cross(axes.iter().map(|axis| axis.labels.clone()).collect())
    }
}

/// A row for each released number: the sum of its cells, under the law that it was released with.
fn rows(
    release: &Release,
    query: &dyn Query,
    cells: &Cells,
    table: &Table,
) -> Result<Vec<Published>, Invalid> {
    let margins = table.margin(&cells.kept)?;
    debug_assert_eq!(margins.len(), query.dim());
    let mechanism = release.mechanism();
    let numbers = release.values().iter().zip(mechanism.scales()).zip(margins);
    let row = |((&value, &scale), margin): ((&f64, &f64), Margin)| {
        let law = Likelihood::new(mechanism.noise(), scale, value)?;
        let law = match release.aggregate() {
            Aggregate::Sum => law,
            Aggregate::Mean => law.of_mean(release.unit()),
        };
        Ok(Published::sum(margin.label, &margin.cells, law))
    };
    numbers.map(row).collect()
}
