//! A run that is killed and resumed leaves the files of an uninterrupted one.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{example, json, soma};

const RUN: [&str; 8] = ["--draws", "2000", "--warmup", "200", "--chains", "3", "--threads", "2"];

fn spawn(out: &Path, more: &[&str]) -> Child {
    spawn_of(&example("regression-n100-eps30"), &[&RUN, more].concat(), out)
}

fn spawn_of(spec: &Path, args: &[&str], out: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_soma"));
    command.arg("fit").arg(spec).args(args);
    command.args(["--quiet", "--checkpoint", "0.01", "--out"]).arg(out);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The files of draws and, if they are stored, of records.
fn files(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let folders = ["draws", "records"].map(|name| std::fs::read_dir(out.join(name)));
    assert!(folders[0].is_ok(), "there are no draws");
    let paths = folders.into_iter().flatten().flatten().map(|entry| entry.unwrap().path());
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

/// An example, whether records are stored, the iterations of warm-up and the draws.
type Kind = (&'static str, bool, u64, u64);

/// All kinds of problems: numbers under Laplace noise, n that is not public, counts without records,
/// a ladder, several parts, laws that are not separable, text with bridges.
const KINDS: [Kind; 11] = [
    ("regression-n100-eps30", false, 200, 2000),
    ("cross-table", false, 60, 300),
    ("suppressed-counts", false, 60, 2000),
    ("category-counts", true, 60, 800),
    ("ratio-mean", false, 60, 300),
    ("private-mean-n2", false, 60, 1000),
    ("count-and-sum", false, 60, 300),
    ("mean-and-variance", true, 60, 200),
    ("synthetic-records", false, 60, 1000),
    ("log-normal-mean", false, 60, 100),
    ("proportion", true, 60, 100),
];

/// `SOMA_KILLS` kills at random times: the folder can be read and resumed after each, and every
/// completed run has the files of an uninterrupted one.
#[test]
fn kills_at_random_moments_lose_nothing() {
    let kills: u64 = std::env::var("SOMA_KILLS").map_or(11, |text| text.parse().unwrap());
    let each = kills.div_ceil(KINDS.len() as u64);
    let folder = tempfile::tempdir().unwrap();
    for (name, with_records, warmup, draws) in KINDS {
        let mut text = std::fs::read_to_string(example(name)).unwrap();
        if with_records {
            text += "\n[output]\nrecords = true\nrecords_thin = 7\n";
        }
        let spec = folder.path().join(name).with_extension("toml");
        std::fs::write(&spec, text).unwrap();
        let [warmup, draws] = [warmup, draws].map(|count| count.to_string());
        let args = ["--draws", &draws, "--warmup", &warmup, "--chains", "3", "--threads", "2"];
        let (killed, runs) = killed_at_random(&spec, &args, each);
        println!("{name}: {killed} kills over {runs} runs, all with the files of one without any");
    }
}

/// Kills runs at random moments and resumes them until they end: each has then the files of one that
/// was not killed. Returns the kills and the runs.
fn killed_at_random(spec: &Path, args: &[&str], kills: u64) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let begun = std::time::Instant::now();
    assert!(spawn_of(spec, args, &whole).wait().unwrap().success());
    // A run that makes no progress between two kills would never end.
    let span = (0.7 * begun.elapsed().as_secs_f64()).min(0.4);
    let right = files(&whole);
    let chains = std::fs::read_dir(whole.join("checkpoints")).unwrap().count();
    let resumed = [args, &["--resume"]].concat();
    let (mut killed, mut runs) = (0, 0);
    while killed < kills {
        let out = folder.path().join(format!("run-{runs}"));
        loop {
            let mut child = spawn_of(spec, &resumed, &out);
            // Weyl's sequence: times spread evenly.
            let moment = (killed + 31 * runs) as f64 * 0.618_033_988_749_894_9;
            let moment = if killed < kills { span * moment.fract() } else { 60.0 };
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
        assert_eq!(left.count(), chains, "one checkpoint for each chain and nothing else");
        std::fs::remove_dir_all(&out).unwrap();
        runs += 1;
    }
    (killed, runs)
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
