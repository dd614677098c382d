//! Simulation-based calibration of the sampler of counts, from the text of a spec.
//!
//! By default sixty replications of each problem; with 1,000, which take minutes:
//! `cargo test --release -p soma-mcmc --test counts_calibration -- --ignored`

use std::num::NonZeroUsize;

use soma::calibration::{Plan, Unobserved, calibrate};
use soma::kernel::KernelChoice;
use soma::release::Release;
use soma::release::mechanism::Noise;
use soma::spec::Spec;

fn spec(n: &str, values: &str, query: &str, noise: Noise, scale: f64, model: &str) -> Spec {
    let text = format!(
        "[release]\nn = {n}\nstatistic = \"sum\"\nvalues = {values}\nquery = {query}\n\
         mechanism = {{ kind = \"{}\", scale = {scale} }}\n[model]\n{model}\n",
        noise.name()
    );
    Spec::parse(&text).unwrap()
}

const DIRICHLET: &str = "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = 0.7 }";
const NORMAL: &str = "kind = \"normal\"\nprior = { kind = \"normal-inverse-gamma\", mean = 0.2, \
                      lambda = 0.5, shape = 4.0, rate = 3.0 }";
const LOG_LINEAR: &str =
    "kind = \"log-linear\"\ninteractions = [[0, 1]]\nprior = { kind = \"normal\", sd = 0.8 }";

/// The problems: every kind of cells, margins, and n public or unknown.
fn problems(noise: Noise, scale: f64) -> Vec<(&'static str, Spec)> {
    let table = "{ kind = \"table\", axes = [2, 3] }";
    let margin = "{ kind = \"table\", axes = [2, 3], margin = [1] }";
    let edges = "{ kind = \"histogram\", edges = [-2.0, -0.5, 0.0, 0.5, 2.0] }";
    let of = |n, values, query, model| spec(n, values, query, noise, scale, model);
    let (three, six) = ("[1, 1, 1]", "[1, 1, 1, 1, 1, 1]");
    let categories = "{ kind = \"categories\" }";
    let poisson = "{ prior = \"poisson\", mean = 25 }";
    let gamma = "{ prior = \"poisson-gamma\", shape = 2.0, rate = 0.1 }";
    vec![
        ("categories", of("30", three, categories, DIRICHLET)),
        ("histogram", of("40", "[1, 1, 1, 1]", edges, NORMAL)),
        ("table", of("30", six, table, LOG_LINEAR)),
        ("margin", of("30", three, margin, DIRICHLET)),
        ("margin, log-linear", of("30", three, margin, LOG_LINEAR)),
        ("unknown n", of(poisson, three, categories, DIRICHLET)),
        ("unknown n, table", of(gamma, six, table, LOG_LINEAR)),
        ("margins", margins("30", DIRICHLET)),
        ("margins, log-linear", margins("30", LOG_LINEAR)),
        ("margins, unknown n", margins(poisson, DIRICHLET)),
    ]
}

/// A 2 x 3 table with both margins, its cells and, if n is unknown, the total, each with its own
/// noise.
fn margins(n: &str, model: &str) -> Spec {
    let part = |name: &str, query: &str, count: usize, noise: Noise, scale: f64| {
        // Arbitrary possible values.
        let value = if count == 1 { 30 } else { 1 };
        format!(
            "[[release.parts]]\nname = \"{name}\"\nstatistic = \"sum\"\nvalues = {:?}\n\
             query = {query}\nmechanism = {{ kind = \"{}\", scale = {scale} }}\n",
            vec![value; count],
            noise.name()
        )
    };
    let table = |margin: &str| format!("{{ kind = \"table\", axes = [2, 3], margin = {margin} }}");
    let text = [
        format!("[release]\nn = {n}\n"),
        part("rows", &table("[0]"), 2, Noise::DiscreteGaussian, 1.0),
        part("columns", &table("[1]"), 3, Noise::DiscreteLaplace, 0.8),
        part("cells", &table("[0, 1]"), 6, Noise::DiscreteGaussian, 4.0),
        part("all", "{ kind = \"count\" }", 1, Noise::RoundedLaplace, 1.0),
        format!("[model]\n{model}\n"),
    ];
    Spec::parse(&text.concat()).unwrap()
}

fn plan(replications: u64) -> Plan {
    Plan { kernel: KernelChoice::Counts, replications, warmup: 250, thin: 10, ..Plan::default() }
}

/// The smallest p-value of all quantities.
fn p_value(spec: &Spec, truth: Option<&Release>, plan: &Plan) -> (String, f64) {
    let found = calibrate(&spec.problem, truth, plan, NonZeroUsize::MIN, &Unobserved).unwrap();
    let of = |ranks: soma::calibration::Ranks| (ranks.name, ranks.uniformity.p_value());
    found.quantities.into_iter().map(of).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
}

fn assert_calibrated(noise: Noise, scale: f64, replications: u64) {
    for (name, spec) in problems(noise, scale) {
        let (worst, p) = p_value(&spec, None, &plan(replications));
        println!("{name}, {}: p {p:.4} ({worst})", noise.name());
        // About forty quantities in a set of problems.
        assert!(p > 1e-5, "{name} with {} noise: {worst} has p = {p}", noise.name());
    }
}

#[test]
fn counts_are_calibrated() {
    assert_calibrated(Noise::DiscreteLaplace, 2.0, 60);
}

#[test]
#[ignore = "takes minutes"]
fn counts_are_calibrated_finely() {
    for noise in Noise::ALL {
        for scale in [0.8, 5.0] {
            assert_calibrated(noise, scale, 1000);
        }
    }
}

/// The power: noise assumed a third too small is detected.
#[test]
fn mistaken_noise_is_caught() {
    let spec = &problems(Noise::DiscreteGaussian, 3.0)[0].1;
    let truth = &problems(Noise::DiscreteGaussian, 4.0)[0].1;
    let (_, p) = p_value(spec, Some(truth.problem.release()), &plan(400));
    assert!(p < 1e-5, "p = {p}");
}

/// A flat prior of n is improper: an error, and no run.
#[test]
fn a_flat_prior_cannot_be_simulated() {
    let text = ("\"unknown\"", "[1, 1, 1]", "{ kind = \"categories\" }");
    let spec = spec(text.0, text.1, text.2, Noise::DiscreteLaplace, 1.0, DIRICHLET);
    let invalid = plan(10).check(&spec.problem).unwrap_err();
    assert_eq!(invalid.field, "release.n");
}
