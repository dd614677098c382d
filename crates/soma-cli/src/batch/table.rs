//! A table of releases: one spec for all, and a row for each release with what is its own.

use std::path::Path;

use toml::{Table, Value};

use crate::exit::Failed;
use crate::import::frame::Frame;

/// The column with the names of the fits.
const NAME: &str = "name";

/// A row of the table: the name of the fit, and the text of its spec.
pub struct Row {
    /// The name of the fit.
    pub name: String,
    /// Its place, for messages: the file and the row.
    pub place: String,
    /// The spec.
    pub spec: String,
}

/// The specs of a table: `template` with the cells of each row in the place of the keys that the
/// columns name.
pub fn rows(template: &str, path: &Path) -> Result<Vec<Row>, Failed> {
    let frame = Frame::read(path)?;
    let template: Table = template.parse().map_err(|error: toml::de::Error| {
        Failed::Input(format!("the spec of the table is not TOML: {}", error.message()))
    })?;
    let name = frame.find(NAME).ok_or_else(|| {
        Failed::Input(format!(
            "{}: the column name is missing (given: {}). Allowed: a column name, and columns named \
             after keys of the spec, such as release.values.0 or release.n.",
            frame.source,
            frame.columns.join(", ")
        ))
    })?;
    let row = |(number, cells): (usize, &Vec<String>)| {
        let place = format!("{}, row {}", frame.source, number + 1);
        let mut spec = template.clone();
        for (column, (path, cell)) in frame.columns.iter().zip(cells).enumerate() {
            if column != name && !cell.is_empty() {
                set(&mut spec, path, value(cell))
                    .map_err(|why| Failed::Input(format!("{place}: the column {path}: {why}")))?;
            }
        }
        let spec =
            toml::to_string(&spec).map_err(|error| Failed::Input(format!("{place}: {error}")))?;
        Ok(Row { name: cells[name].clone(), place, spec })
    };
    frame.rows.iter().enumerate().map(row).collect()
}

/// The value of a cell: as TOML writes it, and otherwise its text.
fn value(cell: &str) -> Value {
    let parsed = format!("cell = {cell}").parse::<Table>().ok();
    let parsed = parsed.and_then(|mut table| table.remove("cell"));
    parsed.unwrap_or_else(|| Value::String(cell.to_string()))
}

/// Sets the value at a path such as `release.values.0`. Tables are made where there are none; an
/// array grows by one at its end.
fn set(table: &mut Table, path: &str, value: Value) -> Result<(), String> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
    if first.is_empty() {
        return Err(
            "has no name (given: an empty key). Allowed: keys of the spec, with dots.".into()
        );
    }
    match rest {
        None => {
            table.insert(first.to_string(), value);
            Ok(())
        }
        Some(rest) => within(table.entry(first).or_insert_with(|| first_of(rest)), rest, value),
    }
}

/// What a missing key holds: an array, if the path goes on with the index 0, and a table otherwise.
fn first_of(rest: &str) -> Value {
    match rest.split('.').next() {
        Some("0") => Value::Array(Vec::new()),
        _ => Value::Table(Table::new()),
    }
}

fn within(place: &mut Value, path: &str, value: Value) -> Result<(), String> {
    match place {
        Value::Table(table) => set(table, path, value),
        Value::Array(values) => {
            let (index, rest) =
                path.split_once('.').map_or((path, None), |(index, rest)| (index, Some(rest)));
            let most = values.len();
            let index =
                index.parse().ok().filter(|index: &usize| *index <= most).ok_or_else(|| {
                    format!("is no place of the array (given: {index}). Allowed: 0 to {most}.")
                })?;
            if index == most {
                values.push(rest.map_or(Value::Boolean(false), first_of));
            }
            match rest {
                None => values[index] = value,
                Some(rest) => within(&mut values[index], rest, value)?,
            }
            Ok(())
        }
        other => Err(format!(
            "goes below a single value (given: {path} of {other}). Allowed: a key of a table, or a \
             place of an array."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(path: &str, cell: &str) -> Result<String, String> {
        let mut table: Table = "[release]\nn = 3\nvalues = [1, 2]\n".parse().unwrap();
        set(&mut table, path, value(cell)).map(|()| toml::to_string(&table).unwrap())
    }

    #[test]
    fn cells_take_the_place_of_keys() {
        assert_eq!(after("release.n", "40").unwrap(), "[release]\nn = 40\nvalues = [1, 2]\n");
        assert_eq!(
            after("release.values.1", "7.5").unwrap(),
            "[release]\nn = 3\nvalues = [1, 7.5]\n"
        );
        assert_eq!(
            after("release.values.2", "9").unwrap(),
            "[release]\nn = 3\nvalues = [1, 2, 9]\n"
        );
        assert_eq!(after("release.values", "[4]").unwrap(), "[release]\nn = 3\nvalues = [4]\n");
        assert!(after("release.n", "unknown").unwrap().contains("n = \"unknown\""));
        assert!(after("sampler.seed", "5").unwrap().ends_with("[sampler]\nseed = 5\n"));
        assert!(after("release.labels.0", "a").unwrap().contains("labels = [\"a\"]"));
    }

    #[test]
    fn places_that_do_not_exist_are_refused() {
        assert!(after("release.values.3", "9").unwrap_err().contains("0 to 2"));
        assert!(after("release.n.x", "9").unwrap_err().contains("below a single value"));
        assert!(after("release..x", "9").unwrap_err().contains("no name"));
    }
}
