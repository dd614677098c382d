//! Import of the output of other tools.

use clap::ValueEnum;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use soma_cli::import::{Options, Tool, release};

/// The table `[release]` from the output of a tool: tables as CSV, each with its name, and
/// information that is not in them.
#[pyfunction]
#[pyo3(signature = (tool, tables, *, n=None, clamp=None, candidates=None, max_length=None, labels=None,
                    columns=None, noise=None, scale=None, threshold=None, geocode=None))]
#[allow(clippy::too_many_arguments)] // they are keywords
pub fn import_release(
    tool: &str,
    tables: Vec<(String, String)>,
    n: Option<String>,
    clamp: Option<Vec<(String, (f64, f64))>>,
    candidates: Option<Vec<(String, Vec<f64>)>>,
    max_length: Option<u64>,
    labels: Option<Vec<String>>,
    columns: Option<Vec<String>>,
    noise: Option<String>,
    scale: Option<f64>,
    threshold: Option<f64>,
    geocode: Option<String>,
) -> PyResult<String> {
    let tool = Tool::from_str(tool, false).map_err(PyValueError::new_err)?;
    let pair = |(column, (low, high))| (column, vec![low, high]);
    let options = Options {
        n,
        clamp: clamp.unwrap_or_default().into_iter().map(pair).collect(),
        candidates: candidates.unwrap_or_default(),
        max_length,
        labels: labels.unwrap_or_default(),
        columns: columns.unwrap_or_default(),
        noise,
        scale,
        threshold,
        geocode,
    };
    release(tool, &tables, &options).map_err(PyValueError::new_err)
}
