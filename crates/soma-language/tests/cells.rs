//! Cells of a record: their probabilities against draws of the model and closed forms.

mod common;

use common::rng;
use rand::RngExt;
use soma_language::special::{normal_cdf, normal_quantile};
use soma_language::{Data, Model, RecordCells, Statistics, Workspace};

fn cells(parameters: &str, record: &str, texts: &[&str]) -> (Model, Result<RecordCells, String>) {
    let model = Model::new(parameters, record, &Data::new()).unwrap();
    let statistics = Statistics::new(texts, &model).unwrap();
    let cells = RecordCells::new(&model, &[&statistics]);
    (model, cells)
}

/// Models with statistics, and a theta. All distributions are among them, dependence of discrete
/// variables, mixtures, and comparisons of functions of a variable.
const CASES: [(&str, &str, &[&str], &[f64]); 13] = [
    ("p ~ beta(1, 1)", "x ~ binomial(5, p)", &["x"], &[0.3]),
    ("m ~ gamma(2, 1)", "x ~ poisson(m)", &["min(x, 3)", "x == 1"], &[1.4]),
    (
        "m ~ gamma(2, 1)\nk ~ gamma(2, 1)",
        "x ~ negative_binomial(m, k)\ny ~ bernoulli(0.3)",
        &["clamp(x, 1, 4) * y"],
        &[2.2, 0.7],
    ),
    (
        "w[1..3] ~ dirichlet([1, 1, 1])\na ~ normal(0, 1)",
        "k ~ categorical(w)\nv ~ bernoulli(logistic(a * k - 1))",
        &["one_hot(k, 3)", "v"],
        &[0.2, 0.5, 0.6],
    ),
    (
        "a ~ normal(0, 1)\nb ~ normal(0, 1)",
        "k ~ categorical([1, 2])\nx ~ normal(if k == 1 then a else b, 1)",
        &["x > 0.5", "x > 2"],
        &[-0.4, 1.3],
    ),
    (
        "s ~ gamma(3, 1)",
        "x ~ gamma(s, 2)\ny ~ weibull(s, 1.5)\nz ~ log_normal(0, s)",
        &["x > 1 and y < 2", "z <= 0.7"],
        &[1.7],
    ),
    (
        "s ~ gamma(3, 1)",
        "x ~ student_t(4, 0.3, s)\ny ~ laplace(0, s)\nz ~ logistic(1, s)",
        &["-1 < x < 1", "if y > 0.5 then 2 else 1", "(z - 1) / 2 > 0.1"],
        &[0.8],
    ),
    (
        "s ~ gamma(3, 1)",
        "x ~ uniform(0, s)\ny ~ exponential(s)\nz ~ half_normal(s)\nw ~ beta(s, 2)\nv ~ inverse_gamma(s, 2)",
        &["x < 1", "y > 0.5", "2 - 3 * z > 0", "w > 0.25", "v > 1"],
        &[1.6],
    ),
    ("m ~ normal(0, 1)", "x ~ normal(m, 2)", &["histogram(x, [-1, 0, 0.5, 3])"], &[0.4]),
    (
        "q ~ beta(1, 1)",
        "z ~ bernoulli(q)\na[1..3] ~ bernoulli(0.2 + 0.5 * z)\nu[1..2] ~ dirichlet([1, 2])",
        &["sum(a)"],
        &[0.4],
    ),
    ("p ~ beta(1, 1)", "n ~ categorical([1, 1, 2])\nx ~ binomial(n, p)", &["x >= 2", "n"], &[0.6]),
    (
        "p ~ beta(1, 1)\nm ~ gamma(2, 1)",
        "never ~ bernoulli(p)\nk ~ poisson(m)\ny = if never then 0 else k",
        &["y == 0", "y == 1", "clamp(y, 0, 3)"],
        &[0.3, 1.7],
    ),
    (
        "m ~ gamma(2, 1)",
        "a ~ poisson(m)\nb ~ bernoulli(0.4)\nc ~ poisson(2)",
        &["min(if b then 0 else a, 2)", "(if b then 1 else a) > 3", "max(5 - b - c, 0)"],
        &[1.2],
    ),
];

/// Of 200,000 records of the model the share of each cell is its probability; and a record made from
/// the noise of a row is in the row.
#[test]
fn probabilities_are_those_of_the_model() {
    const DRAWS: usize = 200_000;
    let mut rng = rng(3);
    let mut workspace = Workspace::new();
    for (parameters, record, texts, theta) in CASES {
        let (model, cells) = cells(parameters, record, texts);
        let cells = cells.unwrap_or_else(|why| panic!("{record}: {why}"));
        let mut logs = vec![0.0; cells.count()];
        cells.log_probabilities(theta, &mut logs, &mut workspace);
        let total: f64 = logs.iter().map(|log| log.exp()).sum();
        assert!((total - 1.0).abs() < 1e-12, "{record}: {total}");
        let d = model.record_dim();
        let mut records = vec![0.0; DRAWS * d];
        model.propose(theta, &mut records, &mut rng, &mut workspace);
        let statistics = Statistics::new(texts, &model).unwrap();
        let mut values = vec![0.0; DRAWS * statistics.dim()];
        statistics.evaluate(&records, &mut values, &mut workspace);
        let mut found = vec![0.0; cells.count()];
        for (record, values) in records.chunks(d).zip(values.chunks(statistics.dim())) {
            let cell = cells.cell_of(record);
            assert_eq!(cells.values()[cell], values, "{record:?}");
            found[cell] += 1.0 / DRAWS as f64;
        }
        for (label, (found, log)) in cells.labels().iter().zip(found.iter().zip(&logs)) {
            let p = log.exp();
            let limit = 4.5 * (p * (1.0 - p) / DRAWS as f64).sqrt() + 1e-12;
            assert!((found - p).abs() < limit, "{record}, {label}: {found}, not {p}");
        }
        let ends = cells.noise_of_rows(theta, &mut workspace);
        let mut rows = vec![0.0; cells.rows()];
        cells.log_probabilities_of_rows(theta, &mut rows, &mut workspace);
        let width = ends.len() / cells.rows();
        for row in (0..cells.rows()).filter(|&row| rows[row] > -20.0) {
            for _ in 0..20 {
                let own = ends[row * width..][..width].chunks(2);
                let noise: Vec<f64> = own
                    .map(|ends| {
                        let (low, high) = (normal_cdf(ends[0]), normal_cdf(ends[1]));
                        normal_quantile(low + (high - low) * rng.random_range(0.001..0.999))
                    })
                    .collect();
                let mut made = vec![0.0; d];
                model.forward(theta, &noise, &mut made, &mut workspace);
                assert_eq!(cells.cell_of(&made), cells.cell_of_row()[row], "{record}, {made:?}");
                let before = made.clone();
                cells.mend(row, &mut made);
                assert!(before.iter().zip(&made).all(|(a, b)| (a - b).abs() < 1e-9), "{before:?}");
            }
        }
    }
}

/// Tails that a difference of distribution functions would lose.
#[test]
fn small_probabilities_keep_their_digits() {
    let mut workspace = Workspace::new();
    let mut logs = |parameters: &str, record: &str, text: &str, theta: &[f64]| {
        let (_, cells) = cells(parameters, record, &[text]);
        let mut logs = vec![0.0; 2];
        cells.unwrap().log_probabilities(theta, &mut logs, &mut workspace);
        logs
    };
    // Sums of the terms, and erfc.
    for (parameters, record, text, theta, expected) in [
        ("m ~ normal(0, 1)", "x ~ normal(m, 1)", "x > 12", 0.0, -75.410_673_001_569),
        ("m ~ gamma(1, 1)", "x ~ poisson(m)", "x >= 20", 0.5, -56.674_489_444_929),
        ("m ~ gamma(1, 1)", "x ~ negative_binomial(m, 2)", "x >= 30", 0.5, -45.064_261_548_155),
    ] {
        let logs = logs(parameters, record, text, &[theta]);
        let near = (logs[1] - expected).abs() < 1e-9 * expected.abs();
        assert!(near && logs[0].abs() < 1e-15, "{record}: {logs:?}, not {expected}");
    }
}

/// At parameters from e^-40 to e^40 the probabilities of the cells can be computed, and sum to one.
#[test]
fn probabilities_sum_to_one_over_wide_priors() {
    let mut workspace = Workspace::new();
    let clamped = &["clamp(x, 0, 3)"][..];
    for (record, texts) in [
        ("x ~ beta(exp(a), 1.5)", &["histogram(x, [0, 0.1, 0.4, 1])"][..]),
        ("x ~ beta(exp(a), exp(a))", &["histogram(x, [0, 0.1, 0.4, 1])"]),
        ("x ~ binomial(1000000, logistic(a))", clamped),
        ("x ~ categorical([1, exp(a), 2])", &["x"]),
        ("x ~ categorical([1, exp(30 * a), exp(-30 * a)])", &["x"]),
        ("x ~ exponential(exp(a))", &["histogram(x, [0, 1, 2, 9])"]),
        ("x ~ gamma(exp(a), 1)", &["histogram(x, [0, 1, 2, 9])"]),
        ("x ~ gamma(exp(a), exp(a))", &["histogram(x, [0, 1, 2, 9])"]),
        ("x ~ inverse_gamma(exp(a), 1)", &["histogram(x, [0, 1, 2, 9])"]),
        ("x ~ negative_binomial(exp(a), 2)", clamped),
        ("x ~ negative_binomial(2, exp(a))", clamped),
        ("x ~ negative_binomial(exp(a), exp(-a))", clamped),
        ("x ~ poisson(exp(a))", clamped),
        ("x ~ student_t(exp(a), 0, 1)", &["histogram(x, [-4, 0, 1, 2, 9])"]),
        ("x ~ weibull(exp(0.1 * a), 1)", &["histogram(x, [0, 1, 2, 9])"]),
    ] {
        let (_, cells) = cells("a ~ normal(0, 10)", record, texts);
        let cells = cells.unwrap();
        let mut logs = vec![0.0; cells.count()];
        for step in -80..=80 {
            let a = f64::from(step) / 2.0;
            cells.log_probabilities(&[a], &mut logs, &mut workspace);
            let sum: f64 = logs.iter().map(|log| log.exp()).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{record} at {a}: {sum}, {logs:?}");
        }
    }
}

/// The logs of probabilities below the smallest double.
#[test]
fn probabilities_below_the_smallest_double_have_logs() {
    let mut workspace = Workspace::new();
    for (record, text, a, expected, error) in [
        ("x ~ normal(a, 1)", "x > 0", -1000.0, -500_007.826_694_8, 1e-9),
        ("x ~ exponential(exp(a))", "x > 2", 8.0, -5_961.915_974_083_457, 1e-9),
        ("x ~ laplace(a, 1)", "x > 0", -5000.0, -5_000.693_147_180_56, 1e-9),
        ("x ~ logistic(a, 1)", "x < 0", 5000.0, -5000.0, 1e-9),
        ("x ~ half_normal(exp(a))", "x > 1", -6.0, -81_383.621_507, 1e-9),
        ("x ~ weibull(2, exp(a))", "x > 1", -5.0, -22_026.465_794_806_72, 1e-9),
        ("x ~ gamma(2, exp(a))", "x > 1", 8.0, -2_972.957_651_6, 1e-9),
        ("x ~ gamma(exp(a), 1)", "x < 1", 7.0, -6_585.217_053_6, 1e-8),
        ("x ~ inverse_gamma(2, exp(a))", "x < 1", 8.0, -2_972.957_651_6, 1e-9),
        ("x ~ beta(exp(a), 1.5)", "x < 0.3", 8.0, -3_585.049_704_8, 1e-8),
        ("x ~ poisson(exp(a))", "x > 15", -60.0, -990.671_860_1, 1e-9),
        ("x ~ negative_binomial(exp(a), 2)", "x > 15", -60.0, -968.257_141_5, 1e-9),
        ("x ~ binomial(20, logistic(a))", "x > 15", -60.0, -951.514_297_5, 1e-9),
    ] {
        let (_, cells) = cells("a ~ normal(0, 10)", record, &[text]);
        let cells = cells.unwrap();
        let mut logs = vec![0.0; 2];
        cells.log_probabilities(&[a], &mut logs, &mut workspace);
        let inside = usize::from(cells.values()[1] == [1.0]);
        let found = logs[inside];
        assert!((found / expected - 1.0).abs() < error, "{record}: {found}, not {expected}");
        assert!(logs[1 - inside].abs() < 1e-20, "{record}: {logs:?}");
    }
}

/// Where a shape is tiny or huge: against values of SciPy, or the limits.
#[test]
fn probabilities_of_tiny_and_huge_shapes() {
    let mut workspace = Workspace::new();
    for (record, text, a, expected, error) in [
        // E1(1) and E1(1/2) times the shape; the integral of (1 - t)^(1/2) / t from 1/4 on.
        ("x ~ gamma(exp(a), 1)", "x > 1", -40.0, 0.219_383_934_395_520_3, 1e-9),
        ("x ~ gamma(exp(a), 1)", "x > 0.5", -30.0, 0.559_773_594_776_160_8, 1e-9),
        ("x ~ beta(exp(a), 1.5)", "x > 0.25", -40.0, 0.901_864_986_280_756_5, 1e-9),
        // Phi(-1), to order 1 / shape.
        ("x ~ student_t(exp(a), 0, 1)", "x > 1", 40.0, 0.158_655_253_931_457_07, 1e-9),
        ("x ~ beta(exp(a), exp(a))", "x > 0.5", 30.0, 0.5, 1e-12),
    ] {
        let (_, cells) = cells("a ~ normal(0, 10)", record, &[text]);
        let cells = cells.unwrap();
        let mut logs = vec![0.0; 2];
        cells.log_probabilities(&[a], &mut logs, &mut workspace);
        // As a multiple of a tiny shape.
        let scale = a.min(0.0);
        let inside = usize::from(cells.values()[1] == [1.0]);
        let found = (logs[inside] - scale).exp();
        assert!((found / expected - 1.0).abs() < error, "{record}: {found}, not {expected}");
    }
}

#[test]
fn labels_say_what_is_in_a_cell() {
    let labels = |parameters: &str, record: &str, texts: &[&str]| {
        cells(parameters, record, texts).1.unwrap().labels().to_vec()
    };
    let p = "p ~ beta(1, 1)";
    assert_eq!(labels(p, "x ~ binomial(2, p)", &["x"]), ["x=0", "x=1", "x=2"]);
    assert_eq!(
        labels(p, "v ~ bernoulli(p)\nk ~ categorical([1, 1, 1])", &["v", "k == 2"]),
        ["v=0,k=1|k=3", "v=0,k=2", "v=1,k=1|k=3", "v=1,k=2"]
    );
    assert_eq!(
        labels(p, "a ~ bernoulli(p)\nb ~ bernoulli(p)", &["a + b"]),
        ["a=0,b=0", "a + b=1", "a=1,b=1"]
    );
    assert_eq!(
        labels("m ~ gamma(1, 1)", "x ~ poisson(m)", &["clamp(x, 1, 4)"]),
        ["x<=1", "x=2", "x=3", "x>=4"]
    );
    assert_eq!(
        labels("m ~ normal(0, 1)", "x ~ normal(m, 1)", &["histogram(x, [0, 1, 2.5])"]),
        ["x<0|x>=2.5", "0<=x<1", "1<=x<2.5"]
    );
    let zeros = "never ~ bernoulli(p)\nk ~ poisson(2)\ny = if never then 0 else k";
    assert_eq!(
        labels(p, zeros, &["y == 0", "y == 1", "clamp(y, 0, 3)"]),
        ["y=0", "y=1", "y=2", "y>=3"]
    );
    assert_eq!(labels(p, zeros, &["1 <= y < 3", "y > 5"]), ["y=0|y=3..5", "y=1..2", "y>=6"]);
}

#[test]
fn what_has_no_cells_says_why() {
    let why = |parameters: &str, record: &str, texts: &[&str]| {
        cells(parameters, record, texts).1.unwrap_err()
    };
    let m = "m ~ normal(0, 1)";
    assert!(why(m, "x ~ normal(m, 1)", &["clamp(x, 0, 1)"]).contains("the value of `x`"));
    let voters = "age ~ normal(m, 1)\nv ~ bernoulli(logistic(age))";
    assert!(why(m, voters, &["v"]).contains("given `age`"));
    let counts = "x ~ poisson(3)\nv ~ bernoulli(logistic(m * x))";
    assert!(why(m, counts, &["v"]).contains("too many values of `x`, which other variables"));
    assert!(why(m, "x ~ poisson(3)", &["sin(x)"]).contains("`min(x, 30)` in the place of `x`"));
    let many = "x[1..20] ~ bernoulli(logistic(m))";
    assert!(why(m, many, &["sum(x)"]).contains("more than 4096"));
    let pair = "x[1..2] ~ dirichlet([1, exp(m)])";
    assert!(why(m, pair, &["x[1] > 0.5"]).contains("together"));
}
