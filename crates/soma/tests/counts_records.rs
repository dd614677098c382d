//! Records drawn from a chain of counts: they are in the cells that the draw says, follow the model
//! within a cell, and leave the chain as it is.

use soma::chain::{Engine, Settings};
use soma::spec::Spec;
use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc;

fn spec(release: &str, model: &str) -> Spec {
    let text = format!("output = {{ records = true }}\n[release]\n{release}\n[model]\n{model}");
    Spec::parse(&text).unwrap()
}

fn engine<'a>(spec: &'a Spec, warmup: u64) -> Engine<'a> {
    let settings = Settings { warmup, ..spec.settings().unwrap() };
    assert!(settings.samples_counts(&spec.problem));
    Engine::new(&spec.problem, &settings, 0).unwrap()
}

/// The counts of a draw, in the order of the cells.
fn counts(spec: &Spec, draw: &[f64]) -> Vec<f64> {
    let names = spec.problem.outputs();
    let counts = names.iter().zip(draw).filter(|(name, _)| name.starts_with("count["));
    counts.map(|(_, &count)| count).collect()
}

const TABLE: &str = r#"
    n = 90
    statistic = "sum"
    values = [12, 40, -3, 38]
    query = { kind = "table", axes = [["a", "b"], ["x", "y"]] }
    mechanism = { kind = "discrete-gaussian", scale = 6.0 }
"#;

const DIRICHLET: &str = "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = 1.0 }";

/// Records of a table are the indices of their cells: as many as the draw counts, in random order, the
/// same if asked twice, and none of it changes the chain.
#[test]
fn records_of_a_table_are_its_cells() {
    let log_linear = "kind = \"log-linear\"\ninteractions = [[0, 1]]\nprior = { kind = \"normal\", sd = [1.0, 1.0, 0.3] }";
    let law = |text: &str| {
        let plain = "{ kind = \"discrete-gaussian\", scale = 6.0 }";
        TABLE.replace("statistic = \"sum\"", "").replace("-3", "0").replace(plain, text)
    };
    let response = law("{ kind = \"randomised-response\", prob = 0.7 }");
    let synthetic =
        law("{ kind = \"synthetic-records\", noise = { kind = \"laplace\", scale = 6.0 } }");
    for (release, model) in [
        (TABLE, DIRICHLET),
        (TABLE, log_linear),
        (&response, DIRICHLET),
        (&response, log_linear),
        (&synthetic, DIRICHLET),
    ] {
        let spec = spec(release, model);
        let (mut asked, mut silent) = (engine(&spec, 20), engine(&spec, 20));
        let mut firsts = [0.0; 4];
        let mut shares = [0.0; 4];
        const DRAWS: usize = 4000;
        for _ in 0..DRAWS {
            asked.step().unwrap();
            silent.step().unwrap();
            let (records, draw) = (asked.records().into_owned(), asked.draw());
            assert_eq!(asked.records(), records);
            assert_eq!(draw, silent.draw());
            let counts = counts(&spec, &draw);
            for (cell, &count) in counts[..4].iter().enumerate() {
                let found = records.iter().filter(|&&x| x == cell as f64).count();
                assert_eq!(found as f64, count);
                shares[cell] += count / 90.0;
            }
            assert_eq!(records.len(), 90);
            firsts[records[0] as usize] += 1.0;
        }
        // Given the counts the first record is in a cell with its share of them.
        for (first, share) in firsts.iter().zip(shares) {
            let sd = (share * (1.0 - share / DRAWS as f64)).sqrt().max(1.0);
            assert!((first - share).abs() < 4.5 * sd, "{firsts:?} {shares:?}");
        }
    }
}

/// The records of a resumed chain are those of one that was never stopped.
#[test]
fn records_are_resumed_bit_for_bit() {
    let spec = spec(TABLE, DIRICHLET);
    let mut whole = engine(&spec, 5);
    for _ in 0..12 {
        whole.step().unwrap();
    }
    let stored = serde_json::to_string(&whole.snapshot()).unwrap();
    let mut again = Engine::restore(&spec.problem, serde_json::from_str(&stored).unwrap()).unwrap();
    assert_eq!(whole.records(), again.records());
    whole.step().unwrap();
    again.step().unwrap();
    assert_eq!(whole.records(), again.records());
}

/// Within their bins records follow the model with the parameters of the draw: the distribution
/// function between the edges of a bin is uniform, by a chi-squared of twenty intervals.
fn assert_within_bins(release: &str, model: &str, cuts: &[f64], below: fn(f64, &[f64]) -> f64) {
    let spec = spec(release, model);
    let mut engine = engine(&spec, 200);
    let mut found = vec![vec![0.0; 20]; cuts.len() + 1];
    for _ in 0..400 {
        engine.step().unwrap();
        let (records, draw) = (engine.records().into_owned(), engine.draw());
        let expected = counts(&spec, &draw);
        let mut held = vec![0.0; cuts.len() + 1];
        for x in records {
            let cell = cuts.partition_point(|&cut| cut <= x);
            held[cell] += 1.0;
            let low = if cell == 0 { 0.0 } else { below(cuts[cell - 1], &draw) };
            let high = cuts.get(cell).map_or(1.0, |&cut| below(cut, &draw));
            let level = (below(x, &draw) - low) / (high - low);
            // The difference of two tails has no digits left where a bin is far out.
            if high - low > 1e-6 {
                found[cell][((level * 20.0) as usize).min(19)] += 1.0;
            }
        }
        assert_eq!(held, expected);
    }
    for (cell, found) in found.iter().enumerate() {
        let expected = found.iter().sum::<f64>() / 20.0;
        let chi: f64 =
            found.iter().map(|seen| (seen - expected).powi(2) / expected.max(1e-9)).sum();
        // 19 degrees of freedom: above 52 once in 10,000.
        assert!(expected < 5.0 || chi < 52.0, "cell {cell}: {chi}, {found:?}");
    }
}

#[test]
fn normal_records_are_normal_within_bins() {
    let release = r#"
        n = 300
        statistic = "sum"
        values = [10, 80, 170, 30]
        query = { kind = "histogram", edges = [-3.0, -1.0, 0.0, 2.0, 4.0] }
        mechanism = { kind = "laplace", scale = 3.0 }
    "#;
    let model = "kind = \"normal\"\nprior = { kind = \"normal-inverse-gamma\", mean = 0.0, lambda = 0.1, shape = 2.0, rate = 2.0 }";
    let below = |x: f64, draw: &[f64]| 0.5 * erfc((draw[0] - x) / (2.0 * draw[1]).sqrt());
    assert_within_bins(release, model, &[-1.0, 0.0, 2.0], below);
}

#[test]
fn exponential_records_are_exponential_within_bins() {
    let release = r#"
        n = 300
        statistic = "sum"
        values = [120, 140, 20, 25]
        query = { kind = "histogram", edges = [0.0, 1.0, 3.0, 4.0, 9.0] }
        mechanism = { kind = "gaussian", scale = 5.0 }
    "#;
    let model = "kind = \"exponential\"\nprior = { kind = \"gamma\", shape = 2.0, rate = 2.0 }";
    let below = |x: f64, draw: &[f64]| -(-draw[0] * x).exp_m1();
    assert_within_bins(release, model, &[1.0, 3.0, 4.0], below);
}

#[test]
fn beta_records_are_beta_within_bins() {
    let release = r#"
        n = 300
        statistic = "sum"
        values = [20, 50, 130, 100]
        query = { kind = "histogram", edges = [0.0, 0.2, 0.4, 0.7, 1.0] }
        mechanism = { kind = "discrete-laplace", scale = 4.0 }
    "#;
    let model = "kind = \"beta\"\nprior = { kind = \"gamma\", shape = 2.0, rate = 0.5 }";
    let below = |x: f64, draw: &[f64]| beta_reg(draw[0], draw[1], x.clamp(0.0, 1.0));
    assert_within_bins(release, model, &[0.2, 0.4, 0.7], below);
}
