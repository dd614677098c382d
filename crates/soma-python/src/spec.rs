//! Spec files.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use soma::release::Release;
use soma::spec::{Spec, derived_names};
use toml::{Table, Value};

/// The tables of a valid spec: a whole one, or a release alone.
#[pyfunction]
pub fn read_spec<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let table: Option<Table> = text.parse().ok();
    let alone = table.as_ref().is_some_and(|table| !table.contains_key("model"));
    let read = match alone {
        // Statistics as text can be checked with a model only.
        true if table.as_ref().is_some_and(has_statistics) => Ok(()),
        true => Release::parse(text).map(|_| ()),
        false => Spec::parse(text).map(|_| ()),
    };
    read.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let tables = dict(py, table.unwrap_or_default())?;
    // A table of TOML is sorted by its keys; derived quantities are in the order of the text.
    if let Some(derived) = tables.get_item("derived")? {
        let ordered = PyDict::new(py);
        for name in derived_names(text) {
            ordered.set_item(&name, derived.get_item(&name)?)?;
        }
        tables.set_item("derived", ordered)?;
    }
    Ok(tables)
}

/// The file that a spec names instead of a table `[release]`, if any.
#[pyfunction]
pub fn release_file(text: &str) -> Option<String> {
    soma::spec::release_file(text)
}

/// The spec with the release that it names, whose file has the text `published`.
#[pyfunction]
pub fn with_release(text: &str, published: &str) -> PyResult<String> {
    let whole = soma::spec::with_release(text, published);
    whole.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Whether a part of the release has statistics as text.
fn has_statistics(table: &Table) -> bool {
    let Some(release) = table.get("release") else { return false };
    let parts = release.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    std::iter::once(release).chain(parts).any(|part| part.get("statistics").is_some())
}

fn dict<'py>(py: Python<'py>, table: Table) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (key, value) in table {
        out.set_item(key, object(py, value)?)?;
    }
    Ok(out)
}

fn object<'py>(py: Python<'py>, value: Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::String(text) => text.into_bound_py_any(py),
        Value::Integer(number) => number.into_bound_py_any(py),
        Value::Float(number) => number.into_bound_py_any(py),
        Value::Boolean(value) => value.into_bound_py_any(py),
        Value::Datetime(time) => time.to_string().into_bound_py_any(py),
        Value::Array(items) => {
            let items: Vec<_> =
                items.into_iter().map(|v| object(py, v)).collect::<PyResult<_>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Table(table) => Ok(dict(py, table)?.into_any()),
    }
}
