//! Plans of releases.

use std::num::NonZeroUsize;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use soma::plan::{self, Observer, Plan, PlanReport, Target};
use soma::spec::PlanOptions;

use crate::control::Control;
use crate::errors::{failed, invalid};

/// Stops with the control, and counts fits on it.
struct Watch<'a>(&'a Control);

impl Observer for Watch<'_> {
    fn done(&self) {
        self.0.advance(1);
    }

    fn stop(&self) -> bool {
        self.0.stopped()
    }
}

/// A plan that has been read.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Planner(Plan);

#[pymethods]
impl Planner {
    /// The plan of the text of a spec, with what is given in the place of its table `[plan]`.
    #[new]
    #[pyo3(signature = (text, *, budgets=None, n=None, targets=None, replications=None, warmup=None,
                        draws=None, seed=None))]
    #[allow(clippy::too_many_arguments)] // they are keywords
    fn new(
        text: &str,
        budgets: Option<Vec<f64>>,
        n: Option<Vec<u64>>,
        targets: Option<Vec<String>>,
        replications: Option<u64>,
        warmup: Option<u64>,
        draws: Option<u64>,
        seed: Option<u64>,
    ) -> PyResult<Planner> {
        let read = |texts: Vec<String>| {
            let targets = texts.iter().map(|text| Target::parse(text).map_err(invalid));
            targets.collect::<PyResult<Vec<_>>>()
        };
        let targets = targets.map(read).transpose()?;
        let options = PlanOptions { budgets, n, targets, replications, warmup, draws, seed };
        let plan = Plan::parse(text, options);
        plan.map(Planner).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// How many fits there are in all.
    #[getter]
    fn fits(&self) -> u64 {
        self.0.fits()
    }

    /// Makes the plan, without the GIL: the report as JSON; nothing, if it was stopped before a fit
    /// was done.
    fn run(&self, py: Python<'_>, threads: usize, control: &Control) -> PyResult<Option<String>> {
        let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
        let made = py.detach(|| plan::run(&self.0, threads, &Watch(control))).map_err(failed)?;
        if made.fits.iter().all(Vec::is_empty) {
            return Ok(None);
        }
        let report = PlanReport::of(&self.0, &made);
        let json = serde_json::to_string(&report);
        json.map(Some).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
