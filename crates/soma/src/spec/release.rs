//! The table `[release]`: one published part, or several.

use std::sync::Arc;

use super::size::{self, Size};
use super::value::{Table, Value};
use super::{joint, mechanism, query, text};
use crate::error::Invalid;
use crate::model;
use crate::release::mechanism::Neighbours;
use crate::release::{Aggregate, Mechanism, Part, Query, Release};

/// The keys of a part, which are in `[release]` itself if there is only one.
pub(super) const PART_KEYS: [&str; 5] = ["statistic", "values", "query", "statistics", "mechanism"];

/// Queries that a spec cannot name.
#[derive(Clone, Default)]
pub(super) struct Queries<'a> {
    /// The query of a release of one part, if no text can name it.
    pub(super) own: Option<Arc<dyn Query>>,
    /// The model with the variables of statistics as text.
    pub(super) text: Option<&'a model::Text>,
    /// The number of columns of the data, where nothing has been published yet: values need not be
    /// there, and do not matter.
    pub(super) unpublished: Option<usize>,
}

/// The keys common to all parts.
pub(super) struct Common {
    /// The number of records, where it is public.
    pub(super) n: Option<usize>,
    pub(super) neighbours: Neighbours,
}

/// The release of a table.
pub(super) fn read(table: &Table, queries: &Queries) -> Result<Release, Invalid> {
    refuse_keys_of_the_mechanism(table)?;
    table.only(&[&["n", "neighbours", "parts", "guarantee"], &PART_KEYS[..]].concat())?;
    if let Some(guarantee) = table.get("guarantee") {
        guarantee.table("what the curator guarantees, such as { epsilon = 1.0 }")?;
    }
    let size = size::read(&table.need("n", "the number of records, or \"unknown\"")?)?;
    let neighbours = match table.get("neighbours") {
        Some(value) => match value.choice(&["replace", "add-remove"])? {
            "replace" => Neighbours::Replace,
            _ => Neighbours::AddRemove,
        },
        None if matches!(size, Size::Public(_)) => Neighbours::default(),
        None => Neighbours::AddRemove,
    };
    let n = match size {
        Size::Public(n) => Some(n),
        Size::Unknown { .. } => None,
    };
    let common = Common { n, neighbours };
    let parts = match table.get("parts") {
        None => vec![part(table, &common, queries)?],
        Some(parts) => several(table, &parts, &common, queries)?,
    };
    let release = match size {
        Size::Public(n) => {
            Release::of_parts(n, parts).and_then(|release| release.check_reach().map(|()| release))
        }
        Size::Unknown { prior, slots } => Release::of_unknown_size(prior, parts, slots),
    };
    release.map_err(|invalid| invalid.under(table.path()))
}

/// An error where a budget or a scale stands beside the mechanism and not in it.
fn refuse_keys_of_the_mechanism(table: &Table) -> Result<(), Invalid> {
    let keys = mechanism::SOURCES.iter().chain(&["delta"]);
    let stray = keys.filter_map(|key| Some((*key, table.get(key)?))).next();
    match stray {
        None => Ok(()),
        Some((key, value)) => Err(Invalid::new(
            value.path(),
            "is a key of the mechanism",
            value.given(),
            format!("mechanism = {{ kind = \"laplace\", {key} = ... }}, or another kind"),
        )),
    }
}

/// The parts of `[[release.parts]]`.
fn several(
    table: &Table,
    parts: &Value,
    common: &Common,
    queries: &Queries,
) -> Result<Vec<Part>, Invalid> {
    let allowed = "tables [[release.parts]], each with query, statistic, values and mechanism";
    if let Some(stray) = PART_KEYS.iter().find_map(|key| table.get(key)) {
        let problem = "a release of several parts has this in each of its parts";
        return Err(Invalid::new(stray.path(), problem, "both", allowed));
    }
    let parts = parts.list(allowed)?;
    let read = |(i, value): (usize, &Value)| {
        let own = value.table(allowed)?;
        refuse_keys_of_the_mechanism(&own)?;
        own.only(&[&["name"], &PART_KEYS[..]].concat())?;
        let name = match own.get("name") {
            Some(name) => name.text()?,
            None => format!("part {}", i + 1),
        };
        Ok(part(&own, common, queries)?.named(name))
    };
    let parts: Vec<Part> = parts.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let parts = with_record_length(parts);
    for (i, part) in parts.iter().enumerate() {
        if parts[..i].iter().any(|other| other.name() == part.name()) {
            return Err(Invalid::new(
                format!("{}.parts[{i}].name", table.path()),
                "two parts have the same name",
                format!("{:?}", part.name()),
                "a different name for each part",
            ));
        }
    }
    Ok(parts)
}

/// Sets the record length of counts, which is that of the other parts.
fn with_record_length(parts: Vec<Part>) -> Vec<Part> {
    let length = |part: &Part| match part.query().for_any_record(1) {
        None => Some(part.query().record_dim()),
        Some(_) => None,
    };
    let Some(d) = parts.iter().find_map(length) else { return parts };
    let fit = |part: Part| match part.query().for_any_record(d) {
        Some(query) => part.on(query),
        None => part,
    };
    parts.into_iter().map(fit).collect()
}

/// One part: query, statistic, values and mechanism.
fn part(table: &Table, common: &Common, queries: &Queries) -> Result<Part, Invalid> {
    let allowed = "the released values, as a list. Before there are any: `soma check` says what the \
                   noise will be, `soma plan` what will be known, and `soma release` makes them from \
                   the data";
    let values = match queries.unpublished {
        Some(_) => table.get("values"),
        None => Some(table.need("values", allowed)?),
    };
    let count = match &values {
        Some(values) => values.list("the released values, as a list")?.len(),
        None => queries.unpublished.unwrap_or(1),
    };
    let example = "{ kind = \"laplace\", epsilon = 1.0 } or another mechanism";
    let law = table.need("mechanism", example)?.table(example)?;
    let values = match &values {
        Some(values) => mechanism::values(values, &law)?,
        None => vec![0.0; count],
    };
    if let Some(part) = joint::part(table, &law, &values, common, queries)? {
        return Ok(part);
    }
    joint::check_kind(&law)?;
    let query = query_of(table, count, queries)?;
    let statistic = table.need("statistic", "\"mean\" or \"sum\"; counts are sums")?;
    let aggregate = match statistic.choice(&["mean", "sum"])? {
        "mean" => Aggregate::Mean,
        _ => Aggregate::Sum,
    };
    let mechanism = mechanism::read(&law, query.as_ref(), aggregate, common)?;
    let values = match queries.unpublished {
        Some(_) => plausible(query.as_ref(), &mechanism, aggregate, common.n.unwrap_or(1)),
        None => values,
    };
    Part::new(query, mechanism, aggregate, values).map_err(|invalid| invalid.under(table.path()))
}

/// The query of a part with the given number of values.
pub(super) fn query_of(
    table: &Table,
    values: usize,
    queries: &Queries,
) -> Result<Arc<dyn Query>, Invalid> {
    if let Some(query) = &queries.own {
        return Ok(query.clone());
    }
    if let Some(query) = text::query(table, queries.text)? {
        return Ok(query);
    }
    let example = "{ kind = \"mean\", clamp = [0.0, 1.0] } or another query";
    query::read(&table.need("query", example)?.table(example)?, values)
}

/// Values that can have been published, where none have been yet: the middle of their range.
fn plausible(query: &dyn Query, mechanism: &Mechanism, aggregate: Aggregate, n: usize) -> Vec<f64> {
    let publishing = mechanism.publishing();
    let unit = match aggregate {
        Aggregate::Sum => n as f64,
        Aggregate::Mean => 1.0,
    };
    let width = publishing.granularity.or(mechanism.noise().is_discrete().then_some(1.0));
    let value = |(low, high): (f64, f64)| {
        let middle = 0.5 * (low + high) * unit;
        let on_lattice = width.map_or(middle, |width| (middle / width).round() * width);
        on_lattice.clamp(publishing.low, publishing.high)
    };
    query.bounds().into_iter().map(value).collect()
}
