//! The method of simulated moments (McFadden 1989), for models without a textbook estimate.
//!
//! theta is moved until simulated records have the released means of the statistics, as near as their
//! sampling error and the noise weigh it: min (m(theta) - s)' W^-1 (m(theta) - s), where W is the
//! covariance of the statistics plus n times the variance of the noise of their means. Where no theta
//! comes near the released means there is no answer. The records are
//! functions of theta and of noise that stays the same, so that m is a function of theta, and the
//! same release gives the same estimate. Clamping is part of the statistics, so that it is not
//! ignored here; the privacy noise is.

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand_distr::StandardNormal;

use crate::error::Outcome;
use crate::model::{Model, PlugInFit, Transport};
use crate::release::Release;
use crate::rng::stream;

/// Simulated records.
const RECORDS: usize = 4000;

/// Gauss-Newton steps, at most.
const STEPS: usize = 40;

/// Draws of the prior that the start is the middle of.
const DRAWS: usize = 51;

/// The step of differences, in unconstrained parameters: wide, since discrete records jump.
const DIFFERENCE: f64 = 0.05;

/// The longest step along an unconstrained parameter.
const LONGEST: f64 = 1.0;

/// How many standard errors of sampling, simulation and noise a fitted mean may be off.
const FARTHEST: f64 = 6.0;

pub(super) fn fit(model: &dyn Model, release: &Release) -> PlugInFit {
    let Some(transport) = model.transport() else { return PlugInFit::Unknown };
    if model.parameters().len() > release.query().dim() {
        return PlugInFit::Unknown;
    }
    // A model that fails at some theta has no estimate there.
    solve(transport, release).unwrap_or(PlugInFit::NoAnswer)
}

fn solve(model: &dyn Transport, release: &Release) -> Outcome<PlugInFit> {
    let stated = DVector::from_vec(release.stated_means());
    let mut rng = stream(0, 0);
    let noise: Vec<f64> =
        (0..RECORDS * model.noise_dim()).map(|_| rng.sample(StandardNormal)).collect();
    let p = model.parameters().len();
    let mut theta = vec![0.0; p];
    let mut free = vec![0.0; p];
    let mut columns = vec![Vec::with_capacity(DRAWS); p];
    for _ in 0..DRAWS {
        model.sample_prior(&mut theta, &mut rng)?;
        model.unconstrain(&theta, &mut free);
        columns.iter_mut().zip(&free).for_each(|(column, x)| column.push(*x));
    }
    for (x, column) in free.iter_mut().zip(&mut columns) {
        column.sort_unstable_by(f64::total_cmp);
        *x = column[DRAWS / 2];
    }
    let simulate = |free: &[f64]| simulate(model, release, free, &noise);
    let noisy = DMatrix::from_diagonal(&DVector::from_vec(release.mean_variances()));
    let mut best = (f64::INFINITY, free.clone());
    for _ in 0..STEPS {
        let (mean, spread) = simulate(&free)?;
        let weight = (spread + &noisy * release.n() as f64).cholesky();
        let Some(weight) = weight else { return Ok(PlugInFit::NoAnswer) };
        let gap = &stated - &mean;
        let distance = gap.dot(&weight.solve(&gap));
        if distance < best.0 {
            best = (distance, free.clone());
        }
        let jacobian = jacobian(&free, &simulate)?;
        let weighed = weight.solve(&jacobian);
        let Some(normal) = (jacobian.transpose() * &weighed).cholesky() else { break };
        let step = normal.solve(&(weighed.transpose() * gap));
        let share = (LONGEST / step.amax()).min(1.0);
        free.iter_mut().zip(step.iter()).for_each(|(x, s)| *x += share * s);
        if step.amax() < 1e-6 {
            break;
        }
    }
    let free = best.1;
    let (mean, spread) = simulate(&free)?;
    let sampled = 1.0 / release.n() as f64 + 1.0 / RECORDS as f64;
    let is_near = |k: usize| {
        let variance = spread[(k, k)] * sampled + noisy[(k, k)];
        (stated[k] - mean[k]).abs() <= FARTHEST * variance.sqrt()
    };
    if !(0..mean.len()).all(is_near) {
        return Ok(PlugInFit::NoAnswer);
    }
    let jacobian = jacobian(&free, &simulate)?;
    let information = spread.cholesky().map(|v| jacobian.transpose() * v.solve(&jacobian));
    let Some(inverse) = information.and_then(|matrix| matrix.cholesky()).map(|f| f.inverse())
    else {
        return Ok(PlugInFit::NoAnswer);
    };
    // From unconstrained parameters to those that a user reads.
    let mut theta = vec![0.0; p];
    model.constrain(&free, &mut theta);
    let slope = DMatrix::from_fn(p, p, |i, j| {
        let at = |sign: f64| {
            let (mut moved, mut there) = (free.clone(), vec![0.0; p]);
            moved[j] += sign * 1e-5;
            model.constrain(&moved, &mut there);
            there[i]
        };
        (at(1.0) - at(-1.0)) / 2e-5
    });
    let covariance = &slope * inverse * slope.transpose() / release.n() as f64;
    Ok(PlugInFit::found(theta, covariance))
}

/// The mean and the covariance of the statistics at an unconstrained theta.
fn simulate(
    model: &dyn Transport,
    release: &Release,
    free: &[f64],
    noise: &[f64],
) -> Outcome<(DVector<f64>, DMatrix<f64>)> {
    let (d, k) = (model.record_dim(), release.query().dim());
    let mut theta = vec![0.0; free.len()];
    model.constrain(free, &mut theta);
    let mut records = vec![0.0; RECORDS * d];
    model.forward(&theta, noise, &mut records)?;
    let mut statistics = vec![0.0; RECORDS * k];
    release.query().statistics(&records, &mut statistics)?;
    let rows = DMatrix::from_row_slice(RECORDS, k, &statistics);
    let mean = rows.row_mean().transpose();
    let mut covariance = rows.transpose() * &rows / RECORDS as f64 - &mean * mean.transpose();
    // A statistic that is the same for all records has no variance to be divided by.
    let least = 1e-9 * covariance.diagonal().amax().max(1e-9);
    (0..k).for_each(|i| covariance[(i, i)] += least);
    Ok((mean, covariance))
}

/// How the means move with each unconstrained parameter.
fn jacobian(
    free: &[f64],
    simulate: &impl Fn(&[f64]) -> Outcome<(DVector<f64>, DMatrix<f64>)>,
) -> Outcome<DMatrix<f64>> {
    let mut columns = Vec::with_capacity(free.len());
    for j in 0..free.len() {
        let at = |sign: f64| {
            let mut moved = free.to_vec();
            moved[j] += sign * DIFFERENCE;
            simulate(&moved).map(|(mean, _)| mean)
        };
        columns.push((at(1.0)? - at(-1.0)?) / (2.0 * DIFFERENCE));
    }
    Ok(DMatrix::from_columns(&columns))
}
