//! What the text of the parameters computes, in all that the program prints and stores.

mod common;

use std::path::{Path, PathBuf};

use common::{json, soma};

const SPEC: &str = r#"[release]
n = 60
statistic = "sum"
values = [33.1, 140.5]
statistics = ["treated", "clamp(y, 0, 12) * treated"]
mechanism = { kind = "laplace", epsilon = 4.0 }

[model]
parameters = """
share ~ beta(1, 1)
low ~ normal(6, 3)
rise ~ half_normal(2)
high = low + rise
is_large = high > -100
L[1..2, 1..2] ~ lkj_cholesky(2)
R = correlation(L)
"""
record = """
treated ~ bernoulli(share)
y ~ normal(if treated then high else low, 1 + abs(R[2, 1]))
"""

[derived]
twice = "2 * high"
"#;

fn stored(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn checked(text: &str) -> String {
    let (_folder, path) = stored(text);
    let output = soma().arg("check").arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const QUICK: [&str; 8] =
    ["--quiet", "--chains", "2", "--warmup", "40", "--draws", "30", "--seed=2"];

fn names(report: &serde_json::Value) -> Vec<&str> {
    let rows = report["parameters"].as_array().unwrap().iter();
    rows.map(|row| row["name"].as_str().unwrap()).collect()
}

const NAMES: [&str; 9] =
    ["share", "low", "rise", "L[2,1]", "L[2,2]", "high", "is_large", "R[2,1]", "twice"];

#[test]
fn a_check_lists_what_is_computed() {
    assert!(checked(SPEC).contains(&format!("draws of {}\n", NAMES.join(", "))));
    let long = SPEC.replace("high =", "b[1..60] ~ normal(0, 1)\nc = 2 * b\nhigh =");
    let said = checked(&long);
    assert!(said.contains("computed c has 60 numbers") && !said.contains("c[1]"), "{said}");
    let chosen = long.replace("record = ", "outputs = [\"high\", \"c\"]\nrecord = ");
    let said = checked(&chosen);
    assert!(said.contains("c[1], ") && !said.contains("is left out"), "{said}");
    assert!(!said.contains("is_large, ") && said.contains("twice\n"), "{said}");
}

/// The table, the JSON, a folder with its resume, its diagnosis and its report.
#[test]
fn a_fit_has_what_is_computed() {
    let (folder, path) = stored(SPEC);
    let report = json(soma().arg("fit").arg(&path).args(QUICK).arg("--json"));
    assert_eq!(names(&report), NAMES);
    let row = |name: &str| {
        let rows = report["parameters"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()
    };
    let mean = |name: &str| row(name)["mean"].as_f64().unwrap();
    assert!((mean("low") + mean("rise") - mean("high")).abs() < 1e-9);
    assert!((mean("L[2,1]") - mean("R[2,1]")).abs() < 1e-9);
    assert_eq!(row("twice")["ess_bulk"], row("high")["ess_bulk"]);
    let table = soma().arg("fit").arg(&path).args(QUICK).output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    // A comparison that is true in all draws has a probability above a bound.
    let line = table.lines().find(|line| line.contains("is_large")).unwrap();
    assert!(table.contains("R[2,1]") && line.contains("(probability)"), "{table}");
    let out = folder.path().join("run");
    soma().arg("fit").arg(&path).args(QUICK).arg("--out").arg(&out).assert().success();
    let whole = diagnosed(&out);
    assert_eq!(names(&whole), NAMES);
    assert_eq!(whole["parameters"], report["parameters"]);
    assert_eq!(whole["verdict"], report["verdict"]);
    let page = folder.path().join("page.html");
    soma().arg("report").arg(&out).arg("--out").arg(&page).assert().success();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Derived quantities") && page.contains("R[2,1]"));
}

fn diagnosed(run: &Path) -> serde_json::Value {
    json(soma().arg("diagnose").arg(run).arg("--json"))
}

#[test]
fn a_coupling_estimates_what_is_computed() {
    let text = "[release]\nn = 5\nstatistic = \"sum\"\nvalues = [3.2]\nstatistics = [\"yes\"]\n\
                mechanism = { kind = \"laplace\", epsilon = 1.0 }\n[model]\n\
                parameters = \"\"\"\np ~ beta(2, 2)\nodds = p / (1 - p)\n\"\"\"\n\
                record = \"yes ~ bernoulli(p)\"\n[derived]\ntwice = \"2 * odds\"\n";
    let (_folder, path) = stored(text);
    let options = ["--estimate", "--pairs", "6", "--quiet", "--json", "--k", "5", "--m", "20"];
    let means = |functions: &[&str]| {
        let mut command = soma();
        command.arg("couple").arg(&path).args(options);
        functions.iter().for_each(|text| {
            command.args(["--function", text]);
        });
        let found = json(&mut command)["estimates"].as_array().unwrap().clone();
        found.iter().map(|one| one["mean"].as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let found = means(&["p / (1 - p)", "odds", "twice / 2"]);
    assert!(found.iter().all(|mean| (mean - found[0]).abs() < 1e-9), "{found:?}");
    let all = means(&[]);
    // p, the two counts, odds and twice.
    assert_eq!((all.len(), all[3]), (5, found[1]));
}
