//! `soma bench` and `soma paper`, which are run by another program.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const SOMA: &str = env!("CARGO_BIN_EXE_soma");

/// A folder with the program alone: a link, since a file open for writing cannot be executed.
fn alone() -> TempDir {
    let folder = tempfile::tempdir_in(Path::new(SOMA).parent().unwrap()).unwrap();
    std::fs::hard_link(SOMA, folder.path().join("soma")).unwrap();
    folder
}

fn soma(folder: &TempDir) -> Command {
    let mut command = Command::new(folder.path().join("soma"));
    command.env("PATH", "");
    command
}

#[test]
fn without_soma_bench_a_sentence_says_how_to_build_it() {
    let folder = alone();
    let output = soma(&folder).args(["paper", "list"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("cargo build --release -p soma-mcmc-bench"), "{text}");
}

#[test]
fn soma_bench_is_given_all_arguments_and_its_exit_code_is_passed_on() {
    let folder = alone();
    let script = r#"printf '#!/bin/sh\necho "$@"\nexit 7\n' > "$0" && chmod +x "$0""#;
    let program = folder.path().join("soma-bench");
    assert!(Command::new("sh").args(["-c", script]).arg(program).status().unwrap().success());
    let args = ["bench", "--mixing", "--n", "10,100", "--help", "--", "-x"];
    let output = soma(&folder).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), args.join(" ") + "\n");
}
