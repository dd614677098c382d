//! Joint moves of theta and the counts.
//!
//! From theta to theta', each record of cell i stays with probability min(1, p_i' / p_i); those
//! that leave go to the cells that gain, with probabilities proportional to p_j' - p_j. This is the
//! maximal coupling of the cell of a record under theta and under theta', summed over records: at
//! most one binomial draw for each cell that loses and a multinomial one for those that gain.
//!
//! Invariance: a record is in i and then in j with probability min(p_i, p_i') for i = j and (p_i -
//! p_i')+ (p_j' - p_j)+ / TV otherwise, which is symmetric under an exchange of (i, theta) and (j,
//! theta'). So M(c | theta) K(c, c') = M(c' | theta') K'(c', c) for the multinomial M, M cancels,
//! and with a symmetric proposal of theta the move is accepted by the ratio of the prior of theta
//! times the density of the published numbers. If the noise is large this moves theta on the scale
//! of its posterior given the release, not given the counts.
//!
//! Within groups: the same with the records of each [group](super::groups) moved within it, between
//! the conditional probabilities p_i / P_g of its cells, P_g = sum of p_i over the group. The
//! multinomial is that of the sizes N_g of the groups times one for each group; the latter cancel
//! as before, the former do not, and leave the factor prod_g (P_g' / P_g)^N_g. Sums over whole
//! groups are preserved, so margins that are much more precise than the cells do not cause
//! rejections.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::groups::Groups;
use super::problem::CountProblem;
use super::redraw::{add_multinomial, binomial};
use super::shares::{CellModel, sum_to_one};
use super::state::{State, sums};
use crate::rng::Rng;

/// One such move along `direction`, by a normal step of size `step`, within `groups` if given.
/// Returns whether it was accepted.
pub(super) fn reroute(
    problem: &CountProblem,
    model: &dyn CellModel,
    state: &mut State,
    (direction, step): (&[f64], f64),
    groups: Option<&Groups>,
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
    if !sum_to_one(&log_shares) {
        return false;
    }
    let moved = match groups {
        None => coupled(&state.counts, &state.log_shares, &log_shares, rng).map(|c| (c, 0.0)),
        Some(groups) => coupled_within(groups, state, &log_shares, rng),
    };
    let Some((mut counts, sizes)) = moved else { return false };
    let mut sums = sums(problem, &counts);
    let ratio = prior + sizes + problem.log_density(&sums) - problem.log_density(&state.sums);
    let accepted = rng.random::<f64>() < ratio.exp();
    if accepted {
        state.replace(&mut counts, &mut sums);
        state.theta = theta;
        state.log_shares = log_shares;
    }
    accepted
}

/// The counts after the moves within each group, and the log of the factor of the group sizes. `None`
/// as in [`coupled`].
fn coupled_within(
    groups: &Groups,
    state: &State,
    to: &[f64],
    rng: &mut Rng,
) -> Option<(Vec<i64>, f64)> {
    let from = &state.log_shares;
    let (before, after) = (groups.log_shares(from), groups.log_shares(to));
    let mut counts = state.counts.clone();
    let mut ratio = 0.0;
    for (group, cells) in groups.cells.iter().enumerate() {
        let size: i64 = cells.iter().map(|&cell| state.counts[cell]).sum();
        if size == 0 {
            continue;
        }
        ratio += size as f64 * (after[group] - before[group]);
        let own: Vec<i64> = cells.iter().map(|&cell| state.counts[cell]).collect();
        let within = |logs: &[f64], whole: f64| -> Vec<f64> {
            cells.iter().map(|&cell| logs[cell] - whole).collect()
        };
        let (from, to) = (within(from, before[group]), within(to, after[group]));
        let moved = coupled(&own, &from, &to, rng)?;
        cells.iter().zip(moved).for_each(|(&cell, count)| counts[cell] = count);
    }
    Some((counts, ratio))
}

/// The counts after each record was moved from its cell under one set of shares to that under the
/// other. `None` if records leave and no cell gains: the shares sum to one only about, and the move is
/// rejected.
pub(super) fn coupled(counts: &[i64], from: &[f64], to: &[f64], rng: &mut Rng) -> Option<Vec<i64>> {
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
        return None;
    }
    add_multinomial(pool, &gains, &mut moved, rng);
    Some(moved)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::groups::partitions;
    use super::super::models::LogLinear;
    use super::super::shares::{Shares, log_gamma_draw};
    use super::super::tests::cross;
    use super::super::{Likelihood, Published, Total};
    use super::*;
    use crate::release::mechanism::Noise;
    use crate::rng::stream;

    /// theta from its prior and counts from the model have an invariant joint distribution under
    /// the move: the margin that defines the groups has overwhelming noise. With groups of unequal
    /// size, and steps that are often rejected.
    #[test]
    fn the_joint_prior_is_left_invariant() {
        let table = cross(&[2, 3]);
        let law = Likelihood::new(Noise::Gaussian, 1e9, 5.0).unwrap();
        let rows = vec![Published::sum("some", &[0, 1], law)];
        let terms = [(vec![0], 0.8), (vec![1], 0.6)];
        let model = Arc::new(LogLinear::new(&table, &terms).unwrap());
        let shares = Shares::Model(model.clone());
        let problem = CountProblem::new(table, rows, Total::Known(12), shares).unwrap();
        let partitions = partitions(&problem);
        assert_eq!(partitions.len(), 1);
        let mut rng = stream(8, 0);
        let features = |state: &State| {
            let c: Vec<f64> = state.counts.iter().map(|&count| count as f64).collect();
            let t = &state.theta;
            let both = [t[0] * c[0], t[2] * c[1], c[0] * c[5], c[0] * c[1], t[0] * t[2]];
            [t, &c, &[t[0] * t[0], c[0] * c[0], c[2] * c[2]][..], &both[..]].concat()
        };
        const REPEATS: usize = 40_000;
        for groups in [None, Some(&partitions[0])] {
            let (mut first, mut second) = (vec![0.0; 19], vec![0.0; 19]);
            let mut accepted = 0;
            for _ in 0..REPEATS {
                let mut theta = vec![0.0; model.dim()];
                model.sample_prior(&mut theta, &mut rng);
                let mut logs = vec![0.0; 6];
                model.log_shares(&theta, &mut logs);
                let mut counts = vec![0; 6];
                let weights: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
                add_multinomial(12, &weights, &mut counts, &mut rng);
                let mut state = State::new(&problem, counts, theta);
                let before = features(&state);
                let direction = [0.9, -0.4, 0.5, 0.1, -0.8];
                let step = 1.0 + log_gamma_draw(2.0, &mut rng).exp();
                let model = model.as_ref();
                let way = (&direction[..], step);
                accepted += u32::from(reroute(&problem, model, &mut state, way, groups, &mut rng));
                for (k, (a, b)) in features(&state).iter().zip(&before).enumerate() {
                    first[k] += a - b;
                    second[k] += (a - b) * (a - b);
                }
            }
            let rate = f64::from(accepted) / REPEATS as f64;
            assert!((0.02..0.9).contains(&rate), "{rate}");
            for (k, (sum, squares)) in first.iter().zip(&second).enumerate() {
                let limit = 4.5 * squares.sqrt() + 1e-9;
                assert!(sum.abs() < limit, "feature {k}, {groups:?}: {sum}, limit {limit}");
            }
        }
    }
}
