//! Reports and figures of draws.

use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use soma::Failure;
use soma::diagnostics::Summary;
use soma::error::listed;
use soma_report::{Content, Group, Kind, Source, Trust, gather};

use crate::draws;
use crate::errors::failed;
use crate::problem::Problem;

/// What a report shows of draws.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Report(Content);

/// How a run was made and whether it can be trusted, as the package says it.
#[derive(FromPyObject)]
pub struct About {
    title: String,
    verdict: String,
    settings: Vec<(String, String)>,
    spec: Option<String>,
    notes: Vec<String>,
    seed: u64,
}

/// A quantity with the share of its prior variance that the release removed.
type Learned = (String, Option<f64>);

/// A count: its label, what was published of it, and the 5%, 50% and 95% quantiles.
type Count = (String, Option<f64>, f64, f64, f64);

#[pymethods]
impl Report {
    /// Of arrays of shape (chain, draw), one for each name, and the log densities; with replicated
    /// releases, where they are asked for. Without the GIL, but for a model written in Python.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn of(
        py: Python<'_>,
        problem: Option<&Problem>,
        names: Vec<String>,
        columns: Vec<PyReadonlyArray2<f64>>,
        acceptance: PyReadonlyArray2<f64>,
        log_density: PyReadonlyArray2<f64>,
        crossings: Vec<Option<f64>>,
        about: About,
        replicates: bool,
    ) -> PyResult<Report> {
        let comparisons = problem.map_or_else(Vec::new, |problem| problem.0.comparisons());
        let named = (&names[..], &comparisons[..]);
        let said = draws::verdict(named, &columns, &acceptance, &log_density, &crossings);
        let columns: Vec<Vec<Vec<f64>>> = columns.iter().map(draws::chains).collect();
        let log_density = draws::chains(&log_density);
        let About { title, verdict, settings, spec, notes, seed } = about;
        let problem = problem.map(|problem| &problem.0);
        let content = py.detach(|| {
            let rows = names.into_iter().zip(&columns);
            let rows = rows.map(|(name, chains)| (name, Summary::of(chains))).collect();
            let column = |k: usize| Ok::<_, Failure>(columns[k].clone());
            gather(Source { problem, rows, column: &column, log_density, seed, replicates })
        });
        let content = content.map_err(failed)?;
        let (trust, settled) = (Trust::of(&said), said.settled);
        Ok(Report(Content { title, trust, verdict, settled, settings, spec, notes, ..content }))
    }

    /// The page; of these quantities alone, where they are given.
    #[pyo3(signature = (only=None))]
    fn page(&self, py: Python<'_>, only: Option<Vec<String>>) -> PyResult<String> {
        let Some(only) = only else { return Ok(py.detach(|| soma_report::page(&self.0))) };
        let mut content = self.0.clone();
        content.keep(&only).map_err(|unknown| {
            let names: Vec<&str> = self.0.parameters.iter().map(|p| p.name.as_str()).collect();
            let names = listed(&names);
            PyValueError::new_err(format!(
                "only: there is no such quantity (given: {unknown:?}). Allowed: {names}."
            ))
        })?;
        Ok(py.detach(|| soma_report::page(&content)))
    }

    /// A short report for a notebook; `id` sets it apart from others.
    fn compact(&self, py: Python<'_>, id: &str) -> String {
        py.detach(|| soma_report::compact(&self.0, id))
    }

    /// One figure as SVG.
    fn figure(&self, py: Python<'_>, kind: &str, columns: usize) -> PyResult<String> {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        let Some(found) = Kind::named(kind) else {
            let names = names.join(", ");
            return Err(PyValueError::new_err(format!(
                "kind: there is no such figure (given: {kind:?}). Allowed: {names}."
            )));
        };
        let drawn = py.detach(|| found.figure(&self.0).map(|figure| figure.document(columns)));
        drawn.map_err(|why| PyValueError::new_err(format!("kind: no figure {kind:?}: {why}")))
    }

    /// For each quantity the share of its prior variance that the release removed.
    #[getter]
    fn learned(&self) -> Vec<Learned> {
        let of = |p: &soma_report::Parameter| (p.name.clone(), p.learned());
        self.0.parameters.iter().map(of).collect()
    }

    /// The true counts of a table.
    #[getter]
    fn counts(&self) -> Vec<Count> {
        let of = |p: &soma_report::Parameter| {
            let (label, value) = self.0.published_of(p);
            let summary = &p.summary;
            (label.to_string(), value, summary.q5, summary.q50, summary.q95)
        };
        self.0.of(Group::Count).map(of).collect()
    }
}
