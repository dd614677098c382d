//! The count problem of a release of records, if there is one.

use super::noisy::Synthetic;
use super::problem::CountProblem;
use super::published::{Likelihood, Published};
use super::shares::Shares;
use super::table::{Margin, Table};
use crate::error::Invalid;
use crate::release::query::{Axis, Query};
use crate::release::{Aggregate, Layer, Part, Release, Total};

impl CountProblem {
    /// The count problem of `release`, with the probabilities of the cells from `shares`, a
    /// function of the axes of the table. If a record is the index of one of so many `categories`,
    /// any query with whole numbers is a weighted sum of their counts. The error says why there is
    /// no such problem.
    pub fn of_release(
        release: &Release,
        categories: Option<usize>,
        shares: impl FnOnce(&[Axis]) -> Option<Shares>,
    ) -> Result<Self, String> {
        let axes = axes(release, categories)?;
        let shares =
            shares(&axes).ok_or("the model gives no probabilities of the cells of the query")?;
        let table = Table::of_axes(&axes).map_err(|invalid| invalid.to_string())?;
        if let Some(problem) = of_layer(release, &table, &axes, &shares) {
            return problem;
        }
        let mut rows = Vec::new();
        for part in release.published_parts() {
            let query = part.query().as_ref();
            let sums = match query.cells() {
                None if !is_count(query) => weighted(query, table.cells())?,
                cells => margins(&table, &axes, &cells.map(|c| c.kept).unwrap_or_default())?,
            };
            rows.extend(self::rows(part, release.n(), sums)?);
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

/// Whether the query counts the records, whatever they are: the total of any table.
pub(super) fn is_count(query: &dyn Query) -> bool {
    query.for_any_record(1).is_some() && query.counts_records()
}

/// The axes of the one table that all parts count in. If no part counts in one, the `categories` are
/// its cells.
fn axes(release: &Release, categories: Option<usize>) -> Result<Vec<Axis>, String> {
    let mut found: Option<Vec<Axis>> = None;
    for part in release.published_parts() {
        let query = part.query().as_ref();
        if is_count(query) {
            continue;
        }
        let Some(cells) = query.cells() else {
            if categories.is_some() {
                continue;
            }
            return Err(format!("a {} query sees more of a record than its cell", query.kind()));
        };
        match &found {
            Some(axes) if *axes != cells.axes => {
                return Err("the parts count records in different tables".into());
            }
            _ => found = Some(cells.axes),
        }
    }
    let of_categories = |count: usize| {
        let labels = (0..count).map(|category| category.to_string()).collect();
        vec![Axis { labels, cuts: None }]
    };
    found
        .or_else(|| categories.map(of_categories))
        .ok_or_else(|| "no part of the release counts records in cells".into())
}

/// A weighted sum of counts that is published.
pub(super) struct Sum {
    /// Its name in the output, if any.
    pub label: String,
    /// Its cells with their weights.
    pub cells: Vec<(usize, i64)>,
    /// What the weights are multiples of.
    pub unit: f64,
}

/// The sums of the cells over the axes that are not kept.
fn margins(table: &Table, axes: &[Axis], kept: &[usize]) -> Result<Vec<Sum>, String> {
    let sum = |mut margin: Margin| {
        name(&mut margin, axes, kept);
        let cells = margin.cells.into_iter().map(|cell| (cell, 1)).collect();
        Sum { label: margin.label, cells, unit: 1.0 }
    };
    Ok(table.margin(kept).map_err(said)?.into_iter().map(sum).collect())
}

/// The statistics of a query of categories as sums of their counts, weighted by the statistic of
/// each category.
fn weighted(query: &dyn Query, categories: usize) -> Result<Vec<Sum>, String> {
    let records: Vec<f64> = (0..categories).map(|category| category as f64).collect();
    let mut statistics = vec![0.0; categories * query.dim()];
    query.statistics(&records, &mut statistics).map_err(|error| error.to_string())?;
    if statistics.iter().any(|weight| weight.fract() != 0.0) {
        return Err(format!("a {} query of the categories is not in whole numbers", query.kind()));
    }
    let sum = |k: usize| {
        let weights = statistics[k..].iter().step_by(query.dim()).map(|&weight| weight as i64);
        let cells = weights.enumerate().filter(|&(_, weight)| weight != 0).collect();
        Sum { label: String::new(), cells, unit: 1.0 }
    };
    Ok((0..query.dim()).map(sum).collect())
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
pub(super) fn rows(part: &Part, n: usize, sums: Vec<Sum>) -> Result<Vec<Published>, String> {
    let Some(mechanism) = part.mechanism() else {
        return Err("a part has a law of several sums together".into());
    };
    let numbers = part.values().iter().zip(mechanism.scales()).zip(sums);
    let row = |((&value, &scale), sum): ((&f64, &f64), Sum)| {
        let law = Likelihood::published(mechanism, scale, value).map_err(said)?;
        let law = match part.aggregate() {
            Aggregate::Sum => law,
            Aggregate::Mean => law.of_mean(n as f64),
        };
        let law = if sum.unit == 1.0 { law } else { law.of_mean(sum.unit.recip()) };
        Ok(Published { label: sum.label, cells: sum.cells, law })
    };
    numbers.map(row).collect()
}
