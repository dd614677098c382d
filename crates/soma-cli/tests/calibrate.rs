//! `soma calibrate`: correct models pass, and errors are detected.

mod common;

use common::{json, soma};

const SPEC: &str = r#"
[release]
n = 400
statistic = "sum"
values = [120]
statistics = ["yes"]
mechanism = { kind = "laplace", scale = 1.5 }

[model]
parameters = "p ~ beta(2, 2)"
record = "yes ~ bernoulli(p)"
"#;

fn spec(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn a_right_model_has_uniform_ranks() {
    let (_folder, path) = spec(SPEC);
    let args = ["--n", "6", "--replications", "60", "--warmup", "60", "--thin", "5"];
    let report = json(soma().arg("calibrate").arg(&path).args(args).arg("--json"));
    assert_eq!(report["n"], 6);
    assert_eq!(report["replications"], 60);
    assert_eq!(report["is_uniform"], true, "{report}");
    let names: Vec<&str> = report["quantities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|q| q["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["p", "count[yes=0]", "count[yes=1]", "log_density"]);
    let counts = report["quantities"][0]["counts"].as_array().unwrap();
    assert_eq!(counts.iter().map(|c| c.as_u64().unwrap()).sum::<u64>(), 60);
    // The same ranks again, as a table.
    let output = soma().arg("calibrate").arg(&path).args(args).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("nothing wrong was found") && text.contains("60 replications"), "{text}");
}

/// Chains that have not converged do not sample the posterior, and fail the test.
#[test]
fn ranks_that_are_not_uniform_end_with_exit_code_1() {
    let (_folder, path) = spec(SPEC);
    let args =
        ["--n", "60", "--replications", "300", "--warmup", "0", "--draws", "15", "--thin", "1"];
    let args = [&args[..], &["--moves", "centred"]].concat();
    let output = soma().arg("calibrate").arg(&path).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--thin 2"));
}

#[test]
fn wrong_options_are_refused() {
    let (_folder, path) = spec(SPEC);
    soma().arg("calibrate").arg(&path).args(["--replications", "0"]).assert().code(2);
    soma().arg("calibrate").arg("none.toml").assert().code(2);
}
