//! Simulation-based calibration of real kinds of releases: several parts, clamped or suppressed
//! values, joint distributions of several sums, unknown n.
//!
//! `cargo test --release -p soma-mcmc --test releases_calibration -- --ignored --nocapture` makes
//! 1,000 replications of each, with the kernel that `auto` chooses and with `soma`.

use std::num::NonZeroUsize;

use soma::calibration::{Plan, Unobserved, calibrate};
use soma::kernel::KernelChoice;
use soma::spec::Spec;

const NORMAL: &str = r#"
    [model]
    kind = "normal"
    prior = { kind = "normal-inverse-gamma", mean = 1.0, lambda = 1.0, shape = 4.0, rate = 3.0 }
"#;

const SHARES: &str = r#"
    [model]
    kind = "categorical"
    prior = { kind = "dirichlet", alpha = [1.0, 2.0] }
"#;

const COUNTS: &str = r#"
    [[release.parts]]
    query = { kind = "categories" }
    statistic = "sum"
    values = [12, 3]
"#;

const SUM: &str = r#"
    [[release.parts]]
    query = { kind = "mean", clamp = [-1.0, 3.0] }
    statistic = "sum"
    values = [3.0]
    mechanism = { kind = "laplace", scale = 2.0 }
"#;

const POISSON: &str = r#"{ prior = "poisson", mean = 8.0 }"#;

/// A release of these parts, with n as given, and a model.
fn spec(n: &str, parts: &[&str], model: &str) -> Spec {
    let text = format!("[release]\nn = {n}\n{}\n{model}", parts.join("\n"));
    Spec::parse(&text).unwrap_or_else(|error| panic!("{text}: {}", error.invalid))
}

fn problems() -> Vec<(&'static str, Spec)> {
    let counted = r#"
        [[release.parts]]
        name = "n"
        query = { kind = "count" }
        statistic = "sum"
        values = [8]
        mechanism = { kind = "discrete-laplace", scale = 1.0 }
    "#;
    let squares = r#"
        [[release.parts]]
        name = "squares"
        query = { kind = "moments", clamp = [-1.0, 3.0], powers = [[2]] }
        statistic = "sum"
        values = [9.0]
        mechanism = { kind = "gaussian", scale = 3.0 }
    "#;
    let gram = r#"
        [[release.parts]]
        query = { kind = "gram", predictors = 1, clamp = [-2.0, 2.0] }
        statistic = "sum"
        values = [1.0, 1.0, 3.0, 1.0, 3.0]
        mechanism = { kind = "laplace", scale = 1.0 }
    "#;
    let regression = r#"
        [model]
        kind = "regression"
        predictors = { mean = [0.3] }
        [model.prior]
        kind = "normal-inverse-gamma"
        mean = [0.0, 0.0]
        precision = [[1.0, 0.0], [0.0, 1.0]]
        shape = 4.0
        rate = 3.0
    "#;
    let noisy = |law: &str| format!("{COUNTS}\nmechanism = {law}");
    let laplace = noisy(r#"{ kind = "discrete-laplace", scale = 1.5 }"#);
    let clamped = noisy(r#"{ kind = "discrete-gaussian", scale = 2.0, clamp = [0, inf] }"#);
    let suppressed = noisy(r#"{ kind = "discrete-gaussian", scale = 2.0, threshold = 2 }"#);
    let rounded = r#"
        [[release.parts]]
        query = { kind = "mean", clamp = [-1.0, 3.0] }
        statistic = "sum"
        values = [4.0]
        mechanism = { kind = "gaussian", scale = 2.0, round = 2.0, clamp = [-4.0, 10.0] }
    "#;
    let ratio = r#"
        [[release.parts]]
        query = { kind = "mean", clamp = [-1.0, 3.0] }
        values = [0.8]
        [release.parts.mechanism]
        kind = "ratio"
        numerator = { kind = "laplace", scale = 1.0 }
        denominator = { kind = "discrete-laplace", scale = 0.5 }
        middle = 1.0
        least = 1
    "#;
    let variance = r#"
        [[release.parts]]
        query = { kind = "variance", clamp = [-1.0, 3.0] }
        values = [0.8]
        mechanism = { kind = "laplace", scale = 0.3, within = [0.0, 4.0] }
    "#;
    let quantile = r#"
        [[release.parts]]
        query = { kind = "quantile", alpha = 0.5, candidates = [-0.5, 0.5, 1.0, 1.5, 2.5] }
        values = [1.0]
        mechanism = { kind = "permute-and-flip", scale = 1.0 }
    "#;
    vec![
        ("unknown n, counts", spec(POISSON, &[&laplace], SHARES)),
        ("unknown n, normal", spec(POISSON, &[SUM, counted], NORMAL)),
        ("unknown n, regression", spec(POISSON, &[gram, counted], regression)),
        ("two families", spec("6", &[SUM, squares], NORMAL)),
        ("rounded and clamped", spec("6", &[rounded], NORMAL)),
        ("clamped counts", spec("6", &[&clamped], SHARES)),
        ("suppressed counts", spec(POISSON, &[&suppressed], SHARES)),
        ("ratio", spec("6", &[ratio], NORMAL)),
        ("variance", spec("6", &[SUM, variance], NORMAL)),
        ("quantile", spec("6", &[quantile], NORMAL)),
        ("unknown n, quantile", spec(POISSON, &[quantile, counted], NORMAL)),
        ("unknown n, ratio", spec(POISSON, &[ratio, counted], NORMAL)),
    ]
}

fn assert_calibrated(kernel: KernelChoice, replications: u64) {
    for (name, spec) in problems() {
        let plan = Plan { kernel, replications, ..Plan::default() };
        let found = calibrate(&spec.problem, None, &plan, NonZeroUsize::MIN, &Unobserved).unwrap();
        for quantity in &found.quantities {
            let p = quantity.uniformity.p_value();
            println!("{name}, {}, {}: p {p:.4}", kernel.name(), quantity.name);
            assert!(p > 1e-5, "{name}: {} has p = {p}", quantity.name);
        }
    }
}

#[test]
fn releases_are_calibrated() {
    assert_calibrated(KernelChoice::Soma, 60);
}

#[test]
#[ignore = "takes minutes"]
fn releases_are_calibrated_finely() {
    assert_calibrated(KernelChoice::Auto, 1000);
    assert_calibrated(KernelChoice::Soma, 1000);
}

/// The power: wrong noise is detected. The release had rounded Laplace noise, or was clamped, and
/// the chains assume otherwise. With n public two noisy counts would say little of their noise, since
/// the sum of the errors is known.
#[test]
#[ignore = "takes minutes"]
fn wrong_laws_are_caught() {
    let noisy = |law: &str| format!("{COUNTS}\nmechanism = {law}");
    let p_value = |assumed: &str, true_law: &str| {
        let (assumed, true_law) = (noisy(assumed), noisy(true_law));
        let of = |parts: &str| spec(POISSON, &[parts], SHARES);
        let plan = Plan { kernel: KernelChoice::Counts, replications: 10_000, ..Plan::default() };
        let (template, truth) = (of(&assumed), of(&true_law));
        let truth = Some(truth.problem.release());
        calibrate(&template.problem, truth, &plan, NonZeroUsize::MIN, &Unobserved)
            .unwrap()
            .p_value()
    };
    let rounded = r#"{ kind = "rounded-laplace", scale = 0.5 }"#;
    let discrete = r#"{ kind = "discrete-laplace", scale = 0.5 }"#;
    let p = p_value(discrete, rounded);
    assert!(p < 1e-4, "rounded noise taken for discrete: p = {p}");
    let clamped = r#"{ kind = "discrete-gaussian", scale = 3.0, clamp = [0, inf] }"#;
    let p = p_value(r#"{ kind = "discrete-gaussian", scale = 3.0 }"#, clamped);
    assert!(p < 1e-4, "clamped noise taken for unclamped: p = {p}");
}
