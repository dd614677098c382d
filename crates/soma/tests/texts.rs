//! The built-in models, written as text, have the same posteriors.

use soma::chain::Chain;
use soma::chain::MovesChoice;
use soma::chain::{Engine, Settings};
use soma::diagnostics::{ess_bulk, mcse_mean};
use soma::kernel::KernelChoice;
use soma::spec::Spec;

/// A release, a built-in model and the same as text.
struct Pair {
    name: &'static str,
    release: &'static str,
    built_in: &'static str,
    text: &'static str,
}

const PAIRS: [Pair; 7] = [
    Pair {
        name: "normal",
        release: r#"n = 20
            statistic = "mean"
            values = [0.7]
            query = { kind = "mean", clamp = [-3.0, 3.0] }
            mechanism = { kind = "laplace", scale = 0.3 }"#,
        built_in: r#"kind = "normal"
            prior = { kind = "normal-inverse-gamma", mean = 0.2, lambda = 0.5, shape = 4.0, rate = 3.0 }"#,
        text: r#"parameters = """
            sigma2 ~ inverse_gamma(4, 3)
            mu ~ normal(0.2, sqrt(sigma2 / 0.5))"""
            record = "x ~ normal(mu, sqrt(sigma2))""#,
    },
    Pair {
        name: "exponential",
        release: r#"n = 15
            statistic = "mean"
            values = [0.9]
            query = { kind = "mean", clamp = [0.0, 3.0] }
            mechanism = { kind = "gaussian", scale = 0.2 }"#,
        built_in: r#"kind = "exponential"
            prior = { kind = "gamma", shape = 3.0, rate = 2.0 }"#,
        text: r#"parameters = "rate ~ gamma(3, 2)"
            record = "x ~ exponential(rate)""#,
    },
    Pair {
        name: "beta",
        release: r#"n = 12
            statistic = "mean"
            values = [0.35]
            query = { kind = "mean", clamp = [0.0, 1.0] }
            mechanism = { kind = "laplace", scale = 0.05 }"#,
        built_in: r#"kind = "beta"
            prior = { kind = "gamma", shape = 3.0, rate = 1.0 }"#,
        text: r#"parameters = """
            a ~ gamma(3, 1)
            b ~ gamma(3, 1)"""
            record = "x ~ beta(a, b)""#,
    },
    Pair {
        name: "regression",
        release: r#"n = 15
            statistic = "mean"
            values = [0.2, 0.15, 0.3, 0.1, 0.25]
            query = { kind = "gram", clamp = [-3.0, 3.0], predictors = 1 }
            mechanism = { kind = "laplace", scale = 0.05 }"#,
        built_in: r#"kind = "regression"
            predictors = { mean = [0.4] }
            prior = { kind = "normal-inverse-gamma", mean = 0.0, precision = 0.5, shape = 5.0, rate = 4.0 }"#,
        text: r#"parameters = """
            sigma2 ~ inverse_gamma(5, 4)
            beta0 ~ normal(0, sqrt(2 * sigma2))
            beta1 ~ normal(0, sqrt(2 * sigma2))"""
            record = """
            x ~ normal(0.4, 1)
            y ~ normal(beta0 + beta1 * x, sqrt(sigma2))""""#,
    },
    Pair {
        name: "dirichlet",
        release: r#"n = 10
            statistic = "mean"
            values = [-1.4, -0.9, -1.6]
            query = { kind = "log-sum", clamp = [0.01, 1.0] }
            mechanism = { kind = "laplace", scale = 0.1 }"#,
        built_in: r#"kind = "dirichlet"
            prior = { kind = "gamma", shape = 3.0, rate = 1.0 }"#,
        text: r#"parameters = "alpha[1..3] ~ gamma(3, 1)"
            record = "x[1..3] ~ dirichlet(alpha)""#,
    },
    Pair {
        name: "categorical",
        release: r#"n = 20
            statistic = "sum"
            values = [9.0, 7.0, 3.0]
            mechanism = { kind = "discrete-laplace", scale = 2.0 }"#,
        built_in: r#"kind = "categorical"
            prior = { kind = "dirichlet", alpha = 1.5 }"#,
        text: r#"parameters = "p[1..3] ~ dirichlet([1.5, 1.5, 1.5])"
            record = "k ~ categorical(p)""#,
    },
    // Without parameters there is nothing to compare but the log density.
    Pair {
        name: "uniform",
        release: r#"n = 10
            statistic = "mean"
            values = [0.4]
            query = { kind = "mean", clamp = [-1.0, 1.0] }
            mechanism = { kind = "laplace", scale = 0.1 }"#,
        built_in: r#"kind = "uniform"
            range = [[-1.0, 2.0]]"#,
        text: r#"parameters = ""
            record = "x ~ uniform(-1, 2)""#,
    },
];

impl Pair {
    /// The same release of `times` as many records: the scale of the noise of a sum stays.
    fn spec_of(&self, times: f64, is_text: bool) -> Spec {
        let number = |text: &str| text.trim().parse::<f64>().unwrap();
        let is_mean = self.release.contains("statistic = \"mean\"");
        let lines = self.release.lines().map(|line| {
            if let Some(n) = line.trim().strip_prefix("n = ") {
                return format!("n = {}", number(n) * times);
            }
            match (is_mean, line.split_once("values = ["), line.split_once("scale = ")) {
                (false, Some((_, values)), _) => {
                    let values = values.trim_end_matches(']').split(',');
                    let more: Vec<String> =
                        values.map(|value| format!("{:?}", number(value) * times)).collect();
                    format!("values = [{}]", more.join(", "))
                }
                (true, _, Some((law, scale))) => {
                    format!("{law}scale = {:?} }}", number(scale.trim_end_matches('}')) / times)
                }
                _ => line.into(),
            }
        });
        let release: Vec<String> = lines.collect();
        self.parse(&release.join("\n"), is_text)
    }

    fn spec(&self, is_text: bool) -> Spec {
        self.parse(self.release, is_text)
    }

    fn parse(&self, release: &str, is_text: bool) -> Spec {
        let query = match (self.name, is_text) {
            ("categorical", true) => r#"statistics = ["one_hot(k, 3)"]"#,
            ("categorical", false) => {
                r#"query = { kind = "categories", labels = ["a", "b", "c"] }"#
            }
            _ => "",
        };
        let model = if is_text { self.text } else { self.built_in };
        let text = format!("[release]\n{release}\n{query}\n[model]\n{model}\n");
        Spec::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// Statistics as text of the record of a built-in model: the same posterior as by its query.
#[test]
fn built_in_models_take_statistics_as_text() {
    for (pair, statistics) in
        [(&PAIRS[0], "clamp(x, -3, 3)"), (&PAIRS[1], "clamp(x, 0, 3)"), (&PAIRS[2], "x")]
    {
        let plain = pair.spec(false);
        let query = pair.release.lines().find(|line| line.contains("query = ")).unwrap();
        let release = pair.release.replace(query, &format!("statistics = [\"{statistics}\"]"));
        let text = format!("[release]\n{release}\n[model]\n{}\n", pair.built_in);
        let own = Spec::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", pair.name));
        let (ours, theirs) = (draws(&own, 1500), draws(&plain, 1500));
        for ((name, ours), (_, theirs)) in ours.iter().zip(&theirs) {
            let mean = |chains: &Vec<Vec<f64>>| {
                let all = chains.concat();
                (all.iter().sum::<f64>() / all.len() as f64, mcse_mean(chains))
            };
            let ((a, error_a), (b, error_b)) = (mean(ours), mean(theirs));
            let z = (a - b).abs() / error_a.hypot(error_b);
            assert!(z < 4.5, "{} {name}: {a} against {b}, {z} errors", pair.name);
        }
    }
    let regression = r#"
        [release]
        n = 30
        statistic = "sum"
        values = [4.0, 2.0]
        statistics = ["clamp(x2 * y, -5, 5)", "clamp(y, -5, 5) > 0"]
        mechanism = { kind = "laplace", scale = 1.0 }
        [model]
        kind = "regression"
        predictors = { mean = [0.0, 0.0] }
        prior = { kind = "normal-inverse-gamma", mean = 0.0, precision = 0.5, shape = 4.0, rate = 4.0 }
    "#;
    assert_eq!(Spec::parse(regression).unwrap().problem.release().query().record_dim(), 3);
    let unknown = regression.replace("x2 * y", "x3 * y");
    assert!(Spec::parse(&unknown).unwrap_err().to_string().contains("x3"));
}

/// Draws of each parameter by name, of functions of it, and of the log density of the release.
fn draws(spec: &Spec, count: usize) -> Vec<(String, Vec<Vec<f64>>)> {
    let problem = &spec.problem;
    let mut names = problem.outputs();
    names.push("log density".into());
    let mut columns: Vec<(String, Vec<Vec<f64>>)> =
        names.into_iter().map(|name| (name, Vec::new())).collect();
    for index in 0..4 {
        let chain = Chain::new(problem, KernelChoice::Auto, 11, index).unwrap();
        let mut chain = chain.with_moves(MovesChoice::Auto, 300).unwrap();
        for _ in 0..300 {
            chain.step().unwrap();
        }
        columns.iter_mut().for_each(|(_, chains)| chains.push(Vec::new()));
        for _ in 0..count {
            chain.step().unwrap();
            let mut values = chain.draw();
            values.push(problem.log_density(chain.records()));
            for ((_, chains), value) in columns.iter_mut().zip(values) {
                chains.last_mut().unwrap().push(value);
            }
        }
    }
    columns
}

/// Means and mean squares within 4.5 standard errors.
#[test]
fn built_in_models_as_text_have_the_same_posterior() {
    for pair in &PAIRS {
        let built_in = draws(&pair.spec(false), 1500);
        let text = draws(&pair.spec(true), 1500);
        for (place, (name, theirs)) in built_in.iter().enumerate() {
            let plain = |name: &str| name.replace(['[', ']'], "");
            let same = text.iter().find(|(other, _)| plain(other) == plain(name));
            // The last share is not in the theta of a text, and categories and their counts have other
            // names.
            let is_theta = |other: &str| other != "log density" && !other.starts_with("count[");
            let beside = || text.get(place).filter(|(other, _)| is_theta(other) && is_theta(name));
            let Some((_, ours)) = same.or_else(beside) else { continue };
            for power in [1, 2] {
                let of = |chains: &Vec<Vec<f64>>| -> (f64, f64) {
                    let raised: Vec<Vec<f64>> = chains
                        .iter()
                        .map(|chain| chain.iter().map(|x| x.powi(power)).collect())
                        .collect();
                    let all = raised.concat();
                    (all.iter().sum::<f64>() / all.len() as f64, mcse_mean(&raised))
                };
                let ((a, error_a), (b, error_b)) = (of(theirs), of(ours));
                let z = (a - b).abs() / error_a.hypot(error_b);
                assert!(z < 4.5, "{} {name}^{power}: {a} against {b}, {z} errors", pair.name);
            }
        }
    }
}

/// Processor time of this thread in seconds, which Linux reports.
fn on_core() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN) * 1e-9
}

/// Draws of each chain: enough for the clock, which counts in milliseconds.
const DRAWS: u64 = 4000;

/// A run at default settings, with more draws: the mean and its error of each output and of the log density, the
/// smallest effective sample size of the outputs, and the seconds of warm-up and of the draws.
struct Timed {
    means: Vec<(String, f64, f64)>,
    effective: f64,
    warmup: f64,
    drawing: f64,
    moves: String,
}

fn timed(spec: &Spec) -> Timed {
    let (problem, settings) = (&spec.problem, Settings { draws: DRAWS, ..Settings::default() });
    let mut names = problem.outputs();
    names.push("log density".into());
    let mut draws = vec![Vec::new(); names.len()];
    let (mut warmup, mut drawing, mut moves) = (0.0, 0.0, Vec::new());
    for index in 0..settings.chains as u64 {
        let begun = on_core();
        let mut chain = Engine::new(problem, &settings, index).unwrap();
        (0..settings.warmup).for_each(|_| chain.step().unwrap());
        let warm = on_core();
        draws.iter_mut().for_each(|chains: &mut Vec<Vec<f64>>| chains.push(Vec::new()));
        for _ in 0..settings.draws {
            chain.step().unwrap();
            let values = chain.draw().into_iter().chain([chain.log_density()]);
            draws.iter_mut().zip(values).for_each(|(all, x)| all[index as usize].push(x));
        }
        (warmup, drawing) = (warmup + warm - begun, drawing + on_core() - warm);
        let made = chain.moves();
        let named = made.iter().filter(|made| made.repeats > 0 && made.share > 0.02);
        moves =
            named.map(|made| format!("{} x{}/{}", made.name, made.repeats, made.every)).collect();
    }
    let outputs = draws.len() - 1;
    let watched = if outputs == 0 { &draws[..] } else { &draws[..outputs] };
    let effective = watched.iter().map(|chains| ess_bulk(chains)).fold(f64::INFINITY, f64::min);
    let mean = |(name, chains): (String, &Vec<Vec<f64>>)| {
        let all = chains.concat();
        (name, all.iter().sum::<f64>() / all.len() as f64, mcse_mean(chains))
    };
    let means = names.into_iter().zip(&draws).map(mean).collect();
    Timed { means, effective, warmup, drawing, moves: moves.join(", ") }
}

/// Both posteriors, and a table of the effective draws of the slowest output for a second of processor time.
/// `SOMA_PAIRS=beta,normal` measures these alone.
#[test]
#[ignore = "measures: run it alone, with --nocapture"]
fn effective_draws_of_built_in_models_as_text() {
    let only = std::env::var("SOMA_PAIRS").unwrap_or_default();
    let is_wanted = |pair: &&Pair| only.is_empty() || only.split(',').any(|name| name == pair.name);
    println!(
        "| model | n | moves of the text | ESS | ESS per second | with warm-up | built in: ESS | ESS per second | with warm-up | text / built in | with warm-up |"
    );
    println!("|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for pair in PAIRS.iter().filter(is_wanted) {
        for times in [1.0, 10.0] {
            let specs = [true, false].map(|is_text| pair.spec_of(times, is_text));
            let n = specs[0].problem.release().n();
            let [text, built_in] = specs.map(|spec| timed(&spec));
            let [ours, theirs] = [&text, &built_in].map(Timed::per_second);
            println!(
                "| {} | {n} | {} | {} | {} | {:.2} | {:.2} |",
                pair.name,
                text.moves,
                text.shown(),
                built_in.shown(),
                ours[0] / theirs[0],
                ours[1] / theirs[1]
            );
            assert_same_means(pair.name, &text, &built_in);
        }
    }
}

impl Timed {
    /// Effective draws for a second: of the draws alone, and with warm-up.
    fn per_second(&self) -> [f64; 2] {
        [self.drawing, self.drawing + self.warmup].map(|seconds| self.effective / seconds)
    }

    fn shown(&self) -> String {
        let [alone, whole] = self.per_second();
        format!("{:.0} | {alone:.0} | {whole:.0}", self.effective)
    }
}

/// The means of all outputs agree.
fn assert_same_means(name: &str, text: &Timed, built_in: &Timed) {
    for (place, (output, a, error_a)) in built_in.means.iter().enumerate() {
        let plain = |name: &str| name.replace(['[', ']'], "");
        let same = text.means.iter().find(|(other, ..)| plain(other) == plain(output));
        // A text leaves out the last share, and its categories have other names.
        let is_theta = |other: &str| other != "log density" && !other.starts_with("count[");
        let both = |other: &str| is_theta(other) && is_theta(output);
        let beside = || text.means.get(place).filter(|(other, ..)| both(other));
        let Some((_, b, error_b)) = same.or_else(beside) else { continue };
        let z = (a - b) / error_a.hypot(*error_b);
        assert!(z.abs() < 4.5, "{name} {output}: {a} +- {error_a}, {b} +- {error_b}");
    }
}
