//! Pairs of chains at fixed theta, move by move, until they meet.

use soma::Outcome;
use soma::chain::Problem;
use soma::coupling::{Meetings, SinglePair};
use soma::rng::Rng;

use crate::paper::{Sampler, Study};

/// A pair whose chains start from two independent sets of records of the model.
pub(crate) fn pair<'a>(
    problem: &'a Problem,
    sampler: Sampler,
    rng: &mut Rng,
) -> Outcome<SinglePair<'a>> {
    let theta = problem.fixed().unwrap_or_default();
    let length = problem.release().n() * problem.model().record_dim();
    let mut starts = [vec![0.0; length], vec![0.0; length]];
    for start in &mut starts {
        problem.model().propose(theta, start, rng)?;
    }
    SinglePair::new(problem, sampler.single(), starts)
}

/// The move at which the pair meets, if it does within `limit` moves.
pub(crate) fn meeting(
    pair: &mut SinglePair<'_>,
    limit: u64,
    rng: &mut Rng,
) -> Outcome<Option<u64>> {
    while pair.pair().distance() > 0 {
        if pair.moves() >= limit {
            return Ok(None);
        }
        pair.advance(rng)?;
    }
    Ok(Some(pair.moves()))
}

/// The meeting times of `count` pairs on one problem.
pub(crate) fn meetings(
    study: &Study<'_>,
    purpose: &str,
    problem: &Problem,
    sampler: Sampler,
    count: usize,
    limit: u64,
) -> Outcome<Meetings> {
    let purpose = format!("{purpose}/{}", sampler.name());
    let times = study.map(&purpose, count, |_, mut rng| {
        let mut pair = pair(problem, sampler, &mut rng)?;
        meeting(&mut pair, limit, &mut rng)
    })?;
    Ok(Meetings::new(0, limit, times))
}

/// The rate at which the probability of not having met falls per move, with its standard error from
/// the bootstrap interval; NaN if there are too few pairs.
pub(crate) fn rate(meetings: &Meetings, seed: u64) -> (f64, f64) {
    match meetings.rate(seed) {
        Some(rate) => (rate.estimate, (rate.high - rate.low) / (2.0 * 1.96)),
        None => (f64::NAN, f64::NAN),
    }
}
