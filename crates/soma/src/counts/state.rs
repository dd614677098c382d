//! The state of a chain of counts: the counts, their sums and theta.

use super::problem::CountProblem;
use super::shares::Shares;

/// The counts and the quantities cached with them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    /// The true count of each cell.
    pub(super) counts: Vec<i64>,
    /// The true answer of each published number: A times the counts.
    pub(super) sums: Vec<i64>,
    /// The sum of the counts.
    pub(super) n: i64,
    /// The parameters of the model; empty for a Dirichlet prior.
    pub(super) theta: Vec<f64>,
    /// The log probabilities of the cells under theta; empty for a Dirichlet prior.
    pub(super) log_shares: Vec<f64>,
    /// The shares drawn for the output; empty for a model.
    pub(super) shares: Vec<f64>,
    /// Noisy counts that were not published; none, where they were.
    pub(super) noisy: Vec<f64>,
}

impl State {
    pub(super) fn new(problem: &CountProblem, counts: Vec<i64>, theta: Vec<f64>) -> Self {
        let cells = counts.len();
        let (mut log_shares, mut shares) = (Vec::new(), Vec::new());
        match problem.shares() {
            Shares::Dirichlet(_) => shares = vec![1.0 / cells as f64; cells],
            Shares::Model(model) => {
                log_shares = vec![0.0; cells];
                model.log_shares(&theta, &mut log_shares);
            }
        }
        let sums = sums(problem, &counts);
        let n = counts.iter().sum();
        State { counts, sums, n, theta, log_shares, shares, noisy: Vec::new() }
    }

    /// Moves records between two cells that are published one by one.
    pub(super) fn shift(&mut self, first: usize, second: usize, by: i64) {
        for values in [&mut self.counts, &mut self.sums] {
            values[first] += by;
            values[second] -= by;
        }
    }

    /// Replaces the counts and their sums.
    pub(super) fn replace(&mut self, counts: &mut Vec<i64>, sums: &mut Vec<i64>) {
        std::mem::swap(&mut self.counts, counts);
        std::mem::swap(&mut self.sums, sums);
        self.n = self.counts.iter().sum();
    }
}

/// A times the counts.
pub(super) fn sums(problem: &CountProblem, counts: &[i64]) -> Vec<i64> {
    let sum = |cells: &[(usize, i64)]| cells.iter().map(|&(c, w)| w * counts[c]).sum();
    problem.published().iter().map(|row| sum(&row.cells)).collect()
}
