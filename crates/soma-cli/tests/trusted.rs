//! Models written as text whose posterior bends, or whose records jump, end with draws to be
//! trusted.
//!
//! `cargo test --release -p soma-mcmc-cli --test trusted -- --ignored` fits the five of
//! docs/mixing.md with default settings.

mod common;

use common::{example, json, soma};

/// The shipped spec of this name without its settings of the sampler, and with other values.
fn spec(name: &str, changes: &[(&str, &str)]) -> (tempfile::TempDir, std::path::PathBuf) {
    let text = std::fs::read_to_string(example(name)).unwrap();
    let mut text = text.split("[sampler]").next().unwrap().to_string();
    for (old, new) in changes {
        assert!(text.contains(old), "{name}: {old}");
        text = text.replacen(old, new, 1);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// A hundred voters. Without bridges the chains disagree.
#[test]
fn chains_of_few_voters_agree() {
    let changes = [
        ("n = 2000", "n = 100"),
        ("[1200, 96000, 60000]", "[60, 4800, 3000]"),
        ("epsilon = 1.0", "epsilon = 10.0"),
    ];
    let (_folder, path) = spec("voters-three-sums", &changes);
    let options = ["--json", "--quiet", "--chains", "2", "--warmup", "200", "--draws", "1200"];
    let largest = |moves: &str| {
        let report = json(soma().arg("fit").arg(&path).args(options).args(["--moves", moves]));
        let parameters = report["parameters"].as_array().unwrap().iter();
        parameters.map(|parameter| parameter["rhat"].as_f64().unwrap()).fold(1.0, f64::max)
    };
    let (with, without) = (largest("auto"), largest("interwoven"));
    assert!(with < 1.1 && without > 1.2, "{with} and {without}");
}

#[test]
#[ignore = "takes minutes"]
fn default_settings_are_enough() {
    for (name, changes) in [
        ("voters-three-sums", [].as_slice()),
        ("voters-three-sums", &[("epsilon = 1.0", "epsilon = 10.0")]),
        ("multivariate-normal", &[("epsilon = 4.0", "epsilon = 1.0")]),
        ("log-normal-mean", &[]),
        ("poisson-regression", &[]),
    ] {
        let (_folder, path) = spec(name, changes);
        soma().arg("fit").arg(&path).args(["--quiet", "--strict"]).assert().success();
    }
}
