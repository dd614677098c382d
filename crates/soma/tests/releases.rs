//! Real kinds of releases, read from specs, compared with exact answers: two categories with a
//! uniform prior of the share, enumerated over all counts.

use soma::chain::{Engine, Settings};
use soma::diagnostics::mcse_mean;
use soma::kernel::KernelChoice;
use soma::spec::Spec;

const MODEL: &str = r#"
    [model]
    kind = "categorical"
    prior = { kind = "dirichlet", alpha = [1.0, 1.0] }
"#;

/// A known mean or standard deviation of an output.
enum Known {
    Mean(&'static str, f64),
    Sd(&'static str, f64),
}
use Known::{Mean, Sd};

/// The draws of a spec by column: four chains of `draws` draws.
fn columns(text: &str, kernel: KernelChoice, draws: usize) -> (Vec<String>, Vec<Vec<Vec<f64>>>) {
    let spec = Spec::parse(text).unwrap_or_else(|error| panic!("{}", error.invalid));
    let (problem, warmup) = (&spec.problem, 300);
    let settings = Settings { kernel, warmup, seed: 11, ..Settings::default() };
    let names = problem.outputs();
    let mut columns = vec![Vec::new(); names.len()];
    for index in 0..4 {
        let mut chain = Engine::new(problem, &settings, index).unwrap();
        for _ in 0..warmup {
            chain.step().unwrap();
        }
        let mut own = vec![Vec::with_capacity(draws); names.len()];
        for _ in 0..draws {
            chain.step().unwrap();
            own.iter_mut().zip(chain.draw()).for_each(|(column, value)| column.push(value));
        }
        columns.iter_mut().zip(own).for_each(|(column, own)| column.push(own));
    }
    (names, columns)
}

/// Fails if a posterior differs from the known one by more than 4.5 Monte Carlo errors.
fn assert_known(text: &str, draws: usize, known: &[Known]) {
    // `auto` samples counts without records.
    let kernels = [KernelChoice::Soma, KernelChoice::SysImwg, KernelChoice::Auto];
    assert_known_with(&kernels, text, draws, known);
}

fn assert_known_with(kernels: &[KernelChoice], text: &str, draws: usize, known: &[Known]) {
    for &kernel in kernels {
        let (names, columns) = columns(text, kernel, draws);
        let column = |name: &str| {
            let at = names.iter().position(|own| own == name);
            &columns[at.unwrap_or_else(|| panic!("{name} of {names:?}"))]
        };
        let mean_of = |chains: &[Vec<f64>]| {
            let count: usize = chains.iter().map(Vec::len).sum();
            chains.iter().flatten().sum::<f64>() / count as f64
        };
        for known in known {
            let (name, found, error, expected) = match known {
                Mean(name, expected) => {
                    let chains = column(name);
                    (name, mean_of(chains), mcse_mean(chains), *expected)
                }
                Sd(name, expected) => {
                    let chains = column(name);
                    let mean = mean_of(chains);
                    let squares: Vec<Vec<f64>> = chains
                        .iter()
                        .map(|chain| chain.iter().map(|x| (x - mean).powi(2)).collect())
                        .collect();
                    let sd = mean_of(&squares).sqrt();
                    (name, sd, mcse_mean(&squares) / (2.0 * sd), *expected)
                }
            };
            let z = (found - expected) / error;
            assert!(z.abs() < 4.5, "{kernel:?}, {name}: {found} for {expected}, {z} errors");
            assert!(error < 0.06 * expected.abs(), "{kernel:?}, {name}: error {error}");
        }
    }
}

/// Two noisy counts, with `n` and the mechanism as given, and further parts.
fn counts(n: &str, values: &str, mechanism: &str, further: &str) -> String {
    format!(
        r#"
        [release]
        n = {n}
        [[release.parts]]
        query = {{ kind = "categories" }}
        statistic = "sum"
        values = {values}
        mechanism = {mechanism}
        {further}
        {MODEL}"#
    )
}

const DRAWS: usize = 1_500;

#[test]
fn counts_with_n_unknown_and_known() {
    let mechanism = r#"{ kind = "discrete-laplace", scale = 2.0 }"#;
    let known = [Mean("n", 14.65882), Sd("n", 3.67940), Mean("p0", 0.74876), Sd("p0", 0.14821)];
    assert_known(&counts("\"unknown\"", "[12, 3]", mechanism, ""), DRAWS, &known);
    let known = [Mean("p0", 0.76105), Sd("p0", 0.12336)];
    assert_known(&counts("15", "[12, 3]", mechanism, ""), DRAWS, &known);
}

#[test]
fn counts_and_a_noisy_total() {
    let total = r#"
        [[release.parts]]
        query = { kind = "count" }
        statistic = "sum"
        values = [18]
        mechanism = { kind = "discrete-laplace", scale = 1.0 }
    "#;
    let mechanism = r#"{ kind = "discrete-laplace", scale = 2.0 }"#;
    let known = [Mean("n", 17.49698), Sd("n", 1.28412), Mean("p0", 0.72971), Sd("p0", 0.13017)];
    assert_known(&counts("\"unknown\"", "[12, 3]", mechanism, total), DRAWS, &known);
}

#[test]
fn rounded_laplace_counts() {
    let mechanism = r#"{ kind = "rounded-laplace", scale = 1.0 }"#;
    let known = [Mean("n", 14.82375), Sd("n", 1.97504), Mean("p0", 0.76733), Sd("p0", 0.11781)];
    assert_known(&counts("\"unknown\"", "[12, 3]", mechanism, ""), DRAWS, &known);
}

#[test]
fn a_suppressed_count() {
    let mechanism = r#"{ kind = "discrete-gaussian", scale = 10.0, threshold = 90 }"#;
    let values = r#"[95, "suppressed"]"#;
    // The flat prior of n needs an upper limit here, which the release does not imply.
    let n = r#"{ prior = "flat", slots = 260 }"#;
    let known = [Mean("n", 134.42127), Sd("n", 28.80773), Mean("p0", 0.72406), Sd("p0", 0.14689)];
    assert_known(&counts(n, values, mechanism, ""), DRAWS, &known);
}

#[test]
fn counts_clamped_at_zero() {
    let clamped = r#"{ kind = "discrete-gaussian", scale = 3.0, clamp = [0, inf] }"#;
    let known = [Mean("n", 12.72071), Mean("p0", 0.83629), Sd("p0", 0.13088)];
    assert_known(&counts("\"unknown\"", "[12, 0]", clamped, ""), DRAWS, &known);
    let ignored = r#"{ kind = "discrete-gaussian", scale = 3.0 }"#;
    let known = [Mean("n", 13.17137), Mean("p0", 0.81429), Sd("p0", 0.13813)];
    assert_known(&counts("\"unknown\"", "[12, 0]", ignored, ""), DRAWS, &known);
}

/// The number of slots is computational only: the posterior does not depend on it.
#[test]
fn slots_do_not_matter() {
    let mechanism = r#"{ kind = "discrete-laplace", scale = 2.0 }"#;
    let known = [Mean("n", 14.65882), Mean("p0", 0.74876)];
    for slots in [80, 120, 300] {
        let n = format!("{{ prior = \"flat\", slots = {slots} }}");
        assert_known(&counts(&n, "[12, 3]", mechanism, ""), DRAWS, &known);
    }
}

#[test]
fn a_ratio_alone() {
    let spec = |n: &str| {
        format!(
            r#"
        [release]
        n = {n}
        values = [0.4]
        query = {{ kind = "mean", clamp = [0.0, 1.0] }}
        [release.mechanism]
        kind = "ratio"
        numerator = {{ kind = "laplace", scale = 1.0 }}
        denominator = {{ kind = "discrete-laplace", scale = 1.0 }}
        [model]
        parameters = "p ~ uniform(0, 1)"
        record = "x ~ bernoulli(p)"
        "#
        )
    };
    let known = [Mean("n", 31.81904), Mean("p", 0.413693), Sd("p", 0.126055)];
    let unknown = spec(r#"{ prior = "uniform", low = 1, high = 60 }"#);
    let kernels = [KernelChoice::SysImwg];
    assert_known_with(&kernels, &unknown, 3_000, &known);
    assert_known_with(&kernels, &spec("20"), 3_000, &[Mean("p", 0.410759), Sd("p", 0.122119)]);
}
