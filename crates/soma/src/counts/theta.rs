//! theta given the counts: slice moves along whitened directions.
//!
//! Invariance: a slice move along a line leaves the density restricted to the line invariant (Neal
//! 2003), and the lines are fixed after warm-up. The directions are the columns of L^-T, with L L^T
//! the Fisher information of n records plus the curvature of the prior, at one theta of warm-up:
//! along them theta given the counts is approximately standard normal and independent.

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand_distr::Exp1;

use super::shares::{CellModel, sum_to_one};
use super::state::State;
use crate::rng::Rng;

/// The initial width of a slice move, in standard deviations.
const WIDTH: f64 = 3.0;
/// The largest number of steps out.
const STEPS: u64 = 64;

/// One slice move along `direction`, given counts of the cells. Whether theta has changed, and how often the density was
/// computed.
pub(super) fn slice(
    model: &dyn CellModel,
    state: &mut State,
    counts: &[i64],
    direction: &[f64],
    rng: &mut Rng,
) -> (bool, u64) {
    let drop: f64 = rng.sample(Exp1);
    let here = model.log_prior(&state.theta);
    let mut theta = state.theta.clone();
    let mut log_shares = state.log_shares.clone();
    let State { theta: from, log_shares: old, .. } = &*state;
    let mut evaluations = 0;
    let mut inside = |t: f64, theta: &mut [f64], log_shares: &mut [f64]| {
        evaluations += 1;
        for ((theta, &from), &v) in theta.iter_mut().zip(from).zip(direction) {
            *theta = from + t * v;
        }
        let mut change = model.log_prior(theta) - here;
        if !change.is_finite() {
            return false;
        }
        model.log_shares(theta, log_shares);
        if !sum_to_one(log_shares) {
            return false;
        }
        for ((&count, &new), &old) in counts.iter().zip(&*log_shares).zip(old) {
            if count > 0 {
                change += count as f64 * (new - old);
            }
        }
        change >= -drop
    };
    let mut low = -WIDTH * rng.random::<f64>();
    let mut high = low + WIDTH;
    let mut left = rng.random_range(0..STEPS);
    let mut right = STEPS - 1 - left;
    while left > 0 && inside(low, &mut theta, &mut log_shares) {
        low -= WIDTH;
        left -= 1;
    }
    while right > 0 && inside(high, &mut theta, &mut log_shares) {
        high += WIDTH;
        right -= 1;
    }
    loop {
        let t = low + (high - low) * rng.random::<f64>();
        if inside(t, &mut theta, &mut log_shares) {
            break;
        }
        if t < 0.0 {
            low = t;
        } else {
            high = t;
        }
        if high - low < 1e-12 {
            return (false, evaluations);
        }
    }
    state.theta = theta;
    state.log_shares = log_shares;
    (true, evaluations)
}

/// The directions at the current theta.
pub(super) fn directions(model: &dyn CellModel, state: &State) -> Vec<Vec<f64>> {
    let (dim, cells) = (model.dim(), state.counts.len());
    let mut jacobian = DMatrix::zeros(cells, dim);
    let mut curvature = vec![0.0; dim];
    let (mut up, mut down) = (vec![0.0; cells], vec![0.0; cells]);
    let here = model.log_prior(&state.theta);
    for j in 0..dim {
        let h = 1e-4 * (1.0 + state.theta[j].abs());
        let mut theta = state.theta.clone();
        theta[j] = state.theta[j] + h;
        model.log_shares(&theta, &mut up);
        let above = model.log_prior(&theta);
        theta[j] = state.theta[j] - h;
        model.log_shares(&theta, &mut down);
        let below = model.log_prior(&theta);
        curvature[j] = ((2.0 * here - above - below) / (h * h)).max(1e-6);
        for cell in 0..cells {
            let root = (0.5 * state.log_shares[cell]).exp();
            let slope = (up[cell] - down[cell]) / (2.0 * h);
            jacobian[(cell, j)] = if root > 0.0 { root * slope } else { 0.0 };
        }
    }
    let mut information = jacobian.tr_mul(&jacobian) * state.n as f64;
    for j in 0..dim {
        let own = curvature[j] + 1e-9 * information[(j, j)];
        information[(j, j)] += if own.is_finite() { own } else { 1e-6 };
    }
    columns_of_inverse_transpose(information)
}

fn columns_of_inverse_transpose(information: DMatrix<f64>) -> Vec<Vec<f64>> {
    let dim = information.nrows();
    let diagonal: Vec<f64> = information.diagonal().iter().copied().collect();
    let axes = |j: usize| {
        let mut column = vec![0.0; dim];
        column[j] = if diagonal[j] > 0.0 { diagonal[j].sqrt().recip() } else { 1.0 };
        column
    };
    let Some(cholesky) = information.cholesky() else { return (0..dim).map(axes).collect() };
    let upper = cholesky.l().transpose();
    let column = |j: usize| {
        let mut unit = DVector::zeros(dim);
        unit[j] = 1.0;
        upper.solve_upper_triangular(&unit).map(|v| v.iter().copied().collect())
    };
    (0..dim).map(|j| column(j).unwrap_or_else(|| axes(j))).collect()
}
