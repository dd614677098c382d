//! Two cells redrawn from the prior given their sum.
//!
//! The sum s of two cells is preserved. Given s the prior of the first is beta-binomial (s, a_i,
//! a_j) with the shares integrated out, and binomial (s, p_i / (p_i + p_j)) given them. A count
//! drawn from it is accepted by the ratio of the densities of the published numbers: a
//! Metropolis-Hastings move with the prior as the proposal, so that the prior cancels. It crosses
//! gaps that a slice move cannot: with small Dirichlet parameters a cell has most of its mass at 0,
//! far from the rest.

use rand::RngExt;
use rand_distr::{Binomial, Distribution};

use super::problem::CountProblem;
use super::shares::{Shares, log_gamma_draw};
use super::state::State;
use crate::rng::Rng;

/// One such move of two different cells. Returns whether it was accepted.
pub(super) fn redraw(
    problem: &CountProblem,
    state: &mut State,
    (first, second): (usize, usize),
    rng: &mut Rng,
) -> bool {
    let sum = state.counts[first] + state.counts[second];
    if sum == 0 {
        return true;
    }
    let share = match problem.shares() {
        Shares::Dirichlet(alpha) => {
            let logs = [first, second].map(|cell| log_gamma_draw(alpha[cell], rng));
            logistic(logs[0] - logs[1])
        }
        Shares::Model(_) => logistic(state.log_shares[first] - state.log_shares[second]),
    };
    let by = binomial(sum, share, rng) - state.counts[first];
    if by == 0 {
        return true;
    }
    let mut change = 0.0;
    for (cell, by) in [(first, by), (second, -by)] {
        for &(row, weight) in problem.rows_of(cell) {
            let law = &problem.published()[row].law;
            let sum = &mut state.sums[row];
            change -= law.log_density(*sum as f64);
            *sum += by * weight;
            change += law.log_density(*sum as f64);
        }
    }
    if rng.random::<f64>() < change.exp() {
        state.counts[first] += by;
        state.counts[second] -= by;
        return true;
    }
    for (cell, by) in [(first, by), (second, -by)] {
        problem.rows_of(cell).iter().for_each(|&(row, weight)| state.sums[row] -= by * weight);
    }
    false
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A draw from Binomial(n, p), in a time that does not grow with n.
pub(super) fn binomial(n: i64, p: f64, rng: &mut Rng) -> i64 {
    match Binomial::new(n.max(0) as u64, p.clamp(0.0, 1.0)) {
        Ok(binomial) => binomial.sample(rng) as i64,
        Err(_) => 0,
    }
}

/// Adds a multinomial draw of `n` with probabilities proportional to `weights` to the counts.
pub(super) fn add_multinomial(mut n: i64, weights: &[f64], counts: &mut [i64], rng: &mut Rng) {
    let mut left: f64 = weights.iter().sum();
    let Some(last) = weights.iter().rposition(|&weight| weight > 0.0) else { return };
    for (cell, &weight) in weights.iter().enumerate().take(last + 1) {
        if n == 0 {
            return;
        }
        let drawn = if cell == last { n } else { binomial(n, weight / left, rng) };
        counts[cell] += drawn;
        n -= drawn;
        left -= weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    /// Mean and variance at the sizes of a census, with preserved sums.
    #[test]
    fn binomials_and_multinomials_have_their_moments() {
        let mut rng = stream(1, 0);
        for (n, p) in [(300_000_000, 0.3), (300_000_000, 1e-7), (40, 0.25), (1_000_000, 0.999)] {
            let draws: Vec<f64> = (0..40_000).map(|_| binomial(n, p, &mut rng) as f64).collect();
            let (mean, var) = (n as f64 * p, n as f64 * p * (1.0 - p));
            let got = draws.iter().sum::<f64>() / 4e4;
            assert!((got - mean).abs() < 4.5 * (var / 4e4).sqrt(), "{n} {p}: mean {got}");
            let spread = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4e4;
            let error = var * ((2.0 + 1.0 / var) / 4e4).sqrt();
            assert!((spread - var).abs() < 4.5 * error, "{n} {p}: variance {spread}, {var}");
        }
        let weights = [0.0, 2.0, 1.0, 0.0, 5.0, 0.0];
        let mut counts = [0; 6];
        (0..10_000).for_each(|_| add_multinomial(8, &weights, &mut counts, &mut rng));
        assert_eq!(counts.iter().sum::<i64>(), 80_000);
        for (count, weight) in counts.iter().zip(weights) {
            let p = weight / 8.0;
            assert!((*count as f64 - 8e4 * p).abs() <= 4.5 * (8e4 * p * (1.0 - p)).sqrt());
        }
    }
}
