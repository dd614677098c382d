//! Models written as text whose posterior bends, or whose records jump, end with draws to be
//! trusted.
//!
//! `cargo test --release -p soma-mcmc-cli --test trusted -- --ignored` fits the five of
//! docs/mixing.md with default settings.

mod common;

use common::{example, soma};

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
