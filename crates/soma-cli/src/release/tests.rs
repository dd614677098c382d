//! What is refused before there is any noise, without OpenDP.

use std::path::Path;

use soma::spec::Limit;

use super::data::{Cell, Data};
use super::last::{Unpublished, count_and_publish};
use super::ledger::{self, Entry, Terms};
use super::prepare::{Preparation, Refused, prepare};
use super::publish::{Guarantee, Total};
use super::{out, spent};

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
    // They are the first record of a file without a header.
    assert!(!said.contains("hours_worked") && !said.contains("area"), "{said}");
    let one = data(["hours", "area"], [38.0, 39.0, 41.0], ["1", "3", "3"]);
    let said = refused(SPEC, &one);
    assert!(
        said.ends_with(
            "no column \"region\". Allowed: a file with columns hours, region; it has hours, area."
        ),
        "{said}"
    );
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
    assert!(spent::check_first(&before, true, "--again").is_ok());
    let said = spent::check_first(&before, false, "--again").unwrap_err();
    assert!(said.contains("once before, last to \"p.toml\"") && said.contains("epsilon 0.9"));
    assert!(spent::check_budget(&before, &entry, Some(Limit::Epsilon(1.8))).is_ok());
    let said = spent::check_budget(&before, &entry, Some(Limit::Epsilon(1.5))).unwrap_err();
    assert!(said.contains("epsilon 1.8: epsilon 0.9 so far, in 1 release"), "{said}");
    let gaussian = Entry { epsilon: 0.0, rho: 0.1, ..entry.clone() };
    assert!(spent::check_budget(&before, &gaussian, Some(Limit::Epsilon(9.0))).is_err());
    assert!(spent::check_budget(&before, &gaussian, Some(Limit::Rho(0.506))).is_ok());
    assert!(spent::check_budget(&before, &gaussian, Some(Limit::Rho(0.504))).is_err());
    // What is checked before is checked again under the lock: another release may have come between.
    assert!(ledger::spend(&at("a.csv"), &entry, terms).unwrap_err().contains("once before"));
    let again = Terms { again: true, budget: Some(Limit::Epsilon(1.5)), ..terms };
    assert!(ledger::spend(&at("b.csv"), &entry, again).unwrap_err().contains("epsilon 1.8"));
    assert!(!at("b.csv").exists());
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
        assert_eq!(spent::sum(before, Some(now)).epsilon, 2.0);
        assert!(spent::check_budget(before, now, Some(Limit::Epsilon(2.0))).is_ok());
        let said = spent::check_budget(before, now, Some(Limit::Epsilon(1.9))).unwrap_err();
        assert!(said.contains("would spend epsilon 2:"), "{said}");
        let most = if now.neighbours == "replace" { "0.9." } else { "0.45." };
        assert!(said.ends_with(&format!("spends at most epsilon {most}")), "{said}");
        let said = spent::warning(before, now).unwrap();
        assert!(said.ends_with("epsilon 2 where a record is replaced, one removed and one added"));
    }
    let alone = spent::sum(std::slice::from_ref(&added), Some(&added));
    assert_eq!(alone.epsilon, 1.0);
    let gaussian = spent::sum(&[entry("add-remove", 0.0, 0.1)], Some(&replaced));
    assert_eq!((gaussian.epsilon, gaussian.rho), (1.0, 0.4));
}

/// What cannot be read again is refused before it is paid for.
#[test]
fn a_release_that_cannot_be_read_is_not_published() {
    let noisy = |x: f64, guarantee: Guarantee| {
        vec![(vec![x], guarantee), (vec![1.0, 0.0, 3.0], Guarantee::Epsilon(1.0))]
    };
    let plain = answers(SPEC, &good());
    assert!(plain.publish(noisy(159.5, Guarantee::Epsilon(1.0))).is_ok());
    assert!(plain.publish(noisy(f64::NEG_INFINITY, Guarantee::Epsilon(1.0))).is_err());
    // Noise so small that it hides nothing.
    for nothing in [Guarantee::Epsilon(f64::INFINITY), Guarantee::Rho(f64::NAN)] {
        let said = plain.publish(noisy(159.0, nothing)).unwrap_err();
        assert!(said.contains("the noise hides nothing"), "{said}");
    }
    let labels = format!("{SPEC}[data]\nlabels = {{ region = [\"n\", \"s\", \"w\\nx\"] }}\n");
    let data = data(["hours", "region"], [38.0; 3], ["n", "s", "n"]);
    let said = answers(&labels, &data).publish(noisy(159.5, Guarantee::Epsilon(1.0))).unwrap_err();
    assert!(said.contains("control characters"), "{said}");
}

/// A ledger that was edited, or cut off in the middle of a line, is not taken for less than it was: a budget
/// below 0 would give budget back.
#[test]
fn a_ledger_with_a_line_that_is_no_entry_allows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let book = ledger::path(&folder.path().join("a.csv"));
    let total = Total { epsilon: 1.5, rho: 0.0 };
    let entry = Entry::now(Path::new("p.toml"), "replace", total, "digest");
    let good = serde_json::to_string(&entry).unwrap();
    let terms = Terms { again: true, option: "--again", budget: None };
    for (from, to, part) in [
        ("1.5", "-1.5", "epsilon is no budget (given: -1.5)"),
        ("1.5", "null", "invalid type"),
        ("1.5", "1e999", "number out of range"),
        ("\"rho\":0.0", "\"rho\":-2", "rho is no budget (given: -2)"),
        ("\"rho\":0.0,", "", "missing field `rho`"),
        ("replace", "Replace", "neighbours are none (given: \"Replace\")"),
        ("\"data\"", "\"contributions\":0,\"data\"", "contributions are none"),
        ("digest\"}", "dig", "cut off may be removed"),
    ] {
        let edited = format!("{good}\n{}", good.replacen(from, to, 1));
        assert!(!edited.ends_with(&good), "{from}");
        std::fs::write(&book, &edited).unwrap();
        for said in [
            ledger::before(&book, "digest").unwrap_err(),
            ledger::spend(&book, &entry, terms).unwrap_err(),
        ] {
            assert!(said.contains("a.csv.ledger.jsonl, line 2") && said.contains(part), "{said}");
            assert!(said.contains("Allowed: "), "{said}");
        }
        assert_eq!(std::fs::read_to_string(&book).unwrap(), edited);
    }
    // An editor may leave the last line without an end.
    std::fs::write(&book, &good).unwrap();
    assert_eq!(ledger::spend(&book, &entry, terms).unwrap().len(), 1);
    assert_eq!(std::fs::read_to_string(&book).unwrap(), format!("{good}\n{good}\n"));
}

/// Ledgers have no infinite numbers: the line of such a release could not be read again.
#[test]
fn what_is_no_guarantee_is_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    let book = ledger::path(&folder.path().join("a.csv"));
    let terms = Terms { again: false, option: "--again", budget: None };
    for x in [f64::INFINITY, f64::NAN, -1.0] {
        for total in [Total { epsilon: x, rho: 0.0 }, Total { epsilon: 1.0, rho: x }] {
            let entry = Entry::now(Path::new("p.toml"), "replace", total, "digest");
            let said = ledger::spend(&book, &entry, terms).unwrap_err();
            assert!(said.contains("is no budget"), "{said}");
            let out = folder.path().join("p.toml");
            let done = count_and_publish("", &entry, Some(&out), Some(&book), terms);
            assert!(matches!(done, Err(Unpublished::Refused(_))));
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A guarantee for one record is weaker for a person with three.
#[test]
fn budgets_for_records_and_for_persons_are_summed_for_persons() {
    let entry = |contributions: u64, epsilon: f64, rho: f64| {
        let total = Total { epsilon, rho };
        Entry { contributions, ..Entry::now(Path::new("p.toml"), "replace", total, "digest") }
    };
    let before = [entry(1, 1.0, 0.1), entry(2, 1.0, 0.1)];
    let total = spent::sum(&before, Some(&entry(3, 1.0, 0.1)));
    assert_eq!(total.epsilon, 6.0);
    assert!((total.rho - 1.4).abs() < 1e-12, "{total:?}");
    assert_eq!(spent::sum(&before[..1], Some(&before[0])).epsilon, 2.0);
    let one = std::slice::from_ref(&before[1]);
    let now = entry(1, 1.0, 0.0);
    let only = [entry(2, 1.0, 0.0)];
    let said = spent::check_budget(&only, &now, Some(Limit::Epsilon(2.0))).unwrap_err();
    assert!(said.contains("would spend epsilon 3:") && said.ends_with("at most epsilon 0.5."));
    assert!(spent::check_budget(&only, &now, Some(Limit::Epsilon(3.0))).is_ok());
    let said = spent::warning(one, &now).unwrap();
    assert!(said.ends_with("for a person with up to 2 records"), "{said}");
    let added = Entry { neighbours: "add-remove".into(), ..entry(1, 0.5, 0.0) };
    assert_eq!(spent::sum(&only, Some(&added)).epsilon, 3.0);
}

/// Of releases that are made at the same time, of one file and of another with the same content, each
/// knows of those before it.
#[test]
fn releases_at_the_same_time_are_counted() {
    for (again, most, allowed) in [(false, None, 1), (true, Some(Limit::Epsilon(2.5)), 5)] {
        let folder = tempfile::tempdir().unwrap();
        let terms = Terms { again, option: "--again", budget: most };
        let release = |i: usize| {
            let book = ledger::path(&folder.path().join(["b.csv", "a.csv", "c.csv"][i % 3]));
            let total = Total { epsilon: 0.5, rho: 0.0 };
            let entry = Entry::now(Path::new("p.toml"), "replace", total, "digest");
            ledger::spend(&book, &entry, terms).is_ok()
        };
        let release = &release;
        let done = std::thread::scope(|scope| {
            let all: Vec<_> = (0..12).map(|i| scope.spawn(move || release(i))).collect();
            all.into_iter().map(|one| usize::from(one.join().unwrap())).sum::<usize>()
        });
        assert_eq!(done, allowed);
        let book = ledger::path(&folder.path().join("a.csv"));
        assert_eq!(ledger::before(&book, "digest").unwrap().len(), allowed);
    }
}

/// The other name of a ledger is no other ledger: it would be counted twice, and waited for.
#[cfg(unix)]
#[test]
fn a_ledger_with_two_names_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| ledger::path(&folder.path().join(name));
    let total = Total { epsilon: 0.5, rho: 0.0 };
    let entry = Entry::now(Path::new("p.toml"), "replace", total, "digest");
    let terms = Terms { again: true, option: "--again", budget: None };
    ledger::spend(&at("b.csv"), &entry, terms).unwrap();
    std::os::unix::fs::symlink(at("b.csv"), at("a.csv")).unwrap();
    std::fs::hard_link(at("b.csv"), at("c.csv")).unwrap();
    for (name, count) in [("a.csv", 1), ("b.csv", 2), ("c.csv", 3)] {
        assert_eq!(ledger::before(&at(name), "digest").unwrap().len(), count, "{name}");
        assert_eq!(ledger::spend(&at(name), &entry, terms).unwrap().len(), count, "{name}");
    }
}

/// Whatever fails, nothing is published that was not counted, and nothing is left behind.
#[test]
fn nothing_is_published_without_being_counted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let files = || {
        let all = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> =
            all.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let total = Total { epsilon: 0.5, rho: 0.0 };
    let entry = Entry::now(Path::new("p.toml"), "replace", total, "digest");
    let terms = |again: bool| Terms { again, option: "--again", budget: None };
    let end = |out: &str, book: &str, again: bool| {
        count_and_publish("text", &entry, Some(&at(out)), Some(&at(book)), terms(again))
    };
    // A ledger that cannot be written.
    std::fs::create_dir(at("d.ledger.jsonl")).unwrap();
    let refused = end("p.toml", "d.ledger.jsonl", false);
    assert!(matches!(refused, Err(Unpublished::Refused(_))), "{refused:?}");
    // A file that cannot be written: before anything is spent.
    let unwritten = end("none/p.toml", "book.jsonl", false);
    assert!(matches!(unwritten, Err(Unpublished::Unwritten(_))), "{unwritten:?}");
    assert_eq!(files(), ["d.ledger.jsonl"]);
    std::fs::remove_dir(at("d.ledger.jsonl")).unwrap();
    // The ledger under another name that the check of names does not know.
    for again in [false, true] {
        let Err(Unpublished::Unwritten(said)) = end("book", "book", true) else { panic!() };
        assert!(said.contains("is no release") && said.contains("counts the release"), "{said}");
        let lines = std::fs::read_to_string(at("book")).unwrap().lines().count();
        assert_eq!(lines, 1 + usize::from(again));
    }
    // A file that was made since it was looked for.
    std::fs::write(at("p.toml"), "Dear all").unwrap();
    assert!(matches!(end("p.toml", "book", true), Err(Unpublished::Unwritten(_))));
    assert_eq!(std::fs::read_to_string(at("p.toml")).unwrap(), "Dear all");
    assert_eq!(files(), ["book", "p.toml"]);
    assert!(end("q.toml", "book", true).is_ok());
    assert_eq!(std::fs::read_to_string(at("q.toml")).unwrap(), "text");
    assert_eq!(files(), ["book", "p.toml", "q.toml"]);
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
