//! Tables of noisy counts of many groups.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use soma::counts::SharedPrior;
use soma::grouped::{GroupTable, Plan, Watch};
use soma_cli::groups::{Noisy, Relation, fit_on, rows, table};
use soma_store::summary_columns;

use crate::control::Control;
use crate::errors::{failed, invalid};

/// Groups to be fitted.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Groups {
    table: GroupTable,
    prior: Option<SharedPrior>,
    plan: Plan,
}

/// A row of the results: group and parameter, the numbers of the summary, chains, draws, verdict and
/// reasons.
type Row = (String, String, Vec<f64>, u64, u64, &'static str, String);

#[pymethods]
impl Groups {
    /// Of a table as CSV, or of the file called `name`; `pool` has the median and the sd of the log
    /// of the concentration.
    #[new]
    #[pyo3(signature = (name, text, *, noise, scale, variance, epsilon, rho, neighbours, clamp_at_zero, threshold,
                        pool, alpha, chains, warmup, draws, thin, seed))]
    #[allow(clippy::too_many_arguments)] // they are keywords
    fn new(
        name: &str,
        text: Option<&str>,
        noise: String,
        scale: Option<f64>,
        variance: Option<f64>,
        epsilon: Option<f64>,
        rho: Option<f64>,
        neighbours: &str,
        clamp_at_zero: bool,
        threshold: Option<f64>,
        pool: Option<(f64, f64)>,
        alpha: f64,
        chains: usize,
        warmup: u64,
        draws: u64,
        thin: u64,
        seed: u64,
    ) -> PyResult<Groups> {
        let given = [scale, variance, epsilon, rho].iter().flatten().count();
        if given > 1 {
            return Err(PyValueError::new_err(
                "scale: the noise needs one scale (given: several). Allowed: one of scale, variance, \
                 epsilon and rho",
            ));
        }
        let neighbours = Relation::from_str(neighbours, false)
            .map_err(|error| PyValueError::new_err(format!("neighbours: {error}")))?;
        let noisy =
            Noisy { noise, scale, variance, epsilon, rho, neighbours, clamp_at_zero, threshold };
        let table = table(name, text, &noisy, alpha).map_err(PyValueError::new_err)?;
        let plan = Plan { chains, warmup, draws, thin, seed };
        plan.check().map_err(invalid)?;
        let prior = pool.map(|(median, sd)| SharedPrior { median, sd, shares: 1.0 });
        Ok(Groups { table, prior, plan })
    }

    /// All iterations of all chains.
    #[getter]
    fn iterations(&self) -> u64 {
        let runs = if self.prior.is_some() { 1 } else { self.table.names().len() };
        self.plan.iterations().saturating_mul((runs * self.plan.chains) as u64)
    }

    /// The names of the numbers of a row.
    #[staticmethod]
    fn columns() -> Vec<&'static str> {
        summary_columns().iter().map(|(name, _)| *name).collect()
    }

    /// Fits the groups, without the GIL.
    fn fit(&self, py: Python<'_>, threads: usize, control: &Control) -> PyResult<Vec<Row>> {
        let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
        let watch = Told(control);
        let fitted = py
            .detach(|| fit_on(&self.table, self.prior, &self.plan, threads, &watch))
            .map_err(failed)?;
        let row = |row: soma_store::ResultRow| {
            let number = |of: fn(&soma::diagnostics::Summary) -> f64| {
                row.summary.as_ref().map_or(f64::NAN, of)
            };
            let numbers = summary_columns().iter().map(|(_, of)| number(*of)).collect();
            (row.name, row.parameter, numbers, row.chains, row.draws, row.verdict, row.reasons)
        };
        Ok(rows(&fitted).into_iter().map(row).collect())
    }
}

/// A control watches.
struct Told<'a>(&'a Control);

impl Watch for Told<'_> {
    fn advance(&self, iterations: u64) {
        self.0.advance(iterations);
    }

    fn stop(&self) -> bool {
        self.0.stopped()
    }
}
