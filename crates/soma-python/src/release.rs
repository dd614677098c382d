//! Releases.

use std::sync::Arc;

use pyo3::prelude::*;
use soma::release;

use crate::custom_query::CustomQuery;
use crate::errors::{invalid, unreadable};

/// What was published.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Release(pub release::Release);

#[pymethods]
impl Release {
    /// Reads the table `[release]` of a spec.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Release> {
        release::Release::parse(text).map(Release).map_err(unreadable)
    }

    /// Reads the table `[release]` of a spec, all but the query, which is a function.
    #[staticmethod]
    fn custom(
        text: &str,
        function: Py<PyAny>,
        record_dim: usize,
        bounds: Vec<(f64, f64)>,
        integer: bool,
    ) -> PyResult<Release> {
        let query = CustomQuery::new(function, record_dim, bounds, integer);
        let query = query.map_err(|error| invalid(error.under("release.query")))?;
        let release = release::Release::parse_for(text, Arc::new(query));
        release.map(Release).map_err(|mut error| {
            if !integer && error.invalid.field == "release.mechanism.kind" {
                let remedy = "; or integer=True in the query, if its statistics are whole numbers";
                error.invalid.allowed.push_str(remedy);
            }
            unreadable(error)
        })
    }

    /// A name for each released value.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.0.query().labels()
    }

    /// The scale of the noise of each released value.
    #[getter]
    fn scales(&self) -> Vec<f64> {
        self.0.scales()
    }
}
