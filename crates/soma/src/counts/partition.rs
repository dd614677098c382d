//! The count problem of statistics as text that take few values: the cells are the sets of records
//! on which all of them are constant.

use std::sync::Arc;

use soma_language::{RecordCells, Statistics};

use super::models::TextCells;
use super::of_release::{self, Sum};
use super::problem::CountProblem;
use super::shares::Shares;
use super::table::Table;
use crate::release::query::Axis;
use crate::release::{self, Release};

/// The largest denominator of the values of a statistic, in units of the smallest.
const MOST_PARTS: u32 = 64;

/// The largest weight of a cell.
const MOST_WEIGHT: f64 = 1024.0;

/// Cells of records of a model, with the statistics of each.
#[derive(Debug)]
pub struct Partition {
    /// The names of the cells.
    labels: Vec<String>,
    /// The statistics of each part of a release on each cell.
    statistics: Vec<Part>,
    shares: Shares,
}

/// The statistics of a part.
#[derive(Debug)]
struct Part {
    names: Vec<String>,
    /// Their values, cell by cell.
    values: Vec<Vec<f64>>,
}

impl Partition {
    /// The cells of records of `text` for a release of statistics as text and of counts of all
    /// records; `None` for others. The error says why there are no cells.
    pub fn of_text(
        text: &Arc<soma_language::Model>,
        release: &Release,
    ) -> Option<Result<Self, String>> {
        let parts = || release.published_parts().iter();
        let is_known = |part: &release::Part| {
            part.query().text().is_some() || of_release::is_count(part.query().as_ref())
        };
        let texts: Vec<&Statistics> = parts().filter_map(|part| part.query().text()).collect();
        (parts().all(is_known) && !texts.is_empty())
            .then(|| Partition::of_texts(text, release, &texts))
    }

    fn of_texts(
        text: &Arc<soma_language::Model>,
        release: &Release,
        texts: &[&Statistics],
    ) -> Result<Self, String> {
        let cells = RecordCells::new(text, texts)?;
        let mut from = 0;
        let own = |part: &release::Part| {
            let Some(text) = part.query().text() else {
                let values = vec![vec![1.0]; cells.count()];
                return Part { names: vec!["total".into()], values };
            };
            let own = from..from + text.dim();
            from += text.dim();
            let values = cells.values().iter().map(|all| all[own.clone()].to_vec()).collect();
            Part { names: text.labels().to_vec(), values }
        };
        let statistics = release.published_parts().iter().map(own).collect();
        let labels = cells.labels().to_vec();
        let shares = Shares::of(TextCells::new(Arc::clone(text), cells));
        Ok(Partition { labels, statistics, shares })
    }

    /// The cells of records of one number, called `name`, for a release with statistics as text that
    /// are step functions of it, beside histograms: the intervals between all points at which one of
    /// them changes. Their probabilities are `shares`, a function of the axis. `None` for others.
    pub fn of_steps(
        release: &Release,
        name: &str,
        shares: impl Fn(&[Axis]) -> Option<Shares>,
    ) -> Option<Result<Self, String>> {
        let parts = release.published_parts();
        let texts: Vec<&Statistics> = parts.iter().filter_map(|part| part.query().text()).collect();
        let (_, (low, high)) = texts.first()?.steps()?;
        let mut points = Vec::new();
        for part in parts {
            let query = part.query().as_ref();
            match (query.text(), query.cells()) {
                (Some(text), _) => points.extend(text.steps()?.0),
                (None, Some(cells)) => match &cells.axes[..] {
                    [Axis { cuts: Some(cuts), .. }] => points.extend(cuts),
                    _ => return None,
                },
                (None, None) if of_release::is_count(query) => {}
                (None, None) => return None,
            }
        }
        // Nothing changes beyond the ends: no record is there.
        points.retain(|&point| point > low && point < high);
        points.sort_by(f64::total_cmp);
        points.dedup();
        let labels = labels(name, &points);
        let inside = records_between(&points, low, high);
        let axis = Axis { labels: labels.clone(), cuts: Some(points) };
        let shares = shares(&[axis])?;
        let own = |part: &release::Part| {
            let query = part.query();
            let mut values = vec![0.0; inside.len() * query.dim()];
            query.statistics(&inside, &mut values).map_err(|error| error.to_string())?;
            let values = values.chunks_exact(query.dim()).map(<[f64]>::to_vec).collect();
            Ok(Part { names: query.labels(), values })
        };
        let statistics = parts.iter().map(own).collect::<Result<_, String>>();
        Some(statistics.map(|statistics| Partition { labels, statistics, shares }))
    }
}

/// The names of the intervals between the points.
fn labels(name: &str, points: &[f64]) -> Vec<String> {
    let label = |level: usize| match (level.checked_sub(1), points.get(level)) {
        (Some(before), Some(high)) => format!("{}<={name}<{high}", points[before]),
        (Some(before), None) => format!("{name}>={}", points[before]),
        (None, Some(high)) => format!("{name}<{high}"),
        (None, None) => "all".into(),
    };
    (0..=points.len()).map(label).collect()
}

/// A record in each interval between the points, all between `low` and `high`.
fn records_between(points: &[f64], low: f64, high: f64) -> Vec<f64> {
    let ends: Vec<f64> = [&[low], points, &[high]].concat();
    let inside = |pair: &[f64]| match (pair[0].is_finite(), pair[1].is_finite()) {
        (true, true) => 0.5 * pair[0] + 0.5 * pair[1],
        (true, false) => pair[0] + 1.0 + 0.5 * pair[0].abs(),
        (false, true) => pair[1] - 1.0 - 0.5 * pair[1].abs(),
        (false, false) => 0.0,
    };
    ends.windows(2).map(inside).collect()
}

impl CountProblem {
    /// The count problem of `release`, whose statistics are constant on the cells of `partition`. The
    /// error says why there is none.
    pub fn of_partition(release: &Release, partition: Partition) -> Result<Self, String> {
        let Partition { labels, statistics, shares } = partition;
        let mut rows = Vec::new();
        for (part, own) in release.published_parts().iter().zip(&statistics) {
            let sums: Result<Vec<Sum>, String> =
                (0..own.names.len()).map(|k| sum(own, k, &labels)).collect();
            // A sum of no cells is 0, whatever the records: its published value says nothing.
            let of_part = of_release::rows(part, release.n(), sums?)?;
            rows.extend(of_part.into_iter().filter(|row| !row.cells.is_empty()));
        }
        let table = Table::list(labels).map_err(|invalid| invalid.to_string())?;
        CountProblem::new(table, rows, release.total(), shares)
            .map_err(|invalid| invalid.to_string())
    }
}

/// Statistic k as a sum of counts. It has a name where it counts records of several cells.
fn sum(part: &Part, k: usize, labels: &[String]) -> Result<Sum, String> {
    let values: Vec<f64> = part.values.iter().map(|values| values[k]).collect();
    let name = &part.names[k];
    let Some(unit) = unit(&values, MOST_WEIGHT) else {
        return Err(match unit(&values, f64::INFINITY) {
            Some(unit) => {
                format!("the values of `{name}` are more than {MOST_WEIGHT} times {unit}")
            }
            None => format!("the values of `{name}` are no multiples of one number"),
        });
    };
    let weights = values.iter().map(|value| (value / unit).round() as i64);
    let cells: Vec<(usize, i64)> = weights.enumerate().filter(|&(_, weight)| weight != 0).collect();
    let is_count = unit == 1.0 && cells.iter().all(|&(_, weight)| weight == 1);
    let label = match cells[..] {
        [(cell, 1)] if unit == 1.0 => labels[cell].clone(),
        _ if is_count => name.clone(),
        _ => String::new(),
    };
    Ok(Sum { label, cells, unit })
}

/// The number of which all `values` are multiples by at most `most`: 1, if it can be.
fn unit(values: &[f64], most: f64) -> Option<f64> {
    let is_unit = |unit: f64| {
        values.iter().all(|value| {
            let times = value / unit;
            times.abs() <= most && (times - times.round()).abs() <= 1e-9 * times.abs()
        })
    };
    let least = values.iter().map(|value| value.abs()).filter(|&value| value > 0.0);
    let least = least.fold(f64::INFINITY, f64::min);
    let parts = (1..=MOST_PARTS).map(|parts| least / f64::from(parts));
    std::iter::once(1.0).chain(parts).find(|&unit| is_unit(unit))
}
