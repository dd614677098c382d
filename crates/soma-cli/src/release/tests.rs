//! What is refused before there is any noise, without OpenDP.

use std::path::Path;

use soma::spec::Limit;

use super::data::{Cell, Data};
use super::ledger::{self, Entry};
use super::out;
use super::prepare::{Preparation, Refused, prepare};
use super::publish::{Guarantee, Total};

const SPEC: &str = r#"
[release]
[[release.parts]]
name = "hours"
statistic = "sum"
statistics = ["clamp(hours, 0, 80)"]
mechanism = { kind = "laplace", epsilon = 1.0 }
[[release.parts]]
name = "regions"
statistic = "sum"
statistics = ["one_hot(region, 3)"]
mechanism = { kind = "discrete-laplace", epsilon = 1.0 }
[model]
parameters = "m ~ normal(40, 10)"
record = """
hours ~ normal(m, 10)
region ~ categorical([1, 1, 1])
mood ~ normal(0, 1)
"""
"#;

fn data(names: [&str; 2], hours: [f64; 3], regions: [&str; 3]) -> Data {
    let columns = vec![
        hours.into_iter().map(Cell::Number).collect(),
        regions.into_iter().map(Cell::of_text).collect(),
    ];
    Data::new(names.map(String::from).to_vec(), columns)
}

fn good() -> Data {
    data(["hours", "region"], [38.0, 90.0, 41.0], ["1", "3", "3"])
}

fn refused(spec: &str, data: &Data) -> String {
    match prepare(spec, data, false) {
        Err(Refused::Input(message)) => message,
        Err(Refused::Spec(error, _)) => error.to_string(),
        Ok(_) => panic!("not refused"),
    }
}

fn answers(spec: &str, data: &Data) -> Preparation {
    prepare(spec, data, true).unwrap_or_else(|refused| panic!("{refused:?}"))
}

#[test]
fn columns_are_found_by_name_and_all_missing_ones_are_named() {
    let made = answers(SPEC, &good());
    assert_eq!(made.parts[0].answers, [159.0]);
    assert_eq!(made.parts[1].answers, [1.0, 0.0, 2.0]);
    assert_eq!(made.clamped, [("hours".to_string(), 1)]);
    let said = "hours <- column \"hours\", region <- column \"region\", mood <- none, since no \
                statistic uses it";
    assert_eq!(made.record(), said);
    let renamed = data(["hours_worked", "area"], [38.0, 39.0, 41.0], ["1", "3", "3"]);
    let said = refused(SPEC, &renamed);
    assert!(said.contains("no column \"hours\" and no column \"region\". Allowed"), "{said}");
    // A name in [data] is of a column that is there, whether a statistic uses it or not.
    let named = format!("{SPEC}[data]\ncolumns = [\"hours\", \"region\", \"temper\"]\n");
    assert!(refused(&named, &good()).contains("no column \"temper\""));
    let swapped = format!("{SPEC}[data]\ncolumns = [\"region\", \"hours\", \"x\"]\n");
    let said = refused(&swapped, &good());
    assert!(said.contains("column \"region\" stands for the variable \"hours\""), "{said}");
}

#[test]
fn values_are_those_of_the_variable_or_its_labels() {
    for regions in [["1", "0", "2"], ["1", "4", "2"], ["1", "1.5", "2"], ["1", "west", "2"]] {
        let said = refused(SPEC, &data(["hours", "region"], [38.0; 3], regions));
        assert!(said.contains("\"region\": a value is none of these. Allowed: 1, 2, 3."), "{said}");
    }
    let labels = format!("{SPEC}[data]\nlabels = {{ region = [\"n\", \"true\", \"w\"] }}\n");
    let made = answers(&labels, &data(["hours", "region"], [38.0; 3], ["w", "true", "w"]));
    assert_eq!(made.parts[1].answers, [0.0, 1.0, 2.0]);
    let said = refused(&labels, &data(["hours", "region"], [38.0; 3], ["w", "x", "w"]));
    assert!(said.contains("Allowed: n, true, w."), "{said}");
    let positive = SPEC.replace("normal(m, 10)", "log_normal(m, 10)");
    let said = refused(&positive, &data(["hours", "region"], [38.0, 0.0, 1.0], ["1"; 3]));
    assert!(
        said.contains("\"hours\": a value is none of these. Allowed: numbers above 0."),
        "{said}"
    );
    let missing = data(["hours", "region"], [38.0; 3], ["1", "", "2"]);
    assert!(refused(SPEC, &missing).contains("the exact number of the others"));
}

#[test]
fn a_ledger_counts_by_name_and_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| ledger::path(&folder.path().join(name));
    let total = Total { epsilon: 0.9, rho: 0.0 };
    let entry = Entry::now(Path::new("p.toml"), "replace", total, "digest");
    ledger::add(&at("a.csv"), &entry).unwrap();
    for (name, digest, count) in [("a.csv", "other", 1), ("b.csv", "digest", 1), ("b.csv", "x", 0)]
    {
        assert_eq!(ledger::before(&at(name), digest).unwrap().len(), count, "{name} {digest}");
    }
    let before = ledger::before(&at("a.csv"), "digest").unwrap();
    assert!(ledger::check_first(&before, true, "--again").is_ok());
    let said = ledger::check_first(&before, false, "--again").unwrap_err();
    assert!(said.contains("once before, last to \"p.toml\"") && said.contains("epsilon 0.9"));
    assert!(ledger::check_budget(&before, total, Some(Limit::Epsilon(1.8))).is_ok());
    let said = ledger::check_budget(&before, total, Some(Limit::Epsilon(1.5))).unwrap_err();
    assert!(said.contains("epsilon 1.8: epsilon 0.9 so far, in 1 release"), "{said}");
    let gaussian = Total { epsilon: 0.0, rho: 0.1 };
    assert!(ledger::check_budget(&before, gaussian, Some(Limit::Epsilon(9.0))).is_err());
    assert!(ledger::check_budget(&before, gaussian, Some(Limit::Rho(0.506))).is_ok());
    assert!(ledger::check_budget(&before, gaussian, Some(Limit::Rho(0.504))).is_err());
    // What was only looked at spends nothing.
    let look = Entry { epsilon: 0.0, unsafe_diagnostics: true, ..entry };
    ledger::add(&at("c.csv"), &look).unwrap();
    assert!(ledger::before(&at("c.csv"), "x").unwrap().is_empty());
}

#[test]
fn only_a_release_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let noisy = vec![
        (vec![159.5], Guarantee::Epsilon(1.0)),
        (vec![1.0, 0.0, 3.0], Guarantee::Epsilon(1.0)),
    ];
    let (text, total) = answers(SPEC, &good()).publish(noisy).unwrap();
    assert_eq!(total.epsilon, 2.0);
    assert!(text.contains("#   mood ~ normal(0, 1)\n"), "{text}");
    std::fs::write(at("p.toml"), &text).unwrap();
    std::fs::write(at("letter.txt"), "Dear all").unwrap();
    assert!(out::check(&at("new.toml"), &[], false, "--again").is_ok());
    assert!(out::check(&at("p.toml"), &[], true, "--again").is_ok());
    assert!(out::check(&at("p.toml"), &[], false, "--again").unwrap_err().contains("--again"));
    assert!(
        out::check(&at("p.toml"), &[&at("p.toml")], true, "").unwrap_err().contains("made from")
    );
    assert!(out::check(&at("letter.txt"), &[], true, "").unwrap_err().contains("is no release"));
    assert!(out::check(&at("none/p.toml"), &[], true, "").unwrap_err().contains("no folder"));
}
