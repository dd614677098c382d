//! `soma release`, with OpenDP: `scripts/test-curator.sh` runs these.
#![cfg(feature = "curator")]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::soma;
use soma::calibration::Uniformity;
use soma::chain::{Engine, Problem, Settings};
use soma::model::{Categorical, Exponential, GammaPrior};
use soma::release::mechanism::{Noise, Publishing};
use soma::release::query::{Categories, Mean};
use soma::release::{Aggregate, Mechanism, Query, Release};
use soma::rng::stream;
use soma_cli::release::noise;
use soma_cli::release::publish::Guarantee;

const MODEL: &str = r#"
[model]
kind = "regression"
predictors = { mean = [50.0, 1.0], covariance = [[100.0, 0.0], [0.0, 1.0]] }
prior = { kind = "normal-inverse-gamma", mean = 0.0, precision = 0.1, shape = 3.0, rate = 3.0 }
[sampler]
chains = 2
warmup = 100
draws = 100
"#;

const REGRESSION: &str = r#"
[release]
statistic = "mean"
query = { kind = "gram", clamp = [[20.0, 80.0], [-3.0, 5.0], [-10.0, 10.0]] }
mechanism = { kind = "laplace", epsilon = 1.5 }

[data]
columns = ["age", "dose", "effect"]
"#;

/// 300 rows with values that are easy to find in a text.
fn table() -> String {
    let mut rows = String::from("id,age,dose,effect\n");
    for i in 0..300 {
        let age = 31.0625 + 37.0 * f64::from(i % 29) / 29.0;
        let dose = 0.37109375 + f64::from(i % 7) / 7.0;
        rows += &format!("{i},{age},{dose},{}\n", 0.05 * age + dose - 3.0 + f64::from(i % 5) / 5.0);
    }
    rows
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(spec: &str, data: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("spec.toml"), spec).unwrap();
        std::fs::write(folder.path().join("data.csv"), data).unwrap();
        Folder(folder)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn release(&self, options: &[&str]) -> (Option<i32>, String, String) {
        self.release_of("data.csv", options)
    }

    fn release_of(&self, data: &str, options: &[&str]) -> (Option<i32>, String, String) {
        let mut command = soma();
        command.arg("release").arg(self.at("spec.toml"));
        command.arg("--data").arg(self.at(data)).arg("--out").arg(self.at("published.toml"));
        let output = command.args(options).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Data, release, fit: the published file is fitted as it is, and holds nothing of the data.
#[test]
fn a_published_file_is_fitted_and_holds_no_raw_value() {
    let folder = Folder::new(&format!("{REGRESSION}{MODEL}"), &table());
    let (code, said, errors) = folder.release(&[]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(said.contains("epsilon 1.5") || said.contains("epsilon 1.4999"), "{said}");
    let published = read(&folder.at("published.toml"));
    assert!(soma::spec::is_release(&published), "{published}");
    for name in ["age", "dose", "effect", "data.csv", "columns"] {
        assert!(!published.contains(name), "{name} in {published}");
    }
    for line in table().lines().skip(1) {
        for cell in line.split(',').filter(|cell| cell.len() > 5) {
            assert!(!published.contains(cell), "{cell} in {published}");
        }
    }
    // The exact answers are not there either.
    let release = Release::parse(&published).unwrap();
    let records: Vec<f64> = table()
        .lines()
        .skip(1)
        .flat_map(|line| {
            line.split(',').skip(1).map(|x| x.parse::<f64>().unwrap()).collect::<Vec<_>>()
        })
        .collect();
    let k = release.query().dim();
    let mut statistics = vec![0.0; 300 * k];
    release.query().statistics(&records, &mut statistics).unwrap();
    for (c, value) in release.values().iter().enumerate() {
        let exact = statistics.iter().skip(c).step_by(k).sum::<f64>() / 300.0;
        let gap = (value - exact).abs();
        assert!(gap > 1e-9 && gap < 60.0 * release.scales()[c], "{c}: {value} of {exact}");
    }
    std::fs::write(folder.at("fit.toml"), format!("release = \"published.toml\"\n{MODEL}"))
        .unwrap();
    soma().arg("fit").arg(folder.at("fit.toml")).arg("--quiet").assert().success();
}

/// The guarantee is what OpenDP's map proves, and never above the budget that was asked for by more
/// than its own rounding.
#[test]
fn the_guarantee_is_that_of_the_map() {
    let folder = Folder::new(REGRESSION, &table());
    assert_eq!(folder.release(&[]).0, Some(0));
    let published = read(&folder.at("published.toml"));
    let table: toml::Table = published.parse().unwrap();
    let epsilon = table["release"]["guarantee"]["epsilon"].as_float().unwrap();
    assert!((1.5 - 1e-9..=1.5 + 1e-9).contains(&epsilon), "{epsilon}");
    let scale = table["release"]["mechanism"]["scale"].as_float().unwrap();
    // The exact sensitivity of two predictors and a response, and a little more for the lattice.
    assert!(scale * 1.5 * 300.0 > 9.375 && scale * 1.5 * 300.0 < 9.375 * (1.0 + 1e-4), "{scale}");
}

/// On a lattice of the noise that is coarse beside the statistics, the budget is kept by more noise.
#[test]
fn the_budget_is_kept_on_a_lattice() {
    for (noise, budget, key) in [
        ("discrete-laplace", "epsilon = 1.5", "epsilon"),
        ("discrete-gaussian", "rho = 0.5", "rho"),
    ] {
        let mechanism = format!("kind = \"{noise}\", {budget}, granularity = 0.125");
        let spec = REGRESSION.replace("kind = \"laplace\", epsilon = 1.5", &mechanism);
        let folder = Folder::new(&spec, &table());
        let (code, _, errors) = folder.release(&[]);
        assert_eq!(code, Some(0), "{errors}");
        let published: toml::Table = read(&folder.at("published.toml")).parse().unwrap();
        let spent = published["release"]["guarantee"][key].as_float().unwrap();
        let asked: f64 = budget.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((spent / asked - 1.0).abs() < 1e-6, "{noise}: {spent} of {asked}");
    }
}

/// For three answers, the scale and the sensitivity: what OpenDP's Python package 0.16 prints for
/// `make_laplace(vector_domain(atom, size=3), l1_distance(T=float), scale, k).map(sensitivity)` and for
/// `make_gaussian` with `l2_distance`. On a lattice each answer is rounded to it first, which the map
/// counts.
#[test]
fn the_guarantee_of_each_law_is_what_the_python_package_states() {
    let (coarse, fine) = (Some(8.0), Some(0.5));
    for (noise, granularity, stated) in [
        (Noise::Laplace, None, [1.5, 1.3533837593984963]),
        (Noise::DiscreteLaplace, None, [1.5, 1.3533837593984963]),
        (Noise::DiscreteLaplace, fine, [2.25, 1.4661657142857143]),
        (Noise::DiscreteLaplace, coarse, [13.5, 3.157895037593985]),
        (Noise::Gaussian, None, [1.125, 0.9158238001018034]),
        (Noise::DiscreteGaussian, None, [1.125, 0.9158238001018034]),
        (Noise::DiscreteGaussian, fine, [1.8682690528383292, 1.0060689283296371]),
        (Noise::DiscreteGaussian, coarse, [35.51730484541327, 2.868536625674443]),
    ] {
        for ((scale, sensitivity), stated) in
            [(2.0, 3.0), (13.3, 18.000004)].into_iter().zip(stated)
        {
            let made = noise::release(noise, scale, granularity, sensitivity, &[0.0; 3]);
            let (_, guarantee) = made.unwrap();
            let is_laplace = matches!(noise, Noise::Laplace | Noise::DiscreteLaplace);
            let expected =
                if is_laplace { Guarantee::Epsilon(stated) } else { Guarantee::Rho(stated) };
            assert_eq!(guarantee, expected, "{noise:?} {granularity:?}");
        }
    }
}

/// Parts compose, a ledger counts, and a second release is refused without --again.
#[test]
fn parts_compose_and_the_ledger_counts() {
    let spec = r#"
[release]
neighbours = "add-remove"
[[release.parts]]
name = "count"
statistic = "sum"
query = { kind = "count" }
mechanism = { kind = "discrete-laplace", epsilon = 0.5 }
[[release.parts]]
name = "effect"
statistic = "sum"
query = { kind = "mean", clamp = [-4.0, 4.0] }
mechanism = { kind = "laplace", epsilon = 0.25 }
[data]
columns = ["effect"]
"#;
    let folder = Folder::new(spec, &table());
    let (code, said, errors) = folder.release(&[]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(said.contains("total: epsilon 0.75"), "{said}");
    let published = read(&folder.at("published.toml"));
    assert!(published.contains("n = \"unknown\""), "{published}");
    let (code, _, errors) = folder.release(&[]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("--again"), "{errors}");
    let (code, _, errors) = folder.release(&["--again"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("once before") && errors.contains("epsilon 1.5"), "{errors}");
    assert_eq!(read(&folder.at("data.csv.ledger.jsonl")).lines().count(), 2);
}

#[test]
fn what_must_not_be_released_is_refused() {
    let refused = |spec: &str, data: &str, part: &str| {
        let folder = Folder::new(spec, data);
        let (code, _, errors) = folder.release(&[]);
        assert_eq!(code, Some(2), "{part}: {errors}");
        assert!(errors.contains(part), "{part}: {errors}");
        assert!(
            !folder.at("published.toml").exists() && !folder.at("data.csv.ledger.jsonl").exists()
        );
    };
    let small = REGRESSION.replace("epsilon = 1.5", "epsilon = 1.5, sensitivity = 9.0");
    refused(&small, &table(), "9.375");
    let rounded =
        REGRESSION.replace("\"laplace\"", "\"rounded-laplace\"").replace("mean\"\nq", "sum\"\nq");
    refused(&rounded, &table(), "kind");
    refused(REGRESSION, &table().replace(",dose,", ",amount,"), "no column \"dose\"");
    refused(REGRESSION, &format!("{}301,,1.5,2.5\n", table()), "missing");
    let person = format!("{REGRESSION}person = \"id\"\n");
    refused(&person, &format!("{}7,40.5,1.5,2.5\n", table()), "contributions");
    let stated = REGRESSION.replace("[release]", "[release]\nn = 299");
    refused(&stated, &table(), "300");
    let public = REGRESSION
        .replace("[release]", "[release]\nn = 300\nneighbours = \"add-remove\"")
        .replace("\"mean\"", "\"sum\"");
    refused(&public, &table(), "confidential");
}

/// Two records of a person take twice the noise; clamped values are counted only when asked for.
#[test]
fn contributions_and_diagnostics() {
    let scale = |spec: &str| {
        let folder = Folder::new(spec, &table());
        let (code, said, errors) = folder.release(&["--unsafe-diagnostics"]);
        assert_eq!(code, Some(0), "{errors}");
        assert!(
            !said.contains("clamped") && errors.contains("values of age were clamped"),
            "{errors}"
        );
        let table: toml::Table = read(&folder.at("published.toml")).parse().unwrap();
        let said = read(&folder.at("published.toml"));
        (table["release"]["mechanism"]["scale"].as_float().unwrap(), said)
    };
    let (one, said) = scale(REGRESSION);
    assert!(said.contains("between neighbours (replace).") && !said.contains("contributions"));
    let (two, said) = scale(&format!("{REGRESSION}contributions = 2\n"));
    assert!((two / one - 2.0).abs() < 1e-3, "{one} {two}");
    // An analyst would take the guarantee for that of a record otherwise.
    assert!(said.contains("between neighbours (replace, up to 2 records of a person)"), "{said}");
    assert!(said.contains("contributions = 2") && soma::spec::is_release(&said), "{said}");
}

/// Labels of categories become counts.
#[test]
fn labels_are_counted() {
    let spec = "[release]\nstatistic = \"sum\"\n\
                query = { kind = \"categories\", labels = [\"no\", \"yes\", \"other\"] }\n\
                mechanism = { kind = \"discrete-gaussian\", rho = 50.0 }\n\
                [data]\ncolumns = [\"answer\"]\n";
    let mut data = String::from("answer\n");
    (0..100).for_each(|i| data += if i % 4 == 0 { "yes\n" } else { "no\n" });
    let folder = Folder::new(spec, &data);
    let (code, said, errors) = folder.release(&[]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(said.contains("rho 50"), "{said}");
    let values = Release::parse(&read(&folder.at("published.toml"))).unwrap().values();
    let near = values.iter().zip([75.0, 25.0, 0.0]).all(|(y, x)| (y - x).abs() <= 3.0);
    assert!(near, "{values:?}");
    let unknown = Folder::new(spec, &data.replace("yes\n", "maybe\n"));
    assert!(unknown.release(&[]).2.contains("yes"));
}

/// One calibration in which the noise is OpenDP's: ranks of the truth among the draws of a chain.
fn ranks(template: &Problem, replications: u64, seed: u64) -> Vec<u64> {
    let (model, release) = (template.model(), template.release());
    let settings =
        Settings { chains: 1, warmup: 150, draws: 15, thin: 10, seed, ..Settings::default() };
    let part = &release.parts()[0];
    let mechanism = part.mechanism().unwrap();
    let mut all = Vec::new();
    for replication in 0..replications {
        let mut rng = stream(seed, 2 * replication);
        let mut theta = vec![0.0; model.parameters().len()];
        model.sample_prior(&mut theta, &mut rng).unwrap();
        let mut records = vec![0.0; release.n() * model.record_dim()];
        model.propose(&theta, &mut records, &mut rng).unwrap();
        let k = release.query().dim();
        let mut statistics = vec![0.0; release.n() * k];
        release.query().statistics(&records, &mut statistics).unwrap();
        let unit = release.sum_units()[0];
        let sum = |c: usize| statistics.iter().skip(c).step_by(k).sum::<f64>() / unit;
        let answers: Vec<f64> = (0..k).map(sum).collect();
        let granularity = mechanism.publishing().granularity;
        let made =
            noise::release(mechanism.noise(), mechanism.scales()[0], granularity, 1.0, &answers);
        let problem =
            template.with_release(release.with_values(&made.unwrap().0).unwrap()).unwrap();
        let mut chain = Engine::new(&problem, &settings, 2 * replication + 1).unwrap();
        (0..settings.warmup).for_each(|_| chain.step().unwrap());
        let mut below = 0;
        for _ in 0..settings.draws {
            (0..settings.thin).for_each(|_| chain.step().unwrap());
            below += u64::from(chain.draw()[0] < theta[0]);
        }
        all.push(below);
    }
    all
}

/// Calibrated through the real mechanism, for each law: data, OpenDP's noise, fit. `SOMA_RELEASES` asks for
/// more releases of each.
#[test]
fn fits_are_calibrated_under_noise_from_opendp() {
    let rate = || Arc::new(Exponential::new(GammaPrior::new(3.0, 3.0).unwrap()));
    let shares = || Arc::new(Categorical::new(vec![1.0; 3]).unwrap());
    let mean = || Arc::new(Mean::new(vec![(0.0, 3.0)]).unwrap());
    let counts = || Arc::new(Categories::new(3).unwrap());
    let problem = |noise: Noise, scale: f64, width: Option<f64>, is_count: bool| {
        let query: Arc<dyn Query> = if is_count { counts() } else { mean() };
        let k = query.dim();
        let publishing = Publishing { granularity: width, ..Publishing::default() };
        let mechanism = Mechanism::new(noise, vec![scale; k]).unwrap();
        let mechanism = mechanism.published_by(publishing).unwrap();
        let release = Release::new(query, mechanism, Aggregate::Sum, 12, vec![4.0; k]).unwrap();
        match is_count {
            true => Problem::new(release, shares()).unwrap(),
            false => Problem::new(release, rate()).unwrap(),
        }
    };
    let laws = [
        ("laplace", problem(Noise::Laplace, 2.0, None, false)),
        ("gaussian", problem(Noise::Gaussian, 2.0, None, false)),
        ("discrete-laplace", problem(Noise::DiscreteLaplace, 1.5, None, true)),
        ("discrete-gaussian", problem(Noise::DiscreteGaussian, 1.5, None, true)),
        ("laplace on a lattice", problem(Noise::DiscreteLaplace, 2.0, Some(0.5), false)),
        ("gaussian on a lattice", problem(Noise::DiscreteGaussian, 2.0, Some(0.5), false)),
    ];
    let replications = std::env::var("SOMA_RELEASES").map_or(600, |count| count.parse().unwrap());
    for (name, problem) in laws {
        let found = Uniformity::of(&ranks(&problem, replications, 3), 15).p_value();
        println!("{name}: p-value {found:.3}");
        assert!(found > 1e-4, "{name}: {found}");
    }
}
