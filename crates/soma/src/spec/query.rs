//! The queries that a spec can name.

use std::sync::Arc;

use super::joint;
use super::value::{Table, Value};
use crate::error::Invalid;
use crate::release::Query;
use crate::release::query::{
    Categories, Count, CrossTable, Gram, Histogram, LogSum, Mean, MomentSums,
};

/// Reads a query, for a release with the given number of values.
type Read = fn(&Table, usize) -> Result<Arc<dyn Query>, Invalid>;

/// Each kind of query with its keys and its reader.
const QUERIES: &[(&str, &[&str], Read)] = &[
    ("mean", &["clamp"], mean),
    ("gram", &["clamp", "predictors"], gram),
    ("log-sum", &["clamp", "compositions"], log_sum),
    ("histogram", &["edges", "range", "bins"], histogram),
    ("categories", &["labels"], categories),
    ("count", &[], count),
    ("moments", &["clamp", "degree", "powers"], moments),
    ("table", &["axes", "margin"], cross_table),
];

/// The largest number of predictors of a Gram query, whose values grow quadratically, and of bins
/// along one coordinate of a histogram.
const MOST: u64 = 10_000;

/// The query of the table `query = { kind = ..., ... }`, for a release of `values` values.
pub(super) fn read(table: &Table, values: usize) -> Result<Arc<dyn Query>, Invalid> {
    let names = QUERIES.iter().map(|(name, ..)| *name).chain(joint::query_kinds());
    let kind = table.kind(&names.collect::<Vec<&'static str>>())?;
    let Some((_, keys, read)) = QUERIES.iter().find(|(name, ..)| *name == kind) else {
        let problem = "is released as such, and not as a ratio";
        return Err(Invalid::new(table.field("kind"), problem, kind, "a query of sums"));
    };
    table.only(&[&["kind"], *keys].concat())?;
    read(table, values)
}

/// Boxes a query, and prefixes its errors with the table.
fn boxed<Q: Query + 'static>(
    table: &Table,
    query: Result<Q, Invalid>,
) -> Result<Arc<dyn Query>, Invalid> {
    Ok(Arc::new(query.map_err(|invalid| invalid.under(table.path()))?))
}

fn mean(table: &Table, values: usize) -> Result<Arc<dyn Query>, Invalid> {
    let clamp = match ranges(&table.need("clamp", RANGES)?)? {
        Ranges::One(range) => vec![range; values],
        Ranges::Each(ranges) => ranges,
    };
    boxed(table, Mean::new(clamp))
}

fn gram(table: &Table, _: usize) -> Result<Arc<dyn Query>, Invalid> {
    let predictors = table.get("predictors").map(|value| value.whole(1..=MOST)).transpose()?;
    let query = match (ranges(&table.need("clamp", RANGES)?)?, predictors) {
        (Ranges::One(range), Some(predictors)) => Gram::with_range(predictors as usize, range),
        (Ranges::One(_), None) => {
            let allowed = "the number of predictors, which all have the one range of clamp";
            return Err(table.need("predictors", allowed).err().expect("it is not there"));
        }
        (Ranges::Each(ranges), Some(predictors)) if ranges.len() as u64 != predictors + 1 => {
            Err(Invalid::new(
                "clamp",
                "the number of ranges does not fit the number of predictors",
                format!("{} ranges", ranges.len()),
                format!(
                    "{}: one for each of {predictors} predictors, and one for the response",
                    predictors + 1
                ),
            ))
        }
        (Ranges::Each(ranges), _) => Gram::new(ranges),
    };
    boxed(table, query)
}

fn log_sum(table: &Table, values: usize) -> Result<Arc<dyn Query>, Invalid> {
    let clamp = table.need("clamp", "[low, high] with 0 < low < high")?.pair()?;
    let compositions = table.get("compositions").map(|value| value.boolean()).transpose()?;
    let query = LogSum::new(values, clamp);
    boxed(
        table,
        match compositions {
            Some(true) => query.and_then(LogSum::of_compositions),
            _ => query,
        },
    )
}

/// `edges = [...]` for one coordinate or a list of them for several; or `range` and `bins`, a
/// number or one for each coordinate, for bins of equal width.
fn histogram(table: &Table, _: usize) -> Result<Arc<dyn Query>, Invalid> {
    if let Some(edges) = table.get("edges") {
        if let Some(stray) = table.get("range").or(table.get("bins")) {
            let problem = "edges already determine the bins";
            let allowed = "edges alone, or range and bins";
            return Err(Invalid::new(stray.path(), problem, "both", allowed));
        }
        let items = edges.list("the edges of the bins, in increasing order")?;
        if items.first().is_some_and(Value::is_list) {
            let edges = items.iter().map(Value::numbers).collect::<Result<_, _>>()?;
            return boxed(table, Histogram::new(edges));
        }
        return boxed(table, Histogram::new(vec![edges.numbers()?]));
    }
    let range =
        match ranges(&table.need("range", "[low, high], with bins = ...; or edges = [...]")?)? {
            Ranges::One(range) => vec![range],
            Ranges::Each(ranges) => ranges,
        };
    let bins = table.need("bins", "the number of bins, or one for each coordinate")?;
    let bins: Vec<usize> = if bins.is_list() {
        let items = bins.list("the number of bins along each coordinate")?;
        items.iter().map(|item| Ok(item.whole(1..=MOST)? as usize)).collect::<Result<_, _>>()?
    } else {
        vec![bins.whole(1..=MOST)? as usize; range.len()]
    };
    if bins.len() != range.len() {
        return Err(Invalid::new(
            table.field("bins"),
            "the number of coordinates does not fit the ranges",
            format!("{} numbers", bins.len()),
            format!("one number, or {}", range.len()),
        ));
    }
    boxed(table, Histogram::with_equal_bins(&range.into_iter().zip(bins).collect::<Vec<_>>()))
}

fn categories(table: &Table, values: usize) -> Result<Arc<dyn Query>, Invalid> {
    let query = match table.get("labels") {
        None => Categories::new(values),
        Some(labels) => Categories::with_labels(labels.texts()?),
    };
    boxed(table, query)
}

/// A count of records of one number, until the other parts determine the length of a record.
fn count(table: &Table, _: usize) -> Result<Arc<dyn Query>, Invalid> {
    boxed(table, Ok(Count::new(1)))
}

/// All products up to a `degree`, or a list of `powers`.
fn moments(table: &Table, _: usize) -> Result<Arc<dyn Query>, Invalid> {
    let clamp = match ranges(&table.need("clamp", RANGES)?)? {
        Ranges::One(range) => vec![range],
        Ranges::Each(ranges) => ranges,
    };
    let query = match (table.get("degree"), table.get("powers")) {
        (Some(degree), None) => MomentSums::of_degree(clamp, degree.whole(1..=MOST)? as u32),
        (None, Some(powers)) => {
            let power = |value: &Value| Ok(value.whole(0..=MOST)? as u32);
            let row = |value: &Value| {
                let powers = value.list("a power for each variable")?;
                powers.iter().map(power).collect::<Result<Vec<u32>, Invalid>>()
            };
            let rows =
                powers.list("a list of powers for each statistic, such as [[1, 0], [1, 1]]")?;
            MomentSums::new(clamp, rows.iter().map(row).collect::<Result<_, _>>()?)
        }
        (given, _) => {
            let given = if given.is_some() { "both" } else { "none" };
            let allowed = "degree = 2 for all products up to it; or powers = [[1, 0], [1, 1], ...]";
            return Err(Invalid::new(table.path(), "needs degree or powers", given, allowed));
        }
    };
    boxed(table, query)
}

/// `axes = [2, 3]`, or the labels of each axis; `margin = [0]` for the axes of the released margin,
/// by default all.
fn cross_table(table: &Table, _: usize) -> Result<Arc<dyn Query>, Invalid> {
    let example = "[[\"a\", \"b\"], [\"x\", \"y\"]], the labels of each axis; or [2, 2]";
    let axes = table.need("axes", example)?.list(example)?;
    let labels = |axis: &Value| {
        if axis.is_list() {
            return axis.texts();
        }
        let levels = axis.whole(1..=CrossTable::MOST as u64)?;
        Ok((0..levels).map(|level| level.to_string()).collect())
    };
    let axes: Vec<Vec<String>> = axes.iter().map(labels).collect::<Result<_, _>>()?;
    let kept = match table.get("margin") {
        Some(kept) => kept.wholes(0..=(axes.len() as u64).saturating_sub(1))?,
        None => (0..axes.len()).collect(),
    };
    boxed(table, CrossTable::new(axes, kept))
}

const RANGES: &str = "[low, high], or a list with one such range for each coordinate";

/// Ranges as given by a user.
pub(super) enum Ranges {
    /// One, for every coordinate.
    One((f64, f64)),
    /// One for each coordinate.
    Each(Vec<(f64, f64)>),
}

/// One range, or a list of ranges.
pub(super) fn ranges(value: &Value) -> Result<Ranges, Invalid> {
    let items = value.list(RANGES)?;
    if items.first().is_some_and(Value::is_list) {
        Ok(Ranges::Each(items.iter().map(Value::pair).collect::<Result<_, _>>()?))
    } else {
        Ok(Ranges::One(value.pair()?))
    }
}
