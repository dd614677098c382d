//! theta and the counts moved together.
//!
//! From theta to theta', each record of cell i stays with probability min(1, p_i' / p_i); those
//! that leave go to the cells that gain, with probabilities proportional to p_j' - p_j. This is
//! the maximal coupling of the cell of a record under theta and under theta', summed over records:
//! at most one binomial draw for each cell that loses and a multinomial one for those that gain.
//!
//! Invariance: a record is in i and then in j with probability min(p_i, p_i') for i = j and
//! (p_i - p_i')+ (p_j' - p_j)+ / TV otherwise, which is the same read backwards, with theta and
//! theta' exchanged. So M(c | theta) K(c, c') = M(c' | theta') K'(c', c) for the multinomial M, M
//! cancels, and with a symmetric step of theta the move is accepted by the ratio of the prior of
//! theta times the density of what was published. Where the noise is blunt this moves theta on the
//! scale of its posterior given the release, not given the counts.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::problem::CountProblem;
use super::redraw::{add_multinomial, binomial};
use super::shares::CellModel;
use super::state::{State, sums};
use crate::rng::Rng;

/// One such move along `direction`, by a normal step of size `step`. Whether it was accepted.
pub(super) fn reroute(
    problem: &CountProblem,
    model: &dyn CellModel,
    state: &mut State,
    direction: &[f64],
    step: f64,
    rng: &mut Rng,
) -> bool {
    let z: f64 = rng.sample(StandardNormal);
    let by = |(theta, v): (&f64, &f64)| theta + step * z * v;
    let theta: Vec<f64> = state.theta.iter().zip(direction).map(by).collect();
    let prior = model.log_prior(&theta) - model.log_prior(&state.theta);
    if !prior.is_finite() {
        return false;
    }
    let mut log_shares = vec![0.0; state.counts.len()];
    model.log_shares(&theta, &mut log_shares);
    let mut counts = coupled(&state.counts, &state.log_shares, &log_shares, rng);
    let mut sums = sums(problem, &counts);
    let ratio = prior + problem.log_density(&sums) - problem.log_density(&state.sums);
    let accepted = rng.random::<f64>() < ratio.exp();
    if accepted {
        state.replace(&mut counts, &mut sums);
        state.theta = theta;
        state.log_shares = log_shares;
    }
    accepted
}

/// The counts after each record was moved from its cell under the one shares to that under the
/// other.
pub(super) fn coupled(counts: &[i64], from: &[f64], to: &[f64], rng: &mut Rng) -> Vec<i64> {
    let mut moved = counts.to_vec();
    let mut gains = vec![0.0; counts.len()];
    let mut pool = 0;
    for (cell, count) in moved.iter_mut().enumerate() {
        let change = to[cell] - from[cell];
        if change < 0.0 {
            let leaving = binomial(*count, -change.exp_m1(), rng);
            *count -= leaving;
            pool += leaving;
        } else if change > 0.0 {
            gains[cell] = to[cell].exp() - from[cell].exp();
        }
    }
    if pool > 0 && gains.iter().all(|&gain| gain <= 0.0) {
        return counts.to_vec();
    }
    add_multinomial(pool, &gains, &mut moved, rng);
    moved
}
