//! A million records in bounded memory.
//!
//! `cargo test --release --workspace --test million -- --ignored --nocapture` prints how much.

#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};
use std::time::Duration;

const SPEC: &str = include_str!("../../../benches/regression-million.toml");

/// The largest memory of a process so far, in MiB.
fn peak(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

#[test]
#[ignore = "takes about a quarter of a minute"]
fn a_million_records_take_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("million.toml");
    std::fs::write(&spec, SPEC).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_soma"))
        .arg("fit")
        .arg(&spec)
        .args(["--kernel", "sys-imwg", "--chains", "1", "--warmup", "5", "--draws", "20"])
        .args(["--quiet", "--checkpoint", "2", "--out"])
        .arg(folder.path().join("run"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut most: f64 = 0.0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(peak(child.id()).unwrap_or(0.0));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.wait().unwrap().success());
    println!("one chain of a million regression records: at most {most:.0} MiB");
    assert!(most > 90.0, "records and statistics alone take 92 MiB: this was not measured");
    assert!(most < 1024.0, "{most} MiB");
}
