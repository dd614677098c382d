//! `soma release` that is killed, finds no room on disk, or is given data that it cannot take: what is
//! published is counted, and nothing of the data is said. `scripts/test-curator.sh` runs these.
#![cfg(feature = "curator")]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::soma;

const SPEC: &str = r#"
[release]
statistic = "sum"
statistics = ["clamp(hours, 0, 80)", "region == 2", "member"]
mechanism = { kind = "laplace", epsilon = 1.0 }

[model]
parameters = "m ~ normal(40, 10)"
record = """
hours ~ normal(m, 10)
region ~ categorical([1, 1, 1])
member ~ bernoulli(0.5)
"""
"#;

fn survey(people: usize) -> String {
    let row = |i: usize| format!("{i},{}.5,{},{}\n", 30 + i % 17, 1 + i % 3, i % 2);
    let rows: String = (0..people).map(row).collect();
    format!("id,hours,region,member\n{rows}")
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(data: &str) -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        std::fs::write(folder.at("spec.toml"), SPEC).unwrap();
        std::fs::write(folder.at("data.csv"), data).unwrap();
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_soma"));
        command.current_dir(self.0.path());
        command.args(["release", "spec.toml", "--data", "data.csv", "--out", "p.toml"]);
        command
    }

    /// The exit code, and all that is printed.
    fn release(&self) -> (Option<i32>, String) {
        let output = soma().current_dir(self.0.path()).args(self.command().get_args()).output();
        let output = output.unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }

    fn counted(&self) -> usize {
        let text = std::fs::read_to_string(self.at("data.csv.ledger.jsonl")).unwrap_or_default();
        text.lines().count()
    }
}

/// Killed at any time, with SIGKILL: a published file is whole and counted, and the ledger can be read.
#[test]
fn what_a_killed_release_has_published_is_counted() {
    for i in 0..60 {
        let folder = Folder::new(&survey(2000));
        let mut command = folder.command();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(250 * i));
        child.kill().unwrap();
        child.wait().unwrap();
        let published = std::fs::read_to_string(folder.at("p.toml")).ok();
        let counted = folder.counted();
        if let Some(text) = &published {
            assert!(soma::spec::is_release(text) && counted == 1, "{i}: {counted}\n{text}");
        }
        let (code, said) = folder.release();
        assert_eq!(code, Some(if counted == 0 { 0 } else { 2 }), "{i}: {said}");
        assert_eq!(folder.counted(), 1, "{i}");
    }
}

/// A disk without room: where the file to publish, or the ledger, has none, nothing is published.
#[test]
fn a_full_disk_publishes_nothing_that_is_not_counted() {
    let folder = Folder::new(&survey(20));
    // Blocks of the disk are filled one by one, down to none.
    let script = r#"
        mount -t tmpfs -o size=64k tmpfs "$1" || exit 77
        cp "$2/spec.toml" "$2/data.csv" "$1" && cd "$1" || exit 77
        for free in 0 1 2 3 4; do
            rm -rf p.toml data.csv.ledger.jsonl filler
            head -c 100000 /dev/zero > filler 2> /dev/null
            truncate -s -$((4096 * free)) filler
            "$3" release spec.toml --data data.csv --out p.toml 2>&1
            echo "exit $?, published $(cat p.toml 2> /dev/null | wc -c)," \
                "counted $(cat data.csv.ledger.jsonl 2> /dev/null | wc -l), left $(ls -A | wc -l)"
        done
    "#;
    std::fs::create_dir(folder.at("disk")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(folder.at("disk")).arg(folder.0.path()).arg(env!("CARGO_BIN_EXE_soma"));
    let output = command.output().ok();
    let said = output.map_or(String::new(), |own| String::from_utf8(own.stdout).unwrap());
    let ends: Vec<&str> = said.lines().filter(|line| line.starts_with("exit ")).collect();
    if ends.is_empty() {
        eprintln!("skipped: there can be no small disk here");
        return;
    }
    assert_eq!(ends.len(), 5, "{said}");
    for end in &ends {
        let is_whole = end.contains("exit 0") && end.contains("counted 1");
        assert!(is_whole != end.contains("published 0"), "{said}");
    }
    // No room at all: refused before anything is spent.
    assert!(ends[0].contains("published 0, counted 0"), "{said}");
    assert!(ends[4].starts_with("exit 0"), "{said}");
}

/// Each is refused with what is allowed, before anything is spent, and says nothing of what stands in the
/// file: neither the values that are wrong nor those that are right.
#[test]
fn data_that_cannot_be_taken_are_refused_and_not_shown() {
    let good = survey(50);
    let with = |row: &str| format!("{good}{row}\n");
    let secret = "77123.25";
    let rows = good.split_once('\n').unwrap().1;
    for (data, part) in [
        (with("50,,1,0"), "\"hours\": values are missing"),
        (with("50,NaN,1,0"), "\"hours\": values are missing"),
        (with("50,77123.25,1,2"), "\"member\": a value is none of these"),
        (with("50,77123.25,1,yes"), "\"member\": a value is none of these"),
        (with("50,77123.25,4,0"), "\"region\": a value is none of these"),
        ("hours\n30.5\n\n46.5\n".into(), "no column \"region\""),
        (with("50,2026-11-19,1,0"), "\"hours\": a value is none of these"),
        (with("50,\"77,123.25\",1,0"), "\"hours\": a value is none of these"),
        (with("50,77123.25,1"), "line 52: has another number of columns"),
        (with("50,77123.25,1,0,0"), "line 52: has another number of columns"),
        (with("50,\"77123.25,1,0"), "line 52: has another number of columns"),
        (format!("77123.25,1,0,3\n{rows}"), "no column \"hours\""),
        (format!("77123.25;1;0;3\n{}", rows.replace(',', ";")), "a single column"),
        (good.replace("id,", "hours,"), "several columns \"hours\""),
        (good.replace("hours", "hrs"), "no column \"hours\""),
        ("id,hours,region,member\n".into(), "no rows"),
        (String::new(), "no rows"),
    ] {
        let folder = Folder::new(&data);
        let (code, said) = folder.release();
        assert_eq!(code, Some(2), "{part}: {said}");
        assert!(said.contains(part) && said.contains("Allowed: "), "{part}: {said}");
        for value in [secret, "77123", "2026", "30.5", "46.5"] {
            assert!(!said.contains(value), "{value}: {said}");
        }
        assert!(!folder.at("p.toml").exists() && folder.counted() == 0, "{part}");
    }
    let folder = Folder::new("");
    std::fs::write(folder.at("data.csv"), with("50,77123.25,1,0").replace("50,", "\u{e9},"))
        .unwrap();
    let latin: Vec<u8> = std::fs::read(folder.at("data.csv")).unwrap();
    let latin: Vec<u8> = latin.into_iter().filter(|byte| *byte != 0xc3).collect();
    std::fs::write(folder.at("data.csv"), latin).unwrap();
    let (code, said) = folder.release();
    assert!(code == Some(2) && said.contains("is not in UTF-8. Allowed: "), "{said}");
}

/// OpenDP's map says that epsilon is infinite, and the values would be the sums themselves.
#[test]
fn noise_that_hides_nothing_is_refused() {
    for law in ["laplace", "gaussian"] {
        let folder = Folder::new(&survey(20));
        let spec = SPEC.replace("laplace\", epsilon = 1.0", &format!("{law}\", scale = 1e-308"));
        std::fs::write(folder.at("spec.toml"), spec).unwrap();
        let (code, said) = folder.release();
        assert!(code == Some(2) && said.contains("the noise hides nothing"), "{said}");
        assert!(!folder.at("p.toml").exists() && !folder.at("data.csv.ledger.jsonl").exists());
    }
}

/// The same table as programs write it: quotes, line ends of other systems, a mark before UTF-8, blanks.
#[test]
fn tables_of_other_programs_are_read() {
    let good = survey(50);
    let quoted = good.replace("hours,region", "\"hours\",\"region\"");
    for data in [
        quoted,
        good.replace('\n', "\r\n"),
        format!("\u{feff}{good}"),
        good.replace(',', " , "),
        good.trim_end().to_string(),
        format!("{good}\n\n"),
        good.replace(",0\n", ",False\n").replace(",1\n", ",TRUE\n"),
        good.replace(".5,", ".5e0,"),
    ] {
        let folder = Folder::new(&data);
        let (code, said) = folder.release();
        assert_eq!(code, Some(0), "{said}\n{data}");
        let text = std::fs::read_to_string(folder.at("p.toml")).unwrap();
        assert!(text.contains("n = 50"), "{text}");
        assert!(is_alone(folder.0.path()), "{said}");
    }
}

/// Nothing is left beside the data, the spec, the release and the ledger.
fn is_alone(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().count() == 4
}
