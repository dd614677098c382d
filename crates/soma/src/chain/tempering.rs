//! Parallel tempering of the noise scale, for sharp releases of few records.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

use super::{Chain, Problem, State, Stored, Tally};
use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::records::Records;
use crate::release::Release;
use crate::release::potential::{Norm, Potential};
use crate::rng::Rng;
use crate::stored::{Check, MOST_COUNTED, ensure};

/// A ladder of chains on the same release with wider noise, which exchange states.
///
/// A sharp release of few records leaves a thin surface of records that match it, often in separate
/// pieces (which records lie beyond a clamp, and which do not), and no move of one chain goes from
/// piece to piece. Under noise that is wide enough it does. Rung k of the ladder is a chain whose
/// noise scales are f_k times those of the release, f_0 = 1 < f_1 < f_2 ...; rung 0 is the chain
/// that draws are taken of. The joint law of all rungs is the product of their posteriors. Each
/// rung's own iteration leaves it invariant, and so does a swap of the states of two neighbours
/// that is accepted with probability
///
/// > min(1, eta_i(x_j) eta_j(x_i) / (eta_i(x_i) eta_j(x_j))),
///
/// the Metropolis ratio of an exchange: prior and model cancel, and so do the normalising constants
/// of the noise. (Geyer 1991, Markov chain Monte Carlo maximum likelihood. Even and odd pairs take
/// turns: Okabe, Kawata, Okamoto and Mikami 2001.)
///
/// An iteration costs as much as one of every rung.
#[derive(Debug)]
pub(super) struct Ladder {
    /// f_1, f_2, ...
    factors: Vec<f64>,
    /// The hot rungs.
    rungs: Vec<Chain<'static>>,
    /// Of each hot rung with the one below it.
    swaps: Vec<Swaps>,
}

/// What the swaps of a rung with the one below it did after warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Swaps {
    pub(super) proposed: u64,
    pub(super) accepted: u64,
}

/// Up to so many records a ladder is affordable; of more, the moves of theta and all records
/// together do what a ladder would.
const MOST_RECORDS: usize = 64;

/// A release is sharp where the statistic of one record ranges over so many noise scales.
const SHARP: f64 = 8.0;

/// On the hottest rung it ranges over so many.
const SOFT: f64 = 2.0;

/// The ratio of the noise scales of two neighbours for a release of one number. The potential of a
/// release of K numbers varies by its mean over sqrt(K), so that the steps have to be smaller.
const RATIO: f64 = 4.0;

/// The most hot rungs.
const MOST_RUNGS: usize = 12;

/// Over how many noise scales the statistic of one record ranges, where the posterior may be in
/// pieces: where the release is sharp and has few records. Not for counts in bins: records that
/// change their bin one at a time lead from any counts to any others that fit the release about as
/// well.
fn sharpness(problem: &Problem) -> Option<f64> {
    let release = problem.release();
    if release.n() > MOST_RECORDS || release.query().bins().is_some() {
        return None;
    }
    let scales = release.sum_scales();
    let widths = release.query().bounds().into_iter().map(|(low, high)| high - low);
    let sharpness = widths.zip(&scales).map(|(width, scale)| width / scale).fold(0.0, f64::max);
    (sharpness >= SHARP).then_some(sharpness)
}

/// Whether the posterior may be in pieces between which only a ladder leads.
pub(super) fn may_be_in_pieces(problem: &Problem) -> bool {
    sharpness(problem).is_some()
}

/// By how much the noise of each hot rung is wider than that of the release: nothing, if the
/// posterior is in one piece; nor if the potential is neither L1 nor L2, so that wider noise is not
/// of the same family, or if the ladder would have too many rungs.
fn factors(problem: &Problem) -> Vec<f64> {
    let is_norm = problem.release().potential().norm().is_some();
    let Some(sharpness) = sharpness(problem).filter(|it| is_norm && it.is_finite()) else {
        return Vec::new();
    };
    let ratio = 1.0 + (RATIO - 1.0) / (problem.release().query().dim() as f64).sqrt();
    let span = (sharpness / SOFT).ln();
    let rungs = ((span / ratio.ln()).ceil() as usize).max(1);
    if rungs > MOST_RUNGS {
        return Vec::new();
    }
    (1..=rungs).map(|k| (span * k as f64 / rungs as f64).exp()).collect()
}

/// The problem with noise that is `factor` times as wide.
fn heated(problem: &Problem, factor: f64) -> Outcome<Problem> {
    Ok(problem.with_release(problem.release().widened(factor)?)?)
}

impl Ladder {
    /// The hot rungs of `problem`, if its release asks for any; `begin` starts one of them.
    pub(super) fn new(
        problem: &Problem,
        rng: &mut Rng,
        begin: impl Fn(Problem, Rng) -> Outcome<Chain<'static>>,
    ) -> Outcome<Option<Self>> {
        let factors = factors(problem);
        let rungs = factors
            .iter()
            .map(|factor| begin(heated(problem, *factor)?, Rng::from_seed(rng.random())))
            .collect::<Outcome<Vec<_>>>()?;
        let swaps = vec![Swaps::default(); factors.len()];
        let ladder = Ladder { factors, rungs, swaps };
        Ok((!ladder.rungs.is_empty()).then_some(ladder))
    }

    /// One iteration of every hot rung, and then swaps of every other pair of neighbours; the
    /// coldest of all is `cold`, the state of `problem`.
    pub(super) fn step(
        &mut self,
        problem: &Problem,
        cold: &mut State,
        iteration: u64,
        is_warm: bool,
        rng: &mut Rng,
    ) -> Outcome {
        for rung in &mut self.rungs {
            rung.step()?;
        }
        let potential = problem.release().potential();
        let (mut below, mut below_factor, mut release) = (cold, 1.0, problem.release());
        let mut is_turn = iteration.is_multiple_of(2);
        let rungs = self.rungs.iter_mut().zip(&self.factors).zip(&mut self.swaps);
        for ((rung, factor), swaps) in rungs {
            let ratio: f64 = below_factor / factor;
            if is_turn {
                let taken = accepts(log_ratio(below, &rung.state, potential, ratio), rng);
                if taken {
                    exchange(below, release, &mut rung.state, rung.problem.release())?;
                }
                if is_warm {
                    swaps.proposed += 1;
                    swaps.accepted += u64::from(taken);
                }
            }
            (below, below_factor, release) = (&mut rung.state, *factor, rung.problem.release());
            is_turn = !is_turn;
        }
        Ok(())
    }

    /// What the swaps of the two neighbours did that swap least, after warm-up, with the work of
    /// all hot rungs. A ladder leads no further than its weakest step.
    pub(super) fn tally(&self) -> Tally {
        let reports = self.rungs.iter().flat_map(|rung| rung.moves());
        let work = reports.map(|report| report.tally.work).sum();
        let rate = |swaps: &&Swaps| swaps.accepted as f64 / swaps.proposed.max(1) as f64;
        let least = self.swaps.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)));
        let Swaps { proposed, accepted } = least.copied().unwrap_or_default();
        Tally { proposed, accepted, work }
    }

    /// All that a checkpoint holds of the hot rungs.
    pub(super) fn stored(&self) -> (Vec<Stored>, Vec<Swaps>) {
        (self.rungs.iter().map(Chain::stored).collect(), self.swaps.clone())
    }

    /// Whether these are the hot rungs of the stored chain `cold`, of `problem`.
    pub(super) fn check(
        problem: &Problem,
        rungs: &[Stored],
        swaps: &[Swaps],
        cold: &Stored,
    ) -> Check {
        let counted = |it: &Swaps| it.accepted <= it.proposed && it.proposed < MOST_COUNTED;
        let fits = swaps.len() == rungs.len() && swaps.iter().all(counted);
        ensure(fits, "the counts of the swaps do not fit each other")?;
        if rungs.is_empty() {
            return Ok(());
        }
        let factors = factors(problem);
        ensure(rungs.len() == factors.len(), "the ladder of the chain is of another problem")?;
        for (factor, rung) in factors.iter().zip(rungs) {
            let fits =
                rung.iteration == cold.iteration && rung.moves.warmup() == cold.moves.warmup();
            ensure(fits, "a rung of the ladder is at another iteration")?;
            rung.check(&heated(problem, *factor).map_err(|failure| failure.to_string())?)?;
        }
        Ok(())
    }

    /// The ladder that was stored, of `problem`, for which [`check`](Ladder::check) holds.
    pub(super) fn restore(
        problem: &Problem,
        stored: Vec<Stored>,
        swaps: Vec<Swaps>,
    ) -> Outcome<Option<Self>> {
        if stored.is_empty() {
            return Ok(None);
        }
        let factors = factors(problem);
        let rungs = factors
            .iter()
            .zip(stored)
            .map(|(factor, rung)| Chain::resume(Cow::Owned(heated(problem, *factor)?), rung))
            .collect::<Outcome<Vec<_>>>()?;
        Ok(Some(Ladder { factors, rungs, swaps }))
    }
}

/// The logarithm of the Metropolis ratio of a swap. A state whose potential is phi at its own scale
/// has the potential phi r at a scale that is 1 / r times as wide under an L1 potential, and phi r^2
/// under L2; `ratio` is the colder scale over the hotter one.
fn log_ratio(cold: &State, hot: &State, potential: &Potential, ratio: f64) -> f64 {
    let ratio = if potential.norm() == Some(Norm::L2) { ratio * ratio } else { ratio };
    let [own, other] = [cold, hot].map(|state| potential.cost(state.records.residual()));
    own * (1.0 - ratio) + other * (1.0 - 1.0 / ratio)
}

fn exchange(cold: &mut State, below: &Release, hot: &mut State, above: &Release) -> Outcome {
    std::mem::swap(&mut cold.theta, &mut hot.theta);
    let from_cold = cold.records.all().to_vec();
    let from_hot = hot.records.all().to_vec();
    cold.records = Records::new(below, from_hot)?;
    hot.records = Records::new(above, from_cold)?;
    Ok(())
}
