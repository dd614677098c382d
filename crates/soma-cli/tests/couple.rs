//! `soma couple` and `soma fit --warmup certified`.

use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn soma(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_soma"));
    command.args(args);
    command
}

fn couple(args: &[&str]) -> Value {
    let spec = example("regression-n10-eps30.toml");
    let all = [&["couple", spec.to_str().unwrap(), "--json", "--quiet"], args].concat();
    let output = soma(&all).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn json_says_all_and_does_not_depend_on_threads_or_interruptions() {
    let options = ["--lag", "5", "--estimate", "--k", "2", "--m", "30", "--seed", "4"];
    let with = |more: &[&str]| couple(&[&options, more].concat());
    let whole = with(&["--pairs", "30", "--threads", "1"]);
    let keys = ["kernel", "n", "lag", "pairs", "met", "meeting_times", "rate", "tv_bound"];
    for key in keys.into_iter().chain(["t_001", "estimates"]) {
        assert!(whole.get(key).is_some_and(|value| !value.is_null()), "{key}");
    }
    assert_eq!((&whole["met"], &whole["lag"]), (&Value::from(30), &Value::from(5)));
    assert_eq!(whole["estimates"].as_array().unwrap().len(), 4);
    assert_eq!(whole["chain"], "soma fit --kernel soma --moves centred");
    assert_eq!(with(&["--pairs", "30", "--threads", "3"]), whole);

    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    with(&["--pairs", "12", "--out", out]);
    // A kill in the middle of a line loses that pair only.
    let pairs = folder.path().join("pairs.jsonl");
    let text = std::fs::read_to_string(&pairs).unwrap();
    std::fs::write(&pairs, &text[..text.len() - 9]).unwrap();
    assert_eq!(with(&["--pairs", "30", "--out", out]), whole);

    let spec = example("regression-n10-eps30.toml");
    let other = ["couple", spec.to_str().unwrap(), "--lag", "6", "--out", out];
    soma(&other).assert().failure().code(2);
}

/// Pairs that were changed, belong to another run, are duplicates or have lost their `couple.json`
/// are rejected, and the folder is left unchanged.
#[test]
fn pairs_that_do_not_fit_are_refused() {
    let spec = example("regression-n10-eps30.toml");
    let base = ["couple", spec.to_str().unwrap(), "--lag", "5", "--pairs", "4", "--seed", "4"];
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let with = |options: &[&str]| soma(&[&base[..], options].concat()).output().unwrap();
    assert!(with(&["--out", folder.path().to_str().unwrap()]).status.success());
    let mut second = base.to_vec();
    second[7] = "5";
    second.extend(["--out", other.path().to_str().unwrap()]);
    assert!(soma(&second).output().unwrap().status.success());
    let [manifest, pairs] = ["couple.json", "pairs.jsonl"];
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
    let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).unwrap();
    let whole = [read(manifest), read(pairs)];
    let foreign = std::fs::read_to_string(other.path().join(pairs)).unwrap();
    let first = whole[1].lines().next().unwrap();
    let cost = whole[1].find("\"cost\":").unwrap() + 7;
    let mut changed = whole[1].clone();
    let digit = if &changed[cost..=cost] == "1" { "2" } else { "1" };
    changed.replace_range(cost..=cost, digit);
    let damaged = [
        (pairs, changed, "checksum"),
        (pairs, foreign, "checksum"),
        (pairs, format!("{}{first}\n", whole[1]), "twice"),
        (manifest, whole[0].replace("\"seed\":4", "\"seed\":5"), "checksum"),
    ];
    let refused = |problem: &str| {
        let output = with(&["--out", folder.path().to_str().unwrap()]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && message.contains(problem), "{message}");
    };
    for (file, text, problem) in damaged {
        write(file, &text);
        refused(problem);
        assert_eq!(read(file), text);
        write(manifest, &whole[0]);
        write(pairs, &whole[1]);
    }
    std::fs::remove_file(folder.path().join(manifest)).unwrap();
    refused("no couple.json");
    assert_eq!(read(pairs), whole[1]);
}

#[test]
fn pairs_that_have_not_met_are_reported() {
    let limit = ["--pairs", "20", "--lag", "1", "--max-iterations", "20"];
    let report = couple(&[&limit[..], &["--estimate", "--k", "1", "--m", "5"]].concat());
    assert_eq!(report["places"], "maximal");
    let met = report["met"].as_u64().unwrap();
    assert!(met < 20, "{met}");
    let times = report["meeting_times"].as_array().unwrap();
    assert_eq!(times.iter().filter(|time| time.is_null()).count() as u64, 20 - met);
    assert_eq!(report["complete"], false);
    assert!(report["t_001"].is_null() && report["estimates"].as_array().unwrap().is_empty());
}

/// No invalid bound is printed.
#[test]
fn no_bound_follows_from_pairs_that_have_not_met() {
    let spec = example("regression-n10-eps30.toml");
    let limit = ["--pairs", "20", "--lag", "1", "--max-iterations", "20"];
    let args = [&["couple", spec.to_str().unwrap()], &limit[..]].concat();
    let output = soma(&args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("no bound follows"), "{text}");
    assert!(!text.contains("distance at most"), "{text}");
}

/// A limit before which no pair can meet is rejected.
#[test]
fn a_limit_within_the_lag_is_refused() {
    let spec = example("regression-n10-eps30.toml");
    let base = ["couple", spec.to_str().unwrap(), "--max-iterations", "20"];
    let output = soma(&[&base[..], &["--lag", "20"]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("--max-iterations") && message.contains("iteration 21"), "{message}");
}

/// A problem that is too large ends with the pilot, and with advice.
#[test]
fn a_pilot_that_does_not_meet_says_so() {
    let spec = example("regression-n100-eps30.toml");
    let args = ["couple", spec.to_str().unwrap(), "--max-iterations", "20"];
    let output = soma(&args).output().unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in ["none of 24 pilot pairs of 100 records", "iteration 20", "--max-iterations"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn functions_that_cannot_be_read_are_refused() {
    let spec = example("regression-n10-eps30.toml");
    let args = ["couple", spec.to_str().unwrap(), "--estimate", "--function", "gamma"];
    let output = soma(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("beta0"));
}

#[test]
fn a_warmup_can_be_certified() {
    let spec = example("regression-n10-eps30.toml");
    let base = ["fit", spec.to_str().unwrap(), "--warmup", "certified", "--draws", "50", "--json"];
    let output = soma(&base).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let warmup = report["warmup"].as_u64().unwrap();
    // Pairs of this chain take 80 iterations to meet, and the longest of hundreds some 500.
    assert!((150..2_000).contains(&warmup), "{warmup}");
    // It agrees with `soma couple` for the same chain.
    let pairs = couple(&["--pairs", "200"]);
    assert_eq!((&pairs["t_001_upper"], &pairs["kernel"]), (&report["warmup"], &report["kernel"]));
    assert_eq!(pairs["moves"], "centred");
    let other = [&base[..], &["--moves", "interwoven"]].concat();
    soma(&other).assert().failure().code(2);
}

/// More pairs than there is memory for are refused, before any is listed.
#[test]
fn too_many_pairs_are_refused() {
    let spec = example("category-counts.toml");
    let mut command = soma(&["couple", spec.to_str().unwrap(), "--pairs", "1000000000000"]);
    let said = String::from_utf8(command.assert().code(2).get_output().stderr.clone()).unwrap();
    assert!(said.contains("2..=10000000"), "{said}");
}
