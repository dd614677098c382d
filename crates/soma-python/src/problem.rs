//! A release with a model, and running it.

use std::num::NonZeroUsize;
use std::sync::{Arc, PoisonError};

use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use soma::chain;
use soma::spec::{Sampler, Spec};
use soma_store::{available_memory, check_memory, in_words};

use crate::collector::{Collected, Collector};
use crate::control::Control;
use crate::custom_model::CustomModel;
use crate::custom_query::CustomQuery;
use crate::errors::{failed, invalid, unreadable};
use crate::release::Release;
use crate::store::Store;

/// A release with a compatible model.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Problem(pub chain::Problem, Option<Arc<CustomModel>>);

/// Settings of a run.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Settings(pub chain::Settings);

#[pymethods]
impl Settings {
    #[getter]
    fn kernel(&self) -> &'static str {
        self.0.kernel.name()
    }

    #[getter]
    fn moves(&self) -> &'static str {
        self.0.moves.name()
    }

    #[getter]
    fn chains(&self) -> usize {
        self.0.chains
    }

    #[getter]
    fn warmup(&self) -> u64 {
        self.0.warmup
    }

    #[getter]
    fn draws(&self) -> u64 {
        self.0.draws
    }

    #[getter]
    fn thin(&self) -> u64 {
        self.0.thin
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }
}

/// The draws of a chain, one row each; the acceptance rate since the previous draw; the log density
/// of the release; the kernel that the chain chose, if it is `auto`; the reports of its moves; and
/// the stored imputed records, concatenated.
type Draws<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Option<Chosen>,
    Option<f64>,
    Vec<Made>,
    Bound<'py, PyArray1<f64>>,
);

/// The report of a move after warm-up: its name, repeats per iteration, in one of how many
/// iterations, proposals, acceptances, work and share of all work.
pub type Made = (String, u64, u64, u64, u64, u64, f64);

/// Converts the reports of the library.
pub fn made(moves: Vec<chain::MoveReport>) -> Vec<Made> {
    let made = |one: chain::MoveReport| {
        let chain::Tally { proposed, accepted, work } = one.tally;
        (one.name, one.repeats, one.every, proposed, accepted, work, one.share)
    };
    moves.into_iter().map(made).collect()
}

/// The kernel that a chain chose; and for each candidate the name, effective draws per sweep and
/// per iteration, work of an iteration, and merit.
pub type Chosen = (String, Vec<(String, f64, f64, f64, f64)>);

/// Converts the choice of the library.
pub fn chosen(chosen: chain::Chosen) -> Chosen {
    let tried = chosen.tried.into_iter();
    let tried =
        tried.map(|t| (t.kernel, t.draws_per_sweep, t.draws_per_iteration, t.work, t.merit));
    (chosen.kernel, tried.collect())
}

#[pymethods]
impl Problem {
    /// Reads the tables `[release]` and `[model]` of a spec.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Problem> {
        Spec::parse(text).map(|spec| Problem(spec.problem, None)).map_err(unreadable)
    }

    /// Reads the tables `[release]`, without its query, and `[model]` of a spec: the query is a
    /// function.
    #[staticmethod]
    fn parse_for(
        text: &str,
        function: Py<PyAny>,
        record_dim: usize,
        bounds: Vec<(f64, f64)>,
        integer: bool,
    ) -> PyResult<Problem> {
        let query = CustomQuery::new(function, record_dim, bounds, integer);
        let query = query.map_err(|error| invalid(error.under("release.query")))?;
        let spec = Spec::parse_for(text, Arc::new(query)).map_err(unreadable)?;
        Ok(Problem(spec.problem, None))
    }

    /// A release with a model written in Python.
    #[staticmethod]
    fn custom(
        release: &Release,
        object: Py<PyAny>,
        name: String,
        parameters: Vec<String>,
        record_dim: usize,
        methods: Vec<String>,
    ) -> PyResult<Problem> {
        let model = Arc::new(CustomModel::new(object, name, parameters, record_dim, methods));
        let problem = chain::Problem::new(release.0.clone(), model.clone()).map_err(invalid)?;
        model.check().map_err(failed)?;
        Ok(Problem(problem, Some(model)))
    }

    /// Adds quantities derived from the outputs: names and expressions.
    fn with_derived(&self, expressions: Vec<(String, String)>) -> PyResult<Problem> {
        let problem = self.0.clone().with_derived_quantities(&expressions);
        let problem = problem.map_err(|error| invalid(error.under("derived")))?;
        Ok(Problem(problem, self.1.clone()))
    }

    /// Says that the records are to be stored.
    fn with_records(&self) -> Problem {
        Problem(self.0.clone().with_records(), self.1.clone())
    }

    /// Whether a model's `transport` was called, and never returned usable records.
    #[getter]
    fn transports_in_vain(&self) -> bool {
        self.1.as_ref().is_some_and(|model| model.carries_in_vain())
    }

    /// The names of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.0.outputs()
    }

    /// The length of a record.
    #[getter]
    fn record_dim(&self) -> usize {
        self.0.model().record_dim()
    }

    /// The number of records; of slots if it is unknown.
    #[getter]
    fn n(&self) -> usize {
        self.0.release().n()
    }

    /// A name for each released value.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.0.release().published_labels()
    }

    /// The released values.
    #[getter]
    fn values(&self) -> Vec<f64> {
        self.0.release().published_values()
    }

    /// A replicated release at each theta, without the GIL: a row for each.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        thetas: PyReadonlyArray2<'py, f64>,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let thetas: Vec<Vec<f64>> =
            thetas.as_array().rows().into_iter().map(|row| row.to_vec()).collect();
        let rows = py.detach(|| soma::predictive::releases(&self.0, &thetas, seed));
        let rows = rows.map_err(failed)?;
        let (count, k) = (rows.len(), self.0.release().published_values().len());
        let values = Array2::from_shape_vec((count, k), rows.into_iter().flatten().collect());
        Ok(PyArray2::from_owned_array(py, values.expect("a value for each released value")))
    }

    /// Reads the table `[sampler]` of a spec, with defaults for missing keys.
    fn settings(&self, text: &str) -> PyResult<Settings> {
        let sampler = Sampler::parse(text).map_err(unreadable)?;
        let settings = sampler.settings(self.0.release().n()).map_err(invalid)?;
        settings.check(&self.0).map_err(|error| invalid(error.under("sampler")))?;
        Ok(Settings(settings))
    }

    /// A `MemoryError` if a run on this many threads cannot fit, or the records of one in
    /// `records_thin` draws cannot be kept.
    #[pyo3(signature = (settings, threads, stored, records_thin=None))]
    fn check_memory(
        &self,
        settings: &Settings,
        threads: usize,
        stored: bool,
        records_thin: Option<u64>,
    ) -> PyResult<()> {
        let need = chain::MemoryNeed::of(&self.0, &settings.0, threads, stored);
        check_memory(need).map_err(|error| PyMemoryError::new_err(error.to_string()))?;
        let (Some(thin), Some(there)) = (records_thin, available_memory()) else { return Ok(()) };
        let numbers = (self.0.release().n() * self.0.model().record_dim()) as u64;
        let kept = settings.0.draws.div_ceil(thin).saturating_mul(settings.0.chains as u64);
        let bytes = numbers.saturating_mul(kept).saturating_mul(8);
        if bytes > there.bytes {
            return Err(PyMemoryError::new_err(format!(
                "records: the imputed records of {kept} draws do not fit (given: about {}). Allowed: \
                 at most {}; a larger records_thin, or out=, a folder.",
                in_words(bytes),
                in_words(there.bytes)
            )));
        }
        Ok(())
    }

    /// Runs chain number `chain` alone, without the GIL. With a store its draws go there; otherwise
    /// the records of one in `records_thin` draws are kept.
    #[pyo3(signature = (settings, chain, control, store=None, records_thin=None))]
    fn run_chain<'py>(
        &self,
        py: Python<'py>,
        settings: &Settings,
        chain: usize,
        control: &Control,
        store: Option<&Store>,
        records_thin: Option<u64>,
    ) -> PyResult<Draws<'py>> {
        let open = store.map(|store| store.0.read().unwrap_or_else(PoisonError::into_inner));
        let open = open.as_ref().and_then(|store| store.as_ref());
        let collector = Collector::new(control, open, records_thin);
        py.detach(|| {
            let only = chain..chain + 1;
            chain::run_chains(&self.0, &settings.0, only, NonZeroUsize::MIN, &collector)
        })
        .map_err(failed)?;
        let Collected { draws, mut records, chosen: taken, crossing, moves } =
            collector.into_collected();
        self.0.model().show(&mut records);
        let values = draws.iter().flat_map(|draw| draw.values.iter().copied()).collect();
        let values = Array2::from_shape_vec((draws.len(), self.0.outputs().len()), values);
        let values = values.expect("each draw holds a value for each output");
        let acceptance = draws.iter().map(|draw| draw.acceptance);
        let log_density = draws.iter().map(|draw| draw.log_density);
        Ok((
            PyArray2::from_owned_array(py, values),
            PyArray1::from_iter(py, acceptance),
            PyArray1::from_iter(py, log_density),
            taken.map(chosen),
            crossing,
            made(moves),
            PyArray1::from_vec(py, records),
        ))
    }
}
