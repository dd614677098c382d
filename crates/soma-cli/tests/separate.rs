//! A release in a file of its own.

mod common;

use common::soma;

const RELEASE: &str = r#"
[release]
n = 20
statistic = "mean"
values = [0.4]
query = { kind = "mean", clamp = [0.0, 1.0] }
mechanism = { kind = "laplace", epsilon = 1.0 }
"#;

const SPEC: &str = r#"
release = "published.toml"

[model]
kind = "beta"
prior = { kind = "gamma", shape = 2.0, rate = 1.0 }

[derived]
mean = "a / (a + b)"
"#;

#[test]
fn a_spec_names_the_file_of_its_release() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("published.toml"), RELEASE).unwrap();
    let spec = folder.path().join("spec.toml");
    std::fs::write(&spec, SPEC).unwrap();
    let output = soma().arg("check").arg(&spec).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).to_string();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("n = 20") && said.contains("a, b, mean"), "{said}");
    // What is missing is named.
    std::fs::write(&spec, SPEC.replace("published", "other")).unwrap();
    let output = soma().arg("check").arg(&spec).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(!output.status.success() && said.contains("other.toml"), "{said}");
    // A spec is no release.
    std::fs::write(folder.path().join("other.toml"), format!("{RELEASE}\n[model]\n")).unwrap();
    let output = soma().arg("check").arg(&spec).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(!output.status.success() && said.contains("release alone"), "{said}");
}
