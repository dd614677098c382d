//! The parts of an iteration: the sweep and the theta updates, on all records or on those that are
//! present.

use super::present::Present;
use super::resize::Resize;
use super::trial::Trial;
use super::{Problem, Schedule, State, Tally, WORK_DRAW};
use crate::error::Outcome;
use crate::kernel::{Counts, Kernel, ModelProposals};
use crate::rng::Rng;

/// What an iteration makes, beside the state that it advances.
pub(super) struct Iteration<'a> {
    pub(super) kernel: &'a mut Kernel,
    pub(super) trial: Option<&'a mut Trial>,
    pub(super) moves: &'a mut Schedule,
    pub(super) rng: &'a mut Rng,
    /// The number of iterations made before.
    pub(super) made: u64,
}

/// What a sweep did; nothing, if there was none.
#[derive(Debug, Default)]
struct Swept {
    counts: Counts,
    tally: Option<Tally>,
}

impl Iteration<'_> {
    /// An iteration where n is public. Returns the counts of the sweep.
    pub(super) fn of_public(&mut self, problem: &Problem, state: &mut State) -> Outcome<Counts> {
        let swept = self.sweep(problem, state)?;
        self.update(problem, state, &swept)?;
        Ok(swept.counts)
    }

    /// An iteration where n is unknown: a sweep of the slots, or of the records that are present; the
    /// moves of n; and theta given the records that are present.
    pub(super) fn of_unknown(
        &mut self,
        resize: &mut Resize,
        problem: &Problem,
        state: &mut State,
    ) -> Outcome<Counts> {
        if self.trial.as_ref().is_some_and(|trial| trial.begins_at(self.made)) {
            resize.choose_sweeps();
        }
        let is_warmup = self.made < self.moves.warmup();
        let mut swept = Swept::default();
        if resize.sweeps_present() {
            resize.step(problem, state, is_warmup, self.rng)?;
        } else {
            let before = Present::count(state);
            swept = self.sweep(problem, state)?;
            let between = Present::count(state);
            resize.step(problem, state, is_warmup, self.rng)?;
            if is_warmup {
                resize.watch([before, between, Present::count(state)]);
            }
        }
        let Some(mut present) = Present::of(problem, state)? else {
            self.update_alone(problem, state)?;
            return Ok(swept.counts);
        };
        if resize.sweeps_present() {
            swept = self.sweep(&present.problem, &mut present.state)?;
        }
        self.update(&present.problem, &mut present.state, &swept)?;
        present.put_back(problem, state)?;
        Ok(swept.counts)
    }

    fn sweep(&mut self, problem: &Problem, state: &mut State) -> Outcome<Swept> {
        let release = problem.release();
        let potential = release.potential();
        let State { theta, records } = state;
        let mut proposals = ModelProposals::new(problem.model(), theta, release);
        let trial = self.trial.as_deref_mut().filter(|trial| trial.is_on(self.made));
        let (counts, work) = match trial {
            Some(trial) => trial.sweep(records, &mut proposals, potential, self.rng)?,
            None if self.moves.sweeps_in(self.made) => {
                let counts = self.kernel.sweep(records, &mut proposals, potential, self.rng)?;
                (counts, self.kernel.work(counts))
            }
            None => {
                records.refresh();
                return Ok(Swept::default());
            }
        };
        let draws = (problem.model().price(release.n()).draw - WORK_DRAW) * counts.moves as f64;
        let tally = Tally { work: (work + draws) as u64, ..Tally::from(counts) };
        Ok(Swept { counts, tally: (counts.moves > 0).then_some(tally) })
    }

    fn update(&mut self, problem: &Problem, state: &mut State, swept: &Swept) -> Outcome {
        let trial = self.trial.as_deref_mut().filter(|trial| trial.is_on(self.made));
        let before = if trial.is_some() { state.theta.clone() } else { Vec::new() };
        let work = self.moves.step(problem, state, self.made, swept.tally, self.rng)?;
        if let Some(kernel) =
            trial.and_then(|trial| trial.learn(&before, &state.theta, work as f64, self.moves))
        {
            *self.kernel = kernel;
        }
        Ok(())
    }

    /// Without records theta has its prior.
    fn update_alone(&mut self, problem: &Problem, state: &mut State) -> Outcome {
        if problem.fixed().is_none() {
            problem.record_model().update(&mut state.theta, &[], self.rng)?;
        }
        self.moves.pass(&*problem.of_likely()?, self.made, &state.theta);
        Ok(())
    }
}
