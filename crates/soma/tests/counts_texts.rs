//! Models as text, sampled as counts: exact answers, the same answers as with imputed records, and
//! simulation-based calibration.

use std::num::NonZeroUsize;

use rand::RngExt;
use rand_distr::{Distribution, Poisson};
use soma::chain::{Collected, Draw, Engine, Settings, run};
use soma::counts::{CountChain, SizePrior, Total};
use soma::kernel::KernelChoice;
use soma::spec::Spec;
use statrs::function::gamma::ln_gamma;

const ONE: NonZeroUsize = NonZeroUsize::MIN;

/// A release of statistics as text.
struct Case {
    parameters: &'static str,
    record: &'static str,
    statistics: &'static [&'static str],
    n: &'static str,
    values: &'static [f64],
    noise: &'static str,
}

impl Case {
    fn spec(&self) -> Spec {
        let text = format!(
            "[model]\nparameters = \"\"\"\n{}\n\"\"\"\nrecord = \"\"\"\n{}\n\"\"\"\n[release]\nn = {}\n\
             statistic = \"sum\"\nvalues = {:?}\nstatistics = {:?}\nmechanism = {}\n",
            self.parameters, self.record, self.n, self.values, self.statistics, self.noise
        );
        Spec::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", self.record))
    }
}

const DL: &str = r#"{ kind = "discrete-laplace", scale = 1.5 }"#;
const GAUSSIAN: &str = r#"{ kind = "gaussian", scale = 0.8 }"#;

fn draws(spec: &Spec, kernel: KernelChoice, warmup: u64, draws: u64) -> Vec<Vec<Draw>> {
    let settings =
        Settings { kernel, chains: 1, warmup, draws, seed: 5, ..spec.settings().unwrap() };
    let is_counts = settings.samples_counts(&spec.problem);
    assert_eq!(
        is_counts,
        kernel != KernelChoice::Soma,
        "{}",
        settings.engine_reason(&spec.problem)
    );
    let collected = Collected::new(settings.chains);
    run(&spec.problem, &settings, ONE, &collected).unwrap();
    collected.into_draws()
}

fn column(spec: &Spec, draws: &[Vec<Draw>], name: &str) -> Vec<f64> {
    let names = spec.problem.outputs();
    let at = names.iter().position(|known| known == name);
    let at = at.unwrap_or_else(|| panic!("{name} is not among {names:?}"));
    draws.iter().flatten().map(|draw| draw.values[at]).collect()
}

/// Mean and standard error from 50 batches.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let size = values.len() / 50;
    let means = values.chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64);
    let means: Vec<f64> = means.collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let squares: f64 = means.iter().map(|batch| (batch - mean).powi(2)).sum();
    (mean, (squares / (means.len() * (means.len() - 1)) as f64).sqrt())
}

/// The record values with their probabilities at theta, and the statistics of each.
type Values = Vec<(f64, Vec<f64>)>;

/// The mean of a function of theta and of the statistics summed over the records: by a grid over
/// theta in (0, 1), for each n by all ways in which the records can have their values.
fn exact(
    case: &Case,
    prior: impl Fn(f64) -> f64,
    values: impl Fn(f64) -> Values,
    sizes: std::ops::RangeInclusive<usize>,
    log_noise: impl Fn(f64, f64) -> f64,
    function: impl Fn(f64, &[f64], usize) -> f64,
) -> f64 {
    const POINTS: usize = 400;
    let (mut mass, mut mean) = (0.0, 0.0);
    for point in 0..POINTS {
        let theta = (point as f64 + 0.5) / POINTS as f64;
        let own = values(theta);
        for n in sizes.clone() {
            // The distribution of the sums of n records, one after the other.
            let mut sums: Vec<(Vec<f64>, f64)> = vec![(vec![0.0; case.values.len()], 1.0)];
            for _ in 0..n {
                let mut next: Vec<(Vec<f64>, f64)> = Vec::new();
                for (sum, p) in &sums {
                    for (q, statistics) in &own {
                        let to: Vec<f64> = sum.iter().zip(statistics).map(|(a, b)| a + b).collect();
                        match next.iter_mut().find(|(known, _)| *known == to) {
                            Some((_, mass)) => *mass += p * q,
                            None => next.push((to, p * q)),
                        }
                    }
                }
                sums = next;
            }
            for (sum, p) in sums {
                let noise: f64 = sum.iter().zip(case.values).map(|(s, y)| log_noise(*y, *s)).sum();
                let here = prior(theta) * p * noise.exp();
                mass += here;
                mean += here * function(theta, &sum, n);
            }
        }
    }
    mean / mass
}

fn choose(n: f64, k: f64) -> f64 {
    (ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0)).exp()
}

fn log_dl(y: f64, s: f64) -> f64 {
    -(y - s).abs() / 1.5
}

fn log_gaussian(y: f64, s: f64) -> f64 {
    -0.5 * ((y - s) / 0.8).powi(2)
}

fn assert_mean(spec: &Spec, draws: &[Vec<Draw>], name: &str, power: i32, expected: f64) {
    let powers: Vec<f64> = column(spec, draws, name).iter().map(|x| x.powi(power)).collect();
    let (mean, error) = mean_and_error(&powers);
    let limit = 4.5 * error + 1e-9;
    assert!((mean - expected).abs() < limit, "{name}^{power}: {mean} ({error}), not {expected}");
}

/// A binomial record, its value released: a sum of counts with weights.
#[test]
fn a_sum_with_weights_has_its_exact_posterior() {
    for n in ["5", "{ prior = \"uniform\", low = 2, high = 7 }"] {
        let case = Case {
            parameters: "p ~ beta(2, 3)",
            record: "x ~ binomial(3, p)",
            statistics: &["x"],
            n,
            values: &[7.0],
            noise: DL,
        };
        let spec = case.spec();
        let found = draws(&spec, KernelChoice::Auto, 1000, 100_000);
        let values = |p: f64| -> Values {
            let one = |k: u32| {
                let k = f64::from(k);
                (choose(3.0, k) * p.powf(k) * (1.0 - p).powf(3.0 - k), vec![k])
            };
            (0..=3).map(one).collect()
        };
        let sizes = if n == "5" { 5..=5 } else { 2..=7 };
        let prior = |p: f64| p * (1.0 - p) * (1.0 - p);
        let exact = |function: &dyn Fn(f64, &[f64], usize) -> f64| {
            exact(&case, prior, values, sizes.clone(), log_dl, function)
        };
        assert_mean(&spec, &found, "p", 1, exact(&|p, _, _| p));
        assert_mean(&spec, &found, "p", 2, exact(&|p, _, _| p * p));
        if n != "5" {
            assert_mean(&spec, &found, "n", 1, exact(&|_, _, n| n as f64));
            assert_mean(&spec, &found, "n", 2, exact(&|_, _, n| (n * n) as f64));
        }
        let columns: Vec<Vec<f64>> =
            (1..=3).map(|k| column(&spec, &found, &format!("count[x={k}]"))).collect();
        let sums: Vec<f64> = (0..columns[0].len())
            .map(|i| columns[0][i] + 2.0 * columns[1][i] + 3.0 * columns[2][i])
            .collect();
        let (mean, error) = mean_and_error(&sums);
        let expected = exact(&|_, s, _| s[0]);
        assert!((mean - expected).abs() < 4.5 * error, "{mean} ({error}), not {expected}");
    }
}

/// A clamped count with an indicator that depends on it: cells with several rows, a tail, and two
/// variables of which one is the parent of the other.
#[test]
fn several_variables_have_their_exact_posterior() {
    let case = Case {
        parameters: "q ~ beta(1, 1)",
        record: "a ~ bernoulli(q)\nx ~ poisson(1 + 2 * a)\nb ~ bernoulli(0.25 + 0.5 * a)",
        statistics: &["a * b", "0.5 * min(x, 2)", "b"],
        n: "4",
        values: &[1.3, 2.9, 2.2],
        noise: GAUSSIAN,
    };
    let spec = case.spec();
    let found = draws(&spec, KernelChoice::Auto, 1000, 100_000);
    let values = |q: f64| -> Values {
        let mut all = Values::new();
        for (a, b, x) in (0..12).map(|k| (k % 2, k / 2 % 2, k / 4)) {
            let mean: f64 = if a == 1 { 3.0 } else { 1.0 };
            let few = [(-mean).exp(), mean * (-mean).exp()];
            let of_x = if x < 2 { few[x] } else { 1.0 - few[0] - few[1] };
            let yes = if a == 1 { 0.75 } else { 0.25 };
            let p = if a == 1 { q } else { 1.0 - q } * if b == 1 { yes } else { 1.0 - yes } * of_x;
            all.push((p, vec![(a * b) as f64, 0.5 * x as f64, b as f64]));
        }
        all
    };
    let exact = |function: &dyn Fn(f64, &[f64], usize) -> f64| {
        exact(&case, |_| 1.0, values, 4..=4, log_gaussian, function)
    };
    assert_mean(&spec, &found, "q", 1, exact(&|q, _, _| q));
    assert_mean(&spec, &found, "q", 2, exact(&|q, _, _| q * q));
    assert_mean(&spec, &found, "count[b]", 1, exact(&|_, s, _| s[2]));
    assert_mean(&spec, &found, "count[b]", 2, exact(&|_, s, _| s[2] * s[2]));
    assert_mean(&spec, &found, "count[a * b]", 1, exact(&|_, s, _| s[0]));
}

/// Cases with several statistics and cells: discrete variables, a tail, dependence and a mixture;
/// continuous ones under comparisons; n public and unknown.
const CASES: [Case; 5] = [
    Case {
        parameters: "m ~ gamma(2, 1)",
        record: "x ~ poisson(m)",
        statistics: &["clamp(x, 0, 3)", "x == 0"],
        n: "30",
        values: &[44.0, 8.0],
        noise: r#"{ kind = "laplace", scale = 2.5 }"#,
    },
    Case {
        parameters: "w[1..3] ~ dirichlet([2, 1, 1])\na ~ normal(0, 1)",
        record: "k ~ categorical(w)\nv ~ bernoulli(logistic(a * (k - 2)))",
        statistics: &["k == 2", "v", "v * (k == 3)"],
        n: "40",
        values: &[15.0, 17.0, 9.0],
        noise: DL,
    },
    Case {
        parameters: "m ~ gamma(3, 1)\ns ~ gamma(2, 1)",
        record: "x ~ negative_binomial(m, s)",
        statistics: &["min(x, 5)", "x > 1"],
        n: "{ prior = \"poisson\", mean = 25 }",
        values: &[55.0, 17.0],
        noise: GAUSSIAN,
    },
    Case {
        parameters: "m ~ normal(0, 1)\nb ~ normal(0, 1)",
        record: "g ~ bernoulli(0.4)\nx ~ normal(m + b * g, 1)",
        statistics: &["x > 0.5", "g", "g * (x > -1)"],
        n: "40",
        values: &[13.0, 18.0, 12.0],
        noise: DL,
    },
    Case {
        parameters: "s ~ gamma(3, 2)\nr ~ gamma(3, 2)",
        record: "x ~ gamma(s, r)",
        statistics: &["histogram(x, [0, 0.5, 1, 2])"],
        n: "{ prior = \"uniform\", low = 20, high = 40 }",
        values: &[9.0, 7.0, 11.0],
        noise: r#"{ kind = "discrete-gaussian", scale = 2.0 }"#,
    },
];

/// Releases of one continuous number: statistics that are step functions with built-in models, beside
/// a histogram, and histograms of models as text.
const STEPS: [(&str, &str); 5] = [
    (
        r#"n = 30
        statistic = "sum"
        values = [14, 41]
        statistics = ["x > 1", "if x < 0 then 2 else if x < 2.5 then 1 else 0"]
        mechanism = { kind = "discrete-gaussian", scale = 2.0 }"#,
        r#"kind = "normal"
        prior = { kind = "normal-inverse-gamma", mean = 0.5, lambda = 0.5, shape = 3.0, rate = 3.0 }"#,
    ),
    (
        r#"n = 25
        [[release.parts]]
        statistic = "mean"
        values = [0.4]
        statistics = ["x <= 0.3"]
        mechanism = { kind = "laplace", scale = 0.05 }
        [[release.parts]]
        statistic = "sum"
        values = [6, 14, 4]
        query = { kind = "histogram", edges = [0.0, 0.25, 0.75, 1.0] }
        mechanism = { kind = "discrete-laplace", scale = 2.0 }"#,
        r#"kind = "beta"
        prior = { kind = "gamma", shape = 2.0, rate = 0.7 }"#,
    ),
    (
        r#"n = { prior = "poisson", mean = 25 }
        [[release.parts]]
        statistic = "sum"
        values = [11]
        statistics = ["2 * x > 1.4"]
        mechanism = { kind = "discrete-laplace", scale = 1.0 }
        [[release.parts]]
        statistic = "sum"
        values = [26]
        query = { kind = "count" }
        mechanism = { kind = "discrete-laplace", scale = 1.5 }"#,
        r#"kind = "exponential"
        prior = { kind = "gamma", shape = 3.0, rate = 2.0 }"#,
    ),
    (
        r#"n = 30
        statistic = "sum"
        values = [9, 12, 8]
        query = { kind = "histogram", edges = [0.0, 1.0, 2.0, 4.0] }
        mechanism = { kind = "discrete-laplace", scale = 1.5 }"#,
        r#"parameters = "m ~ normal(0, 1)\ns ~ gamma(3, 3)"
        record = "x ~ log_normal(m, s)""#,
    ),
    (
        r#"n = 30
        statistic = "sum"
        values = [4, 13, 12]
        query = { kind = "categories", labels = ["none", "one", "two"] }
        mechanism = { kind = "discrete-laplace", scale = 1.5 }"#,
        r#"parameters = "p ~ beta(1, 1)"
        record = "k ~ binomial(2, p)""#,
    ),
];

/// The same posterior of all parameters and counts as with imputed records.
#[test]
fn records_and_counts_agree() {
    let steps = STEPS.iter().map(|(release, model)| {
        let text = format!("[release]\n{release}\n[model]\n{model}\n");
        (*model, Spec::parse(&text).unwrap_or_else(|error| panic!("{model}: {error}")))
    });
    for (what, spec) in CASES.iter().map(|case| (case.record, case.spec())).chain(steps) {
        let counts = draws(&spec, KernelChoice::Auto, 1000, 20_000);
        let records = draws(&spec, KernelChoice::Soma, 2000, 60_000);
        for name in spec.problem.outputs() {
            for power in [1, 2] {
                let moment = |draws: &[Vec<Draw>]| {
                    let column = column(&spec, draws, &name);
                    mean_and_error(&column.iter().map(|x| x.powi(power)).collect::<Vec<f64>>())
                };
                let (a, b) = (moment(&counts), moment(&records));
                let limit = 4.5 * (a.1 * a.1 + b.1 * b.1).sqrt() + 1e-9;
                let near = (a.0 - b.0).abs() < limit;
                assert!(near, "{what}: {name}^{power}: {a:?} {b:?}");
            }
        }
    }
}

/// Records drawn from the counts have the moments of imputed records, within the cells too: beyond a
/// clamp, between thresholds, and of a variable that no statistic reads.
#[test]
fn records_from_counts_are_records() {
    let unread = Case { record: "x ~ poisson(m)\nz ~ normal(x, 1)", ..CASES[0] };
    for case in [&unread, &CASES[1], &CASES[3]] {
        let spec = case.spec();
        let dim = spec.problem.record_model().record_dim();
        let moments = |kernel, iterations: u64| -> Vec<(f64, f64)> {
            let settings = Settings { kernel, warmup: 1000, ..spec.settings().unwrap() };
            let mut engine = Engine::new(&spec.problem, &settings, 0).unwrap();
            (0..1000).for_each(|_| engine.step().unwrap());
            let mut columns = vec![Vec::new(); 2 * dim + 1];
            for _ in 0..iterations {
                engine.step().unwrap();
                let records = engine.records();
                let rows = || records.chunks_exact(dim);
                let n = rows().len() as f64;
                for c in 0..dim {
                    columns[2 * c].push(rows().map(|row| row[c]).sum::<f64>() / n);
                    columns[2 * c + 1].push(rows().map(|row| row[c] * row[c]).sum::<f64>() / n);
                }
                columns[2 * dim].push(rows().map(|row| row[0] * row[dim - 1]).sum::<f64>() / n);
            }
            columns.iter().map(|column| mean_and_error(column)).collect()
        };
        let counts = moments(KernelChoice::Auto, 10_000);
        let records = moments(KernelChoice::Soma, 40_000);
        for (k, (a, b)) in counts.iter().zip(&records).enumerate() {
            let limit = 4.5 * (a.1 * a.1 + b.1 * b.1).sqrt() + 1e-9;
            assert!((a.0 - b.0).abs() < limit, "{}: moment {k}: {a:?} {b:?}", case.record);
        }
    }
}

const BINS: usize = 20;

/// The largest chi-squared statistic of the ranks of parameters (and n) in `BINS` bins. theta is drawn
/// from the prior, records from the model of `truth` and noisy sums of their statistics from these; the
/// posterior is that of `fitted`. Nothing of the truth comes from the probabilities of cells.
fn ranks(truth: &Case, fitted: &Case, replications: u64) -> f64 {
    let (truth, fitted) = (truth.spec(), fitted.spec());
    let mut rng = soma::rng::stream(11, 0);
    let parameters = truth.problem.record_model().parameters().len();
    let outputs = truth.problem.plain_outputs().len();
    let is_unknown = truth.problem.release().slotted().is_some();
    let ranked: Vec<usize> = (0..parameters)
        .chain(is_unknown.then(|| fitted.problem.plain_outputs().len() - 1))
        .collect();
    let mut hits = vec![[0u64; BINS]; ranked.len()];
    for replication in 0..replications {
        let mut draw = vec![0.0; outputs];
        truth.problem.record_model().sample_prior(&mut draw[..parameters], &mut rng).unwrap();
        match truth.problem.release().total() {
            Total::Known(_) => {}
            Total::Unknown(SizePrior::Uniform { low, high }) => {
                draw[outputs - 1] = rng.random_range(low..=high) as f64;
            }
            Total::Unknown(SizePrior::Poisson { mean }) => {
                draw[outputs - 1] = Poisson::new(mean).unwrap().sample(&mut rng);
            }
            other => panic!("{other:?} is not drawn here"),
        }
        let values = soma::predictive::releases(&truth.problem, &[draw.clone()], replication);
        let release = fitted.problem.release().with_values(&values.unwrap()[0]).unwrap();
        let problem = fitted.problem.with_release(release).unwrap();
        let counts = problem.counts().unwrap();
        let mut chain = CountChain::new(counts, 3, replication, 200);
        (0..200).for_each(|_| chain.step().unwrap());
        let mut below = vec![0; ranked.len()];
        for _ in 0..BINS - 1 {
            (0..12).for_each(|_| chain.step().unwrap());
            let found = chain.draw();
            for (below, &at) in below.iter_mut().zip(&ranked) {
                let true_value = if at < parameters { draw[at] } else { draw[outputs - 1] };
                // n may be equal: half of these are below.
                let tie = found[at] == true_value && rng.random::<bool>();
                *below += usize::from(found[at] < true_value || tie);
            }
        }
        hits.iter_mut().zip(below).for_each(|(hits, below)| hits[below] += 1);
    }
    let expected = replications as f64 / BINS as f64;
    let of = |hits: &[u64; BINS]| -> f64 {
        hits.iter().map(|&hit| (hit as f64 - expected).powi(2) / expected).sum()
    };
    hits.iter().map(of).fold(0.0, f64::max)
}

/// With 19 degrees of freedom it is larger with probability 1e-5.
const LIMIT: f64 = 57.0;

#[test]
fn calibrated() {
    for case in &CASES {
        let found = ranks(case, case, 200);
        assert!(found < LIMIT, "{}: {found}", case.record);
    }
}

/// The ranks show a tail that is fitted one value too short, and a threshold that is off.
#[test]
fn mistakes_are_caught() {
    let short = Case { statistics: &["clamp(x, 0, 2)", "x == 0"], ..CASES[0] };
    let off = Case { statistics: &["x > 1", "g", "g * (x > -1)"], ..CASES[3] };
    for (truth, fitted) in [(&CASES[0], &short), (&CASES[3], &off)] {
        let found = ranks(truth, fitted, 300);
        assert!(found > LIMIT, "{}: {found}", fitted.record);
    }
}

/// With noise that tells nothing the posterior is the prior, over the families of distributions, at
/// parameters from tiny to huge: no theta is a trap, and none is avoided.
#[test]
fn without_information_the_posterior_is_the_prior() {
    let clamped = "clamp(x, 0, 3)";
    for (record, statistic) in [
        ("x ~ bernoulli(logistic(a))", "x"),
        ("x ~ beta(exp(a), 1.5)", "x > 0.3"),
        ("x ~ binomial(10, logistic(a))", clamped),
        ("x ~ categorical([1, exp(a), 2])", "x == 2"),
        ("x ~ categorical(softmax([1, a]))", "x == 2"),
        ("x ~ exponential(exp(a))", "x > 2"),
        ("x ~ gamma(exp(a), 1)", "x > 1"),
        ("x ~ gamma(2, exp(a))", "x > 1"),
        ("x ~ half_normal(exp(a))", "x > 2"),
        ("x ~ inverse_gamma(exp(a), 1)", "x > 1"),
        ("x ~ laplace(1, exp(a))", "x > 2"),
        ("x ~ log_normal(a, 1)", "x > 1"),
        ("x ~ logistic(a, 1)", "x > 2"),
        ("x ~ negative_binomial(exp(a), 2)", clamped),
        ("x ~ negative_binomial(2, exp(a))", clamped),
        ("x ~ normal(a, exp(a))", "x > 1"),
        ("x ~ poisson(exp(a))", clamped),
        ("x ~ student_t(exp(a), 0, 1)", "x > 1"),
        ("x ~ uniform(0, exp(a))", "x > 2"),
        ("x ~ weibull(exp(a), 1)", "x > 2"),
        ("x ~ weibull(2, exp(a))", "x > 2"),
    ] {
        let statistics = [statistic];
        for sd in [10.0, 100.0] {
            let text = format!(
                "[model]\nparameters = \"a ~ normal(0, {sd})\"\nrecord = \"{record}\"\n[release]\n\
                 n = 5\nstatistic = \"sum\"\nvalues = [1.0]\nstatistics = {statistics:?}\n\
                 mechanism = {{ kind = \"laplace\", scale = 1e6 }}\n"
            );
            let spec = Spec::parse(&text).unwrap_or_else(|error| panic!("{record}: {error}"));
            let found = draws(&spec, KernelChoice::Auto, 500, 20_000);
            let scores: Vec<f64> = column(&spec, &found, "a").iter().map(|a| a / sd).collect();
            let functions: [(&dyn Fn(f64) -> f64, f64); 4] = [
                (&|z| z, 0.0),
                (&|z| z * z, 1.0),
                (&|z| f64::from(u8::from(z < -1.0)), 0.158_655),
                (&|z| f64::from(u8::from(z > 1.0)), 0.158_655),
            ];
            for (k, (function, expected)) in functions.into_iter().enumerate() {
                let values: Vec<f64> = scores.iter().map(|&z| function(z)).collect();
                let (mean, error) = mean_and_error(&values);
                let near = (mean - expected).abs() < 4.5 * error;
                assert!(near, "{record}, sd {sd}, {k}: {mean} ({error}), not {expected}");
            }
        }
    }
}

/// Chains that start hundreds of standard deviations away from the posterior arrive.
#[test]
fn chains_arrive_from_far_out() {
    for (record, statistics, values) in [
        ("x ~ normal(m, 1)", &["x > 0", "x > 1"], [500_000, 158_655]),
        ("x ~ laplace(m, 1)", &["x > 0", "x > 1"], [500_000, 183_940]),
        ("x ~ logistic(m, 1)", &["x > 0", "x > 1"], [500_000, 268_941]),
    ] {
        let text = format!(
            "[model]\nparameters = \"m ~ normal(0, 5000)\"\nrecord = \"{record}\"\n[release]\n\
             n = 1000000\nstatistic = \"sum\"\nvalues = {values:?}\nstatistics = {statistics:?}\n\
             mechanism = {{ kind = \"laplace\", scale = 5 }}\n"
        );
        let spec = Spec::parse(&text).unwrap();
        for seed in 0..6 {
            let counts = spec.problem.counts().unwrap();
            let mut chain = CountChain::new(counts, seed, 0, 200);
            (0..200).for_each(|_| chain.step().unwrap());
            assert!(chain.draw()[0].abs() < 0.02, "{record}, {seed}: {}", chain.draw()[0]);
        }
    }
}

/// Statistics that are 0 for every record of the model say nothing: the posterior is that without
/// them. And a table may have cells that no record is in.
#[test]
fn statistics_that_are_always_zero_say_nothing() {
    let p = "p ~ beta(2, 2)\na ~ normal(0, 1)";
    let text = |release: &str, model: &str, n: &str| {
        let text = format!(
            "[model]\n{model}\n[release]\nn = {n}\nmechanism = {DL}\nstatistic = \"sum\"\n{release}"
        );
        Spec::parse(&text).unwrap_or_else(|error| panic!("{release}: {error}"))
    };
    for n in ["30", "{ prior = \"poisson\", mean = 30 }"] {
        for (record, with, without) in [
            ("x ~ exponential(exp(a))", "['x < 0', 'x > 1']", "['x > 1']"),
            ("x ~ exponential(exp(a))", "['histogram(x, [-1, 0, 1])', 'x == 1']", "['x < 1']"),
            ("x ~ binomial(3, p)", "['x > 3', 'x > 1']", "['x > 1']"),
        ] {
            let model = format!("parameters = \"\"\"\n{p}\n\"\"\"\nrecord = \"{record}\"");
            let values = if with.contains("histogram") { "[2, 11, 1]" } else { "[2, 11]" };
            let with = text(&format!("statistics = {with}\nvalues = {values}\n"), &model, n);
            let without = text(&format!("statistics = {without}\nvalues = [11]\n"), &model, n);
            let found = [&with, &without].map(|spec| {
                let found = draws(spec, KernelChoice::Auto, 500, 10_000);
                let names = ["p", "a"].map(|name| column(spec, &found, name));
                names.map(|column| mean_and_error(&column))
            });
            for (a, b) in found[0].iter().zip(&found[1]) {
                let near = (a.0 - b.0).abs() < 4.5 * (a.1 * a.1 + b.1 * b.1).sqrt();
                assert!(near, "{record}: {a:?} {b:?}");
            }
        }
    }
    let beta = "kind = \"beta\"\nprior = { kind = \"gamma\", shape = 2.0, rate = 0.7 }";
    let spec = text("statistics = ['x >= 1', 'x > 0.5']\nvalues = [2, 11]\n", beta, "30");
    assert_eq!(spec.problem.counts().unwrap().table().cells(), 2);
    let model = "parameters = \"a ~ normal(0, 1)\"\nrecord = \"k ~ categorical([1, exp(a)])\"";
    let release = "query = { kind = \"categories\" }\nvalues = [1, 12, 17]\n";
    let spec = text(release, model, "30");
    let found = draws(&spec, KernelChoice::Auto, 500, 10_000);
    assert!(column(&spec, &found, "count[0]").iter().all(|&count| count == 0.0));
    let (mean, _) = mean_and_error(&column(&spec, &found, "count[1]"));
    assert!((mean - 12.5).abs() < 1.0, "{mean}");
}

#[test]
fn values_that_are_no_weights_say_why() {
    let why = |statistic: &'static str| {
        let statistics: &'static [&'static str] = Box::leak(Box::new([statistic]));
        let case = Case {
            parameters: "p ~ beta(1, 1)",
            record: "x ~ binomial(2, p)",
            statistics,
            n: "10",
            values: &[3.0],
            noise: GAUSSIAN,
        };
        case.spec().problem.counts().unwrap_err().to_string()
    };
    assert!(why("if x > 1 then 2000 else x").contains("more than 1024 times 1"));
    assert!(why("if x > 1 then 1.4142135 else x").contains("no multiples"));
}
