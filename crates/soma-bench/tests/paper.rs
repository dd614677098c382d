//! `soma paper` from the outside.

use assert_cmd::Command;

fn soma() -> Command {
    Command::new(env!("CARGO_BIN_EXE_soma-bench"))
}

#[test]
fn the_items_are_listed() {
    let output = soma().args(["paper", "list"]).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 15);
    assert!(text.starts_with("trace-mean"));
    for (item, place) in [("atus-diagnostics", "Table 1"), ("regression-n10", "Table 3")] {
        let line = text.lines().find(|line| line.starts_with(item)).unwrap();
        assert!(line.contains(place), "{line}");
    }
}

/// An item is computed once, and left alone the second time.
#[test]
fn an_item_is_computed_and_then_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = || {
        let mut command = soma();
        command.args(["paper", "synthetic-data", "--scale", "tiny", "--out"]).arg(folder.path());
        command
    };
    let first = run().assert().success();
    let text = String::from_utf8(first.get_output().stdout.clone()).unwrap();
    assert!(text.contains("synthetic-data") && text.contains("index.html"), "{text}");
    for file in ["index.html", "paper.json", "synthetic-data/synthetic-data.png"] {
        assert!(folder.path().join(file).exists(), "{file}");
    }
    let second = run().assert().success();
    let said = String::from_utf8(second.get_output().stderr.clone()).unwrap();
    assert!(said.contains("there already"), "{said}");
}

#[test]
fn a_wrong_item_is_an_input_error() {
    let output = soma().args(["paper", "trace-men", "--out", "nowhere"]).assert().code(2);
    let said = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(said.contains("trace-men") && said.contains("trace-mean"), "{said}");
}
