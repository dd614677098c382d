//! Joint moves of all counts and n, if n is unknown.
//!
//! With q < 1: either each count is thinned, c_i' ~ Binomial(c_i, q), or the counts grow by m ~
//! NegativeBinomial(n + 1, q) records drawn from the prior predictive distribution: with the shares
//! integrated out p ~ Dirichlet(c + a) and then Multinomial(m, p), which is Pólya's urn; given the
//! shares Multinomial(m, p).
//!
//! Invariance: write M(c | n) for the prior of the counts given n. Records under M are
//! exchangeable, so drawing c from M(. | n) and removing m records at random is the same as drawing
//! c' from M(. | n - m) and adding m from the predictive distribution. What remains of the ratio of
//! the two directions is the distribution of m: Binomial(m | n, 1 - q) down from n against
//! NegativeBinomial(m | n - m + 1, q) up to it, n! / (n'! m!) q^n' (1-q)^m over n! / (n'! m!)
//! (1-q)^m q^(n'+1), which is 1/q. So thinning is accepted with probability min(1, q R) and growth
//! with min(1, R / q), where R is the ratio of the priors of n and of the densities of the
//! published numbers. The cost is linear in the cells.

use rand::RngExt;
use rand_distr::{Distribution, Poisson, StandardNormal};

use super::problem::CountProblem;
use super::redraw::{add_multinomial, binomial};
use super::shares::{Shares, log_gamma_draw, sample_shares};
use super::state::{State, sums};
use crate::release::Total;
use crate::rng::Rng;

/// One such move with ln q = -|step times a standard normal|. Returns whether it was accepted.
pub(super) fn resize(problem: &CountProblem, state: &mut State, step: f64, rng: &mut Rng) -> bool {
    let z: f64 = rng.sample(StandardNormal);
    let log_q = -(step * z).abs();
    let grows: bool = rng.random();
    let mut counts = state.counts.clone();
    if grows {
        let more = negative_binomial(state.n + 1, log_q, rng);
        // The state space ends here: a proposal beyond it is rejected.
        if more > Total::MOST - state.n {
            return false;
        }
        grow(problem, state, more, &mut counts, rng);
    } else {
        let q = log_q.exp();
        counts.iter_mut().for_each(|count| *count = binomial(*count, q, rng));
    }
    let n: i64 = counts.iter().sum();
    let mut sums = sums(problem, &counts);
    let ratio = problem.total().change(state.n, n - state.n) + problem.log_density(&sums)
        - problem.log_density(&state.sums)
        + if grows { -log_q } else { log_q };
    let accepted = rng.random::<f64>() < ratio.exp();
    if accepted {
        state.replace(&mut counts, &mut sums);
    }
    accepted
}

/// The number of failures before success number `shape`, with success probability exp(log_q):
/// Poisson with a gamma mean.
fn negative_binomial(shape: i64, log_q: f64, rng: &mut Rng) -> i64 {
    let odds = (-log_q).exp_m1();
    let mean = log_gamma_draw(shape as f64, rng).exp() * odds;
    match Poisson::new(mean) {
        Ok(poisson) => {
            let draw: f64 = poisson.sample(rng);
            draw as i64
        }
        Err(_) => 0,
    }
}

/// Adds `more` records from the prior predictive distribution.
fn grow(problem: &CountProblem, state: &State, more: i64, counts: &mut [i64], rng: &mut Rng) {
    let mut shares = vec![0.0; counts.len()];
    match problem.shares() {
        Shares::Dirichlet(alpha) => sample_shares(alpha, counts, &mut shares, rng),
        Shares::Model(_) => {
            shares.iter_mut().zip(&state.log_shares).for_each(|(p, log)| *p = log.exp());
        }
    }
    add_multinomial(more, &shares, counts, rng);
}
