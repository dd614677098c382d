//! A kernel move by move at fixed theta, as in the paper's studies of single moves.

use soma::Outcome;
use soma::chain::Problem;
use soma::kernel::{ModelProposals, Records, SingleMoves};
use soma::rng::Rng;

use crate::paper::Sampler;

/// A chain of records at fixed theta, one move at a time.
pub(crate) struct Walk<'a> {
    problem: &'a Problem,
    records: Records,
    proposals: ModelProposals<'a>,
    moves: SingleMoves,
    rng: Rng,
}

impl<'a> Walk<'a> {
    /// A chain from the records `start`. theta of `problem` is fixed.
    pub(crate) fn from(
        problem: &'a Problem,
        sampler: Sampler,
        start: Vec<f64>,
        rng: Rng,
    ) -> Outcome<Self> {
        let theta = problem.fixed().unwrap_or_default();
        let release = problem.release();
        Ok(Walk {
            problem,
            records: Records::new(release, start)?,
            proposals: ModelProposals::new(problem.model(), theta, release),
            moves: SingleMoves::new(sampler.single()),
            rng,
        })
    }

    /// A chain from records drawn from the model.
    pub(crate) fn new(problem: &'a Problem, sampler: Sampler, mut rng: Rng) -> Outcome<Self> {
        let mut start = vec![0.0; problem.release().n() * problem.model().record_dim()];
        problem.model().propose(problem.fixed().unwrap_or_default(), &mut start, &mut rng)?;
        Walk::from(problem, sampler, start, rng)
    }

    /// One move. Returns whether the proposal was accepted.
    pub(crate) fn step(&mut self) -> Outcome<bool> {
        let potential = self.problem.release().potential();
        self.moves.advance(&mut self.records, &mut self.proposals, potential, &mut self.rng)
    }

    /// The current records.
    pub(crate) fn records(&self) -> &[f64] {
        self.records.all()
    }
}
