//! What `soma release` refuses and says, with a survey of several columns and parts:
//! `scripts/test-curator.sh` runs these.
#![cfg(feature = "curator")]

mod common;

use std::path::{Path, PathBuf};

use common::soma;

const SPEC: &str = r#"
[release]
neighbours = "replace"

[[release.parts]]
name = "hours"
statistic = "sum"
statistics = ["clamp(hours_worked, 0, 80)"]
mechanism = { kind = "laplace", epsilon = 0.3 }

[[release.parts]]
name = "regions"
statistic = "sum"
statistics = ["one_hot(region, 3)"]
mechanism = { kind = "discrete-laplace", epsilon = 0.3 }

[[release.parts]]
name = "members"
statistic = "sum"
statistics = ["member"]
mechanism = { kind = "discrete-laplace", epsilon = 0.3 }

[model]
parameters = """
m ~ normal(40, 10)
s ~ half_normal(10)
w[1..3] ~ dirichlet([1, 1, 1])
q ~ beta(1, 1)
"""
record = """
hours_worked ~ normal(m, s)   # in a week
region ~ categorical(w)
member ~ bernoulli(q)
"""
"#;

/// 150 people.
fn survey() -> String {
    let mut rows = String::from("id,age,region,hours_worked,member\n");
    for i in 0..150 {
        let hours = 30.25 + 10.0 * f64::from(i % 17) / 17.0;
        rows += &format!("{i},{},{},{hours},{}\n", 20 + i % 50, 1 + i % 3, i % 2);
    }
    rows
}

struct Folder(tempfile::TempDir);

type Said = (Option<i32>, String, String);

impl Folder {
    fn new(spec: &str, data: &str) -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        std::fs::write(folder.at("spec.toml"), spec).unwrap();
        std::fs::write(folder.at("data.csv"), data).unwrap();
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn release(&self, data: &str, out: &str, options: &[&str]) -> Said {
        let mut command = soma();
        command.arg("release").arg(self.at("spec.toml"));
        command.arg("--data").arg(self.at(data)).arg("--out").arg(self.at(out));
        said(command.args(options))
    }

    /// Refused with `part` in the message; nothing is written and nothing spent.
    fn refuses(&self, out: &str, options: &[&str], part: &str) -> String {
        let before = (self.read("data.csv"), self.read("spec.toml"), self.ledger());
        let (code, _, errors) = self.release("data.csv", out, options);
        assert_eq!(code, Some(2), "{part}: {errors}");
        assert!(errors.contains(part), "{part}: {errors}");
        assert_eq!(before, (self.read("data.csv"), self.read("spec.toml"), self.ledger()));
        errors
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap()
    }

    fn ledger(&self) -> String {
        std::fs::read_to_string(self.at("data.csv.ledger.jsonl")).unwrap_or_default()
    }
}

fn said(command: &mut assert_cmd::Command) -> Said {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn check(path: &Path) -> Said {
    said(soma().arg("check").arg(path))
}

#[test]
fn every_column_that_is_missing_is_named() {
    let renamed = survey().replace("hours_worked", "hours");
    let folder = Folder::new(SPEC, &renamed);
    folder.refuses("p.toml", &[], "the data have no column \"hours_worked\"");
    let both = Folder::new(SPEC, &renamed.replace(",region,", ",area,"));
    let errors = both.refuses("p.toml", &[], "no column \"hours_worked\"");
    assert!(errors.contains("no column \"region\"") && !errors.contains("\"member\""), "{errors}");
    let named = format!("{SPEC}\n[data]\ncolumns = [\"hours_wrked\", \"region\", \"member\"]\n");
    Folder::new(&named, &survey()).refuses("p.toml", &[], "no column \"hours_wrked\"");
    let twice = survey().replace("id,age,region", "id,region,region");
    Folder::new(SPEC, &twice).refuses("p.toml", &[], "several columns \"region\"");
}

/// A variable that no statistic depends on may be absent; the summary says so.
#[test]
fn a_variable_that_was_never_observed_needs_no_column() {
    let latent = SPEC.replace("member ~", "mood ~ normal(0, 1)\nmember ~");
    let (code, said, errors) = Folder::new(&latent, &survey()).release("data.csv", "p.toml", &[]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(said.contains("mood <- none, since no statistic uses it"), "{said}");
    assert!(said.contains("hours_worked <- column \"hours_worked\""), "{said}");
}

#[test]
fn values_that_a_variable_cannot_have_are_refused_and_not_shown() {
    let wrong = |spec: &str, data: &str, part: &str| {
        let errors = Folder::new(spec, data).refuses("p.toml", &[], part);
        assert!(!errors.contains("77"), "{errors}");
    };
    let region = "column \"region\": a value is none of these. Allowed: 1, 2, 3";
    wrong(SPEC, &format!("{}150,30,0,40,1\n", survey()), region);
    wrong(SPEC, &format!("{}150,30,77,40,1\n", survey()), region);
    wrong(SPEC, &format!("{}150,30,1.5,40,1\n", survey()), region);
    wrong(SPEC, &format!("{}150,30,north,40,1\n", survey()), region);
    let member = "column \"member\": a value is none of these. Allowed: 0, 1";
    wrong(SPEC, &format!("{}150,30,1,40,77\n", survey()), member);
    let positive = SPEC.replace("~ normal(m, s)", "~ log_normal(1, s)");
    wrong(&positive, &format!("{}150,30,1,0,1\n", survey()), "Allowed: numbers above 0");
    let count = SPEC.replace("~ normal(m, s)", "~ poisson(s)");
    wrong(&count, &survey(), "Allowed: whole numbers from 0");
    let folder = Folder::new(SPEC, &format!("{}150,30,77,40,1\n", survey()));
    let (code, _, errors) = folder.release("data.csv", "p.toml", &["--unsafe-diagnostics"]);
    assert!(code == Some(2) && errors.contains("given: 77, and 1 in all"), "{errors}");
    assert!(folder.ledger().contains("unsafe_diagnostics"), "{}", folder.ledger());
    // What was noted of it spends nothing.
    std::fs::write(folder.at("data.csv"), survey()).unwrap();
    assert_eq!(folder.release("data.csv", "p.toml", &[]).0, Some(0));
}

/// Shares of a record sum to one, and statistics of them are named when they cannot be.
#[test]
fn shares_sum_to_one() {
    let spec = r#"
[release]
statistic = "mean"
statistics = ["share[1]", "share[2]"]
mechanism = { kind = "laplace", epsilon = 1.0 }
[model]
parameters = "a ~ gamma(2, 1)"
record = "share[1..3] ~ dirichlet([a, a, a])"
"#;
    let rows = "share[1],share[2],share[3]\n0.2,0.3,0.5\n0.1,0.1,0.8\n";
    assert_eq!(Folder::new(spec, rows).release("data.csv", "p.toml", &[]).0, Some(0));
    let wrong = Folder::new(spec, &format!("{rows}0.2,0.3,0.6\n"));
    wrong.refuses("p.toml", &[], "between 0 and 1 that sum to 1");
}

#[test]
fn labels_become_codes() {
    let data = survey().replace(",1,3", ",north,3").replace(",2,3", ",south,3");
    let data = data.replace(",3,3", ",\"east\",3");
    let labels = "\n[data]\nlabels = { region = [\"north\", \"south\", \"east\"] }\n";
    let spec = format!("{SPEC}{labels}").replace("0.3 }", "90.0 }");
    let folder = Folder::new(&spec, &data);
    let (code, _, errors) = folder.release("data.csv", "p.toml", &[]);
    assert_eq!(code, Some(0), "{errors}");
    let published = folder.read("p.toml");
    assert!(published.contains("region, in the order of its codes: north, south"), "{published}");
    let table: toml::Table = published.parse().unwrap();
    let values: Vec<i64> = table["release"]["parts"][1]["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value.as_integer().unwrap())
        .collect();
    assert!(values.iter().all(|value| (value - 50).abs() <= 2), "{values:?}");
    let few = spec.replace(", \"east\"", "");
    Folder::new(&few, &data).refuses("p.toml", &[], "3 labels");
    // A word for true is its label, and not a code.
    let flags = format!("{SPEC}\n[data]\nlabels = {{ member = [\"true\", \"false\"] }}\n");
    let data = survey().replace(",0\n", ",true\n").replace(",1\n", ",true\n");
    let folder = Folder::new(&flags.replace("0.3 }", "90.0 }"), &data);
    assert_eq!(folder.release("data.csv", "p.toml", &[]).0, Some(0));
    let table: toml::Table = folder.read("p.toml").parse().unwrap();
    let members = table["release"]["parts"][2]["values"][0].as_integer().unwrap();
    assert!(members.abs() <= 2, "{members}");
}

#[test]
fn columns_in_another_order_are_refused() {
    let columns = |names: &str| format!("{SPEC}\n[data]\ncolumns = [{names}]\n");
    let swapped = columns("\"region\", \"hours_worked\", \"member\"");
    let folder = Folder::new(&swapped, &survey());
    folder.refuses("p.toml", &[], "column \"region\" stands for the variable \"hours_worked\"");
    let renamed = survey().replace("hours_worked", "hours");
    let folder = Folder::new(&columns("\"hours\", \"region\", \"member\""), &renamed);
    let (code, said, errors) = folder.release("data.csv", "p.toml", &[]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(said.contains("hours_worked <- column \"hours\""), "{said}");
}

#[test]
fn only_a_release_is_written_over() {
    let folder = Folder::new(SPEC, &survey());
    for options in [&[][..], &["--again"]] {
        folder.refuses("data.csv", options, "is a file that the release is made from");
        folder.refuses("spec.toml", options, "is a file that the release is made from");
        std::fs::write(folder.at("letter.txt"), "Dear all").unwrap();
        folder.refuses("letter.txt", options, "is no release written by soma");
        folder.refuses("nowhere/p.toml", options, "there is no folder");
        assert_eq!(folder.read("letter.txt"), "Dear all");
    }
    assert_eq!(folder.release("data.csv", "p.toml", &[]).0, Some(0));
    folder.refuses("p.toml", &[], "--again");
    assert_eq!(folder.release("data.csv", "p.toml", &["--again"]).0, Some(0));
}

/// The ledger knows the data by name, and by content under another name.
#[test]
fn a_second_release_is_asked_for_and_kept_within_the_budget() {
    let spec = format!("{SPEC}\n[data]\nbudget = 2.0\n");
    let folder = Folder::new(&spec, &survey());
    assert_eq!(folder.release("data.csv", "p.toml", &[]).0, Some(0));
    let errors = folder.refuses("q.toml", &[], "released once before");
    assert!(errors.contains("epsilon 0.9,") && errors.contains("--again"), "{errors}");
    let mut rows: Vec<String> = survey().lines().map(|line| format!("{line}\n")).collect();
    rows[1..].reverse();
    std::fs::write(folder.at("copy.csv"), rows.concat()).unwrap();
    let (code, _, errors) = folder.release("copy.csv", "q.toml", &[]);
    assert!(code == Some(2) && errors.contains("released once before"), "{errors}");
    let (code, _, errors) = folder.release("data.csv", "q.toml", &["--again"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("all releases together spend epsilon 1.8"), "{errors}");
    let errors = folder.refuses("r.toml", &["--again"], "would spend epsilon 2.7");
    assert!(errors.contains("epsilon 1.8 so far, in 2 releases"), "{errors}");
    assert!(errors.contains("at most epsilon 0.2"), "{errors}");
    let rho = Folder::new(&spec.replace("budget = 2.0", "budget = { rho = 0.4 }"), &survey());
    rho.refuses("p.toml", &[], "would spend rho 0.405");
}

/// Only what is clamped is counted, and once.
#[test]
fn diagnostics_are_of_clamped_columns() {
    let folder = Folder::new(SPEC, &format!("{}150,30,1,99,1\n", survey()));
    let (code, _, errors) = folder.release("data.csv", "p.toml", &["--unsafe-diagnostics"]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(errors.matches("clamped").count(), 1, "{errors}");
    assert!(errors.contains("1 value of hours_worked was clamped"), "{errors}");
    assert!(folder.ledger().contains("\"unsafe_diagnostics\":true"), "{}", folder.ledger());
}

/// What is not known of n is said where values are missing.
#[test]
fn the_message_for_missing_values_says_what_leaving_out_costs() {
    let folder = Folder::new(SPEC, &format!("{}150,30,1,,1\n", survey()));
    folder.refuses("p.toml", &[], "the exact number of the others is published as n");
}

/// A draft and a published release are both checked.
#[test]
fn drafts_and_published_releases_are_checked() {
    let folder = Folder::new(&format!("{SPEC}\n[data]\nperson = \"id\"\n"), &survey());
    let (code, said, errors) = check(&folder.at("spec.toml"));
    assert_eq!(code, Some(0), "{errors}");
    for part in ["values   none yet", "laplace noise of scale 266.667", "l1 80", "shown for 1000"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(folder.release("data.csv", "p.toml", &[]).0, Some(0));
    let (code, said, errors) = check(&folder.at("p.toml"));
    assert_eq!(code, Some(0), "{errors}");
    assert!(said.contains("clamp(hours_worked, 0, 80)") && said.contains("epsilon 0.9"), "{said}");
    let published = folder.read("p.toml");
    assert!(published.contains("#   hours_worked ~ normal(m, s)\n"), "{published}");
    assert!(!published.contains("in a week"), "{published}");
    // With a model it is a spec like any other, and its scales give back the budget.
    let model = SPEC.split("[model]").nth(1).unwrap();
    std::fs::write(folder.at("fit.toml"), format!("release = \"p.toml\"\n[model]\n{model}"))
        .unwrap();
    let (code, said, errors) = check(&folder.at("fit.toml"));
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(said.matches("epsilon 0.3000 if a record is replaced").count(), 3, "{said}");
    assert!(said.contains("epsilon 0.1500 if a record is added or removed"), "{said}");
}

#[test]
fn numbers_are_short() {
    let folder = Folder::new(&SPEC.replacen("\"sum\"", "\"mean\"", 1), &survey());
    let (_, said, _) = folder.release("data.csv", "p.toml", &[]);
    assert!(said.contains("total: epsilon 0.9,"), "{said}");
    let published = folder.read("p.toml");
    let long = |line: &&str| line.split(['=', ' ', ',']).any(|word| word.len() > 12);
    let scales =
        published.lines().filter(|line| line.contains("scale") || line.contains("epsilon"));
    assert_eq!(scales.filter(long).count(), 0, "{published}");
}
