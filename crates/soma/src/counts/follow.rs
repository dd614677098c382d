//! The common prior of pooled groups moved together with the counts of all groups.
//!
//! Given the counts the common prior is known better than given the release, the more so the
//! blunter the noise; moves of one given the other are slow then. Here the groups' counts follow.
//!
//! The shares of each group are drawn given its counts, theta ~ Dirichlet(alpha + c), and a size
//! S ~ Gamma(k): then G_i = S theta_i are independent Gamma(alpha_i) under the prior. A normal step
//! takes ln alpha to ln alpha', and l_i = ln G_i to
//!
//! l_i' = m(alpha_i') + (l_i - m(alpha_i)) s(alpha_i') / s(alpha_i),
//!
//! m the mean and s the standard deviation of ln Gamma(alpha_i), which are the digamma function and
//! the root of the trigamma function. Shares theta' follow, and the records of each group by the
//! maximal coupling of their cells, as in [reroute](super::reroute).
//!
//! Invariance: the map of (alpha, l) is one to one, its inverse is that of the step back, and its
//! Jacobian is the product of s(alpha_i') / s(alpha_i). The multinomial of the counts cancels by
//! the coupling. The move is accepted by the ratio of the priors of ln alpha, of the densities
//! exp(alpha_i l_i - exp(l_i)) / Gamma(alpha_i), and of what was published, times the Jacobian: S
//! and theta are drawn from their conditional law before each move, and forgotten after it.

use rand::RngExt;
use rand_distr::StandardNormal;
use statrs::function::gamma::{digamma, ln_gamma};

use super::pooled::Member;
use super::reroute::coupled;
use super::shared::{Shared, log_sum_exp};
use super::shares::log_gamma_draw;
use super::state::sums;
use super::tuning::Step;
use crate::error::Outcome;
use crate::interrupt;
use crate::rng::Rng;

/// The steps of the moves: one for each cell, and one for all together.
#[derive(Debug)]
pub(super) struct Follow {
    steps: Vec<Step>,
}

/// A parameter of a gamma distribution before and after, and what its logarithm does.
struct Map {
    alpha: [f64; 2],
    mean: [f64; 2],
    ratio: f64,
    constant: f64,
}

impl Map {
    fn new(alpha: [f64; 2]) -> Self {
        let ratio = (trigamma(alpha[1]) / trigamma(alpha[0])).sqrt();
        let constant = ratio.ln() - ln_gamma(alpha[1]) + ln_gamma(alpha[0]);
        Map { alpha, mean: alpha.map(digamma), ratio, constant }
    }

    /// Where l goes, and the log of the ratio of densities with the Jacobian.
    fn apply(&self, l: f64) -> (f64, f64) {
        let to = self.mean[1] + (l - self.mean[0]) * self.ratio;
        let change = self.alpha[1] * to - to.exp() - self.alpha[0] * l + l.exp();
        (to, change + self.constant)
    }
}

impl Follow {
    pub(super) fn new() -> Self {
        Follow { steps: Vec::new() }
    }

    /// A move of each cell's parameter, and of all together.
    pub(super) fn run(
        &mut self,
        shared: &mut Shared,
        members: &mut [Member],
        learns: bool,
        rng: &mut Rng,
    ) -> Outcome {
        let cells = shared.log_alpha.len();
        self.steps.resize(cells + 1, Step::new(1.0 / (members.len() as f64).sqrt()));
        for (place, step) in self.steps.iter_mut().enumerate() {
            interrupt::check()?;
            let range = if place < cells { place..place + 1 } else { 0..cells };
            let by = step.size * rng.sample::<f64, _>(StandardNormal);
            let mut log_alpha = shared.log_alpha.clone();
            log_alpha[range].iter_mut().for_each(|log| *log += by);
            let accepted = to(shared, &log_alpha, members, rng);
            if accepted {
                shared.log_alpha = log_alpha;
            }
            if learns {
                step.learn(accepted);
            }
        }
        Ok(())
    }
}

/// Moves the groups to the parameters `log_alpha`, or leaves them as they are. Whether they moved.
fn to(shared: &Shared, log_alpha: &[f64], members: &mut [Member], rng: &mut Rng) -> bool {
    let map = |(&from, &to): (&f64, &f64)| {
        let alpha = [from, to].map(f64::exp);
        // Beyond this the functions of the gamma distribution are not known.
        let is_known = alpha.iter().all(|alpha| (1e-100..1e15).contains(alpha));
        (from == to || is_known).then(|| (from != to).then(|| Map::new(alpha)))
    };
    let maps = shared.log_alpha.iter().zip(log_alpha).map(map);
    let Some(maps) = maps.collect::<Option<Vec<Option<Map>>>>() else { return false };
    let log_level = (1.0 - rng.random::<f64>()).ln();
    let alpha = shared.alpha();
    let concentration: f64 = alpha.iter().sum();
    let mut ratio = shared.log_prior(log_alpha) - shared.log_prior(&shared.log_alpha);
    let mut moved = Vec::with_capacity(members.len());
    for Member { problem, state, .. } in members.iter() {
        let draw = |(&alpha, &count): (&f64, &i64)| log_gamma_draw(alpha + count as f64, rng);
        let mut from: Vec<f64> = alpha.iter().zip(&state.counts).map(draw).collect();
        let size = log_gamma_draw(concentration, rng);
        let log_sum = log_sum_exp(&from);
        from.iter_mut().for_each(|log| *log -= log_sum);
        let mut to = from.clone();
        for (to, map) in to.iter_mut().zip(&maps) {
            if let Some(map) = map {
                let (l, change) = map.apply(*to + size);
                *to = l - size;
                ratio += change;
            }
        }
        let log_sum = log_sum_exp(&to);
        to.iter_mut().for_each(|log| *log -= log_sum);
        let Some(counts) = coupled(&state.counts, &from, &to, rng) else { return false };
        let sums = sums(problem, &counts);
        ratio += problem.log_density(&sums) - problem.log_density(&state.sums);
        moved.push((counts, sums));
    }
    let accepted = log_level < ratio;
    if accepted {
        for (member, (mut counts, mut sums)) in members.iter_mut().zip(moved) {
            member.state.replace(&mut counts, &mut sums);
        }
    }
    accepted
}

/// The derivative of the digamma function: recurrence up to 10, then the asymptotic series.
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let (inverse, square) = (1.0 / x, 1.0 / (x * x));
    let tail = 1.0 / 42.0 - square * (1.0 / 30.0 - square * 5.0 / 66.0);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * tail);
    sum + inverse + 0.5 * square + inverse * square * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigamma_has_its_known_values() {
        let pi = std::f64::consts::PI;
        for (x, expected) in
            [(1.0, pi * pi / 6.0), (0.5, pi * pi / 2.0), (2.0, pi * pi / 6.0 - 1.0)]
        {
            assert!((trigamma(x) / expected - 1.0).abs() < 1e-12, "{x}: {}", trigamma(x));
        }
        assert!((trigamma(1e-3) / 1_000_001.642_533 - 1.0).abs() < 1e-9);
    }
}
