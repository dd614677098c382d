//! Two cells shared out anew given their sum, by the exact conditional distribution.
//!
//! Along the line c + k (e_i - e_j) the sum s = c_i + c_j is preserved, so that there are s + 1 values
//! at most. If s is small all are weighed, and one of them is drawn with the probability that the
//! target gives it (Gibbs): the target restricted to the line is left invariant. Whether s is small
//! does not depend on the position along the line.
//!
//! Small Dirichlet parameters put a spike on empty cells, which a slice move leaves with the
//! probability of a single value on its other side; this move leaves it with that of all values
//! together. From one k to the next the prior changes by a ratio of small numbers and Gaussian noise by
//! a quadratic function, so that a value costs two logarithms at most, whatever the number of
//! published sums.

use rand::RngExt;

use super::line::Line;
use super::problem::CountProblem;
use super::published::Likelihood;
use super::state::State;
use crate::rng::Rng;

/// The most values that are weighed.
const MOST: i64 = 96;

/// Draws k from its conditional distribution along a line from one cell to another, with at least
/// `least` records left in both. `None`, and no change, if the line is another one, or has too many
/// values. Otherwise whether the counts changed, and the number of values.
pub(super) fn split(
    line: &Line,
    problem: &CountProblem,
    state: &mut State,
    least: i64,
    weights: &mut Vec<f64>,
    rng: &mut Rng,
) -> Option<(bool, u64)> {
    let &[(to, 1), (from, -1)] = line.cells.as_slice() else { return None };
    let (low, high) = (least - state.counts[to], state.counts[from] - least);
    if high - low >= MOST {
        return None;
    }
    if high <= low {
        return Some((false, 0));
    }
    let terms = problem.terms(&state.log_shares);
    let (mut slope, mut curve) = (0.0, 0.0);
    for &(row, by) in line.rows() {
        if let Likelihood::L2 { value, rate, .. } = problem.published()[row].law {
            let (z, by) = ((value - state.sums[row] as f64) * rate, by as f64 * rate);
            slope += z * by;
            curve += 0.5 * by * by;
        }
    }
    weights.clear();
    let (mut prior, mut most) = (0.0, f64::NEG_INFINITY);
    for k in low..=high {
        if k > low {
            prior += terms.step((to, state.counts[to] + k - 1), (from, state.counts[from] - k + 1));
        }
        let at = k as f64;
        let mut log = prior + (slope - curve * at) * at;
        for &(row, by) in line.rows() {
            let law = &problem.published()[row].law;
            if !matches!(law, Likelihood::L2 { .. }) {
                log += law.log_density((state.sums[row] + by * k) as f64);
            }
        }
        weights.push(log);
        most = most.max(log);
    }
    let mut mass = 0.0;
    for weight in weights.iter_mut() {
        mass += (*weight - most).exp();
        *weight = mass;
    }
    // Nothing has a probability: as from an impossible start. A slice move may find its way.
    if mass.is_nan() {
        return None;
    }
    let level = rng.random::<f64>() * mass;
    let drawn = weights.iter().position(|&below| level < below).unwrap_or(weights.len() - 1);
    let k = low + drawn as i64;
    line.go(state, k);
    Some((k != 0, (high - low + 1) as u64))
}
