//! Known posteriors with difficult arithmetic: releases at the edge of their range, and data far
//! from zero.

use std::f64::consts::{PI, SQRT_2};
use std::sync::Arc;

use nalgebra::DMatrix;
use soma::chain::{Chain, MovesChoice, Problem};
use soma::kernel::KernelChoice;
use soma::model::{Normal, NormalInverseGamma, Regression};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::query::{Gram, Mean};
use soma::release::{Aggregate, Release};
use statrs::function::erf::erfc;

/// A released mean of n clamped records, with Laplace noise of scale sensitivity / epsilon.
fn problem(n: usize, clamp: (f64, f64), value: f64, epsilon: f64, model: Normal) -> Problem {
    let scale = (clamp.1 - clamp.0) / (n as f64 * epsilon);
    let mechanism = Mechanism::new(Noise::Laplace, vec![scale]).unwrap();
    let query = Arc::new(Mean::new(vec![clamp]).unwrap());
    let release = Release::new(query, mechanism, Aggregate::Mean, n, vec![value]).unwrap();
    Problem::new(release, Arc::new(model)).unwrap()
}

/// The values of `of` after each of `draws` iterations of each chain.
fn draws<const F: usize>(
    problem: &Problem,
    kernel: KernelChoice,
    draws: usize,
    of: impl Fn(&Chain) -> [f64; F],
) -> Vec<Vec<[f64; F]>> {
    let warmup = 500;
    let run = |index: u64| {
        let chain = Chain::new(problem, kernel, 7, index).unwrap();
        let mut chain = chain.with_moves(MovesChoice::Auto, warmup).unwrap();
        for _ in 0..warmup {
            chain.step().unwrap();
        }
        let draw = |_| {
            chain.step().unwrap();
            of(&chain)
        };
        (0..draws).map(draw).collect()
    };
    (0..4).map(run).collect()
}

/// The mean of each function and its standard error, by batch means of all chains.
fn estimates<const F: usize>(chains: &[Vec<[f64; F]>]) -> [(f64, f64); F] {
    let size = chains[0].len() / 20;
    std::array::from_fn(|f| {
        let batches: Vec<f64> = chains
            .iter()
            .flat_map(|chain| chain.chunks_exact(size))
            .map(|batch| batch.iter().map(|draw| draw[f]).sum::<f64>() / size as f64)
            .collect();
        let count = batches.len() as f64;
        let mean = batches.iter().sum::<f64>() / count;
        let scatter: f64 = batches.iter().map(|b| (b - mean).powi(2)).sum();
        (mean, (scatter / (count * (count - 1.0))).sqrt())
    })
}

/// log Phi(z), with the first terms of its asymptotic series if Phi underflows.
fn log_phi(z: f64) -> f64 {
    if z > -25.0 {
        return (0.5 * erfc(-z / SQRT_2)).ln();
    }
    let q = 1.0 / (z * z);
    -0.5 * z * z - (-z * (2.0 * PI).sqrt()).ln() + (-q * (1.0 - 2.5 * q)).ln_1p()
}

fn log_add(a: f64, b: f64) -> f64 {
    let most = a.max(b);
    if most == f64::NEG_INFINITY { most } else { most + (-(a - b).abs()).exp().ln_1p() }
}

/// The logarithm of the mean of exp((c - 1) / b) for c a normal x clamped to [0, 1].
fn log_mean_weight(mu: f64, sigma2: f64, b: f64) -> f64 {
    let sigma = sigma2.sqrt();
    let above = log_phi((mu - 1.0) / sigma);
    // Between the clamps exp((x - 1) / b) times the density is that of a normal with another mean.
    let tilted = mu + sigma2 / b;
    let log_tilt = (mu - 1.0) / b + sigma2 / (2.0 * b * b);
    let [high, low] = [1.0, 0.0].map(|edge| log_phi((edge - tilted) / sigma));
    let between = log_tilt + high + (-(low - high).exp()).ln_1p();
    log_add(log_add(above, between), -1.0 / b + log_phi(-mu / sigma))
}

/// A clamped mean released at the upper clamp: no sum of the records is above the release, so the
/// Laplace likelihood factorises over records, and the likelihood of theta is the n-th power of one
/// integral. mu and sigma2 are compared with the quantiles from a grid.
#[test]
fn a_release_at_the_clamp_has_its_posterior() {
    let (n, b, mean, lambda, shape, rate) = (200, 1.0 / 50.0, 0.5, 0.01, 3.0, 0.5);
    let mut grid = Vec::new();
    for i in 0..400 {
        let log_sigma2 = -5.0 + 12.0 * (i as f64 + 0.5) / 400.0;
        let sigma2 = f64::exp(log_sigma2);
        for j in 0..800 {
            let z = -4.0 + 10.0 * (j as f64 + 0.5) / 800.0;
            let mu = mean + z * (sigma2 / lambda).sqrt();
            let log_prior = -shape * log_sigma2 - rate / sigma2 - 0.5 * z * z;
            grid.push((log_prior + n as f64 * log_mean_weight(mu, sigma2, b), [mu, sigma2]));
        }
    }
    let top = grid.iter().map(|(log, _)| *log).fold(f64::NEG_INFINITY, f64::max);
    let weight = |log: f64| (log - top).exp();
    let total: f64 = grid.iter().map(|(log, _)| weight(*log)).sum();
    let below = |k: usize, level: f64| {
        let part = grid.iter().filter(|(_, theta)| theta[k] <= level);
        part.map(|(log, _)| weight(*log)).sum::<f64>() / total
    };
    let levels = [(0, 2.5), (0, 4.6), (0, 11.0), (1, 0.09), (1, 0.19), (1, 0.6)];
    let model = || Normal::new(mean, lambda, shape, rate).unwrap();
    let problem = problem(n, (0.0, 1.0), 1.0, 50.0, model());
    for kernel in [KernelChoice::Auto, KernelChoice::Soma] {
        let chains = draws(&problem, kernel, 4000, |chain| {
            let theta = chain.theta();
            assert!(chain.records().residual()[0].abs() < 40.0, "{kernel:?}: {theta:?}");
            levels.map(|(k, level)| f64::from(theta[k] <= level))
        });
        for ((k, level), (found, error)) in levels.iter().zip(estimates(&chains)) {
            let right = below(*k, *level);
            assert!(error < 0.05, "{kernel:?}, {k} below {level}: error {error}");
            let gap = (found - right).abs() / error;
            assert!(gap < 4.5, "{kernel:?}, {k} below {level}: {found} +- {error}, {right}");
        }
    }
}

/// The posterior of mu under a flat prior is translation-invariant: with a variance of nearly 1 and
/// clamps ten standard deviations away, the variance of mu minus the release is that of a mean plus
/// that of the noise.
#[test]
fn data_far_from_zero_have_the_same_posterior() {
    let (n, shape) = (1000, 500.0);
    for epsilon in [10.0, 1000.0, 1e5] {
        for (offset, value) in [(0.0_f64, 0.3), (1e8, 0.3), (1e8, 0.0), (-1e10, 0.25)] {
            let noise = 20.0 / (n as f64 * epsilon);
            // Noise of a few units in the last place of the release is not continuous.
            if noise < 8.0 * f64::EPSILON * offset.abs() {
                continue;
            }
            let clamp = (offset - 10.0, offset + 10.0);
            let model = Normal::new(0.0, 1e-24, shape, shape).unwrap();
            let problem = problem(n, clamp, offset + value, epsilon, model);
            let centre = offset + value;
            let chains = draws(&problem, KernelChoice::Auto, 1000, |chain| {
                let gap = chain.theta()[0] - centre;
                [gap, gap * gap]
            });
            let variance = shape / (shape - 1.0) / n as f64 + 2.0 * noise * noise;
            let right = [0.0, variance];
            for (f, (found, error)) in estimates(&chains).into_iter().enumerate() {
                let gap = (found - right[f]).abs() / error;
                let case = format!("{offset} + {value}, epsilon {epsilon}, power {}", f + 1);
                assert!(error < 0.1 * variance.sqrt(), "{case}: error {error}");
                assert!(gap < 4.5, "{case}: {found} +- {error}, not {}", right[f]);
            }
        }
    }
}

/// A regression on one predictor of mean m and standard deviation s, with a response measured from
/// `zero`: the problem at m = 0, s = 1, zero = 0 in other units, including the prior.
fn regression(m: f64, s: f64, zero: f64) -> Problem {
    let clamps = [(m - 6.0 * s, m + 6.0 * s), (zero - 10.0, zero + 10.0)];
    let query = Arc::new(Gram::new(clamps.to_vec()).unwrap());
    let mechanism = Mechanism::new(Noise::Laplace, vec![0.01; 5]).unwrap();
    let values = vec![0.11, 0.056, 0.063, 0.02, 0.031];
    let release = Release::new(query, mechanism, Aggregate::Mean, 20, values).unwrap();
    // With beta0 = zero + a - b m / s and beta1 = b / s, a and b have precision 1/2.
    let precision = DMatrix::from_row_slice(2, 2, &[0.5, 0.5 * m, 0.5 * m, 0.5 * (m * m + s * s)]);
    let prior = NormalInverseGamma::new(vec![zero, 0.0], &precision, 10.0, 10.0).unwrap();
    let model = Regression::new(vec![m], Some(DMatrix::from_element(1, 1, s * s)), prior).unwrap();
    Problem::new(release, Arc::new(model)).unwrap()
}

/// The posterior does not depend on the units: means and mean squares of a, b and log sigma2.
#[test]
fn regression_has_the_same_posterior_in_other_units() {
    let estimated = |m: f64, s: f64, zero: f64| {
        let problem = regression(m, s, zero);
        estimates(&draws(&problem, KernelChoice::Auto, 1500, |chain| {
            let [beta0, beta1, sigma2] = chain.theta() else { unreachable!("three parameters") };
            let (a, b) = (beta0 - zero + beta1 * m, beta1 * s);
            [a, b, sigma2.ln(), a * a, b * b, sigma2.ln().powi(2)]
        }))
    };
    let right = estimated(0.0, 1.0, 0.0);
    let units = [
        (1e3, 1.0, 0.0),
        (1e7, 1.0, 0.0),
        (-1e7, 1.0, 1e6),
        (1e9, 1e3, -1e9),
        (1e7, 1e7, 1e8),
        (3e-9, 1e-9, 1.0),
    ];
    for (m, s, zero) in units {
        for (f, (found, error)) in estimated(m, s, zero).into_iter().enumerate() {
            let (wanted, other) = right[f];
            let case = format!("mean {m}, sd {s}, zero {zero}, function {f}");
            assert!(error < 0.1, "{case}: error {error}");
            let gap = (found - wanted).abs() / error.hypot(other);
            assert!(gap < 4.5, "{case}: {found} +- {error}, and {wanted} +- {other}");
        }
    }
}

/// A prior that cannot be represented in floating point is rejected.
#[test]
fn a_prior_without_digits_is_refused() {
    let m = 1e8;
    let precision = DMatrix::from_row_slice(2, 2, &[0.5, 0.5 * m, 0.5 * m, 0.5 * (m * m + 4.0)]);
    let error = NormalInverseGamma::new(vec![0.0, 0.0], &precision, 3.0, 3.0).unwrap_err();
    assert!(error.field.starts_with("precision"), "{error}");
}
