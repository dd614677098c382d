//! Derivatives, transforms and constraints of every model compared with differences and each other.

// Differences are taken at place k of several arrays at once.
#![allow(clippy::needless_range_loop)]

mod common;

use common::{MODELS, model, rng};
use std::cell::RefCell;

use nalgebra::DMatrix;
use soma_language::distribution::{Family, find};
use soma_language::graph::{Fact, Graph, Input, Term};
use soma_language::program::{Inputs, Program, Widths};
use soma_language::{Data, Given, Model, Noise, Workspace};

/// The derivative of f at x along coordinate k, by central differences of order four.
fn difference(f: &mut dyn FnMut(&[f64]) -> f64, x: &[f64], k: usize) -> f64 {
    let h = 1e-3 * x[k].abs().clamp(1e-2, 1.0);
    let mut at = |step: f64| {
        let mut moved = x.to_vec();
        moved[k] += step * h;
        f(&moved)
    };
    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h)
}

fn close(what: &str, ours: f64, theirs: f64, tolerance: f64) {
    let error = (ours - theirs).abs() / theirs.abs().max(1.0);
    assert!(error < tolerance, "{what}: {ours} against {theirs}");
}

/// A theta from the prior and records at it.
fn draw(model: &Model, n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let (mut rng, mut workspace) = (rng(seed), Workspace::new());
    let mut theta = vec![0.0; model.theta_dim()];
    model.sample_prior(&mut theta, &mut rng, &mut workspace);
    let mut records = vec![0.0; n * model.record_dim()];
    model.propose(&theta, &mut records, &mut rng, &mut workspace);
    (theta, records)
}

#[test]
fn likelihood_gradients_are_differences() {
    let mut w = Workspace::new();
    for (name, ..) in MODELS {
        let model = model(name);
        for seed in 0..5 {
            let (theta, records) = draw(&model, 7, seed);
            let mut gradient = vec![0.0; theta.len()];
            let value = model.log_likelihood_gradient(&theta, &records, &mut gradient, &mut w);
            let other = draw(&model, 1, seed + 100).0;
            let mut ratios = vec![0.0; 7];
            model.log_ratios(&theta, &other, &records, &mut ratios, &mut w);
            let there = model.log_likelihood(&other, &records, &mut w);
            if there.is_finite() {
                close(name, there, value + ratios.iter().sum::<f64>(), 1e-8);
            }
            close(name, value, model.log_likelihood(&theta, &records, &mut w), 1e-12);
            for k in 0..theta.len() {
                let mut f = |theta: &[f64]| model.log_likelihood(theta, &records, &mut w);
                let slope = difference(&mut f, &theta, k);
                close(
                    &format!("{name} d{} seed {seed}", model.parameters()[k]),
                    gradient[k],
                    slope,
                    1e-6,
                );
            }
        }
    }
}

#[test]
fn log_ratios_are_differences_of_log_densities() {
    let mut w = Workspace::new();
    for (name, ..) in MODELS {
        let model = model(name);
        let ((from, _), (to, _)) = (draw(&model, 1, 1), draw(&model, 1, 2));
        let records = draw(&model, 300, 1).1;
        let (mut a, mut b, mut ratios) = (vec![0.0; 300], vec![0.0; 300], vec![0.0; 300]);
        model.log_densities(&from, &records, &mut a, &mut w);
        model.log_densities(&to, &records, &mut b, &mut w);
        model.log_ratios(&from, &to, &records, &mut ratios, &mut w);
        for i in 0..300 {
            let expected = b[i] - a[i];
            assert!(
                ratios[i] == expected
                    || (ratios[i] - expected).abs() < 1e-9 * (1.0 + a[i].abs() + b[i].abs()),
                "{name}: {} {expected}",
                ratios[i]
            );
        }
    }
}

#[test]
fn prior_gradients_and_jacobians_are_differences() {
    let mut w = Workspace::new();
    for (name, ..) in MODELS {
        let model = model(name);
        for seed in 0..5 {
            let (theta, _) = draw(&model, 1, seed);
            let p = theta.len();
            model.check_theta(&theta, &mut w).unwrap();
            let (mut free, mut back) = (vec![0.0; p], vec![0.0; p]);
            model.unconstrain(&theta, &mut free, &mut w);
            model.constrain(&free, &mut back, &mut w);
            theta.iter().zip(&back).for_each(|(a, b)| close(name, *a, *b, 1e-9));
            let mut gradient = vec![0.0; p];
            let value = model.log_prior_gradient(&theta, &mut gradient, &mut w);
            close(name, value, model.log_prior(&theta, &mut w), 1e-12);
            for k in 0..p {
                let slope = difference(&mut |theta| model.log_prior(theta, &mut w), &theta, k);
                close(
                    &format!("{name} prior d{}", model.parameters()[k]),
                    gradient[k],
                    slope,
                    1e-5,
                );
            }
            let mut free_gradient = vec![0.0; p];
            let free_value = model.log_prior_free_gradient(&free, &mut free_gradient, &mut w);
            let mut jacobian = DMatrix::zeros(p, p);
            let weights: Vec<f64> = (0..p).map(|k| 0.3 + k as f64).collect();
            let mut pulled = vec![0.0; p];
            model.free_gradient(&free, &weights, &mut pulled, &mut w);
            for k in 0..p {
                let slope = difference(&mut |free| model.log_prior_free(free, &mut w), &free, k);
                close(&format!("{name} free prior {k}"), free_gradient[k], slope, 1e-5);
                let mut total = 0.0;
                for j in 0..p {
                    let mut f = |free: &[f64]| {
                        let mut theta = vec![0.0; p];
                        model.constrain(free, &mut theta, &mut w);
                        theta[j]
                    };
                    jacobian[(j, k)] = difference(&mut f, &free, k);
                    total += weights[j] * jacobian[(j, k)];
                }
                close(&format!("{name} pulled {k}"), pulled[k], total, 1e-6);
            }
            close(name, free_value, value + jacobian.determinant().abs().ln(), 1e-6);
        }
    }
}

/// If x = T(theta, e) with e standard normal, the density of x is that of e divided by |det dT/de|.
#[test]
fn transforms_have_the_law_of_the_density() {
    let mut w = Workspace::new();
    for (name, ..) in MODELS {
        let model = model(name);
        let d = model.noise().len();
        if model.noise().contains(&Noise::Jumping) || d != model.record_dim() {
            continue;
        }
        for seed in 0..6 {
            let (theta, records) = draw(&model, 4, seed);
            let mut noise = vec![0.0; 4 * d];
            model.inverse(&theta, &records, &mut noise, &mut rng(1), &mut w);
            let mut back = vec![0.0; 4 * d];
            model.forward(&theta, &noise, &mut back, &mut w);
            records
                .iter()
                .zip(&back)
                .for_each(|(a, b)| close(&format!("{name} and back"), *a, *b, 1e-8));
            let mut densities = vec![0.0; 4];
            model.log_densities(&theta, &records, &mut densities, &mut w);
            for (i, e) in noise.chunks_exact(d).enumerate() {
                let mut jacobian = DMatrix::zeros(d, d);
                for k in 0..d {
                    let mut direction = vec![0.0; d];
                    direction[k] = 1.0;
                    let mut column = vec![0.0; d];
                    let still = vec![0.0; theta.len()];
                    model.push_forward(&theta, e, &still, &direction, &mut column, &mut w);
                    column.iter().enumerate().for_each(|(j, slope)| jacobian[(j, k)] = *slope);
                }
                let log_phi: f64 =
                    e.iter().map(|e| -0.5 * e * e - 0.5 * (2.0 * std::f64::consts::PI).ln()).sum();
                let expected = log_phi - jacobian.determinant().abs().ln();
                close(&format!("{name} seed {seed}"), densities[i], expected, 1e-7);
            }
        }
    }
}

#[test]
fn transforms_have_right_derivatives() {
    let mut w = Workspace::new();
    for (name, ..) in MODELS {
        let model = model(name);
        let (e, d) = (model.noise().len(), model.record_dim());
        let (theta, records) = draw(&model, 3, 3);
        let p = theta.len();
        let mut noise = vec![0.0; 3 * e];
        model.inverse(&theta, &records, &mut noise, &mut rng(4), &mut w);
        let slopes: Vec<f64> = (0..3 * d).map(|k| 1.0 + (k as f64).sin()).collect();
        let (mut theta_gradient, mut noise_gradient) = (vec![0.0; p], vec![0.0; 3 * e]);
        model.pull_back(&theta, &noise, &slopes, &mut theta_gradient, &mut noise_gradient, &mut w);
        let mut value = |theta: &[f64], noise: &[f64]| {
            let mut records = vec![0.0; 3 * d];
            model.forward(theta, noise, &mut records, &mut w);
            records.iter().zip(&slopes).map(|(x, s)| x * s).sum::<f64>()
        };
        for k in 0..p {
            let slope = difference(&mut |theta| value(theta, &noise), &theta, k);
            close(&format!("{name} dT/d{}", model.parameters()[k]), theta_gradient[k], slope, 1e-5);
        }
        for k in 0..3 * e {
            if model.noise()[k % e] == Noise::Smooth {
                let slope = difference(&mut |noise| value(&theta, noise), &noise, k);
                close(&format!("{name} dT/de{k}"), noise_gradient[k], slope, 1e-5);
            }
        }
        // Forward and reverse derivatives agree.
        let theta_direction: Vec<f64> = (0..p).map(|k| 0.5 + k as f64).collect();
        let noise_direction: Vec<f64> = (0..3 * e).map(|k| (k as f64).cos()).collect();
        let mut pushed = vec![0.0; 3 * d];
        model.push_forward(&theta, &noise, &theta_direction, &noise_direction, &mut pushed, &mut w);
        let left: f64 = pushed.iter().zip(&slopes).map(|(a, b)| a * b).sum();
        let right: f64 =
            theta_direction.iter().zip(&theta_gradient).map(|(a, b)| a * b).sum::<f64>()
                + noise_direction.iter().zip(&noise_gradient).map(|(a, b)| a * b).sum::<f64>();
        close(&format!("{name} forward and reverse"), left, right, 1e-9);
    }
}

#[test]
fn affine_transforms_are_recognised() {
    let mut w = Workspace::new();
    for (name, ..) in MODELS {
        let model = model(name);
        let expected = ["normal", "regression", "multivariate"].contains(name);
        assert_eq!(model.is_affine(), expected, "{name}");
        if !expected {
            continue;
        }
        let (theta, _) = draw(&model, 1, 5);
        let d = model.record_dim();
        let (mut shift, mut factor) = (vec![0.0; d], vec![0.0; d * d]);
        assert!(model.affine(&theta, &mut shift, &mut factor, &mut w));
        let noise: Vec<f64> = (0..d).map(|k| 0.3 - k as f64).collect();
        let mut record = vec![0.0; d];
        model.forward(&theta, &noise, &mut record, &mut w);
        for i in 0..d {
            let ours = shift[i] + (0..d).map(|j| factor[i * d + j] * noise[j]).sum::<f64>();
            close(name, ours, record[i], 1e-12);
        }
    }
}

#[test]
fn posterior_derivatives_are_differences() {
    let mut w = Workspace::new();
    for (name, ..) in MODELS {
        let model = model(name);
        let p = model.theta_dim();
        if !model.has_log_posterior() {
            continue;
        }
        for seed in 0..5 {
            let (theta, records) = draw(&model, 7, seed);
            let mut free = vec![0.0; p];
            model.unconstrain(&theta, &mut free, &mut w);
            let mut slopes = vec![0.0; p + p * (p + 1) / 2];
            let value = model.log_posterior(&free, Given::Records(&records), &mut slopes, &mut w);
            let mut back = vec![0.0; p];
            model.constrain(&free, &mut back, &mut w);
            let sum =
                model.log_prior_free(&free, &mut w) + model.log_likelihood(&back, &records, &mut w);
            close(name, value, sum, 1e-10);
            let mut others = slopes.clone();
            for k in 0..p {
                let mut f = |x: &[f64]| {
                    model.log_posterior(x, Given::Records(&records), &mut others, &mut w)
                };
                let slope = difference(&mut f, &free, k);
                close(&format!("{name} gradient {k} seed {seed}"), slopes[k], slope, 1e-5);
                for at in 0..p {
                    let mut f = |x: &[f64]| {
                        model.log_posterior(x, Given::Records(&records), &mut others, &mut w);
                        others[at]
                    };
                    let second = difference(&mut f, &free, k);
                    let (i, j) = (at.max(k), at.min(k));
                    let ours = slopes[p + i * (i + 1) / 2 + j];
                    close(&format!("{name} second {at} {k} seed {seed}"), ours, second, 1e-5);
                }
            }
        }
    }
}

/// The log posterior of a model at some thetas, given the records and given their sums: the differences between the
/// thetas, and all derivatives. Whether there are sums.
fn compare_sums(name: &str, model: &Model, frees: &[Vec<f64>], records: &[f64]) -> bool {
    let (mut w, mut sums, p) = (Workspace::new(), Vec::new(), model.theta_dim());
    if !model.sums(records, &mut sums, &mut w) {
        return false;
    }
    let given = [Given::Records(records), Given::Sums(&sums)];
    let mut gap = None;
    for free in frees {
        let densities = given.map(|given| model.log_density_free(free, given, &mut w));
        let slopes = given.map(|given| {
            let mut slopes = vec![0.0; p + p * (p + 1) / 2];
            let value = model.log_posterior(free, given, &mut slopes, &mut w);
            (value, slopes)
        });
        let here = densities[1] - densities[0];
        let before = *gap.get_or_insert(here);
        close(&format!("{name}, density"), here - before, 0.0, 1e-9 * densities[0].abs().max(1.0));
        close(&format!("{name}, value"), slopes[1].0, densities[1], 1e-10);
        for (k, (ours, theirs)) in slopes[1].1.iter().zip(&slopes[0].1).enumerate() {
            close(&format!("{name}, slope {k}"), *ours, *theirs, 1e-8);
        }
    }
    true
}

#[test]
fn sums_give_the_density_of_theta() {
    let all = MODELS.iter().map(|(name, ..)| (*name, model(name)));
    let few = FEW.iter().map(|&(parameters, record)| {
        (record, Model::new(parameters, record, &Data::new()).unwrap())
    });
    let (mut with_sums, mut w) = (Vec::new(), Workspace::new());
    for (name, model) in all.chain(few) {
        let (_, records) = draw(&model, 9, 3);
        let frees: Vec<Vec<f64>> = (0..3)
            .map(|seed| {
                let (theta, _) = draw(&model, 1, seed);
                let mut free = vec![0.0; model.theta_dim()];
                model.unconstrain(&theta, &mut free, &mut w);
                free
            })
            .collect();
        if compare_sums(name, &model, &frees, &records) {
            with_sums.push(name);
        }
    }
    let named = ["normal", "regression", "beta", "log_normal", "gamma", "shares", "multivariate"];
    let expected: Vec<&str> = named.into_iter().chain(FEW.map(|(_, record)| record)).collect();
    assert_eq!(with_sums, expected);
}

/// One parameter, and few sums.
const FEW: [(&str, &str); 2] =
    [("r ~ gamma(2, 1)", "x ~ exponential(r)"), ("r ~ gamma(2, 1)", "x ~ poisson(r)")];

/// Nothing cancels far from zero, and there may be no records.
#[test]
fn sums_are_measured_from_the_first_record() {
    let text = "x ~ normal(m, s)\ny ~ normal(m + 2 * (x - m), s)";
    let model = Model::new("m ~ normal(1e8, 10)\ns ~ half_normal(1)", text, &Data::new()).unwrap();
    let records = [1e8, 1e8 + 0.5, 1e8 + 1.0, 1e8 + 1.75, 1e8 - 2.0, 1e8 - 3.5];
    let frees = [vec![1e8, 0.0], vec![1e8 + 0.5, -0.25], vec![1e8 - 1.0, 0.75]];
    assert!(compare_sums("far", &model, &frees, &records));
    assert!(compare_sums("none", &model, &frees, &[]));
}

/// A parameter that is rounded to a bound has density 0, and whatever has a density comes back from
/// theta: a chain cannot get where theta has no unconstrained value.
#[test]
fn parameters_at_a_bound_have_no_density() {
    let (mut w, text) = (Workspace::new(), "x[1..3] ~ multi_normal([0, 0, 0], L)");
    let factor = Model::new("L[1..3, 1..3] ~ lkj_cholesky(1)", text, &Data::new()).unwrap();
    let shapes = "a ~ gamma(0.001, 0.001)\nb ~ beta(0.001, 0.001)\nc ~ uniform(1, 2)\nd[1..2] ~ dirichlet([0.01, 0.01])";
    let bounded = Model::new(shapes, "x ~ normal(a + b + c + d[1], 1)", &Data::new()).unwrap();
    for (model, ends) in [(&factor, [19.0, -19.0]), (&bounded, [38.0, -800.0])] {
        let p = model.theta_dim();
        for (k, end) in (0..p).flat_map(|k| ends.map(|end| (k, end))) {
            for size in (1..=60).map(|step| end * f64::from(step) / 60.0) {
                let mut free = vec![0.1; p];
                free[k] = size;
                let (mut theta, mut back) = (vec![0.0; p], vec![0.0; p]);
                model.constrain(&free, &mut theta, &mut w);
                model.unconstrain(&theta, &mut back, &mut w);
                let density = model.log_prior_free(&free, &mut w);
                assert!(!density.is_nan(), "{free:?}");
                let is_back = back.iter().all(|x| x.is_finite());
                assert!(is_back || density == f64::NEG_INFINITY, "{free:?} {theta:?} {back:?}");
            }
        }
        let mut free = vec![0.1; p];
        free[p - 1] = ends[0] * 3.0;
        assert_eq!(model.log_prior_free(&free, &mut w), f64::NEG_INFINITY, "{free:?}");
    }
}

/// Distribution functions, scores and quantiles with respect to x and every argument.
#[test]
fn laws_have_right_derivatives() {
    let mut w = Workspace::new();
    for (law, at) in [
        ("gamma", &[1.3, 2.5, 0.7][..]),
        ("inverse_gamma", &[0.8, 2.5, 0.7]),
        ("beta", &[0.4, 2.5, 3.7]),
        ("student_t", &[1.3, 5.0, 0.2, 1.4]),
        ("student_t", &[-0.6, 2.5, 0.2, 1.4]),
        ("weibull", &[1.3, 1.7, 2.0]),
        ("half_normal", &[0.9, 1.4]),
        ("log_normal", &[0.9, 0.3, 0.8]),
        ("exponential", &[0.9, 1.4]),
        ("laplace", &[0.9, 0.3, 0.8]),
        ("logistic", &[0.9, 0.3, 0.8]),
        ("uniform", &[0.9, 0.3, 1.8]),
    ] {
        let Some(Family::Univariate(family)) = find(law) else { panic!("{law}") };
        let graph = RefCell::new(Graph::default());
        let inputs: Vec<Term> = (0..at.len())
            .map(|k| {
                let node = graph.borrow_mut().input(Input::Theta, k, Fact::ANY);
                Term::new(&graph, node)
            })
            .collect();
        let (x, args) = (inputs[0], &inputs[1..]);
        let places: Vec<_> = inputs.iter().map(|term| term.node).collect();
        for (what, value) in [
            ("distribution function", family.cdf(x, args)),
            ("score", family.score(x, args)),
            ("quantile", family.quantile(x, args)),
        ] {
            let slopes = graph.borrow_mut().gradient(value.node, &places);
            let outputs: Vec<_> = [value.node].into_iter().chain(slopes).collect();
            let program = Program::new(&graph.borrow(), &outputs, &[], Widths::default());
            let mut evaluate = |theta: &[f64]| {
                let mut out = vec![0.0; outputs.len()];
                program.run(Inputs { theta, ..Inputs::default() }, 0, &mut w, &mut out, &mut []);
                out
            };
            let ours = evaluate(at);
            for k in 0..at.len() {
                let slope = difference(&mut |theta| evaluate(theta)[0], at, k);
                close(&format!("{law}, {what} d{k}"), ours[k + 1], slope, 1e-6);
            }
        }
    }
}
