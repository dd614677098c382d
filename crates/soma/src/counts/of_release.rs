//! The count problem of a release of records, if there is one.

use super::noisy::Synthetic;
use super::problem::CountProblem;
use super::published::{Likelihood, Published};
use super::shares::Shares;
use super::table::{Margin, Table};
use crate::error::Invalid;
use crate::release::query::Axis;
use crate::release::{Aggregate, Layer, Part, Release, Total};

impl CountProblem {
    /// The count problem of `release`, with the probabilities of the cells from `shares`, a
    /// function of the axes of the table. The error says why there is none.
    pub fn of_release(
        release: &Release,
        shares: impl FnOnce(&[Axis]) -> Option<Shares>,
    ) -> Result<Self, String> {
        let axes = axes(release)?;
        let shares =
            shares(&axes).ok_or("the model gives no probabilities of the cells of the query")?;
        let table = Table::of_axes(&axes).map_err(|invalid| invalid.to_string())?;
        if let Some(problem) = of_layer(release, &table, &axes, &shares) {
            return problem;
        }
        let mut rows = Vec::new();
        for part in release.published_parts() {
            let kept = part.query().cells().map(|cells| cells.kept).unwrap_or_default();
            let mut margins = table.margin(&kept).map_err(said)?;
            margins.iter_mut().for_each(|margin| name(margin, &axes, &kept));
            rows.extend(self::rows(part, release.n(), &margins)?);
        }
        CountProblem::new(table, rows, release.total(), shares).map_err(|i| i.to_string())
    }
}

impl Table {
    /// The table with these axes.
    fn of_axes(axes: &[Axis]) -> Result<Self, Invalid> {
        Table::cross(axes.iter().map(|axis| axis.labels.clone()).collect())
    }
}

fn said(invalid: Invalid) -> String {
    invalid.to_string()
}

/// The problem of a release of reports or of synthetic records, if it is one.
fn of_layer(
    release: &Release,
    table: &Table,
    axes: &[Axis],
    shares: &Shares,
) -> Option<Result<CountProblem, String>> {
    let parts = release.published_parts();
    let layer = parts.iter().find_map(Part::layer)?;
    let [part] = parts else {
        return Some(Err("reports and synthetic records stand beside no other part".into()));
    };
    let kept = part.query().cells().map_or(0, |cells| cells.kept.len());
    if kept != axes.len() {
        return Some(Err("the values are those of a margin, and not of all cells".into()));
    }
    let counts: Vec<i64> = part.values().iter().map(|&value| value as i64).collect();
    let law = match layer {
        Layer::Reports(law) => law,
        Layer::Synthetic(law) => {
            let (table, n) = (table.clone(), release.total());
            return Some(of_synthetic(table, Synthetic { counts, law }, n, shares.clone()));
        }
    };
    if release.total().known() != Some(counts.iter().sum()) {
        let sum: i64 = counts.iter().sum();
        return Some(Err(format!("everybody reports: n must be the number of reports, {sum}")));
    }
    let problem = CountProblem::of_reports(table.clone(), counts, law, shares.clone());
    Some(problem.map_err(said))
}

/// The problem of synthetic records. Their shares say nothing of n, so that it has to be public.
fn of_synthetic(
    table: Table,
    synthetic: Synthetic,
    n: Total,
    shares: Shares,
) -> Result<CountProblem, String> {
    let Some(size) = n.known() else {
        return Err("synthetic records say nothing of n, which has to be public".into());
    };
    let records = synthetic.counts.iter().sum::<i64>().max(1) as f64;
    let row = |(cell, &count): (usize, &i64)| {
        let guess = (size as f64 * count as f64 / records).round();
        Published::sum(table.labels()[cell].clone(), &[cell], synthetic.likelihood(guess))
    };
    let rows = synthetic.counts.iter().enumerate().map(row).collect();
    let problem = CountProblem::new(table.clone(), rows, n, shares).map_err(said)?;
    Ok(problem.with_synthetic(synthetic))
}

/// The axes of the one table that all parts count in. A part that counts the records is the total of
/// any table.
fn axes(release: &Release) -> Result<Vec<Axis>, String> {
    let mut found: Option<Vec<Axis>> = None;
    for part in release.published_parts() {
        let query = part.query();
        if query.for_any_record(1).is_some() && query.counts_records() {
            continue;
        }
        let Some(cells) = query.cells() else {
            return Err(format!("a {} query sees more of a record than its cell", query.kind()));
        };
        match &found {
            Some(axes) if *axes != cells.axes => {
                return Err("the parts count records in different tables".into());
            }
            _ => found = Some(cells.axes),
        }
    }
    found.ok_or_else(|| "no part of the release counts records in cells".into())
}

/// Names a sum by the levels that it keeps, with a star for each axis that it sums over, since sums
/// over different axes may have levels of the same name.
fn name(margin: &mut Margin, axes: &[Axis], kept: &[usize]) {
    if kept.is_empty() {
        return;
    }
    let (mut rest, mut names) = (margin.cells[0], Vec::with_capacity(axes.len()));
    for (number, axis) in axes.iter().enumerate().rev() {
        let level = axis.labels[rest % axis.labels.len()].as_str();
        names.push(if kept.contains(&number) { level } else { "*" });
        rest /= axis.labels.len();
    }
    names.reverse();
    margin.label = names.join(",");
}

/// A row for each released number of a part: the sum of its cells with its noise.
fn rows(part: &Part, n: usize, margins: &[Margin]) -> Result<Vec<Published>, String> {
    let Some(mechanism) = part.mechanism() else {
        return Err("a part has a law of several sums together".into());
    };
    let numbers = part.values().iter().zip(mechanism.scales()).zip(margins);
    let row = |((&value, &scale), margin): ((&f64, &f64), &Margin)| {
        let law = Likelihood::published(mechanism, scale, value).map_err(said)?;
        let law = match part.aggregate() {
            Aggregate::Sum => law,
            Aggregate::Mean => law.of_mean(n as f64),
        };
        Ok(Published::sum(margin.label.clone(), &margin.cells, law))
    };
    numbers.map(row).collect()
}
