//! The initial state of a chain of counts: near the published numbers, dispersed between chains.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::problem::CountProblem;
use super::published::Published;
use super::shares::Shares;
use super::state::State;
use crate::rng::Rng;

/// An initial state, and the approximate posterior variance of each count.
pub(super) fn start(problem: &CountProblem, rng: &mut Rng) -> (State, Vec<f64>) {
    let cells = problem.table().cells();
    let size = problem.total().nearest(size(problem, rng));
    let mut guess: Vec<f64> = match problem.reports() {
        Some(reports) => reports.counts().iter().map(|&count| count as f64).collect(),
        None => vec![size / cells as f64; cells],
    };
    let mut spread = vec![f64::NAN; cells];
    for row in problem.published() {
        if let Some(cell) = single(row) {
            let sd = row.law.sd();
            if spread[cell].is_nan() || sd < spread[cell] {
                spread[cell] = sd;
                guess[cell] = perturbed(row, rng).max(0.0);
            }
        }
    }
    // A small floor, so that shares are positive and no cell starts empty for certain.
    let floor = 0.5 / cells as f64;
    let sum: f64 = guess.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let shares: Vec<f64> =
        guess.iter().map(|g| (g / sum + floor / cells as f64) / (1.0 + floor)).collect();
    let counts = apportion(size.round() as i64, &shares);
    let theta = match problem.shares() {
        Shares::Dirichlet(_) => Vec::new(),
        Shares::Model(model) => {
            let mut theta = vec![0.0; model.dim()];
            model.start(&shares, &mut theta, rng);
            theta
        }
    };
    let variance = |(count, sd): (&i64, &f64)| {
        let count = *count as f64;
        let own = if sd.is_nan() { count } else { sd * sd };
        own.min(count * count + count + 1.0).max(0.5)
    };
    let variances = counts.iter().zip(&spread).map(variance).collect();
    (State::new(problem, counts, theta), variances)
}

/// n, or an estimate: a published total if there is one, else the sum of the cells.
fn size(problem: &CountProblem, rng: &mut Rng) -> f64 {
    if let Some(n) = problem.total().known() {
        return n as f64;
    }
    let cells = problem.table().cells();
    let is_total =
        |row: &&Published| row.cells.len() == cells && row.cells.iter().all(|c| c.1 == 1);
    if let Some(row) = problem.published().iter().find(is_total) {
        return perturbed(row, rng).max(0.0);
    }
    let singles = problem.published().iter().filter(|row| single(row).is_some());
    singles.map(|row| perturbed(row, rng).max(0.0)).sum()
}

/// The cell, if the row has only one.
fn single(row: &Published) -> Option<usize> {
    match row.cells.as_slice() {
        &[(cell, 1)] => Some(cell),
        _ => None,
    }
}

/// A plausible true answer given the published number.
fn perturbed(row: &Published, rng: &mut Rng) -> f64 {
    let z: f64 = rng.sample(StandardNormal);
    (row.law.centre() + row.law.sd() * z).clamp(-1e12, 1e12)
}

/// Integers that sum to n and approximate n times the shares, by rounding cumulative sums.
pub(super) fn apportion(n: i64, shares: &[f64]) -> Vec<i64> {
    let sum: f64 = shares.iter().sum();
    let (mut running, mut given) = (0.0, 0);
    let mut counts: Vec<i64> = shares
        .iter()
        .map(|share| {
            running += share / sum;
            let upto = ((n as f64 * running).round() as i64).clamp(given, n);
            let count = upto - given;
            given = upto;
            count
        })
        .collect();
    if let Some(last) = counts.last_mut() {
        *last += n - given;
    }
    counts
}
