//! Counts from the text of a spec to the posterior: exact answers of small tables, the same answers
//! as with imputed records, and runs that are stopped and resumed.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use soma::Outcome;
use soma::chain::{Collected, Draw, Engine, EngineSnapshot, Observer, Settings, run};
use soma::kernel::KernelChoice;
use soma::spec::Spec;

const ONE: NonZeroUsize = NonZeroUsize::MIN;

/// Two categories with discrete Laplace noise of scale 2, and flat shares.
fn two(n: &str, mechanism: &str) -> String {
    format!(
        r#"
        [release]
        n = {n}
        statistic = "sum"
        values = [12, 3]
        query = {{ kind = "categories", labels = ["yes", "no"] }}
        mechanism = {mechanism}

        [model]
        kind = "categorical"
        prior = {{ kind = "dirichlet", alpha = 1.0 }}
        "#
    )
}

const DL2: &str = r#"{ kind = "discrete-laplace", scale = 2.0 }"#;

fn draws_of(spec: &Spec, settings: &Settings) -> Vec<Vec<Draw>> {
    let collected = Collected::new(settings.chains);
    run(&spec.problem, settings, ONE, &collected).unwrap();
    collected.into_draws()
}

/// The draws of one output, concatenated over chains.
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

/// Whether mean and sd of an output agree with the exact ones, which are rounded to five digits.
fn assert_answer(text: &str, answers: &[(&str, f64, f64)]) {
    let spec = Spec::parse(text).unwrap();
    let settings = Settings { chains: 2, draws: 40_000, ..spec.settings().unwrap() };
    assert!(settings.samples_counts(&spec.problem));
    let draws = draws_of(&spec, &settings);
    for &(name, mean, sd) in answers {
        let values = column(&spec, &draws, name);
        let (found, error) = mean_and_error(&values);
        assert!((found - mean).abs() < 4.5 * error + 1e-5, "{name}: {found}, {mean}");
        let squares: Vec<f64> = values.iter().map(|x| (x - mean).powi(2)).collect();
        let (found, error) = mean_and_error(&squares);
        assert!((found - sd * sd).abs() < 4.5 * error + 1e-4 * sd * sd, "{name}: {found}");
    }
}

/// Exact answers for two categories with p ~ U(0, 1), by enumeration.
#[test]
fn exact_answers_of_two_categories() {
    let answers = [("n", 14.65882, 3.67940), ("p[yes]", 0.74876, 0.14821)];
    assert_answer(&two("\"unknown\"", DL2), &answers);
    assert_answer(&two("{ prior = \"flat\" }", DL2), &answers);
    assert_answer(&two("15", DL2), &[("p[yes]", 0.76105, 0.12336)]);
    let rounded = r#"{ kind = "rounded-laplace", scale = 1.0 }"#;
    let answers = [("n", 14.82375, 1.97504), ("p[yes]", 0.76733, 0.11781)];
    assert_answer(&two("\"unknown\"", rounded), &answers);
    let clamped = r#"{ kind = "discrete-gaussian", scale = 3.0, clamp = [0, inf] }"#;
    let zero = two("\"unknown\"", clamped).replace("[12, 3]", "[12, 0]");
    assert_answer(&zero, &[("p[yes]", 0.83629, 0.13088)]);
    let hidden = r#"{ kind = "discrete-gaussian", scale = 10.0, threshold = 90 }"#;
    let hidden = two("\"unknown\"", hidden).replace("[12, 3]", "[95, \"suppressed\"]");
    assert_answer(&hidden, &[("n", 134.42127, 28.80773), ("p[yes]", 0.72406, 0.14689)]);
}

/// Cells and a noisy total, each with its own noise.
fn with_total(query: &str) -> String {
    format!(
        r#"
        [release]
        n = "unknown"
        [[release.parts]]
        name = "cells"
        statistic = "sum"
        values = [12, 3]
        query = {{ kind = "table", axes = [["yes", "no"]] }}
        mechanism = {DL2}
        [[release.parts]]
        name = "all"
        statistic = "sum"
        values = [18]
        query = {query}
        mechanism = {{ kind = "discrete-laplace", scale = 1.0 }}

        [model]
        kind = "categorical"
        prior = {{ kind = "dirichlet", alpha = 1.0 }}
        "#
    )
}

#[test]
fn exact_answers_of_several_parts() {
    let answers = [("n", 17.49698, 1.28412), ("p[yes]", 0.72971, 0.13017)];
    assert_answer(&with_total(r#"{ kind = "count" }"#), &answers);
    let total = r#"{ kind = "table", axes = [["yes", "no"]], margin = [] }"#;
    assert_answer(&with_total(total), &answers);
}

/// Every kernel of records has the outputs and the posterior of the sampler of counts.
#[test]
fn records_give_the_same_posterior() {
    let categories = two("15", DL2);
    let histogram = r#"
        [release]
        n = 60
        statistic = "mean"
        values = [0.2, 0.35, 0.3, 0.18]
        query = { kind = "histogram", edges = [-2.0, -0.5, 0.5, 1.5, 3.0] }
        mechanism = { kind = "laplace", scale = 0.05 }

        [model]
        kind = "normal"
        prior = { kind = "normal-inverse-gamma", mean = 0.0, lambda = 0.5, shape = 3.0, rate = 3.0 }
        "#;
    let table = r#"
        [release]
        n = 40
        statistic = "sum"
        values = [22, 10, 9]
        query = { kind = "table", axes = [2, ["x", "y", "z"]], margin = [1] }
        mechanism = { kind = "discrete-gaussian", scale = 3.0 }

        [model]
        kind = "log-linear"
        interactions = [[0, 1]]
        prior = { kind = "normal", sd = [1.0, 1.0, 0.5] }
        "#;
    let margins = r#"
        [release]
        n = { prior = "poisson", mean = 30 }
        [[release.parts]]
        name = "rows"
        statistic = "sum"
        values = [22, 11]
        query = { kind = "table", axes = [2, 2], margin = [0] }
        mechanism = { kind = "discrete-gaussian", scale = 2.0 }
        [[release.parts]]
        name = "columns"
        statistic = "sum"
        values = [25, 6]
        query = { kind = "table", axes = [2, 2], margin = [1] }
        mechanism = { kind = "discrete-laplace", scale = 1.5 }

        [model]
        kind = "categorical"
        prior = { kind = "dirichlet", alpha = [1.0, 0.5, 1.0, 1.0] }
        "#;
    let mean = r#"
        [release]
        n = 12
        statistic = "mean"
        values = [1.3]
        query = { kind = "mean", clamp = [0, 2] }
        mechanism = { kind = "laplace", scale = 0.1 }

        [model]
        kind = "categorical"
        prior = { kind = "dirichlet", alpha = [1.0, 2.0, 1.0] }
        "#;
    let names = Spec::parse(margins).unwrap().problem.outputs();
    assert_eq!(names[8..], ["count[0,*]", "count[1,*]", "count[*,0]", "count[*,1]", "n"]);
    for text in [categories.as_str(), histogram, table, margins, mean] {
        let spec = Spec::parse(text).unwrap();
        let counts = spec.settings().unwrap();
        let counts = Settings { chains: 2, draws: 20_000, ..counts };
        let records = Settings { kernel: KernelChoice::SysImwg, ..counts.clone() };
        assert!(counts.samples_counts(&spec.problem) && !records.samples_counts(&spec.problem));
        let (counts, records) = (draws_of(&spec, &counts), draws_of(&spec, &records));
        for name in spec.problem.outputs() {
            let [a, b] = [&counts, &records].map(|draws| column(&spec, draws, &name));
            for power in [1, 2] {
                let moment = |values: &[f64]| {
                    mean_and_error(&values.iter().map(|x| x.powi(power)).collect::<Vec<_>>())
                };
                let (a, b) = (moment(&a), moment(&b));
                let error = (a.1 * a.1 + b.1 * b.1).sqrt();
                assert!((a.0 - b.0).abs() < 4.5 * error + 1e-12, "{name}: {a:?} {b:?}");
            }
        }
        let density = |draws: &[Vec<Draw>]| {
            let all = draws.iter().flatten().map(|draw| draw.log_density).collect::<Vec<_>>();
            mean_and_error(&all)
        };
        let (a, b) = (density(&counts), density(&records));
        assert!((a.0 - b.0).abs() < 4.5 * a.1.hypot(b.1), "log density: {a:?} {b:?}");
    }
}

/// Stops after some iterations in total, and keeps the state of each chain.
struct Stopped {
    after: u64,
    made: AtomicU64,
    collected: Collected,
    states: Mutex<Vec<Option<Vec<u8>>>>,
}

impl Observer for Stopped {
    fn begin(&self, chain: usize) -> Outcome<Option<EngineSnapshot>> {
        let stored = self.states.lock().unwrap()[chain].take();
        Ok(stored.map(|text| serde_json::from_slice(&text).unwrap()))
    }

    fn step(&self, _: usize, _: &Engine) -> Outcome {
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn draw(&self, chain: usize, draw: Draw, state: &Engine) -> Outcome {
        self.collected.draw(chain, draw, state)
    }

    fn end(&self, chain: usize, state: &Engine) -> Outcome {
        let text = serde_json::to_vec(&state.snapshot()).unwrap();
        self.states.lock().unwrap()[chain] = Some(text);
        Ok(())
    }

    fn stop(&self) -> bool {
        self.made.load(Ordering::Relaxed) >= self.after
    }
}

#[test]
fn a_stopped_run_goes_on_bit_for_bit() {
    let spec = Spec::parse(&two("\"unknown\"", DL2)).unwrap();
    let settings = Settings { chains: 3, warmup: 20, draws: 30, thin: 2, ..Settings::default() };
    let whole = draws_of(&spec, &settings);
    assert!(whole.iter().flatten().all(|draw| draw.counts.moves > 0 && draw.acceptance <= 1.0));
    for after in [0, 7, 20, 21, 100, 199] {
        let mut observer = Stopped {
            after,
            made: AtomicU64::new(0),
            collected: Collected::new(3),
            states: Mutex::new(vec![None, None, None]),
        };
        run(&spec.problem, &settings, NonZeroUsize::new(2).unwrap(), &observer).unwrap();
        observer.after = u64::MAX;
        run(&spec.problem, &settings, ONE, &observer).unwrap();
        assert_eq!(observer.collected.into_draws(), whole, "stopped after {after}");
    }
}

/// A state of another kernel, seed or chain is rejected.
#[test]
fn states_of_other_runs_are_refused() {
    let spec = Spec::parse(&two("15", DL2)).unwrap();
    let auto = Settings { warmup: 20, ..Settings::default() };
    let engine = Engine::new(&spec.problem, &auto, 0).unwrap();
    let snapshot = engine.snapshot();
    snapshot.check_run(&spec.problem, &auto, 0).unwrap();
    for other in [
        Settings { kernel: KernelChoice::Counts, ..auto.clone() },
        Settings { kernel: KernelChoice::Soma, ..auto.clone() },
        Settings { seed: 2, ..auto.clone() },
        Settings { warmup: 21, ..auto.clone() },
    ] {
        assert!(snapshot.check_run(&spec.problem, &other, 0).is_err(), "{other:?}");
    }
    assert!(snapshot.check_run(&spec.problem, &auto, 1).is_err());
    let records = Settings { kernel: KernelChoice::Soma, ..auto.clone() };
    let records = Engine::new(&spec.problem, &records, 0).unwrap().snapshot();
    assert!(records.check_run(&spec.problem, &auto, 0).is_err());
}

/// The engine of a spec, and the error if the requested one is not possible.
#[test]
fn the_engine_is_chosen_and_explained() {
    let parse = |more: &str| Spec::parse(&format!("{}\n{more}", two("15", DL2)));
    let engine = |more: &str| {
        let spec = parse(more).unwrap();
        let settings = spec.settings().unwrap();
        let reason = settings.engine_reason(&spec.problem);
        assert_eq!(
            settings.samples_counts(&spec.problem),
            reason.starts_with("counts"),
            "{reason}"
        );
        settings.samples_counts(&spec.problem)
    };
    assert!(engine(""));
    assert!(engine("[sampler]\nkernel = \"counts\""));
    assert!(!engine("[sampler]\nkernel = \"soma\""));
    assert!(!engine("[sampler]\nmoves = \"centred\""));
    assert!(engine("[output]\nrecords = true"));
    assert!(engine("[sampler]\nkernel = \"counts\"\n[output]\nrecords = true"));
    let field = |more: &str| parse(more).unwrap_err().invalid.field;
    assert_eq!(field("[sampler]\nkernel = \"counts\"\nmoves = \"centred\""), "sampler.moves");
    // A kernel of records can be used too, with slots.
    let unknown = |more: &str| Spec::parse(&format!("{}\n{more}", two("\"unknown\"", DL2)));
    for (more, counts) in [("", true), ("[sampler]\nkernel = \"soma\"", false)] {
        let spec = unknown(more).unwrap();
        assert_eq!(spec.settings().unwrap().samples_counts(&spec.problem), counts);
    }
    assert!(unknown("[output]\nrecords = true").is_err());
    let bad = two("{ prior = \"poisson\", mean = -1 }", DL2);
    assert_eq!(Spec::parse(&bad).unwrap_err().invalid.field, "release.n.mean");
    let misspelt = two("\"unknwon\"", DL2);
    assert_eq!(Spec::parse(&misspelt).unwrap_err().invalid.field, "release.n");
}

/// n = 3 x 10^8: no allocation grows with n.
#[test]
fn a_nation_is_as_quick_as_a_village() {
    let text = two("300000000", r#"{ kind = "discrete-gaussian", scale = 50.0 }"#)
        .replace("[12, 3]", "[200000110, 99999870]");
    let spec = Spec::parse(&text).unwrap();
    let settings = Settings { chains: 1, warmup: 100, draws: 100, ..spec.settings().unwrap() };
    let need = soma::chain::MemoryNeed::of(&spec.problem, &settings, 1, false);
    assert!(need.bytes() < 1 << 20, "{}", need.bytes());
    let draws = draws_of(&spec, &settings);
    let counts = column(&spec, &draws, "count[yes]");
    assert!(counts.iter().all(|count| (count - 2e8).abs() < 1000.0));
}
