//! A proposal for all records.

use crate::chain::Problem;
use crate::error::Outcome;
use crate::numeric::pages;
use crate::records::Records;

/// Proposed records with their statistics and residual in noise units.
#[derive(Debug, Clone, Default)]
pub(in crate::chain) struct Trial {
    records: Vec<f64>,
    statistics: Vec<f64>,
    residual: Vec<f64>,
}

impl Trial {
    /// Fills the records by `build` and computes the rest. Returns the log density of the release,
    /// up to a constant.
    pub(in crate::chain) fn build(
        &mut self,
        problem: &Problem,
        current: &Records,
        build: impl FnOnce(&mut [f64]) -> Outcome,
    ) -> Outcome<f64> {
        pages::resize(&mut self.records, current.all().len());
        pages::resize(&mut self.statistics, current.n() * current.k());
        build(&mut self.records)?;
        // Records that overflow: a proposal far in the tails, which is rejected.
        if self.records.iter().any(|value| !value.is_finite()) {
            return Ok(f64::NEG_INFINITY);
        }
        current.weigh(
            problem.release(),
            &self.records,
            &mut self.statistics,
            &mut self.residual,
        )?;
        Ok(problem.release().potential().log_density(&self.residual))
    }

    /// Replaces the current records by the proposed ones.
    pub(in crate::chain) fn take(&mut self, current: &mut Records) {
        current.exchange(&mut self.records, &mut self.statistics, &self.residual);
    }
}
