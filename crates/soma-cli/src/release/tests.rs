//! What is refused before there is any noise, without OpenDP.

use std::path::Path;

use soma::spec::Limit;

use super::data::{Cell, Data};
use super::ledger::{self, Entry, Terms};
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
    Data::new(names.map(String::from).to_vec(), columns).unwrap()
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

/// Answers are rounded to the lattice of the noise, which takes more of it: without that an epsilon of 1
/// would be spent 1.1 times here, and as many times as one likes on a coarser lattice.
#[test]
fn the_lattice_of_the_noise_is_paid_for() {
    let coarse = SPEC.replacen(
        "\"laplace\", epsilon = 1.0",
        "\"discrete-laplace\", epsilon = 1.0, granularity = 8.0",
        1,
    );
    let scale = |spec: &str| answers(spec, &good()).parts[0].scale;
    assert!((scale(SPEC) - 80.0).abs() < 1e-3, "{}", scale(SPEC));
    assert!((scale(&coarse) - 88.0).abs() < 1e-3, "{}", scale(&coarse));
    let gaussian =
        coarse.replacen("discrete-laplace\", epsilon = 1.0", "discrete-gaussian\", rho = 0.5", 1);
    assert!((scale(&gaussian) - 88.0).abs() < 1e-3, "{}", scale(&gaussian));
}

/// Whole numbers are summed as they are. A sum beyond 2^63 was published as 2^63 - 1, with the guarantee of
/// a sum that neighbours move by no more than the bound.
#[test]
fn sums_that_cannot_be_exact_are_refused() {
    let spec = SPEC.replace("one_hot(region, 3)", "clamp(region, 0, 3) * 1e15");
    let spec = spec.replace("categorical([1, 1, 1])", "poisson(2)");
    let data = |rows: usize| {
        let columns = vec![vec![Cell::Number(38.0); rows], vec![Cell::Number(3.0); rows]];
        Data::new(["hours", "region"].map(String::from).to_vec(), columns).unwrap()
    };
    assert_eq!(answers(&spec, &data(3)).parts[1].answers, [9e15]);
    let said = refused(&spec, &data(4));
    assert!(said.contains("too large to be exact"), "{said}");
    assert!(refused(&spec, &data(0)).contains("no rows"));
}

#[test]
fn a_record_belongs_to_somebody() {
    let persons = ["7", "", "8"].map(Cell::of_text).to_vec();
    let columns = vec![vec![Cell::Number(38.0); 3], vec![Cell::Number(1.0); 3], persons];
    let names = ["hours", "region", "id"].map(String::from).to_vec();
    let data = Data::new(names, columns).unwrap();
    let said = refused(&format!("{SPEC}[data]\nperson = \"id\"\n"), &data);
    assert!(said.contains("values of \"id\" are missing"), "{said}");
}

#[test]
fn a_ledger_counts_by_name_and_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| ledger::path(&folder.path().join(name));
    let total = Total { epsilon: 0.9, rho: 0.0 };
    let entry = Entry::now(Path::new("p.toml"), "replace", total, "digest");
    let terms = Terms { again: false, option: "--again", budget: None };
    ledger::spend(&at("a.csv"), &entry, terms).unwrap();
    for (name, digest, count) in [("a.csv", "other", 1), ("b.csv", "digest", 1), ("b.csv", "x", 0)]
    {
        assert_eq!(ledger::before(&at(name), digest).unwrap().len(), count, "{name} {digest}");
    }
    let before = ledger::before(&at("a.csv"), "digest").unwrap();
    assert!(ledger::check_first(&before, true, "--again").is_ok());
    let said = ledger::check_first(&before, false, "--again").unwrap_err();
    assert!(said.contains("once before, last to \"p.toml\"") && said.contains("epsilon 0.9"));
    assert!(ledger::check_budget(&before, &entry, Some(Limit::Epsilon(1.8))).is_ok());
    let said = ledger::check_budget(&before, &entry, Some(Limit::Epsilon(1.5))).unwrap_err();
    assert!(said.contains("epsilon 1.8: epsilon 0.9 so far, in 1 release"), "{said}");
    let gaussian = Entry { epsilon: 0.0, rho: 0.1, ..entry.clone() };
    assert!(ledger::check_budget(&before, &gaussian, Some(Limit::Epsilon(9.0))).is_err());
    assert!(ledger::check_budget(&before, &gaussian, Some(Limit::Rho(0.506))).is_ok());
    assert!(ledger::check_budget(&before, &gaussian, Some(Limit::Rho(0.504))).is_err());
    // What is checked before is checked again under the lock: another release may have come between.
    assert!(ledger::spend(&at("a.csv"), &entry, terms).unwrap_err().contains("once before"));
    let again = Terms { again: true, budget: Some(Limit::Epsilon(1.5)), ..terms };
    assert!(ledger::spend(&at("b.csv"), &entry, again).unwrap_err().contains("epsilon 1.8"));
    assert_eq!(ledger::before(&at("a.csv"), "digest").unwrap().len(), 1);
    // What was only looked at spends nothing.
    let look = Entry { epsilon: 0.0, unsafe_diagnostics: true, ..entry };
    ledger::note(&at("c.csv"), &look).unwrap();
    assert!(ledger::before(&at("c.csv"), "x").unwrap().is_empty());
}

/// A record replaced is one removed and one added: budgets of the two kinds of neighbours are summed
/// in terms of the first, whichever came first.
#[test]
fn budgets_of_unlike_neighbours_are_not_added_up_as_they_are() {
    let entry = |neighbours: &str, epsilon: f64, rho: f64| {
        Entry::now(Path::new("p.toml"), neighbours, Total { epsilon, rho }, "digest")
    };
    let (replaced, added) = (entry("replace", 1.0, 0.0), entry("add-remove", 0.5, 0.0));
    for (before, now) in [(&replaced, &added), (&added, &replaced)] {
        let before = std::slice::from_ref(before);
        assert_eq!(ledger::sum(before, Some(now)).epsilon, 2.0);
        assert!(ledger::check_budget(before, now, Some(Limit::Epsilon(2.0))).is_ok());
        let said = ledger::check_budget(before, now, Some(Limit::Epsilon(1.9))).unwrap_err();
        assert!(said.contains("would spend epsilon 2:"), "{said}");
        let most = if now.neighbours == "replace" { "0.9." } else { "0.45." };
        assert!(said.ends_with(&format!("spends at most epsilon {most}")), "{said}");
        let said = ledger::warning(before, now).unwrap();
        assert!(said.ends_with("epsilon 2 where a record is replaced, one removed and one added"));
    }
    let alone = ledger::sum(std::slice::from_ref(&added), Some(&added));
    assert_eq!(alone.epsilon, 1.0);
    let gaussian = ledger::sum(&[entry("add-remove", 0.0, 0.1)], Some(&replaced));
    assert_eq!((gaussian.epsilon, gaussian.rho), (1.0, 0.4));
}

/// A link elsewhere leads to the ledger of the data.
#[cfg(unix)]
#[test]
fn a_link_has_the_ledger_of_what_it_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
    std::fs::create_dir(at("other")).unwrap();
    std::fs::write(at("a.csv"), "x\n1\n").unwrap();
    std::os::unix::fs::symlink(at("a.csv"), at("other/b.csv")).unwrap();
    assert_eq!(ledger::path(&at("other/b.csv")), at("a.csv.ledger.jsonl"));
    assert_eq!(ledger::path(&at("other/c.csv")), at("other/c.csv.ledger.jsonl"));
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
    // Not there yet: the release itself would make it.
    let said = out::check(&at("d.csv.ledger.jsonl"), &[], true, "").unwrap_err();
    assert!(said.contains("is the name of a ledger"), "{said}");
}
