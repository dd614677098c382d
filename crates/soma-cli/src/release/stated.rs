//! What the text of a spec says that its release does not: n, the neighbours and the budgets.

use soma::release::mechanism::Neighbours;
use soma::release::{Release, Total as Size};
use soma::spec::Columns;
use toml::{Table, Value};

use super::data::{Cell, Data};

/// The most records of one person, from the spec; refused where the data have more.
pub(super) fn contributions(columns: &Columns, data: &Data) -> Result<u64, String> {
    let most = columns.contributions.unwrap_or(1);
    let Some(person) = &columns.person else { return Ok(most) };
    let column = data.column(person).ok_or_else(|| {
        format!(
            "data.person: the data have no such column (given: {person:?}). Allowed: {}.",
            soma::error::listed(data.names())
        )
    })?;
    if column.contains(&Cell::Missing) {
        return Err(format!(
            "data.person: values of {person:?} are missing, so that nobody knows whose records these \
             are. Allowed: a column that names the person of each record."
        ));
    }
    let mut keys: Vec<String> = column.iter().map(|cell: &Cell| format!("{cell:?}")).collect();
    keys.sort_unstable();
    let largest = keys.chunk_by(|a, b| a == b).map(<[String]>::len).max().unwrap_or(0) as u64;
    if largest > most {
        return Err(format!(
            "data.contributions: a person has more records than the bound (given: {most}). \
             Allowed: contributions = ..., a bound that all persons keep, which the noise grows \
             with; or data with at most {most} for each person."
        ));
    }
    Ok(most)
}

/// The spec with the number of rows as n, where it names none.
pub(super) fn with_n(text: &str, rows: usize) -> String {
    let Ok(mut root) = text.parse::<Table>() else { return text.to_string() };
    let Some(Value::Table(release)) = root.get_mut("release") else { return text.to_string() };
    if release.contains_key("n") {
        return text.to_string();
    }
    let is_replace = release.get("neighbours").and_then(Value::as_str) != Some("add-remove");
    let n = if is_replace { Value::Integer(rows as i64) } else { Value::String("unknown".into()) };
    release.insert("n".into(), n);
    toml::to_string(&root).unwrap_or_else(|_| text.to_string())
}

pub(super) fn neighbours(text: &str, of: &Release) -> Neighbours {
    let root = text.parse::<Table>().unwrap_or_default();
    let release = root.get("release").and_then(Value::as_table);
    let said = release.and_then(|release| release.get("neighbours")).and_then(Value::as_str);
    match (said, of.total()) {
        (Some("add-remove"), _) | (None, Size::Unknown(_)) => Neighbours::AddRemove,
        _ => Neighbours::Replace,
    }
}

/// n is public if and only if records are replaced, and then it is that of the data.
pub(super) fn check_size(
    text: &str,
    release: &Release,
    neighbours: Neighbours,
    rows: usize,
) -> Result<(), String> {
    let stated = text
        .parse::<Table>()
        .ok()
        .and_then(|root| root.get("release")?.as_table()?.get("n")?.as_integer());
    match (release.total(), neighbours) {
        (Size::Known(_), Neighbours::AddRemove) => Err(
            "release.n: where records are added or removed, their number is confidential (given: a \
             number). Allowed: n = \"unknown\", and a part with a noisy count; or neighbours = \
             \"replace\"."
                .into(),
        ),
        (Size::Unknown(_), Neighbours::Replace) => Err(
            "release.n: where records are replaced, their number is public (given: unknown). \
             Allowed: no n, which takes it from the data; or neighbours = \"add-remove\"."
                .into(),
        ),
        (Size::Known(_), _) if stated.is_some_and(|n| n != rows as i64) => Err(format!(
            "release.n: the data have another number of rows (given: {}). Allowed: {rows}, or no n.",
            stated.unwrap_or_default()
        )),
        _ => Ok(()),
    }
}

/// The mechanism of each part, as the spec has it.
pub(super) fn mechanisms(text: &str) -> Vec<Table> {
    let root = text.parse::<Table>().unwrap_or_default();
    let Some(release) = root.get("release").and_then(Value::as_table) else { return Vec::new() };
    let of = |part: &Table| part.get("mechanism").and_then(Value::as_table).cloned();
    match release.get("parts").and_then(Value::as_array) {
        Some(parts) => parts.iter().filter_map(|part| of(part.as_table()?)).collect(),
        None => of(release).into_iter().collect(),
    }
}

/// The number under a key.
pub(super) fn number(table: &Table, key: &str) -> Option<f64> {
    let value = table.get(key)?;
    value.as_float().or(value.as_integer().map(|whole| whole as f64))
}
