//! What analysts will know from a release that has not been made yet.
//!
//! Data are simulated from the prior, or at stated parameters; they are released at each setting
//! (a design, a number of records, a privacy budget), and each release is fitted. The same data and
//! the same random numbers serve all settings, so that settings differ by what they are and not by
//! chance. A replication depends on its number and on nothing else.

mod answer;
mod replicate;
mod report;
mod run;
mod target;

pub use replicate::{Fitted, Quantity, Released, floor, released, replicate};
pub use report::{Answered, FloorReport, PlanReport, QuantityReport, SettingReport};
pub use run::{Floors, Made, Observer, Unobserved, run, run_floors};
pub use target::{Measure, Target};

use crate::chain::Problem;
use crate::error::Invalid;
use crate::release::{SizePrior, Total};

/// The probability of intervals: from the 5% to the 95% quantile.
pub const LEVEL: f64 = 0.9;

/// The share of releases in which a target must be met for a setting to be enough.
pub const ENOUGH: f64 = 0.9;

/// One way to release.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The name of the design.
    pub design: String,
    /// The total budget: epsilon or rho, as [`Plan::budget`] says. None where the design states its
    /// noise by scales.
    pub budget: Option<f64>,
    /// The release, whose values do not matter, with the model.
    pub problem: Problem,
}

/// What is to be simulated.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is compared. All settings have the same model.
    pub settings: Vec<Setting>,
    /// What budgets are: `epsilon` or `rho`.
    pub budget: &'static str,
    /// The parameters that data are simulated at; drawn from the prior, if there are none.
    pub truth: Option<Vec<f64>>,
    /// What analysts are to learn.
    pub targets: Vec<Target>,
    /// How many data sets are simulated.
    pub replications: u64,
    /// Iterations of a chain before its first draw.
    pub warmup: u64,
    /// Draws of a chain.
    pub draws: u64,
    /// The same seed gives the same plan.
    pub seed: u64,
}

impl Plan {
    /// Replications, if nothing is said of them.
    pub const REPLICATIONS: u64 = 100;
    /// Warm-up of each fit, if nothing is said of it.
    pub const WARMUP: u64 = 500;
    /// Draws of each fit, if nothing is said of them.
    pub const DRAWS: u64 = 1000;

    /// Whether the plan can be made.
    pub fn check(&self) -> Result<(), Invalid> {
        let Some(first) = self.settings.first() else {
            return Err(Invalid::new("plan", "there is nothing to compare", "no setting", "one"));
        };
        for (field, given, least) in
            [("replications", self.replications, 1), ("draws", self.draws, 20)]
        {
            if given < least {
                let allowed = format!("a whole number from {least} up");
                return Err(Invalid::new(field, "is too small", given, allowed));
            }
        }
        if let Some(truth) = &self.truth {
            first.problem.model().check_theta(truth).map_err(|i| i.under("plan.parameters"))?;
        }
        for setting in &self.settings {
            let total = setting.problem.release().total();
            if total == Total::Unknown(SizePrior::Flat) {
                return Err(Invalid::new(
                    "release.n",
                    "no data can be simulated of a number of records that has no prior",
                    "\"unknown\"",
                    "a number, or a prior such as { prior = \"poisson\", mean = 1000 }",
                ));
            }
        }
        let outputs = first.problem.outputs();
        self.targets.iter().try_for_each(|target| target.check(&outputs))
    }

    /// The settings for which the no-privacy floor is computed: the first of each number of records.
    pub fn floors(&self) -> Vec<usize> {
        let n = |i: usize| self.settings[i].problem.release().n();
        (0..self.settings.len()).filter(|&i| (0..i).all(|j| n(j) != n(i))).collect()
    }
}
