//! Shared by the tests of models.

use statrs::function::erf::erfc;

use super::{Model, Transport};
use crate::rng::{Rng, stream};

/// The distribution function of the standard normal.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x / std::f64::consts::SQRT_2)
}

/// The integral of `f` over [low, high] by Simpson's rule.
pub fn integral(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let steps: usize = 4000;
    let h = (high - low) / steps as f64;
    let weight = |i| if i == 0 || i == steps { 1.0 } else { [2.0, 4.0][i % 2] };
    (0..=steps).map(|i| weight(i) * f(low + h * i as f64)).sum::<f64>() * h / 3.0
}

/// The mean of `values` with its standard error from 50 batches, so that the values may be those
/// of a chain.
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let batches: Vec<f64> = values
        .chunks_exact(values.len() / 50)
        .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
        .collect();
    let count = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / count;
    let squares: f64 = batches.iter().map(|batch| (batch - mean).powi(2)).sum();
    (mean, (squares / (count * (count - 1.0))).sqrt())
}

/// Fails if the mean of `values` is not `expected` within 4.5 of its standard errors.
pub fn assert_mean(what: &str, values: &[f64], expected: f64) {
    let (mean, error) = mean_and_error(values);
    assert!(
        (mean - expected).abs() <= 4.5 * error + 1e-12,
        "{what}: {mean} +- {error}, expected {expected}"
    );
}

/// Fails if independent `values` do not follow `cdf` by the Kolmogorov-Smirnov test at 1 in 10^4.
pub fn assert_follows(what: &str, values: &mut [f64], cdf: impl Fn(f64) -> f64) {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let distance = values
        .iter()
        .enumerate()
        .map(|(i, &x)| (cdf(x) - i as f64 / n).abs().max((cdf(x) - (i + 1) as f64 / n).abs()))
        .fold(0.0, f64::max);
    assert!(distance * n.sqrt() < 2.23, "{what}: distance {distance} of {n} values");
}

/// Fails if `draws` do not have the unnormalised density exp(`log_density`) on the whole space. For
/// such draws x and any shift c, E exp(log p(x + c) - log p(x)) = 1: tested along each coordinate,
/// in both directions, at half a standard deviation.
pub fn assert_density(what: &str, draws: &[Vec<f64>], log_density: impl Fn(&[f64]) -> f64) {
    let n = draws.len() as f64;
    for c in 0..draws[0].len() {
        let mean = draws.iter().map(|x| x[c]).sum::<f64>() / n;
        let sd = (draws.iter().map(|x| (x[c] - mean).powi(2)).sum::<f64>() / n).sqrt();
        for shift in [-0.5 * sd, 0.5 * sd] {
            let ratios: Vec<f64> = draws
                .iter()
                .map(|x| {
                    let mut moved = x.clone();
                    moved[c] += shift;
                    (log_density(&moved) - log_density(x)).exp()
                })
                .collect();
            assert_mean(&format!("{what}, coordinate {c} moved by {shift}"), &ratios, 1.0);
        }
    }
}

/// Fails if the prior's draws do not have the prior's density.
pub fn assert_prior(model: &dyn Transport, draws: usize) {
    let mut rng = stream(11, 0);
    let dim = model.parameters().len();
    let (mut theta, mut free) = (vec![0.0; dim], vec![0.0; dim]);
    let sample = |_| {
        model.sample_prior(&mut theta, &mut rng).unwrap();
        model.unconstrain(&theta, &mut free);
        free.clone()
    };
    let draws: Vec<Vec<f64>> = (0..draws).map(sample).collect();
    assert_density("prior", &draws, |free| model.log_prior_free(free));
    assert_ratios(model);
}

/// Fails if log ratios are not the differences of log densities.
fn assert_ratios(model: &dyn Model) {
    let mut rng = stream(13, 0);
    let mut thetas = [vec![0.0; model.parameters().len()], vec![0.0; model.parameters().len()]];
    let d = model.record_dim();
    let (mut records, mut ratios) = (vec![0.0; 5 * d], vec![0.0; 5]);
    for _ in 0..20 {
        thetas.iter_mut().for_each(|theta| model.sample_prior(theta, &mut rng).unwrap());
        let [from, to] = &thetas;
        model.propose(from, &mut records, &mut rng).unwrap();
        model.log_ratios(from, to, &records, &mut ratios).unwrap();
        for (ratio, record) in ratios.iter().zip(records.chunks_exact(d)) {
            let [before, after] = [from, to].map(|theta| model.log_density(theta, record).unwrap());
            let size = 1.0 + before.abs() + after.abs();
            assert!((ratio - (after - before)).abs() < 1e-9 * size, "{ratio}: {before}, {after}");
        }
    }
}

/// Fails if `draws` updates of theta given `records` do not follow prior times density.
pub fn assert_update(model: &dyn Transport, start: &[f64], records: &[f64], draws: usize) {
    let mut rng = stream(12, 0);
    let mut theta = start.to_vec();
    let mut free = theta.clone();
    let draws: Vec<Vec<f64>> = (0..draws)
        .map(|_| {
            model.update(&mut theta, records, &mut rng).unwrap();
            model.unconstrain(&theta, &mut free);
            free.clone()
        })
        .collect();
    assert_density("update", &draws, |free| {
        let mut theta = vec![0.0; free.len()];
        model.constrain(free, &mut theta);
        model.log_prior_free(free) + log_likelihood(model, &theta, records)
    });
}

fn log_likelihood(model: &dyn Model, theta: &[f64], records: &[f64]) -> f64 {
    records.chunks_exact(model.record_dim()).map(|x| model.log_density(theta, x).unwrap()).sum()
}

/// Fails if the unconstrained prior is not the prior with the Jacobian of `constrain`, which must
/// act on each coordinate separately, at `thetas`.
pub fn assert_jacobian(model: &dyn Transport, thetas: &[Vec<f64>]) {
    let constants: Vec<f64> = thetas
        .iter()
        .map(|theta| {
            let mut free = theta.clone();
            model.unconstrain(theta, &mut free);
            let mut back = theta.clone();
            model.constrain(&free, &mut back);
            theta.iter().zip(&back).for_each(|(a, b)| assert!((a - b).abs() < 1e-12 * a.abs()));
            let mut gradient = vec![0.0; free.len()];
            model.log_prior_free_gradient(&free, &mut gradient);
            let mut jacobian = 0.0;
            for c in 0..free.len() {
                let h = 1e-5;
                let at = |step: f64| {
                    let (mut moved, mut theta) = (free.clone(), free.clone());
                    moved[c] += step;
                    model.constrain(&moved, &mut theta);
                    theta[c]
                };
                jacobian += ((at(h) - at(-h)) / (2.0 * h)).ln();
                let log_prior = |step: f64| {
                    let mut moved = free.clone();
                    moved[c] += step;
                    model.log_prior_free(&moved)
                };
                let slope = (log_prior(h) - log_prior(-h)) / (2.0 * h);
                assert!((gradient[c] - slope).abs() < 1e-5 * (1.0 + slope.abs()));
            }
            model.log_prior_free(&free) - model.log_prior(theta).unwrap() - jacobian
        })
        .collect();
    for constant in &constants {
        assert!((constant - constants[0]).abs() < 1e-7, "{constants:?}");
    }
}

/// Fails if `inverse` does not invert `forward`, or does not map records at theta to standard
/// normals.
pub fn assert_transport(model: &dyn Transport, theta: &[f64], rng: &mut Rng) {
    let (d, n) = (model.noise_dim(), 4000);
    let mut records = vec![0.0; n * model.record_dim()];
    let mut noise = vec![0.0; n * d];
    let mut again = records.clone();
    model.propose(theta, &mut records, rng).unwrap();
    model.inverse(theta, &records, &mut noise).unwrap();
    model.forward(theta, &noise, &mut again).unwrap();
    for (a, b) in records.iter().zip(&again) {
        assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} came back as {b}");
    }
    for c in 0..d {
        let mut column: Vec<f64> = noise.iter().skip(c).step_by(d).copied().collect();
        assert_follows("noise", &mut column.clone(), normal_cdf);
        for other in 0..c {
            let pairs = column.iter_mut().zip(noise.iter().skip(other).step_by(d));
            let products: Vec<f64> = pairs.map(|(a, b)| *a * b).collect();
            assert_mean("correlation of the noise", &products, 0.0);
        }
    }
}

/// Fails if records proposed at theta do not satisfy E exp(log f(x | other) - log f(x | theta)) =
/// 1.
pub fn assert_proposals(model: &dyn Model, theta: &[f64], other: &[f64]) {
    let mut rng = stream(13, 0);
    let mut records = vec![0.0; 50_000 * model.record_dim()];
    model.propose(theta, &mut records, &mut rng).unwrap();
    let ratios: Vec<f64> = records
        .chunks_exact(model.record_dim())
        .map(|x| {
            (model.log_density(other, x).unwrap() - model.log_density(theta, x).unwrap()).exp()
        })
        .collect();
    assert_mean("proposals", &ratios, 1.0);
}

/// Fails if the first values are not the pinned ones, up to the last bits of the platform's
/// elementary functions.
pub fn assert_pinned(values: &[f64], pinned: &[f64]) {
    assert!(
        values.len() == pinned.len()
            && values.iter().zip(pinned).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs()),
        "{values:?}"
    );
}

/// The first draws of a model under a seed: a prior draw of theta, two records at `theta`, and
/// theta updated given them.
pub fn first_draws(model: &dyn Model, theta: &[f64]) -> Vec<f64> {
    let mut rng = stream(1, 0);
    let mut prior = theta.to_vec();
    model.sample_prior(&mut prior, &mut rng).unwrap();
    let mut records = vec![0.0; 2 * model.record_dim()];
    model.propose(theta, &mut records, &mut rng).unwrap();
    let mut updated = theta.to_vec();
    model.update(&mut updated, &records, &mut rng).unwrap();
    [prior, records, updated].concat()
}

/// Draws initial values for `release` and fails if one is not a valid theta.
pub fn starts(model: &dyn Model, release: &crate::release::Release) -> Vec<Vec<f64>> {
    let mut rng = stream(14, 0);
    (0..200)
        .map(|_| {
            let mut theta = vec![0.0; model.parameters().len()];
            model.start(release, &mut theta, &mut rng).unwrap();
            model.check_theta(&theta).unwrap();
            theta
        })
        .collect()
}

/// Fails if in coupled updates, each given its own records, either chain does not follow prior
/// times density; or if equal chains with equal records do not stay equal.
pub fn assert_coupled_update(model: &dyn Transport, start: &[f64], records: [&[f64]; 2]) {
    let coupled = model.coupled().expect("a model with a coupled update");
    let mut rng = stream(17, 0);
    let (mut first, mut second) = (start.to_vec(), start.to_vec());
    for _ in 0..100 {
        coupled.update_pair([&mut first, &mut second], [records[0]; 2], &mut rng).unwrap();
        assert_eq!(first, second);
    }
    let mut draws = [Vec::new(), Vec::new()];
    let mut equal = 0;
    for _ in 0..20_000 {
        coupled.update_pair([&mut first, &mut second], records, &mut rng).unwrap();
        equal += usize::from(first == second);
        for (theta, draws) in [&first, &second].into_iter().zip(&mut draws) {
            let mut free = theta.clone();
            model.unconstrain(theta, &mut free);
            draws.push(free);
        }
    }
    assert!(equal > 0, "they never meet");
    for (draws, records) in draws.iter().zip(records) {
        assert_density("coupled update", draws, |free| {
            let mut theta = vec![0.0; free.len()];
            model.constrain(free, &mut theta);
            model.log_prior_free(free) + log_likelihood(model, &theta, records)
        });
    }
}
