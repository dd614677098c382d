//! Validation of stored states.

use super::tempering::Ladder;
use super::{Problem, Settings, Snapshot, Stored};
use crate::kernel::Counts;
use crate::rng;
use crate::stored::{Check, MOST_COUNTED, ensure};

impl Counts {
    pub(crate) fn check(self) -> Check {
        let fits = self.accepted <= self.moves
            && self.moves < MOST_COUNTED
            && self.evaluations < MOST_COUNTED;
        ensure(fits, "the counts of the sweeps are inconsistent")
    }
}

impl Snapshot {
    /// Whether this is a valid state of a chain of `problem`; otherwise the error says what is
    /// wrong.
    pub fn check(&self, problem: &Problem) -> Check {
        self.chain.check(problem)?;
        Ladder::check(problem, &self.rungs, &self.swaps, &self.chain)
    }

    /// Whether this is a state of chain number `chain` of a run with these settings.
    pub fn check_run(&self, settings: &Settings, chain: usize) -> Check {
        self.chain.check_run(settings, chain)
    }
}

impl Stored {
    /// Whether this is a valid state of one chain of `problem`.
    pub(super) fn check(&self, problem: &Problem) -> Check {
        let (release, model) = (problem.release(), problem.model());
        let (n, d) = (release.n(), release.query().record_dim());
        let fits = self.records.len() == n * d && self.theta.len() == model.parameters().len();
        ensure(fits, "the stored state of the chain is of another problem")?;
        match problem.fixed() {
            Some(theta) => ensure(self.theta == theta, "theta is not the fixed value")?,
            None => model.check_theta(&self.theta).map_err(|invalid| invalid.to_string())?,
        }
        let mut records = self.records.chunks_exact(d.max(1));
        ensure(
            records.all(|record| model.supports(record)),
            "a record is outside the support of the model",
        )?;
        self.counts.check()?;
        self.taken.check()?;
        self.resize.check()?;
        let since = self.counts.moves.checked_sub(self.taken.moves).is_some()
            && self.counts.accepted.checked_sub(self.taken.accepted).is_some()
            && self.counts.evaluations.checked_sub(self.taken.evaluations).is_some();
        ensure(since, "the counts exceed the sweeps made")?;
        ensure(
            (0.0..=1.0).contains(&self.acceptance),
            "the acceptance rate is not between 0 and 1",
        )?;
        let likely = problem.of_likely().map_err(|invalid| invalid.to_string())?;
        self.moves.check(&likely)?;
        let present = match release.slotted() {
            Some(slotted) if self.resize.sweeps_present() => {
                Some(slotted.of_present(n).map_err(|invalid| invalid.to_string())?)
            }
            _ => None,
        };
        let swept = present.as_ref().unwrap_or(release);
        self.kernel.check(swept)?;
        let warmup = self.moves.warmup();
        self.trial.as_ref().map_or(Ok(()), |trial| trial.check(problem, swept, warmup))
    }

    fn check_run(&self, settings: &Settings, chain: usize) -> Check {
        let begun = rng::stream(settings.seed, chain as u64);
        let streams = [&begun, &self.rng].map(|rng| (rng.get_seed(), rng.get_stream()));
        ensure(streams[0] == streams[1], "its random stream is that of another seed or chain")?;
        let fits = self.iteration <= settings.iterations()
            && self.moves.warmup() == settings.warmup
            && self.moves.is_of(settings.moves)
            && self.kernel.is_of(settings.kernel)
            && self.trial.is_some() == (settings.kernel == crate::kernel::KernelChoice::Auto);
        ensure(fits, "it is of a run with other settings")
    }
}
