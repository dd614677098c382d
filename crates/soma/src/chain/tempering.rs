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

/// A ladder of chains on the same release with wider noise, which swap states.
///
/// A sharp release of few records concentrates the posterior on a thin surface of records that
/// match it, often in separate pieces (which records lie beyond a clamp, and which do not). No move
/// of one chain crosses between the pieces; under wide noise it does. Rung k of the ladder is a
/// chain whose noise scales are f_k times those of the release, f_0 = 1 < f_1 < f_2 ...; draws are
/// those of rung 0. The target is the product of the posteriors of all rungs. Each rung's own
/// iteration leaves it invariant, and so does a swap of the states of two neighbours that is
/// accepted with probability
///
/// > min(1, eta_i(x_j) eta_j(x_i) / (eta_i(x_i) eta_j(x_j))),
///
/// the Metropolis ratio of a swap: prior and model cancel, and so do the normalising constants of
/// the noise. (Geyer 1991, Markov chain Monte Carlo maximum likelihood. Even and odd pairs
/// alternate: Okabe, Kawata, Okamoto and Mikami 2001.)
///
/// An iteration costs one iteration of every rung.
#[derive(Debug)]
pub(super) struct Ladder {
    /// f_1, f_2, ...
    factors: Vec<f64>,
    /// The hot rungs.
    rungs: Vec<Chain<'static>>,
    /// The swaps of each hot rung with the one below it.
    swaps: Vec<Swaps>,
}

/// The counts of swaps of a rung with the one below it, after warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Swaps {
    pub(super) proposed: u64,
    pub(super) accepted: u64,
}

/// The largest number of records for a ladder. With more, the joint updates of theta and all
/// records cross instead.
const MOST_RECORDS: usize = 64;

/// A release is sharp if the statistic of one record ranges over this many noise scales.
const SHARP: f64 = 8.0;

/// The range on the hottest rung, in its noise scales.
const SOFT: f64 = 2.0;

/// The ratio of the noise scales of neighbours for a release of one number. The relative standard
/// deviation of the potential of K numbers is of order 1 / sqrt(K), so the steps shrink with K.
const RATIO: f64 = 4.0;

/// The largest number of hot rungs.
const MOST_RUNGS: usize = 12;

/// The range of the statistic of one record, in noise scales, if the posterior may be in separate
/// pieces: if the release is sharp and has few records. Not for counts in bins: single records that
/// change their bin connect all counts that fit the release about equally well.
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

/// Whether the posterior may be in separate pieces that only a ladder connects.
pub(super) fn may_be_in_pieces(problem: &Problem) -> bool {
    sharpness(problem).is_some()
}

/// The factors f_k of the hot rungs. Empty if the posterior is connected, if the potential is
/// neither L1 nor L2 (wider noise would leave the family), or if the ladder would have too many
/// rungs.
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

/// The problem with noise scales multiplied by `factor`.
fn heated(problem: &Problem, factor: f64) -> Outcome<Problem> {
    Ok(problem.with_release(problem.release().widened(factor)?)?)
}

impl Ladder {
    /// The hot rungs of `problem`, if it needs any; `begin` starts one of them.
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

    /// One iteration of every hot rung, then swaps of every other pair of neighbours; `cold` is the
    /// state of rung 0, of `problem`.
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

    /// The swaps after warm-up of the pair that swaps least, with the work of all hot rungs: the
    /// weakest link limits the ladder.
    pub(super) fn tally(&self) -> Tally {
        let reports = self.rungs.iter().flat_map(|rung| rung.moves());
        let work = reports.map(|report| report.tally.work).sum();
        let rate = |swaps: &&Swaps| swaps.accepted as f64 / swaps.proposed.max(1) as f64;
        let least = self.swaps.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)));
        let Swaps { proposed, accepted } = least.copied().unwrap_or_default();
        Tally { proposed, accepted, work }
    }

    /// The stored state of the hot rungs.
    pub(super) fn stored(&self) -> (Vec<Stored>, Vec<Swaps>) {
        (self.rungs.iter().map(Chain::stored).collect(), self.swaps.clone())
    }

    /// Whether these are valid hot rungs of the stored chain `cold`, of `problem`.
    pub(super) fn check(
        problem: &Problem,
        rungs: &[Stored],
        swaps: &[Swaps],
        cold: &Stored,
    ) -> Check {
        let counted = |it: &Swaps| it.accepted <= it.proposed && it.proposed < MOST_COUNTED;
        let fits = swaps.len() == rungs.len() && swaps.iter().all(counted);
        ensure(fits, "the counts of the swaps are inconsistent")?;
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

    /// Restores the ladder of `problem`, after [`check`](Ladder::check).
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

/// The logarithm of the Metropolis ratio of a swap. `ratio` r is the colder noise scale over the
/// hotter one. A potential phi at the colder scale becomes phi r at the hotter one under L1, and
/// phi r^2 under L2.
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
