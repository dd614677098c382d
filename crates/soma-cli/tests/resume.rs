//! A run that is killed and resumed leaves the files of an uninterrupted one.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{example, json, soma};

const RUN: [&str; 8] = ["--draws", "2000", "--warmup", "200", "--chains", "3", "--threads", "2"];

fn spawn(out: &Path, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_soma"));
    command.arg("fit").arg(example("regression-n100-eps30")).args(RUN).args(more);
    command.args(["--quiet", "--checkpoint", "0.01", "--out"]).arg(out);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn files(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(out.join("draws")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect()
}

/// Waits until draws and their checkpoint are on disk; false if the run ended before.
fn wait_for_draws(out: &Path, child: &mut Child) -> bool {
    loop {
        let diagnose = soma().arg("diagnose").arg(out).output();
        if diagnose.is_ok_and(|output| output.status.success()) {
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_run_is_resumed_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    assert!(spawn(&whole, &[]).wait().unwrap().success());

    // SIGKILL at an arbitrary time: as soon as there are draws, and once more.
    let mut child = spawn(&killed, &[]);
    assert!(wait_for_draws(&killed, &mut child), "the run is too short to be killed");
    child.kill().unwrap();
    child.wait().unwrap();
    let manifest = std::fs::read_to_string(killed.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"running\""), "the run was over before it was killed");
    let mut child = spawn(&killed, &["--resume"]);
    std::thread::sleep(Duration::from_millis(30));
    child.kill().unwrap();
    child.wait().unwrap();
    soma().arg("diagnose").arg(&killed).assert().success();

    assert!(spawn(&killed, &["--resume"]).wait().unwrap().success());
    assert!(files(&killed) == files(&whole), "the files differ");
    let parameters =
        |out| json(soma().arg("diagnose").arg(out).arg("--json"))["parameters"].clone();
    assert_eq!(parameters(&killed), parameters(&whole));
}

/// `SOMA_KILLS` kills at random times: the folder can be read and resumed after each, and every
/// completed run has the files of an uninterrupted one.
#[test]
fn kills_at_random_moments_lose_nothing() {
    let kills: u64 = std::env::var("SOMA_KILLS").map_or(8, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    assert!(spawn(&whole, &[]).wait().unwrap().success());
    let right = files(&whole);
    let (mut killed, mut runs) = (0, 0);
    while killed < kills {
        let out = folder.path().join(format!("run-{runs}"));
        loop {
            let mut child = spawn(&out, &["--resume"]);
            // Weyl's sequence: times spread evenly over the first fifth of a second.
            let moment = (killed + 31 * runs) as f64 * 0.618_033_988_749_894_9;
            let moment = if killed < kills { 0.2 * moment.fract() } else { 60.0 };
            let ended = wait(&mut child, Duration::from_secs_f64(moment));
            if ended {
                assert!(child.wait().unwrap().success(), "run {runs} after {killed} kills");
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
            if out.join("manifest.json").exists() {
                soma_store::Run::open(&out).unwrap();
            }
        }
        assert!(files(&out) == right, "run {runs} after {killed} kills");
        let left = std::fs::read_dir(out.join("checkpoints")).unwrap();
        assert_eq!(left.count(), 3, "one checkpoint for each chain and nothing else");
        std::fs::remove_dir_all(&out).unwrap();
        runs += 1;
    }
    println!("{killed} kills over {runs} runs: all ended with the files of a run without any");
}

/// Waits until the child ends, at most this long. Returns whether it has.
fn wait(child: &mut Child, most: Duration) -> bool {
    let start = std::time::Instant::now();
    while start.elapsed() < most {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// A new run does not reuse the files of an old one, and a rejected resume changes nothing.
#[test]
fn old_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let fit = |more: &[&str]| {
        let mut command = soma();
        command
            .arg("fit")
            .arg(example("category-counts"))
            .args(["--draws", "50", "--warmup", "10"]);
        command.args(more).arg("--quiet").arg("--out").arg(&out).output().unwrap()
    };
    assert!(fit(&[]).status.success());
    let refused = |more: &[&str], word: &str| {
        let output = fit(more);
        assert_eq!(output.status.code(), Some(2), "{word}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(word), "{error}");
    };
    let checkpoint = out.join("checkpoints/chain-0000.checkpoint");
    let kept = std::fs::read(&checkpoint).unwrap();
    std::fs::remove_file(&checkpoint).unwrap();
    let draws = files(&out);
    refused(&["--resume"], "it is missing");
    assert!(files(&out) == draws);
    std::fs::write(&checkpoint, kept).unwrap();
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    refused(&["--resume", "--seed", "99"], "other settings");
    assert!(std::fs::read_to_string(out.join("manifest.json")).unwrap() == manifest);
    std::fs::remove_file(out.join("manifest.json")).unwrap();
    refused(&["--seed", "2"], "holds files of a run");
    refused(&["--seed", "2", "--resume"], "holds files of a run");
}

/// The first interrupt ends the run cleanly, with its table, and the run can be resumed.
#[cfg(unix)]
#[test]
fn an_interrupted_run_reports_and_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, stopped) = (folder.path().join("whole"), folder.path().join("stopped"));
    assert!(spawn(&whole, &[]).wait().unwrap().success());

    let mut child = spawn(&stopped, &["--json"]);
    assert!(wait_for_draws(&stopped, &mut child));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["draws"].as_u64().unwrap() < 2000);
    let manifest = std::fs::read_to_string(stopped.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"stopped\""));

    assert!(spawn(&stopped, &["--resume"]).wait().unwrap().success());
    assert!(files(&stopped) == files(&whole));
}

#[test]
fn what_cannot_be_resumed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let spec = example("category-counts");
    let fit = |spec: &Path, more: &[&str]| {
        let mut command = soma();
        command.arg("fit").arg(spec).args(["--draws", "50", "--warmup", "10"]).args(more);
        command.arg("--quiet").arg("--out").arg(&out).output().unwrap()
    };
    assert!(fit(&spec, &[]).status.success());
    let refused = |spec: &Path, more: &[&str], word: &str| {
        let output = fit(spec, more);
        assert_eq!(output.status.code(), Some(2), "{word}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(word), "{error}");
    };
    refused(&example("histogram-n50"), &["--resume"], "another spec");
    refused(&spec, &["--resume", "--seed", "99"], "other settings");
    let checkpoint = out.join("checkpoints/chain-0000.checkpoint");
    let mut bytes = std::fs::read(&checkpoint).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&checkpoint, bytes).unwrap();
    refused(&spec, &["--resume"], "is damaged");
}
