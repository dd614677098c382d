//! Randomised response against the exact answer, quadrature, and its own simulation, from the text of
//! a spec.
//!
//! 1,000 replications: `cargo test --release -p soma-mcmc --test reports -- --ignored --nocapture`

mod common;

use common::{assert_mean, columns, p_value};
use soma::spec::Spec;

fn text(n: usize, values: &str, query: &str, law: &str, model: &str) -> String {
    format!(
        "[release]\nn = {n}\nvalues = {values}\nquery = {query}\n\
         mechanism = {{ kind = \"randomised-response\", {law} }}\n[model]\n{model}\n"
    )
}

fn spec(n: usize, values: &str, query: &str, law: &str, model: &str) -> Spec {
    Spec::parse(&text(n, values, query, law, model)).unwrap()
}

const CATEGORIES: &str = "{ kind = \"categories\" }";
const FLAT: &str = "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = 1.0 }";

/// 60 of 100 say yes, each truthfully with probability 0.75: by enumeration E p = .695944, sd
/// .096413.
#[test]
fn the_exact_answer_of_two_categories() {
    let spec = spec(100, "[60, 40]", CATEGORIES, "prob = 0.75", FLAT);
    assert_eq!(spec.problem.outputs(), ["p0", "p1", "count[0]", "count[1]"]);
    let columns = columns(&spec, 100_000);
    assert_mean("p", &columns[0], 0.695944);
    let square: Vec<f64> = columns[0].iter().map(|p| (p - 0.695944).powi(2)).collect();
    assert_mean("variance", &square, 0.096413 * 0.096413);
    // Given p and the reports, those who said yes are in it with probability .75 p / q.
    let expected =
        |p: &f64| 60.0 * 0.75 * p / (0.25 + 0.5 * p) + 40.0 * 0.25 * p / (0.75 - 0.5 * p);
    let gap: Vec<f64> = columns[0].iter().zip(&columns[2]).map(|(p, c)| c - expected(p)).collect();
    assert_mean("true count", &gap, 0.0);
}

/// Three categories with a Dirichlet prior, by a grid over the simplex; few true reports.
#[test]
fn three_categories_agree_with_quadrature() {
    let alpha = [0.8, 2.0, 1.5];
    let (own, other) = (0.5, 0.25);
    let counts = [12.0, 3.0, 10.0];
    let (mut mass, mut first, mut second) = (0.0, [0.0; 3], [0.0; 3]);
    let steps = 1200;
    for i in 0..steps {
        for j in 0..steps {
            // p0 = s^4 has no pole of its density at 0.
            let (s, t) = ((i as f64 + 0.5) / steps as f64, (j as f64 + 0.5) / steps as f64);
            let a = s.powi(4);
            let p = [a, (1.0 - a) * t, (1.0 - a) * (1.0 - t)];
            let jacobian = 4.0 * s.powi(3) * (1.0 - a);
            let mut log = 0.0;
            for c in 0..3 {
                log +=
                    (alpha[c] - 1.0) * p[c].ln() + counts[c] * (other + (own - other) * p[c]).ln();
            }
            let weight = jacobian * (log + 30.0).exp();
            mass += weight;
            for c in 0..3 {
                first[c] += weight * p[c];
                second[c] += weight * p[c] * p[c];
            }
        }
    }
    let model = "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = [0.8, 2.0, 1.5] }";
    let spec = spec(25, "[12, 3, 10]", CATEGORIES, "prob = 0.5", model);
    let columns = columns(&spec, 60_000);
    for c in 0..3 {
        assert_mean(&format!("p{c}"), &columns[c], first[c] / mass);
        let squares: Vec<f64> = columns[c].iter().map(|p| p * p).collect();
        assert_mean(&format!("p{c} squared"), &squares, second[c] / mass);
    }
}

/// Iterations for each rank.
const THIN: u64 = 5;

fn problems() -> Vec<(&'static str, Spec)> {
    let normal = "kind = \"normal\"\nprior = { kind = \"normal-inverse-gamma\", mean = 0.2, \
                  lambda = 0.5, shape = 4.0, rate = 3.0 }";
    let edges = "{ kind = \"histogram\", edges = [-2.0, -0.5, 0.0, 0.5, 2.0] }";
    let table = "{ kind = \"table\", axes = [2, 2] }";
    let log_linear = "kind = \"log-linear\"\nprior = { kind = \"normal\", sd = 0.8 }";
    vec![
        ("two categories", spec(40, "[30, 10]", CATEGORIES, "prob = 0.75", FLAT)),
        ("four categories", spec(60, "[30, 10, 10, 10]", CATEGORIES, "epsilon = 1.0", FLAT)),
        ("histogram", spec(60, "[30, 10, 10, 10]", edges, "epsilon = 2.0", normal)),
        ("table", spec(60, "[30, 10, 10, 10]", table, "epsilon = 1.5", log_linear)),
    ]
}

fn assert_calibrated(replications: u64) {
    for (name, spec) in problems() {
        let (worst, p) = p_value(&spec, None, THIN, replications);
        println!("{name}: p {p:.4} ({worst})");
        assert!(p > 1e-5, "{name}: {worst} has p = {p}");
    }
}

#[test]
fn reports_are_calibrated() {
    assert_calibrated(60);
}

#[test]
#[ignore = "takes minutes"]
fn reports_are_calibrated_finely() {
    assert_calibrated(1000);
}

/// The power: reports that are taken for more truthful than they are.
#[test]
fn a_mistaken_probability_is_caught() {
    let assumed = spec(200, "[100, 100]", CATEGORIES, "prob = 0.9", FLAT);
    let used = spec(200, "[100, 100]", CATEGORIES, "prob = 0.75", FLAT);
    let (_, p) = p_value(&assumed, Some(&used), THIN, 200);
    assert!(p < 1e-5, "p = {p}");
}

#[test]
fn what_cannot_be_is_refused() {
    let mean = "{ kind = \"mean\", clamp = [0.0, 1.0] }";
    let refused = |text: String| {
        let invalid = match Spec::parse(&text) {
            Err(error) => error.invalid,
            Ok(_) => panic!("not refused: {text}"),
        };
        (invalid.field.clone(), invalid.to_string())
    };
    for (text, field) in [
        (text(100, "[60, 40]", CATEGORIES, "prob = 1.5", FLAT), "release.mechanism.prob"),
        (text(100, "[60, 40]", CATEGORIES, "epsilon = -1.0", FLAT), "release.mechanism.epsilon"),
        (text(100, "[60, 40]", CATEGORIES, "scale = 1.0", FLAT), "release.mechanism.scale"),
        (text(100, "[60.5, 39.5]", CATEGORIES, "prob = 0.75", FLAT), "release.values[0]"),
        (text(90, "[60, 40]", CATEGORIES, "prob = 0.75", FLAT), "release"),
        (text(100, "[60, 40]", mean, "prob = 0.75", FLAT), "release.query"),
        (
            text(100, "[60, 40]", CATEGORIES, "prob = 0.75", FLAT)
                + "[sampler]\nkernel = \"soma\"\n",
            "sampler.kernel",
        ),
    ] {
        let (found, message) = refused(text);
        assert_eq!(found, field, "{message}");
    }
}
