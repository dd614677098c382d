//! Shared by the tests of the program.

#![allow(dead_code)] // each test file uses a part of it

use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

/// The program.
pub fn soma() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_soma"));
    command.env("NO_COLOR", "1");
    command
}

/// The shipped spec of this name.
pub fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}.toml"))
}

/// All shipped specs: name and text.
pub fn examples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let specs = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut specs: Vec<(String, String)> = specs
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    specs.sort();
    assert!(specs.len() >= 10);
    specs
}

/// The JSON output of the program: standard output must be one object and nothing else.
pub fn json(command: &mut Command) -> Value {
    let output = command.assert().success().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}
