//! Stored runs.

use std::path::PathBuf;

use numpy::PyArray1;
use pyo3::prelude::*;
use soma_store::Status;

use crate::draws::crossing;
use crate::problem::{Chosen, Made, Settings, chosen, made};
use crate::store::unstored;

/// A run that `soma.fit` or `soma fit --out` stored.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Run(soma_store::Run);

#[pymethods]
impl Run {
    /// The run in `folder`.
    #[staticmethod]
    fn open(folder: PathBuf) -> PyResult<Run> {
        soma_store::Run::open(folder).map(Run).map_err(unstored)
    }

    /// The text of the spec.
    #[getter]
    fn spec(&self) -> &str {
        &self.0.manifest().spec
    }

    /// Whether the spec has the query: it cannot have a user's function.
    #[getter]
    fn has_query(&self) -> bool {
        let table = self.spec().parse::<toml::Table>().unwrap_or_default();
        let keys = ["query", "statistics", "parts"];
        let holds = |release: &toml::Value| keys.iter().any(|key| release.get(key).is_some());
        table.get("release").is_some_and(holds)
    }

    /// The settings of the run.
    #[getter]
    fn settings(&self) -> Settings {
        Settings(self.0.manifest().settings.clone())
    }

    /// The kernel that each chain chose, if the kernel is `auto`.
    #[getter]
    fn chosen(&self) -> Vec<Option<Chosen>> {
        let manifest = self.0.manifest();
        let of = |chain: usize| manifest.chosen.get(chain).cloned().flatten().map(chosen);
        (0..manifest.draws.len()).map(of).collect()
    }

    /// How each chain crosses between separate modes, see [`crossing`].
    #[getter]
    fn crossings(&self) -> Vec<Option<f64>> {
        self.0.manifest().theta_moves.iter().map(|moves| crossing(moves)).collect()
    }

    /// The reports of the moves of each chain after warm-up.
    #[getter]
    fn moves(&self) -> Vec<Vec<Made>> {
        self.0.manifest().theta_moves.iter().cloned().map(made).collect()
    }

    /// The number of the first chain.
    #[getter]
    fn first_chain(&self) -> usize {
        self.0.manifest().first_chain
    }

    /// The thinning interval of stored records; `None` if they are not stored.
    #[getter]
    fn records_thin(&self) -> Option<u64> {
        self.0.manifest().records_thin
    }

    /// The number of records.
    #[getter]
    fn n(&self) -> usize {
        self.0.manifest().n
    }

    /// Column number `column` of the stored records, which are `dim` wide, by chain.
    fn records<'py>(
        &self,
        py: Python<'py>,
        dim: usize,
        column: usize,
    ) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
        let chains = py.detach(|| self.0.records(dim, column)).map_err(unstored)?;
        Ok(chains.into_iter().map(|chain| PyArray1::from_vec(py, chain)).collect())
    }

    /// Whether all draws were made.
    #[getter]
    fn complete(&self) -> bool {
        self.0.manifest().status == Status::Complete
    }

    /// The names of the columns of draws.
    #[getter]
    fn parameters(&self) -> Vec<String> {
        self.0.manifest().parameters.clone()
    }

    /// The duration of the run.
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.manifest().seconds_warmup + self.0.manifest().seconds_sampling
    }

    /// The draws of one parameter (or `acceptance`, or `log_density`), by chain.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
        let chains = py.detach(|| self.0.column(name)).map_err(unstored)?;
        Ok(chains.into_iter().map(|chain| PyArray1::from_vec(py, chain)).collect())
    }
}
