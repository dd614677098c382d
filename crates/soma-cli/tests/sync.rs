//! Durability: after a power failure no file refers to another that is not on disk.
//!
//! The system calls of a run are traced by strace; without it the test is skipped.

#![cfg(target_os = "linux")]

mod common;

use std::process::Command;

use common::example;

/// A file or folder was synced, or a file renamed.
#[derive(Debug, PartialEq)]
enum Call {
    Sync(String),
    Name(String),
}

/// The calls of a short run of one chain, with paths relative to its folder.
fn calls() -> Option<Vec<Call>> {
    let folder = tempfile::tempdir().unwrap();
    let (out, log) = (folder.path().join("run"), folder.path().join("log"));
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2", "-o"]);
    command.arg(&log).arg(env!("CARGO_BIN_EXE_soma")).arg("fit").arg(example("category-counts"));
    command.args(["--draws", "50", "--warmup", "10", "--chains", "1", "--threads", "1"]);
    command.args(["--quiet", "--out"]).arg(&out);
    if !command.output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let base = out.to_string_lossy().into_owned();
    let relative = |path: &str| path.replace(&base, "").trim_matches('/').to_string();
    // The first bracket: a call interrupted by another thread ends in `<unfinished ...>`.
    let between = |line: &str, from: char, to: char| {
        line.split_once(from).and_then(|(_, rest)| rest.split_once(to)).map(|(path, _)| path.into())
    };
    let call = |line: &str| -> Option<Call> {
        let path: String = if line.contains("sync(") {
            between(line, '<', '>')?
        } else if line.contains("rename") {
            line.rsplit('"').nth(1)?.to_string()
        } else {
            return None;
        };
        let path = path.starts_with(&base).then(|| relative(&path))?;
        Some(if line.contains("sync(") { Call::Sync(path) } else { Call::Name(path) })
    };
    Some(std::fs::read_to_string(log).unwrap().lines().filter_map(call).collect())
}

/// Each file is synced before it is renamed, and its name before anything else is renamed; rows
/// before the checkpoint, and the checkpoint before the manifest.
#[test]
fn files_and_names_are_synced_in_order() {
    let Some(calls) = calls() else {
        eprintln!("skipped: strace cannot be run here");
        return;
    };
    let named: Vec<usize> =
        (0..calls.len()).filter(|&at| matches!(calls[at], Call::Name(_))).collect();
    assert!(named.len() >= 4, "{calls:?}");
    for &at in &named {
        let Call::Name(path) = &calls[at] else { unreachable!() };
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let unfinished = format!("{folder}/.{name}.unfinished");
        let unfinished = unfinished.trim_start_matches('/').to_string();
        assert_eq!(calls[at - 1], Call::Sync(unfinished), "{calls:?}");
        assert_eq!(calls.get(at + 1), Some(&Call::Sync(folder.to_string())), "{calls:?}");
    }
    let first = |start: &str| {
        let is_it = |call: &Call| matches!(call, Call::Name(path) if path.starts_with(start));
        calls.iter().position(is_it).unwrap()
    };
    let (rows, checkpoint) = (first("draws/"), first("checkpoints/"));
    let manifest = calls.iter().rposition(|call| *call == Call::Name("manifest.json".into()));
    assert!(rows < checkpoint && Some(checkpoint) < manifest, "{calls:?}");
}
