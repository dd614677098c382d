//! Statistics: bounds, sensitivities, slopes, cells.

mod common;

use common::{data, rng};
use rand::RngExt;
use soma_language::{Model, Neighbours, Sensitivity, Statistics, Workspace};

fn model() -> Model {
    let parameters = "m ~ normal(0, 1)\nw[1..3] ~ dirichlet([1, 1, 1])";
    let record = "x ~ normal(m, 3)\nz ~ normal(x, 2)\nk ~ categorical(w)\nvoted ~ bernoulli(0.4)\ny ~ beta(1, 2)\nc ~ poisson(2)";
    Model::new(parameters, record, &data()).unwrap()
}

fn statistics(texts: &[&str]) -> Statistics {
    Statistics::new(texts, &model()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

const TEXTS: &[&str] = &[
    "voted",
    "clamp(x, -2, 3)",
    "clamp(x, -2, 3) * voted",
    "clamp(x, -2, 3) ^ 2",
    "clamp(x, -2, 3) ^ 3",
    "abs(clamp(x, -2, 3)) + y",
    "log(clamp(z, 0.1, 5))",
    "exp(-abs(x))",
    "logistic(x) - tanh(z)",
    "sqrt(y) / (1 + y)",
    "if x > 0 then clamp(z, 0, 1) else -1",
    "min(c, 4) * (k == 2)",
    "floor(clamp(x, -2, 3))",
    "clamp(x, -2, 3) * clamp(z, -1, 4) - y ^ 2.5",
    "normal_cdf(x) * sin(z)",
    "round(3 * y)",
    "not (x > 0 and z < 1) or voted == 1",
];

/// Random records, and neighbours of them in one coordinate.
fn records(n: usize, seed: u64) -> Vec<f64> {
    let (mut rng, mut w) = (rng(seed), Workspace::new());
    let mut records = vec![0.0; n * 6];
    model().propose(&[0.2, 0.3, 0.3], &mut records, &mut rng, &mut w);
    for record in records.chunks_exact_mut(6).step_by(3) {
        record[0] *= 1e3 * rng.random::<f64>();
        record[1] /= 1e-3 + rng.random::<f64>();
    }
    records
}

#[test]
fn bounds_are_never_exceeded() {
    let (statistics, mut w) = (statistics(TEXTS), Workspace::new());
    let records = records(20_000, 1);
    let k = statistics.dim();
    let mut out = vec![0.0; 20_000 * k];
    statistics.evaluate(&records, &mut out, &mut w);
    for row in out.chunks_exact(k) {
        for ((value, (low, high)), label) in
            row.iter().zip(statistics.bounds()).zip(statistics.labels())
        {
            assert!(*value >= low && *value <= high, "{label}: {value} outside [{low}, {high}]");
        }
    }
    assert_eq!(statistics.bounds()[2], (-2.0, 3.0));
    assert_eq!(statistics.bounds()[3], (0.0, 9.0));
    assert_eq!(statistics.bounds()[4], (-8.0, 27.0));
    assert_eq!(statistics.bounds()[11], (0.0, 4.0));
}

fn distance(a: &[f64], b: &[f64]) -> Sensitivity {
    let gaps = a.iter().zip(b).map(|(x, y)| x - y);
    Sensitivity {
        l1: gaps.clone().map(f64::abs).sum(),
        l2: gaps.map(|x| x * x).sum::<f64>().sqrt(),
    }
}

#[test]
fn sensitivities_are_never_exceeded() {
    let u = ["clamp(x / 6, -1, 1)", "clamp(z / 6, -1, 1)"];
    let gram = [
        u[1].to_string(),
        format!("{} * {}", u[0], u[1]),
        format!("{} ^ 2", u[1]),
        u[0].to_string(),
        format!("{0} * {0}", u[0]),
    ];
    let sets: Vec<Vec<&str>> = vec![
        TEXTS.to_vec(),
        gram.iter().map(String::as_str).collect(),
        vec!["histogram(x, [-3, -1, 0, 2, 5])"],
        vec!["one_hot(k, 3)", "voted", "voted * (k == 1)"],
        vec!["min(c, 3)", "c == 0"],
        vec!["voted", "clamp(x, 18, 90)", "clamp(x, 18, 90) * voted"],
    ];
    let mut w = Workspace::new();
    for texts in sets {
        let statistics = statistics(&texts);
        let k = statistics.dim();
        let n = 3000;
        let mut out = vec![0.0; n * k];
        statistics.evaluate(&records(n, 2), &mut out, &mut w);
        let shown =
            [Neighbours::Replace, Neighbours::AddRemove].map(|how| statistics.sensitivity(how));
        let zero = vec![0.0; k];
        for a in out.chunks_exact(k) {
            let moved = distance(a, &zero);
            assert!(
                moved.l1 <= shown[1].l1 * (1.0 + 1e-12) && moved.l2 <= shown[1].l2 * (1.0 + 1e-12),
                "{texts:?}"
            );
            for b in out.chunks_exact(k).step_by(17) {
                let moved = distance(a, b);
                assert!(
                    moved.l1 <= shown[0].l1 * (1.0 + 1e-12)
                        && moved.l2 <= shown[0].l2 * (1.0 + 1e-12),
                    "{texts:?} {moved:?} {:?}",
                    shown[0]
                );
            }
        }
    }
}

#[test]
fn known_sensitivities_are_tight() {
    let u = ["clamp(x / 6, -1, 1)", "clamp(z / 6, -1, 1)"];
    let product = format!("{} * {}", u[0], u[1]);
    let squares = u.map(|u| format!("{u} ^ 2"));
    let gram = statistics(&[u[0], u[1], &product, &squares[0], &squares[1]]);
    let replace = gram.sensitivity(Neighbours::Replace);
    assert!(
        (replace.l1 - 2.0 * 16.0 / 6.0).abs() < 1e-12 && (replace.l2 - 8f64.sqrt()).abs() < 1e-12
    );
    assert_eq!(gram.sensitivity(Neighbours::AddRemove).l1, 5.0);
    for text in ["histogram(x, [-3, -1, 0, 2, 5])", "one_hot(k, 3)"] {
        let bins = statistics(&[text]);
        assert_eq!(bins.sensitivity(Neighbours::Replace), Sensitivity { l1: 2.0, l2: 2f64.sqrt() });
        assert_eq!(bins.sensitivity(Neighbours::AddRemove), Sensitivity { l1: 1.0, l2: 1.0 });
        assert_eq!(bins.bins(), Some(bins.dim()));
        assert!(bins.is_integer());
    }
    let mean = statistics(&["clamp(x, 18, 90)"]);
    assert_eq!(mean.sensitivity(Neighbours::Replace), Sensitivity { l1: 72.0, l2: 72.0 });
    assert_eq!(mean.sensitivity(Neighbours::AddRemove), Sensitivity { l1: 90.0, l2: 90.0 });
    assert!(!mean.is_integer() && mean.values().is_none() && mean.bins().is_none());
}

#[test]
fn overrides_may_be_looser_and_not_tighter() {
    let statistics = statistics(&["clamp(x, 0, 2)", "voted"]);
    let check = |l1: f64, l2: f64| {
        statistics.check_sensitivity(Neighbours::Replace, Sensitivity { l1, l2 })
    };
    assert!(check(3.0, 5f64.sqrt()).is_ok() && check(10.0, 10.0).is_ok());
    let refused = check(2.9, 5.0).unwrap_err();
    assert_eq!((refused.norm, refused.shown), ("l1", 3.0));
    assert_eq!(check(3.0, 2.0).unwrap_err().norm, "l2");
    assert!(check(f64::NAN, 5.0).is_err());
}

#[test]
fn few_values_are_all_found() {
    let statistics = statistics(&["voted * (x > 1)", "(x > -1) + (z < 0)", "min(c, 2)"]);
    let values = statistics.values().unwrap();
    let mut out = vec![0.0; 30_000];
    statistics.evaluate(&records(10_000, 3), &mut out, &mut Workspace::new());
    let mut found = vec![false; values.len()];
    for row in out.chunks_exact(3) {
        found[values.iter().position(|value| value == row).expect("every value is in the list")] =
            true;
    }
    assert!(found.iter().all(|&found| found));
    let bins = super_histogram();
    let mut w = Workspace::new();
    let rows = [-9.0, -3.0, -1.0, 5.0, 5.1].map(|x| [x, 0.0, 1.0, 0.0, 0.5, 0.0]).concat();
    let (mut out, mut cells) = (vec![0.0; 20], vec![0; 5]);
    bins.evaluate(&rows, &mut out, &mut w);
    bins.bins_of(&out, &mut cells);
    assert_eq!(cells, [4, 0, 1, 3, 4]);
}

fn super_histogram() -> Statistics {
    statistics(&["histogram(x, [-3, -1, 0, 2, 5])"])
}

#[test]
fn moments_are_recognised() {
    let yes: &[&[&str]] = &[
        &[
            "clamp(x, -6, 6) / 6",
            "clamp(x / 6, -1, 1) ^ 2",
            "clamp(x / 6, -1, 1) * clamp(-2 * z, -1, 3)",
        ],
        &["clamp(x, 18, 90)", "y", "voted"],
        &["3 - 2 * clamp(z, 0, 4)", "(clamp(z, 0, 4) - 2) * (2 * y - 1)"],
    ];
    let mut w = Workspace::new();
    let records = records(500, 4);
    for (set, texts) in yes.iter().enumerate() {
        let statistics = statistics(texts);
        let moments = statistics.clamped_moments();
        // The product of 1 - u and u is not a single moment.
        assert_eq!(moments.is_some(), set > 0, "{texts:?}");
        let Some(moments) = moments else { continue };
        let k = statistics.dim();
        let mut out = vec![0.0; 500 * k];
        statistics.evaluate(&records, &mut out, &mut w);
        for (record, row) in records.chunks_exact(6).zip(out.chunks_exact(k)) {
            let mut u: Vec<f64> = record
                .iter()
                .enumerate()
                .map(|(j, x)| ((x - moments.centre[j]) / moments.half_width[j]).clamp(-1.0, 1.0))
                .collect();
            u.push(1.0);
            for (term, value) in moments.terms.iter().zip(row) {
                let ours = term.offset + term.factor * u[term.variables[0]] * u[term.variables[1]];
                assert!(
                    (ours - value).abs() < 1e-12 * (1.0 + value.abs()),
                    "{texts:?}: {ours} {value}"
                );
            }
        }
    }
    assert!(statistics(&["clamp(x, 0, 1)", "clamp(x, 0, 2)"]).clamped_moments().is_none());
    assert!(statistics(&["exp(-abs(x))"]).clamped_moments().is_none());
}

#[test]
fn slopes_are_differences() {
    let (statistics, mut w) = (statistics(TEXTS), Workspace::new());
    let weights: Vec<f64> = (0..statistics.dim()).map(|k| (1.0 + k as f64).cos()).collect();
    let mut rng = rng(5);
    let h = 1e-6;
    let mut checked = 0;
    for _ in 0..300 {
        let record: Vec<f64> = vec![
            6.0 * rng.random::<f64>() - 3.0,
            8.0 * rng.random::<f64>() - 2.0,
            2.0,
            1.0,
            0.1 + 0.8 * rng.random::<f64>(),
            3.0,
        ];
        let mut slopes = vec![0.0; 6];
        statistics.slopes(&record, &weights, &mut slopes, &mut w);
        for k in [0, 1, 4] {
            let mut value = |step: f64| {
                let mut moved = record.clone();
                moved[k] += step;
                let mut out = vec![0.0; statistics.dim()];
                statistics.evaluate(&moved, &mut out, &mut w);
                out
            };
            let (above, below) = (value(h), value(-h));
            // A jump or a kink between the two points has no derivative.
            let slope: f64 =
                above.iter().zip(&below).zip(&weights).map(|((a, b), w)| w * (a - b)).sum::<f64>()
                    / (2.0 * h);
            if slope.abs() < 1e3 && (value(2.0 * h)[0] - above[0]).abs() < 1.0 {
                assert!(
                    (slopes[k] - slope).abs() < 1e-4 * (1.0 + slope.abs()),
                    "{k}: {} {slope} at {record:?}",
                    slopes[k]
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 800, "{checked}");
}

#[test]
fn models_and_statistics_are_described() {
    let text = format!(
        "{}{}",
        model().describe(),
        statistics(&["voted", "clamp(x, 18, 90) * voted", "histogram(y, [0, 0.5, 1])"]).describe()
    );
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("describe", text);
    });
}

/// The factors of a cube are multiplied in another order than the ends of its interval.
#[test]
fn cubes_stay_inside_their_interval() {
    let (mut w, mut rng) = (Workspace::new(), rng(5));
    for (scale, low, high) in [(0.1, -2.0, 3.0), (0.7, 0.3, 1.9), (-1.3, -0.7, 5.1)] {
        let text = format!("({scale} * clamp(x, {low}, {high})) ^ 3");
        let statistics = statistics(&[&text]);
        let (least, most) = statistics.bounds()[0];
        let mut records = vec![0.0; 6 * 3000];
        for (i, record) in records.chunks_exact_mut(6).enumerate() {
            record[0] = match i % 3 {
                0 => low,
                1 => high,
                _ => high - (high - low) * rng.random::<f64>() * 1e-15,
            };
        }
        let mut out = vec![0.0; 3000];
        statistics.evaluate(&records, &mut out, &mut w);
        assert!(out.iter().all(|x| (least..=most).contains(x)), "{text}: {least} {most} {out:?}");
    }
}

/// Powers of what may be negative: an even one is smallest where its base is zero.
#[test]
fn bounds_of_powers_are_those_of_their_values() {
    for (text, bounds) in [
        ("clamp(x, -2, 3) ^ 4", (0.0, 81.0)),
        ("clamp(x, -3, 2) ^ 4", (0.0, 81.0)),
        ("clamp(x, -3, -2) ^ 4", (16.0, 81.0)),
        ("clamp(x, -2, 3) ^ 5", (-32.0, 243.0)),
        ("clamp(x, -2, 3) ^ 6", (0.0, 729.0)),
        ("clamp(x, -3, -2) ^ 6", (64.0, 729.0)),
        ("clamp(x, 0.5, 2) ^ clamp(z, -1, 1)", (0.5, 2.0)),
    ] {
        let (low, high) = statistics(&[text]).bounds()[0];
        let off = (low - bounds.0).abs().max((high - bounds.1).abs());
        assert!(off < 1e-9 && low <= bounds.0 && high >= bounds.1, "{text}: {low} {high}");
    }
}

/// Bounds follow from clamps and types; those from the model only are marked.
#[test]
fn supports_of_the_model_are_marked() {
    for (text, bounds) in [
        ("voted", (0.0, 1.0)),
        ("k", (1.0, 3.0)),
        ("clamp(y, -1, 2)", (-1.0, 2.0)),
        ("clamp(c, 0, 5)", (0.0, 5.0)),
        ("min(c, 4)", (0.0, 4.0)),
        ("y > 0.5", (0.0, 1.0)),
    ] {
        let found = statistics(&[text]);
        assert!(!found.is_model_bounded() && !found.describe().contains("model-bounded"), "{text}");
        assert_eq!(found.bounds(), [bounds], "{text}");
    }
    let found = statistics(&["y", "voted"]);
    assert!(found.is_model_bounded() && found.describe().contains("model-bounded"));
    assert_eq!(found.bounds(), [(0.0, 1.0), (0.0, 1.0)]);
}

fn computed() -> Model {
    let record = "never ~ bernoulli(0.3)\nk ~ poisson(2)\nx ~ normal(m, 3)\nz ~ normal(x, 2)\n\
                  g ~ bernoulli(0.4)\ny = if never then 0 else k\nincome = exp(x)\n\
                  u = clamp(z, -1, 1)";
    Model::new("m ~ normal(0, 1)", record, &data()).unwrap()
}

/// The number of an indicator of one expression changes, whatever the expression is.
#[test]
fn step_functions_of_a_computed_value_have_their_exact_sensitivity() {
    let equal: Vec<String> = (0..5).map(|k| format!("y == {k}")).collect();
    let mut listed: Vec<&str> = equal.iter().map(String::as_str).collect();
    listed.push("y >= 5");
    let two = [Sensitivity { l1: 2.0, l2: 2f64.sqrt() }, Sensitivity { l1: 1.0, l2: 1.0 }];
    for texts in [
        vec!["histogram(y, [0, 1, 2, 3, 4, 5, 6])"],
        listed,
        vec!["one_hot(min(y, 5) + 1, 6)"],
        vec!["histogram(clamp(y, 0, 5), [0, 1, 2, 3, 4, 5])"],
        vec!["histogram(log(abs(z)), [0, 1, 2, 3])"],
        vec!["histogram(income, [0, 1, 2, 3])"],
        vec!["histogram(x * z, [-inf, 0, 1, inf])"],
    ] {
        let statistics = Statistics::new(&texts, &computed()).unwrap();
        let shown =
            [Neighbours::Replace, Neighbours::AddRemove].map(|how| statistics.sensitivity(how));
        assert_eq!(shown, two, "{texts:?}");
    }
}

/// An indicator that chooses among functions: the boxes of its two values are apart by less than
/// the ranges.
#[test]
fn products_of_an_indicator_are_bounded_case_by_case() {
    let texts = ["g", "(1 - g) * u", "g * u", "(1 - g) * u ^ 2", "g * u ^ 2"];
    let statistics = Statistics::new(&texts, &computed()).unwrap();
    let replace = statistics.sensitivity(Neighbours::Replace);
    assert_eq!(replace, Sensitivity { l1: 5.0, l2: 5f64.sqrt() });
    let add = statistics.sensitivity(Neighbours::AddRemove);
    assert_eq!(add, Sensitivity { l1: 3.0, l2: 3f64.sqrt() });
}

/// Sets of random statistics: no pair of records is farther apart than is shown, also where a
/// logarithm is not a number.
#[test]
fn bounds_by_cases_are_never_exceeded() {
    const PIECES: [&str; 22] = [
        "g",
        "y == 0",
        "y >= 2",
        "min(y, 4)",
        "min(k, 3) * g",
        "u * g",
        "u * (1 - g)",
        "u ^ 2",
        "u * (x < z)",
        "income > 1",
        "clamp(income, 0, 3)",
        "log(x) < 0.5",
        "not (log(x) < 0.5)",
        "clamp(log(x), -1, 1)",
        "(x + z > 1) * u",
        "x + z > 0.5",
        "floor(clamp(x, -2, 2))",
        "if g then u else 0.5",
        "(k == 2) - 2 * (k > 4)",
        "sqrt(z) > 1",
        "2 * x - 1 > 0.3",
        "clamp(0.1 * k + 0.2, 0, 0.5)",
    ];
    const RECORDS: usize = 400;
    let (model, mut rng, mut w) = (computed(), rng(21), Workspace::new());
    let mut is_tighter = 0;
    for round in 0..150 {
        let texts: Vec<&str> =
            (0..2 + round % 5).map(|_| PIECES[rng.random_range(0..PIECES.len())]).collect();
        let statistics = Statistics::new(&texts, &model).unwrap();
        let k = statistics.dim();
        let mut records = vec![0.0; RECORDS * 5];
        model.propose(&[0.1], &mut records, &mut rng, &mut w);
        for record in records.chunks_exact_mut(5).step_by(2) {
            record[1] = rng.random_range(0..9) as f64;
            record[2] = [0.3, 0.65, 1.0, -4.0, 2.5][rng.random_range(0..5)];
            record[3] *= rng.random_range(0.0..3.0);
        }
        let mut out = vec![0.0; RECORDS * k];
        statistics.evaluate(&records, &mut out, &mut w);
        let [replace, add] =
            [Neighbours::Replace, Neighbours::AddRemove].map(|how| statistics.sensitivity(how));
        let widths: f64 = statistics.bounds().iter().map(|(low, high)| high - low).sum();
        is_tighter += usize::from(replace.l1 < 0.999 * widths);
        let is_below = |found: Sensitivity, shown: Sensitivity| {
            found.l1 <= shown.l1 * (1.0 + 1e-12) && found.l2 <= shown.l2 * (1.0 + 1e-12)
        };
        let zero = vec![0.0; k];
        for a in out.chunks_exact(k) {
            assert!(is_below(distance(a, &zero), add), "{texts:?}: {a:?}, shown {add:?}");
            for b in out.chunks_exact(k) {
                let found = distance(a, b);
                assert!(is_below(found, replace), "{texts:?}: {found:?}, shown {replace:?}");
            }
        }
    }
    assert!(is_tighter > 15, "{is_tighter}");
}

/// Too many cases: what the statistics are functions of is enough, and without it the ranges hold.
#[test]
fn many_variables_fall_back_to_fewer_cases() {
    let model = Model::new("m ~ normal(0, 1)", "x[1..20] ~ bernoulli(0.3)", &data()).unwrap();
    let sum = Statistics::new(&["histogram(sum(x), [0, 5, 10, 20])"], &model).unwrap();
    assert_eq!(sum.sensitivity(Neighbours::Replace).l1, 2.0);
    let all = Statistics::new(&["sum(x)", "mean(x) ^ 2"], &model).unwrap();
    assert!((all.sensitivity(Neighbours::Replace).l1 - 21.0).abs() < 1e-9);
}

#[test]
fn histograms_that_leave_records_out_say_so() {
    let said = |text: &str| Statistics::new(&[text], &computed()).unwrap().describe();
    for text in
        ["histogram(y, [0, 3, 6])", "g * histogram(x, [-inf, 0, 6])", "histogram(u, [0, 1])"]
    {
        assert!(said(text).contains("a record is in no bin"), "{text}");
    }
    for text in ["histogram(min(y, 5), [0, 3, 6])", "histogram(x, [-inf, 0, inf])", "y > 3"] {
        assert!(!said(text).contains("in no bin"), "{text}");
    }
    assert!(said("histogram(y, [0, 3, 6])").contains("outside [0, 6] a record is in no bin"));
}
