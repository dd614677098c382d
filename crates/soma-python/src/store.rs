//! Runs that are stored as they run.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use soma::spec::Sampler;
use soma_store::{Options, StoreError};

use crate::errors::unreadable;
use crate::problem::{Problem, Settings};

/// The longest time between two checkpoints of a chain, as on the command line.
const CHECKPOINT: Duration = Duration::from_secs(10);

/// A folder for the chains of a run; `None` after it is finished.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Store(pub RwLock<Option<soma_store::Store>>);

/// An error of the folder of a run.
pub fn unstored(error: StoreError) -> PyErr {
    PyOSError::new_err(error.to_string().replace("--resume", "resume=True"))
}

#[pymethods]
impl Store {
    /// A new run of the spec `spec` of `problem`. One in `records_thin` draws has its imputed
    /// records stored.
    #[staticmethod]
    #[pyo3(signature = (folder, problem, settings, spec, records_thin=None))]
    fn create(
        folder: PathBuf,
        problem: &Problem,
        settings: &Settings,
        spec: String,
        records_thin: Option<u64>,
    ) -> PyResult<Store> {
        let options = Options { spec, records_thin, checkpoint_every: CHECKPOINT, first_chain: 0 };
        let store = soma_store::Store::create(folder, &problem.0, &settings.0, options);
        store.map(Store::of).map_err(unstored)
    }

    /// Resumes the run in `folder`; `sampler` is a table `[sampler]` of a spec.
    #[staticmethod]
    fn resume(folder: PathBuf, problem: &Problem, spec: &str, sampler: &str) -> PyResult<Store> {
        let given = Sampler::parse(sampler).map_err(unreadable)?;
        let store = soma_store::Store::resume(folder, &problem.0, spec, given, CHECKPOINT);
        store.map(Store::of).map_err(unstored)
    }

    /// The settings of the run; for a resumed run, those that it began with.
    #[getter]
    fn settings(&self) -> Option<Settings> {
        let store = self.0.read().unwrap_or_else(PoisonError::into_inner);
        store.as_ref().map(|store| Settings(store.settings().clone()))
    }

    /// Ends the run.
    fn finish(&self, failed: bool) -> PyResult<()> {
        let store = self.0.write().unwrap_or_else(PoisonError::into_inner).take();
        store.map_or(Ok(()), |store| store.finish(failed).map(|_| ()).map_err(unstored))
    }
}

impl Store {
    fn of(store: soma_store::Store) -> Self {
        Store(RwLock::new(Some(store)))
    }
}
