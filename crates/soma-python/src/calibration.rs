//! Simulation-based calibration.

use pyo3::prelude::*;
use soma::calibration::{self, Plan};
use soma::interrupt::{self, Interrupted};

use crate::control::Control;
use crate::errors::{failed, invalid};
use crate::problem::{Problem, Settings};

/// Settings of a calibration.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Calibrator {
    plan: Plan,
}

/// One quantity: its name, its ranks, and the p-values of tests of their uniformity, by
/// chi-squared, location and spread.
type Ranks = (String, Vec<u64>, (f64, f64, f64));

#[pymethods]
impl Calibrator {
    /// A calibration with these settings and this number of simulated releases.
    #[new]
    fn new(problem: &Problem, settings: &Settings, replications: u64) -> PyResult<Calibrator> {
        let settings = &settings.0;
        let plan = Plan {
            kernel: settings.kernel,
            moves: settings.moves,
            replications,
            warmup: settings.warmup,
            draws: settings.draws,
            thin: settings.thin,
            seed: settings.seed,
        };
        plan.check(&problem.0).map_err(invalid)?;
        Ok(Calibrator { plan })
    }

    /// Replication number `replication`, without the GIL: the rank of each quantity; `None` if it
    /// was stopped.
    fn replicate(
        &self,
        py: Python<'_>,
        problem: &Problem,
        replication: u64,
        control: &Control,
    ) -> PyResult<Option<Vec<u64>>> {
        let ranks = py.detach(|| {
            interrupt::watched(&|| control.stopped(), |halt| {
                halt.during(|| calibration::replicate(&problem.0, None, &self.plan, replication))
            })
        });
        match ranks {
            Err(error) if error.is::<Interrupted>() => Ok(None),
            ranks => ranks.map(Some).map_err(failed),
        }
    }

    /// The results from the ranks of replications, and the overall p-value.
    fn collect(&self, problem: &Problem, ranks: Vec<Vec<u64>>) -> (f64, Vec<Ranks>) {
        let found = calibration::Calibration::of(&problem.0, &self.plan, &ranks);
        let p_value = found.p_value();
        let quantities = found.quantities.into_iter().map(|quantity| {
            let tests = quantity.uniformity;
            let p_values = (tests.chi_squared, tests.location, tests.spread);
            (quantity.name, quantity.ranks, p_values)
        });
        (p_value, quantities.collect())
    }
}
