//! A full disk: the run fails, records it in its manifest, and leaves no temporary files.
//!
//! The disk is a small file system in memory, which needs a mount namespace; without one the test
//! is skipped.

#![cfg(target_os = "linux")]

mod common;

use std::process::Command;

use common::example;

/// Runs the program with the arguments `args` and `--out` on a disk of `kib` KiB. Returns its output
/// and a listing of its folder; `None` if there can be no such disk.
fn run_on_disk(kib: u32, args: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        mount -t tmpfs -o size="$1"k tmpfs "$2" || exit 77
        "$3" $5 "$4" --quiet --out "$2/run" 2>&1 > /dev/null
        echo "exit $?"
        find "$2/run" -name '*.unfinished' | sed 's/^/left /'
        grep '"status"' "$2/run/manifest.json"
    "#;
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh", &kib.to_string()]);
    command.arg(folder.path()).arg(env!("CARGO_BIN_EXE_soma")).arg(example("category-counts"));
    command.arg(args);
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.contains("exit ").then_some(text)
}

#[test]
fn a_full_disk_ends_the_run_and_is_written_down() {
    for kib in [240, 300, 420, 700, 1100] {
        let args = "fit --draws 200000 --warmup 10 --chains 2 --checkpoint 0.02";
        let Some(said) = run_on_disk(kib, args) else {
            eprintln!("skipped: there can be no small disk here");
            return;
        };
        assert!(said.contains("exit 1"), "{kib} KiB: {said}");
        assert!(said.contains("No space left on device"), "{kib} KiB: {said}");
        assert!(!said.contains("left /"), "{kib} KiB: {said}");
        assert!(said.contains("\"status\": \"failed\""), "{kib} KiB: {said}");
    }
}

/// Pairs of chains that cannot be kept are not run to their end first.
#[test]
fn a_full_disk_ends_a_coupling() {
    let Some(said) = run_on_disk(100, "couple --pairs 10000000 --lag 1 --threads 2") else {
        eprintln!("skipped: there can be no small disk here");
        return;
    };
    assert!(said.contains("exit 1") && said.contains("No space left on device"), "{said}");
    assert!(!said.contains("left /"), "{said}");
}
