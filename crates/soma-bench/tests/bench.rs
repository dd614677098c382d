//! The format of the output of `soma bench`, and its errors. No test depends on a time.

use assert_cmd::Command;
use serde_json::Value;

/// The program.
fn soma() -> Command {
    Command::new(env!("CARGO_BIN_EXE_soma-bench"))
}

/// What the program prints as JSON: standard output must be one value and nothing else.
fn json(command: &mut Command) -> Value {
    let output = command.assert().success().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

const KEYS: [&str; 9] = [
    "acceptance_rate",
    "epsilon",
    "kernel",
    "n",
    "ns_per_move",
    "problem",
    "ratio_to_sys_imwg",
    "strategy",
    "weight_evaluations_per_move",
];

#[test]
fn costs_come_as_an_array_of_rows() {
    let args = ["bench", "--n", "20,40", "--epsilon", "3", "--seconds", "0.01", "--json"];
    let rows = json(soma().args(args));
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 4 * 2 * 6, "problems, numbers of records and kernels");
    for row in rows {
        let row = row.as_object().unwrap();
        let mut keys: Vec<&str> = row.keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, KEYS);
        let kernel = row["kernel"].as_str().unwrap();
        assert!(row["ns_per_move"].as_f64().unwrap() > 0.0, "{row:?}");
        assert!(row["ratio_to_sys_imwg"].as_f64().unwrap() > 0.0, "{row:?}");
        assert_eq!(row["strategy"].is_null(), kernel != "soma", "{row:?}");
        assert_eq!(row["acceptance_rate"].is_null(), kernel == "draw", "{row:?}");
        let weights = row["weight_evaluations_per_move"].as_f64().unwrap();
        match kernel {
            "draw" => assert_eq!(weights, 0.0),
            "sys-imwg" | "ran-imwg" => assert_eq!(weights, 1.0),
            "soma-blocks" => assert!((1.0..=16.0).contains(&weights), "{weights}"),
            _ => assert!((0.0..100.0).contains(&weights), "{weights}"),
        }
        if kernel == "sys-imwg" {
            assert_eq!(row["ratio_to_sys_imwg"], 1.0);
        }
    }
}

#[test]
fn only_what_was_asked_for_is_printed() {
    let args = ["bench", "--problem", "mean", "--kernel", "soma", "--n", "30", "--epsilon", "1"];
    let output = soma().args(args).args(["--seconds", "0.01"]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("problem") && lines[1].starts_with("mean"), "{text}");
    assert!(lines[1].contains(" soma "), "{text}");
}

#[test]
fn wrong_options_are_refused() {
    let refused = |args: &[&str], told: &str| {
        let output = soma().arg("bench").args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(told), "{args:?}: {text}");
        assert!(output.stdout.is_empty());
    };
    refused(&["--problem", "regresion"], "no problem `regresion`");
    refused(&["--kernel", "soma,smoa"], "'smoa'");
    refused(&["--epsilon", "1,0"], "above 0");
    refused(&["--epsilon", "-1"], "-1");
    refused(&["--epsilon", "nan"], "above 0");
    refused(&["--n", "0"], "from 1 to");
    refused(&["--n", "1000000000000"], "from 1 to");
    refused(&["--seconds", "0"], "above 0");
    refused(&["--mixing", "--problem", "histogram"], "no problem of the grid");
    refused(&["--mixing", "--kernel", "soma"], "--mixing");
}

#[test]
fn coupled_moves_are_timed() {
    let args = ["bench", "--coupled", "--n", "10", "--epsilon", "3", "--seconds", "0.01", "--json"];
    let rows = json(soma().args(args));
    let rows = rows.as_array().unwrap();
    // The records of the histogram are uniform: there is no theta to move.
    assert_eq!(rows.len(), (4 * 2 - 1) * 5);
    for row in rows {
        assert!(row["ratio"].as_f64().unwrap() > 0.0, "{row}");
        let weights = row["weight_evaluations_per_coupled_move"].as_f64().unwrap();
        assert!((2.0..=40.0).contains(&weights), "{row}");
    }
}

#[test]
fn auto_is_compared_with_each_kernel() {
    let args = ["bench", "--auto", "--problem", "histogram-n20", "--seeds", "2", "--draws", "50"];
    let rows = json(soma().args(args).arg("--json"));
    let kernels: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["kernel"].as_str().unwrap()).collect();
    assert_eq!(kernels, ["sys-imwg", "soma", "soma-blocks", "auto"]);
    assert_eq!(rows[3]["taken"].as_array().unwrap().len(), 2);
    soma().args(["bench", "--auto", "--problem", "none such"]).assert().code(2);
}
