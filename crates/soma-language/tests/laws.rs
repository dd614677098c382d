//! Draws follow their distributions, densities integrate to one, noise is standard normal.

mod common;

use common::{MODELS, data, model, rng};
use soma_language::{Data, Model, Workspace};

/// Mean and variance of numbers that should be standard normal, within 4.5 standard errors.
fn assert_standard(what: &str, values: &[f64]) {
    let n = values.len() as f64;
    let (mean, variance, fourth) = (0.0, 1.0, 3.0);
    let average = values.iter().sum::<f64>() / n;
    let spread = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let bound = 4.5 * (variance / n).sqrt();
    assert!((average - mean).abs() < bound, "{what}: mean {average}");
    let bound = 4.5 * ((fourth - variance * variance) / n).sqrt();
    assert!((spread - variance).abs() < bound, "{what}: variance {spread}");
}

/// The Kolmogorov-Smirnov distance of sorted uniforms.
fn assert_uniform(what: &str, values: &mut [f64]) {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let gap = values
        .iter()
        .enumerate()
        .map(|(i, u)| (u - (i as f64 + 0.5) / n).abs())
        .fold(0.0, f64::max);
    assert!(gap * n.sqrt() < 2.2, "{what}: distance {gap}");
}

#[test]
fn the_noise_of_proposed_records_is_standard() {
    const N: usize = 6000;
    let mut w = Workspace::new();
    for (name, ..) in MODELS {
        let model = model(name);
        let mut rng = rng(7);
        for _ in 0..2 {
            let mut theta = vec![0.0; model.theta_dim()];
            model.sample_prior(&mut theta, &mut rng, &mut w);
            let mut records = vec![0.0; N * model.record_dim()];
            model.propose(&theta, &mut records, &mut rng, &mut w);
            let e = model.noise().len();
            let mut noise = vec![0.0; N * e];
            model.inverse(&theta, &records, &mut noise, &mut rng, &mut w);
            for k in 0..e {
                let own: Vec<f64> = noise.iter().skip(k).step_by(e).copied().collect();
                let what = format!("{name}, noise {k} at {theta:?}");
                assert_standard(&what, &own);
                let uniform = |&e: &f64| soma_language::special::normal_cdf(e);
                assert_uniform(&what, &mut own.iter().map(uniform).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn records_made_of_noise_are_the_ones_that_it_came_from() {
    let mut w = Workspace::new();
    for (name, ..) in MODELS {
        let model = model(name);
        let mut rng = rng(8);
        let mut theta = vec![0.0; model.theta_dim()];
        model.sample_prior(&mut theta, &mut rng, &mut w);
        let mut records = vec![0.0; 500 * model.record_dim()];
        model.propose(&theta, &mut records, &mut rng, &mut w);
        let mut noise = vec![0.0; 500 * model.noise().len()];
        model.inverse(&theta, &records, &mut noise, &mut rng, &mut w);
        let mut back = vec![0.0; records.len()];
        model.forward(&theta, &noise, &mut back, &mut w);
        for (a, b) in records.iter().zip(&back) {
            assert!((a - b).abs() < 1e-8 * (1.0 + a.abs()), "{name}: {a} {b}");
        }
    }
}

/// The trapezoid rule on a logit or asinh grid, over the support of one coordinate.
fn integral(model: &Model) -> f64 {
    let fact = model.record_facts()[0];
    let mut w = Workspace::new();
    if fact.integer {
        let points: Vec<f64> = (0..3000).map(|k| fact.low + f64::from(k)).collect();
        let mut out = vec![0.0; points.len()];
        model.log_densities(&[], &points, &mut out, &mut w);
        return out.iter().map(|x| x.exp()).sum();
    }
    let steps = 40_000;
    let (mut points, mut weights) = (Vec::new(), Vec::new());
    for k in 0..=steps {
        let t = -1.0 + 2.0 * f64::from(k) / f64::from(steps);
        // u runs over the line; x and dx/du depend on the kind of support.
        let u = 120.0 * t;
        let (x, slope) = match (fact.low.is_finite(), fact.high.is_finite()) {
            (true, true) => {
                let p = 1.0 / (1.0 + (-u).exp());
                let rest = 1.0 / (1.0 + u.exp());
                (fact.low + (fact.high - fact.low) * p, (fact.high - fact.low) * p * rest)
            }
            (true, false) => (fact.low + u.exp(), u.exp()),
            _ => ((0.3 * u).sinh(), 0.3 * (0.3 * u).cosh()),
        };
        points.push(x);
        weights.push(slope * 240.0 / f64::from(steps));
    }
    let mut out = vec![0.0; points.len()];
    model.log_densities(&[], &points, &mut out, &mut w);
    out.iter()
        .zip(&weights)
        .filter(|(log, w)| log.is_finite() && w.is_finite())
        .map(|(log, w)| log.exp() * w)
        .sum()
}

#[test]
fn densities_integrate_to_one() {
    for law in [
        "normal(1, 2)",
        "half_normal(3)",
        "log_normal(0.5, 0.7)",
        "student_t(3, 1, 2)",
        "laplace(1, 2)",
        "logistic(-1, 0.5)",
        "exponential(0.7)",
        "gamma(2.5, 3)",
        "gamma(0.6, 1)",
        "inverse_gamma(3, 2)",
        "weibull(1.7, 2)",
        "beta(2.5, 4)",
        "beta(0.7, 0.6)",
        "uniform(-2, 3)",
        "bernoulli(0.3)",
        "bernoulli(logistic(1))",
        "binomial(9, 0.3)",
        "binomial(9, logistic(-1))",
        "poisson(4.5)",
        "negative_binomial(3, 0.8)",
        "categorical([1, 2, 4])",
    ] {
        let model = Model::new("", &format!("x ~ {law}"), &Data::new()).unwrap();
        let mass = integral(&model);
        assert!((mass - 1.0).abs() < 1e-6, "{law}: {mass}");
    }
}

/// E f(theta) of the prior by draws and by importance weights from the unconstrained density.
#[test]
fn shares_and_correlations_integrate_to_one() {
    let mut w = Workspace::new();
    for parameters in ["p[1..3] ~ dirichlet([1.5, 2, 3])", "L[1..3, 1..3] ~ lkj_cholesky(1.5)"] {
        let model = Model::new(parameters, "x ~ normal(0, 1)", &Data::new()).unwrap();
        let p = model.theta_dim();
        let steps: usize = if p == 2 { 200 } else { 60 };
        let (mut mass, reach) = (0.0, 9.0);
        let width = 2.0 * reach / steps as f64;
        for mut cell in 0..steps.pow(p as u32) {
            let mut free = vec![0.0; p];
            for to in &mut free {
                *to = -reach + width * ((cell % steps) as f64 + 0.5);
                cell /= steps;
            }
            mass += model.log_prior_free(&free, &mut w).exp() * width.powi(p as i32);
        }
        assert!((mass - 1.0).abs() < 2e-3, "{parameters}: {mass}");
    }
}

/// Stein's identity: the expectation of the unconstrained slopes under the prior is 0, so draws and
/// density agree.
#[test]
fn prior_draws_follow_the_prior() {
    const N: usize = 4000;
    let mut w = Workspace::new();
    for (name, ..) in MODELS {
        let model = model(name);
        let p = model.theta_dim();
        let mut rng = rng(9);
        let (mut sums, mut squares) = (vec![0.0; p], vec![0.0; p]);
        for _ in 0..N {
            let (mut theta, mut free, mut slopes) = (vec![0.0; p], vec![0.0; p], vec![0.0; p]);
            model.sample_prior(&mut theta, &mut rng, &mut w);
            model.unconstrain(&theta, &mut free, &mut w);
            model.log_prior_free_gradient(&free, &mut slopes, &mut w);
            for k in 0..p {
                // f = (1, free): E[slope] = 0 and E[1 + free slope] = 0, summed.
                let value = 1.0 + (free[k] - 0.3) * slopes[k];
                sums[k] += value;
                squares[k] += value * value;
            }
        }
        for k in 0..p {
            let mean = sums[k] / N as f64;
            let error = (squares[k] / N as f64 / N as f64).sqrt();
            assert!(
                mean.abs() < 4.5 * error,
                "{name}, {}: {mean} +- {error}",
                model.parameters()[k]
            );
        }
    }
}

#[test]
fn redraws_keep_what_no_parameter_touches() {
    let (mut rng, mut w) = (rng(10), Workspace::new());
    let text = "a ~ normal(0, 1)\nb ~ normal(a, 1)\nc ~ normal(m, 1)\ne ~ normal(c, 1)";
    let model = Model::new("m ~ normal(0, 1)", text, &Data::new()).unwrap();
    let before: Vec<f64> = (0..40).map(f64::from).collect();
    let mut after = vec![0.0; 40];
    model.redraw(&[0.0], &before, &mut after, &mut rng, &mut w);
    for (old, new) in before.chunks_exact(4).zip(after.chunks_exact(4)) {
        assert!(old[0] == new[0] && old[1] == new[1] && old[2] != new[2] && old[3] != new[3]);
        assert!((new[3] - new[2]).abs() < 6.0 && new[2].abs() < 6.0);
    }
}

#[test]
fn outside_the_support_the_density_is_zero() {
    let mut w = Workspace::new();
    let cases: &[(&str, &[f64])] = &[
        ("beta(2, 3)", &[-0.1, 1.1]),
        ("gamma(2, 3)", &[-1.0]),
        ("bernoulli(0.5)", &[-1.0, 0.5, 2.0]),
        ("bernoulli(logistic(0.5))", &[-1.0, 0.5, 2.0]),
        ("poisson(2)", &[-1.0, 1.5]),
        ("categorical([1, 1])", &[0.0, 3.0, 1.2]),
        ("uniform(0, 1)", &[-0.5, 1.5]),
    ];
    for (law, points) in cases {
        let model = Model::new("", &format!("x ~ {law}"), &data()).unwrap();
        let mut out = vec![0.0; points.len()];
        model.log_densities(&[], points, &mut out, &mut w);
        assert!(out.iter().all(|&log| log == f64::NEG_INFINITY), "{law}: {out:?}");
    }
    let model =
        Model::new("p[1..2] ~ dirichlet([1, 1])\nc ~ uniform(0, 1)", "x ~ normal(0, 1)", &data())
            .unwrap();
    assert_eq!(model.log_prior(&[1.5, 0.5], &mut w), f64::NEG_INFINITY);
    assert_eq!(model.log_prior(&[0.5, 1.5], &mut w), f64::NEG_INFINITY);
    assert_eq!(model.check_theta(&[0.5, 1.5], &mut w).unwrap_err().parameter, "c");
    assert_eq!(model.check_theta(&[f64::NAN, 0.5], &mut w).unwrap_err().parameter, "p[1]");
    assert!(model.check_theta(&[0.5, 0.5], &mut w).is_ok());
}

#[test]
fn draws_are_pinned() {
    let (mut rng, mut w) = (rng(1), Workspace::new());
    let model = model("voters");
    let mut theta = vec![0.0; 4];
    model.sample_prior(&mut theta, &mut rng, &mut w);
    let mut records = vec![0.0; 6];
    model.propose(&theta, &mut records, &mut rng, &mut w);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("draws", format!("{theta:?}\n{records:?}"));
    });
}
