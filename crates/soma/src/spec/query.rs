//! The queries that a spec can name.

use std::sync::Arc;

use super::value::{Table, Value};
use crate::error::Invalid;
use crate::release::Query;
use crate::release::query::Mean;

type Read = fn(&Table) -> Result<Arc<dyn Query>, Invalid>;

/// Each kind of query with the keys that it takes and how it is read.
const QUERIES: &[(&str, &[&str], Read)] = &[("mean", &["clamp"], mean)];

/// The query of the table `query = { kind = ..., ... }`.
pub(super) fn read(table: &Table) -> Result<Arc<dyn Query>, Invalid> {
    let names: Vec<&'static str> = QUERIES.iter().map(|(name, ..)| *name).collect();
    let kind = table.kind(&names)?;
    let (_, keys, read) = QUERIES.iter().find(|(name, ..)| *name == kind).expect("a listed kind");
    table.only(&[&["kind"], *keys].concat())?;
    read(table)
}

fn mean(table: &Table) -> Result<Arc<dyn Query>, Invalid> {
    let clamp = table.need("clamp", RANGES)?;
    let query = Mean::new(ranges(&clamp)?);
    Ok(Arc::new(query.map_err(|invalid| invalid.under(table.path()))?))
}

const RANGES: &str = "[low, high], or one such range for each coordinate of a record";

/// One range, or a list of ranges.
fn ranges(value: &Value) -> Result<Vec<(f64, f64)>, Invalid> {
    let items = value.list(RANGES)?;
    if items.first().is_some_and(Value::is_list) {
        items.iter().map(Value::pair).collect()
    } else {
        Ok(vec![value.pair()?])
    }
}
