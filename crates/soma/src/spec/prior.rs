//! The table `prior = { kind = ..., ... }` of a model.

use nalgebra::DMatrix;

use super::value::{Table, Value};
use crate::error::{Invalid, listed};

/// A prior as given by a spec. It may be omitted if all parameters are fixed, since nothing then
/// depends on it; every key then has an arbitrary value.
pub(super) struct Prior<'a> {
    table: Option<Table<'a>>,
}

impl<'a> Prior<'a> {
    /// The prior of the table `[model]`, which must have this kind and these keys.
    pub(super) fn of(
        model: &Table<'a>,
        kind: &'static str,
        keys: &[&str],
    ) -> Result<Self, Invalid> {
        let each: Vec<String> = keys.iter().map(|key| format!("{key} = ...")).collect();
        let example = format!("{{ kind = \"{kind}\", {} }}", each.join(", "));
        let value = match model.get("prior") {
            None if model.get("fixed").is_some() => return Ok(Prior { table: None }),
            _ => model.need("prior", &example)?,
        };
        let table = value.table(&example)?;
        table.kind(&[kind])?;
        table.only(&[&["kind"], keys].concat())?;
        Ok(Prior { table: Some(table) })
    }

    /// The number at `key`.
    pub(super) fn number(&self, key: &str) -> Result<f64, Invalid> {
        self.table.as_ref().map_or(Ok(1.0), |table| table.need(key, "a number")?.number())
    }

    /// `count` numbers at `key`: a list, or one number for all.
    pub(super) fn numbers(&self, key: &str, count: usize) -> Result<Vec<f64>, Invalid> {
        let Some(table) = &self.table else { return Ok(vec![1.0; count]) };
        let value = table.need(key, "a number, or one for each parameter")?;
        if !value.is_list() {
            return Ok(vec![value.number()?; count]);
        }
        let numbers = value.numbers()?;
        if numbers.len() == count {
            return Ok(numbers);
        }
        let (given, allowed) = (format!("{} numbers", numbers.len()), format!("one, or {count}"));
        Err(Invalid::new(value.path(), "there are too many or too few numbers", given, allowed))
    }

    /// How many numbers are at `key`, if they are a list.
    pub(super) fn length(&self, key: &str) -> Option<usize> {
        let value = self.table.as_ref()?.get(key).filter(Value::is_list)?;
        value.numbers().ok().map(|numbers| numbers.len())
    }

    /// A matrix at `key`, with `size` rows and columns.
    pub(super) fn matrix(&self, key: &str, size: usize) -> Result<DMatrix<f64>, Invalid> {
        match &self.table {
            None => Ok(DMatrix::identity(size, size)),
            Some(table) => matrix(&table.need(key, "a number, or a matrix")?, size),
        }
    }
}

/// A square matrix: a list of its rows, or one number for a multiple of the identity.
pub(super) fn matrix(value: &Value, size: usize) -> Result<DMatrix<f64>, Invalid> {
    if !value.is_list() {
        return Ok(DMatrix::identity(size, size) * value.number()?);
    }
    let rows = value.list("a list of rows")?;
    let rows: Vec<Vec<f64>> = rows.iter().map(Value::numbers).collect::<Result<_, _>>()?;
    let lengths: Vec<String> = rows.iter().map(|row| row.len().to_string()).collect();
    if rows.len() != size || rows.iter().any(|row| row.len() != size) {
        return Err(Invalid::new(
            value.path(),
            "the matrix has the wrong size",
            format!("{} rows of {} numbers", rows.len(), listed(&lengths)),
            format!("{size} rows of {size} numbers, or one number for a multiple of the identity"),
        ));
    }
    Ok(DMatrix::from_fn(size, size, |i, j| rows[i][j]))
}
