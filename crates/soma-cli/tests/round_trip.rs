//! Data, `soma release`, `soma fit`, for every shipped example: `scripts/test-curator.sh` runs this.
#![cfg(feature = "curator")]

mod common;

use std::fmt::Write;

use common::{examples, soma};
use soma::release::query::Cells;
use soma::rng::stream;
use soma::spec::Spec;
use toml::{Table, Value};

/// Records where their number is not public.
const UNKNOWN: usize = 40;

/// The spec of an example with the columns of a record, and a table of records of its model.
fn drafted(text: &str) -> (String, String) {
    let problem = Spec::parse(text).unwrap().problem;
    let model = problem.record_model();
    let n = problem.release().total().known().map_or(UNKNOWN, |n| n as usize);
    let mut rng = stream(7, 0);
    let mut theta = vec![0.0; model.parameters().len()];
    match problem.fixed() {
        Some(fixed) => theta.copy_from_slice(fixed),
        None => model.sample_prior(&mut theta, &mut rng).unwrap(),
    }
    let d = model.record_dim();
    let mut records = vec![0.0; n * d];
    model.propose(&theta, &mut records, &mut rng).unwrap();
    model.show(&mut records);
    let mut spec: Table = text.parse().unwrap();
    let names = (0..d).map(|c| format!("c{c}")).collect();
    let mut columns: Vec<String> = model.record_names().unwrap_or(names);
    // The labels of a query of categories are what stands in the data.
    let labels = problem.release().record_query().cells();
    let labels = labels.filter(Cells::is_of_levels).map(|cells| cells.axes);
    if let Some(axes) = &labels {
        columns = (0..axes.len()).map(|c| format!("c{c}")).collect();
    }
    if let Some(data) = spec.get("data") {
        let own = data["columns"].as_array().unwrap().iter();
        columns = own.map(|name| name.as_str().unwrap().to_string()).collect();
    } else {
        let names = columns.iter().map(|name| Value::String(name.clone())).collect();
        let data = Table::from_iter([("columns".to_string(), Value::Array(names))]);
        spec.insert("data".into(), Value::Table(data));
    }
    let mut csv = columns.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(",");
    for record in records.chunks_exact(d) {
        let cells: Vec<String> = match &labels {
            None => record.iter().map(|x| x.to_string()).collect(),
            Some(axes) => {
                let mut cell = record[0] as usize;
                let mut own = Vec::new();
                for axis in axes.iter().rev() {
                    own.push(axis.labels[cell % axis.labels.len()].clone());
                    cell /= axis.labels.len();
                }
                own.reverse();
                own
            }
        };
        let _ = write!(csv, "\n{}", cells.join(","));
    }
    (toml::to_string(&spec).unwrap(), csv + "\n")
}

/// The spec that an analyst writes to the published file: the model of the example and a short run.
fn analysis(text: &str) -> String {
    let mut spec: Table = text.parse().unwrap();
    ["data", "plan"].iter().for_each(|key| drop(spec.remove(*key)));
    spec.insert("release".into(), Value::String("published.toml".into()));
    let run = [("chains", 1), ("warmup", 20), ("draws", 20), ("seed", 1)];
    let run = run.map(|(key, value)| (key.to_string(), Value::Integer(value)));
    spec.insert("sampler".into(), Value::Table(Table::from_iter(run)));
    toml::to_string(&spec).unwrap()
}

/// Why an example is not released, or what is wrong with its fit.
fn round_trip(text: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (spec, data) = drafted(text);
    std::fs::write(at("spec.toml"), spec).unwrap();
    std::fs::write(at("data.csv"), data).unwrap();
    std::fs::write(at("fit.toml"), analysis(text)).unwrap();
    let mut release = soma();
    release.arg("release").arg(at("spec.toml")).arg("--data").arg(at("data.csv"));
    let release = release.arg("--out").arg(at("published.toml")).output().unwrap();
    if !release.status.success() {
        return Err(String::from_utf8(release.stderr).unwrap());
    }
    let fit = soma().arg("fit").arg(at("fit.toml")).args(["--quiet", "--json"]).output().unwrap();
    assert!(fit.status.success(), "{}", String::from_utf8_lossy(&fit.stderr));
    let report: serde_json::Value = serde_json::from_slice(&fit.stdout).unwrap();
    let parameters = report["parameters"].as_array().unwrap();
    assert!(!parameters.is_empty() && parameters.iter().all(|q| q["mean"].is_f64()), "{report}");
    Ok(())
}

/// The published file of each example is fitted as it is. What OpenDP has no noise for is refused.
#[test]
fn each_example_is_released_and_fitted_as_it_is_published() {
    let mut refused = Vec::new();
    for (name, text) in examples() {
        match round_trip(&text) {
            Ok(()) => println!("{name}: released and fitted"),
            Err(said) => {
                println!("{name}: {said}");
                assert!(said.contains("Allowed: "), "{name}: {said}");
                refused.push(name);
            }
        }
    }
    refused.sort();
    let expected =
        ["mean-and-variance", "median", "randomised-response", "ratio-mean", "synthetic-records"];
    assert_eq!(refused, expected);
}
