//! The sampler of counts in the program.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{example, json, soma};

fn said(command: &mut assert_cmd::Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn check_says_which_engine_and_why() {
    let counts = said(soma().arg("check").arg(example("category-counts")));
    assert!(counts.contains("engine   counts without records"), "{counts}");
    let table = said(soma().arg("check").arg(example("cross-table")));
    assert!(table.contains("an unknown number of records"), "{table}");
    let records = said(soma().arg("check").arg(example("regression-n10-eps3")));
    assert!(records.contains("engine   imputed records"), "{records}");
    assert!(records.contains("sees more of a record than its cell"), "{records}");
}

/// The verdict, the moves and the counts are printed, for every kernel.
#[test]
fn a_fit_reports_counts() {
    let short = ["--draws", "1000", "--warmup", "300"];
    let found = json(soma().arg("fit").arg(example("category-counts")).args(short).arg("--json"));
    let names: Vec<&str> = found["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[0], "p[never]");
    assert_eq!(names[5], "count[never]");
    assert_eq!(found["chosen"][0]["kernel"], "counts");
    assert_eq!(found["verdict"]["trusted"], true, "{}", found["verdict"]);
    assert!(found["theta_moves"][0].as_array().unwrap().iter().any(|m| m["name"] == "transfer"));
    let text = said(soma().arg("fit").arg(example("category-counts")).args(short));
    assert!(text.contains("Kernel chosen: counts"), "{text}");
    let soma_too = ["--kernel", "soma", "--draws", "50", "--warmup", "20", "--json"];
    let records = json(soma().arg("fit").arg(example("category-counts")).args(soma_too));
    assert_eq!(records["parameters"][5]["name"], "count[never]");
    // n is unknown there: a kernel of records has slots for them.
    let some = ["--kernel", "sys-imwg", "--chains", "1", "--draws", "5", "--warmup", "5", "--json"];
    let records = json(soma().arg("fit").arg(example("cross-table")).args(some));
    assert!(records["n"].is_null());
}

fn draws(out: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(out.join("draws")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        .map(|(path, bytes)| (path.rsplit('/').next().unwrap().to_string(), bytes))
        .collect();
    files.sort();
    files
}

/// Killed with SIGKILL and resumed, the files are those of an uninterrupted run.
#[test]
fn a_killed_run_of_counts_is_resumed_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let run = |out: &Path, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_soma"));
        command.arg("fit").arg(example("cross-table"));
        command.args(["--draws", "20000", "--warmup", "200", "--chains", "3", "--threads", "2"]);
        command.args(more).args(["--quiet", "--checkpoint", "0.01", "--out"]).arg(out);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    assert!(run(&whole, &[]).wait().unwrap().success());
    let mut child = run(&killed, &[]);
    while !soma().arg("diagnose").arg(&killed).output().is_ok_and(|o| o.status.success()) {
        assert!(child.try_wait().unwrap().is_none(), "the run is too short to be killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(run(&killed, &["--resume"]).wait().unwrap().success());
    assert!(draws(&killed) == draws(&whole));
    let diagnosed = json(soma().arg("diagnose").arg(&killed).arg("--json"));
    assert_eq!(diagnosed["verdict"]["trusted"], true, "{}", diagnosed["verdict"]);
}
