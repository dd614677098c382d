//! The initial state of a chain.

use super::Problem;
use crate::error::Outcome;
use crate::kernel::Records;
use crate::rng::Rng;

/// theta from an overdispersed distribution near the release; or its fixed value.
pub(super) fn theta(problem: &Problem, rng: &mut Rng) -> Outcome<Vec<f64>> {
    if let Some(theta) = problem.fixed() {
        return Ok(theta.to_vec());
    }
    let mut theta = vec![0.0; problem.model().parameters().len()];
    problem.model().start(problem.release(), &mut theta, rng)?;
    Ok(theta)
}

/// Records drawn from the model at theta.
pub(super) fn records(problem: &Problem, theta: &[f64], rng: &mut Rng) -> Outcome<Records> {
    let release = problem.release();
    let mut records = vec![0.0; release.n() * release.query().record_dim()];
    problem.model().propose(theta, &mut records, rng)?;
    Records::new(release, records)
}
