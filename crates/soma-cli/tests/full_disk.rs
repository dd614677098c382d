//! A full disk: the run fails, records it in its manifest, and leaves no temporary files.
//!
//! The disk is a small file system in memory, which needs a mount namespace; without one the test
//! is skipped.

#![cfg(target_os = "linux")]

mod common;

use std::process::Command;

use common::example;

/// Runs the program on a disk of `kib` KiB. Returns its output and a listing of its folder; `None`
/// if there can be no such disk.
fn run_on_disk(kib: u32) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        mount -t tmpfs -o size="$1"k tmpfs "$2" || exit 77
        "$3" fit "$4" --draws 200000 --warmup 10 --chains 2 --quiet --checkpoint 0.02 \
            --out "$2/run" 2>&1 > /dev/null
        echo "exit $?"
        find "$2/run" -name '*.unfinished' | sed 's/^/left /'
        grep '"status"' "$2/run/manifest.json"
    "#;
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh", &kib.to_string()]);
    command.arg(folder.path()).arg(env!("CARGO_BIN_EXE_soma")).arg(example("category-counts"));
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.contains("exit ").then_some(text)
}

#[test]
fn a_full_disk_ends_the_run_and_is_written_down() {
    for kib in [240, 300, 420, 700, 1100] {
        let Some(said) = run_on_disk(kib) else {
            eprintln!("skipped: there can be no small disk here");
            return;
        };
        assert!(said.contains("exit 1"), "{kib} KiB: {said}");
        assert!(said.contains("No space left on device"), "{kib} KiB: {said}");
        assert!(!said.contains("left /"), "{kib} KiB: {said}");
        assert!(said.contains("\"status\": \"failed\""), "{kib} KiB: {said}");
    }
}
