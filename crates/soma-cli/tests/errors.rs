//! Error messages for an invalid spec: the file, the line, the field, the given value and the
//! allowed values.

mod common;

use common::soma;

const GOOD: &str = r#"[release]
n = 100
statistic = "mean"
values = [0.4, 0.1]
query = { kind = "mean", clamp = [0.0, 1.0] }
mechanism = { kind = "laplace", epsilon = 1.0 }

[model]
kind = "dirichlet"
prior = { kind = "gamma", shape = 1.0, rate = 0.1 }

[sampler]
kernel = "soma"
draws = 100
"#;

/// The output of `soma check` for the valid spec with one change.
fn told(good: &str, bad: &str) -> String {
    let text = GOOD.replacen(good, bad, 1);
    assert_ne!(text, GOOD, "nothing was changed");
    told_of(&text)
}

fn told_of(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("spec.toml"), text).unwrap();
    let output = soma().args(["check", "spec.toml"]).current_dir(folder.path()).output().unwrap();
    assert!(output.stdout.is_empty());
    assert_eq!(output.status.code(), Some(2), "for\n{text}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_good_spec_is_good() {
    soma::spec::Spec::parse(GOOD).unwrap();
}

macro_rules! told {
    ($($name:ident: $good:expr => $bad:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(told($good, $bad));
        })*
    };
}

told! {
    broken_toml: "n = 100" => "n = ";
    unknown_key: "epsilon = 1.0" => "epsilom = 1.0";
    unknown_table: "[sampler]" => "[smapler]";
    unknown_kind: "\"laplace\"" => "\"laplce\"";
    another_name: "\"laplace\"" => "\"geometric\"";
    a_model_that_is_not_there: "\"dirichlet\"" => "\"lognormal\"";
    epsilon_beside_the_mechanism: "mechanism = { kind = \"laplace\", epsilon = 1.0 }" =>
        "mechanism = \"laplace\"\nepsilon = 1.0";
    delta: "epsilon = 1.0" => "epsilon = 1.0, delta = 1e-6";
    unknown_kernel: "\"soma\"" => "\"sys-imgw\"";
    wrong_length: "clamp = [0.0, 1.0]" => "clamp = [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]";
    one_share: "[0.4, 0.1]" => "[0.4]\n";
    wrong_type: "n = 100" => "n = \"many\"";
    value_nan: "[0.4, 0.1]" => "[0.4, nan]";
    value_infinite: "[0.4, 0.1]" => "[inf, 0.1]";
    scale_zero: "epsilon = 1.0" => "scale = 0.0";
    scales_of_wrong_number: "epsilon = 1.0" => "scale = [1.0, 1.0, 1.0]";
    epsilon_negative: "epsilon = 1.0" => "epsilon = -1.0";
    epsilon_zero: "epsilon = 1.0" => "epsilon = 0";
    two_scales: "epsilon = 1.0" => "epsilon = 1.0, scale = 2.0";
    rho_for_laplace: "epsilon = 1.0" => "rho = 1.0";
    no_records: "n = 100" => "n = 0";
    clamp_reversed: "[0.0, 1.0]" => "[1.0, 0.0]";
    prior_out_of_range: "rate = 0.1" => "rate = -0.1";
    prior_missing: "prior = { kind = \"gamma\", shape = 1.0, rate = 0.1 }" => "";
    out_of_reach: "[0.4, 0.1]" => "[0.4, 41.0]";
    dimension_does_not_fit: "\"dirichlet\"" => "\"beta\"";
    discrete_noise_on_means: "\"laplace\"" => "\"discrete-laplace\"";
    subset_without_its_kernel: "draws = 100" => "draws = 100\nsubset = 5";
    subset_too_large: "kernel = \"soma\"" => "kernel = \"soma-subset\"\nsubset = 101";
    fixed_misspelt: "rate = 0.1 }" => "rate = 0.1 }\nfixed = { alpha1 = 1.0, alhpa2 = 1.0 }";
    fixed_out_of_range: "rate = 0.1 }" => "rate = 0.1 }\nfixed = { alpha1 = 1.0, alpha2 = -1.0 }";
    summaries_without_fixed: "rate = 0.1 }" => "rate = 0.1 }\nsummaries = [\"mean\"]";
    no_draws: "draws = 100" => "draws = 0";
    model_missing: "[model]" => "[output]";
}

/// A spec with a model as text.
const TEXT: &str = r#"[model]
parameters = """
b0 ~ normal(0, 2.5)
b1 ~ nromal(0, 2.5)
m  ~ normal(50, 20);
s  ~ dnorm(20, 1)
"""
record = """
age   ~ normal(m, s)
voted ~ bernoulli(logistic(b0 + b1 * agee))
"""

[release]
n = 2000
statistic = "sum"
values = [1031.02, 20.5]
statistics = ["voted", "clamp(age, 0, 100)"]
mechanism = { kind = "laplace", epsilon = 3.0 }
"#;

#[test]
fn all_mistakes_of_a_model() {
    insta::assert_snapshot!(told_of(TEXT));
}

#[test]
fn mistakes_in_statistics() {
    let good = TEXT.replace("nromal", "normal").replace("20);", "20)").replace("agee", "age");
    let good = good.replace("dnorm(20, 1)", "half_normal(20)");
    soma::spec::Spec::parse(&good).unwrap();
    let bad = good.replace("\"voted\"", "\"voted * b0\"").replace("clamp(age, 0, 100)", "age");
    insta::assert_snapshot!(told_of(&bad));
    // With escapes the field is underlined.
    let bad = good.replace("\"voted\"", "\"vote\\u0064\"").replace("clamp(age, 0, 100)", "\\tages");
    insta::assert_snapshot!(told_of(&bad));
    // The lines are too long to be shown.
    let many = vec!["\"q > 0\""; 400].join(", ");
    let told = told_of(&good.replace("\"voted\"", &many));
    assert_eq!(told.lines().count(), 400);
    let first =
        "error: spec.toml, line 17, column 16: release.statistics[0]: unknown name `q`; names";
    assert!(told.starts_with(first), "{}", &told[..200]);
}

#[test]
fn a_scale_in_a_list_is_named() {
    let text = told("epsilon = 1.0", "scale = [1.0, -2.0]");
    assert!(text.contains("release.mechanism.scale"), "{text}");
    assert!(text.contains("line 6"), "{text}");
}

/// A release of counts in `categories` categories, with values for all but the last `missing`.
fn counts(categories: usize, missing: usize) -> String {
    let labels: Vec<String> = (0..categories).map(|c| format!("\"category number {c}\"")).collect();
    let values = vec!["1"; categories - missing];
    format!(
        "[release]\nn = {categories}\nstatistic = \"sum\"\nvalues = [{}]\n\
         query = {{ kind = \"categories\", labels = [{}] }}\n\
         mechanism = {{ kind = \"discrete-laplace\", epsilon = 1.0 }}\n\
         [model]\nkind = \"categorical\"\nprior = {{ kind = \"dirichlet\", alpha = 1.0 }}\n",
        values.join(", "),
        labels.join(", "),
    )
}

/// A message lists at most ten names, and no line longer than a screen.
#[test]
fn messages_are_short_however_many_names_there_are() {
    let many = counts(100_000, 1);
    let told = told_of(&many);
    assert!(told.len() < 2000, "{} bytes", told.len());
    assert!(told.contains("spec.toml, line 4: release.values: "), "{told}");
    assert!(told.contains("given: 99999 values"), "{told}");
    assert!(told.contains("category number 9, ... (100000 in all)"), "{told}");
    assert!(!told.contains("category number 10,"), "{told}");

    let twice = counts(100_000, 0).replace("number 99999\"", "number 7\"");
    let told = told_of(&twice);
    assert!(told.len() < 2000, "{} bytes", told.len());
    assert!(told.contains("release.query.labels[99999]"), "{told}");

    let fixed: Vec<String> = (0..50_000).map(|c| format!("q{c} = 0.1")).collect();
    let held = counts(50_000, 0) + &format!("fixed = {{ {} }}\n", fixed.join(", "));
    let told = told_of(&held);
    assert!(told.len() < 2000, "{} bytes", told.len());
    assert!(told.contains("(50000 in all)"), "{told}");
}

#[test]
fn what_is_right_is_said_shortly_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("spec.toml"), counts(100_000, 0)).unwrap();
    let output = soma().args(["check", "spec.toml"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.len() < 3000, "{} bytes", output.stdout.len());
}

/// Reading is linear: four times the categories take about four times as long.
#[test]
fn reading_takes_linear_time() {
    let fastest = |categories: usize| {
        let text = counts(categories, 0);
        let read = |_| {
            let start = std::time::Instant::now();
            soma::spec::Spec::parse(&text).unwrap();
            start.elapsed().as_secs_f64()
        };
        (0..5).map(read).fold(f64::INFINITY, f64::min)
    };
    let ratio = fastest(80_000) / fastest(20_000);
    assert!(ratio < 10.0, "four times the categories took {ratio} times as long");
}
