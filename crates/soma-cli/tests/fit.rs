//! `soma fit`: its output, and options that override the spec.

mod common;

use common::{example, json, soma};
use serde_json::Value;

const QUICK: [&str; 8] = ["--chains", "2", "--warmup", "20", "--draws", "50", "--seed", "7"];

#[test]
fn json_has_the_promised_fields() {
    // With other moves, records may be swept in every other iteration only.
    let args = ["--json", "--kernel", "sys-imwg", "--moves", "centred"];
    let spec = example("atus-female");
    let report = json(soma().arg("fit").arg(spec).args(QUICK).args(args));
    let fields: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    for field in [
        "parameters",
        "verdict",
        "kernel",
        "n",
        "chains",
        "warmup",
        "draws",
        "acceptance_rate",
        "moves",
        "theta_moves",
        "seconds_warmup",
        "seconds_sampling",
        "seed",
        "version",
    ] {
        assert!(fields.contains(&field), "{field} is missing of {fields:?}");
    }
    let rows = report["parameters"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for field in ["mean", "sd", "q5", "q50", "q95", "mcse_mean", "rhat", "ess_bulk", "ess_tail"] {
        assert!(rows[0][field].is_f64(), "{field}");
    }
    assert_eq!(rows[0]["name"], "alpha1");
    assert_eq!(report["n"], 3528);
    assert_eq!(report["chains"], 2);
    assert_eq!(report["warmup"], 20);
    assert_eq!(report["draws"], 50);
    assert_eq!(report["seed"], 7);
    assert_eq!(report["moves"], 2 * 50 * 3528);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    let rate = report["acceptance_rate"].as_f64().unwrap();
    assert!(rate > 0.0 && rate <= 1.0);
}

/// The reports of each theta update of every chain are equal in `--json` and in the manifest, and
/// summarised in the table.
#[test]
fn the_moves_of_theta_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--chains", "2", "--warmup", "60", "--draws", "50", "--out"];
    let run = |more: &[&str]| {
        let out = folder.path().join(more.len().to_string());
        let mut command = soma();
        command.arg("fit").arg(example("regression-n10-eps3")).args(args).arg(&out).args(more);
        (command, out)
    };
    let (mut command, out) = run(&["--json"]);
    let report = json(&mut command);
    let chains = report["theta_moves"].as_array().unwrap();
    assert_eq!(chains.len(), 2);
    for chain in chains.iter().map(|chain| chain.as_array().unwrap()) {
        let names: Vec<&str> = chain.iter().map(|made| made["name"].as_str().unwrap()).collect();
        assert_eq!(names[..2], ["sweep", "centred"]);
        let shares: f64 = chain.iter().map(|made| made["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
        for made in chain {
            let every = made["every"].as_u64().unwrap();
            let least = 50 * made["repeats"].as_u64().unwrap() / every;
            assert!(made["tally"]["proposed"].as_u64().unwrap() >= least, "{made}");
        }
    }
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["theta_moves"], report["theta_moves"]);
    let output = run(&["--moves", "centred"]).0.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Work: sweep ") && text.contains(", centred "), "{text}");
}

#[test]
fn the_table_comes_with_a_verdict() {
    let output = soma().arg("fit").arg(example("private-mean-n2")).args(QUICK).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for word in ["parameter", "mcse", "R-hat", "ESS bulk", "mean_x1", "Acceptance rate", "seed 7"] {
        assert!(text.contains(word), "{word} is missing of\n{text}");
    }
    assert!(text.contains("trust") || text.contains("effective draws"));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "no bar where there is no terminal");
}

/// Noise of scale 1e-17 freezes the records. The table, `--json` and `diagnose` all report it.
#[test]
fn a_frozen_chain_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, out) = (folder.path().join("frozen.toml"), folder.path().join("run"));
    let text = r#"
        [release]
        n = 20
        statistic = "mean"
        values = [0.5]
        query = { kind = "mean", clamp = [0.0, 1.0] }
        mechanism = { kind = "laplace", scale = 1e-17 }
        [model]
        kind = "uniform"
        range = [0.0, 1.0]
        summaries = ["mean", "sd"]
    "#;
    std::fs::write(&spec, text).unwrap();
    let fit = || {
        let mut command = soma();
        command.arg("fit").arg(&spec).args(["--warmup", "500", "--draws", "1000", "--chains", "2"]);
        command
    };
    let text = |output: std::process::Output| String::from_utf8(output.stdout).unwrap();
    let table = text(fit().arg("--out").arg(&out).output().unwrap());
    assert!(table.contains("Do not trust this") && table.contains("never moved"), "{table}");
    assert!(table.contains("of the proposed records"), "{table}");
    let diagnosed = soma().arg("diagnose").arg(&out).arg("--json").output().unwrap();
    for json in [text(diagnosed), text(fit().arg("--json").output().unwrap())] {
        let report: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(report["verdict"]["trusted"], false, "{report}");
        let reasons = report["verdict"]["reasons"].as_array().unwrap();
        let kinds: Vec<&str> = reasons.iter().map(|r| r["kind"].as_str().unwrap()).collect();
        let is_frozen = |kind: &&str| ["constant", "hardly_moved"].contains(kind);
        assert!(kinds.iter().any(is_frozen) && kinds.contains(&"refused"), "{kinds:?}");
        // NaN if all chains have the same constant value, and small if each has its own.
        assert!(
            report["parameters"][0]["ess_bulk"].as_f64().is_none_or(|ess| ess < 5.0),
            "{report}"
        );
    }
}

/// The posterior of a sharp release of few records may have separate modes. With a ladder the
/// chains cross between them; without one the table, `--json` and `diagnose` report that trust is
/// unknown, even if the chains agree.
#[test]
fn what_cannot_be_known_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("sharp.toml");
    let text = r#"
        [release]
        n = 4
        statistic = "mean"
        values = [0.5]
        query = { kind = "mean", clamp = [0.0, 1.0] }
        mechanism = { kind = "laplace", epsilon = 9.0 }
        [model]
        kind = "uniform"
        range = [0.0, 1.0]
        summaries = ["mean", "sd"]
    "#;
    std::fs::write(&spec, text).unwrap();
    let fit = |moves: &str, out: &str| {
        let mut command = soma();
        let out = folder.path().join(out);
        command.arg("fit").arg(&spec).args(["--warmup", "500", "--draws", "4000", "--moves"]);
        command.arg(moves).arg("--out").arg(out).output().unwrap()
    };
    let diagnosed = |out: &str| {
        let run = folder.path().join(out);
        json(soma().arg("diagnose").arg(run).arg("--json"))["verdict"].clone()
    };
    let table = String::from_utf8(fit("centred", "without").stdout).unwrap();
    assert!(table.contains("It cannot be known") && table.contains("no ladder"), "{table}");
    let verdict = diagnosed("without");
    assert_eq!((&verdict["trusted"], &verdict["unknown"]), (&false.into(), &true.into()));
    assert_eq!(verdict["reasons"][0]["kind"], "no_ladder");
    let table = String::from_utf8(fit("auto", "with").stdout).unwrap();
    assert!(table.contains("The chains agree") && table.contains("swap"), "{table}");
    assert_eq!(diagnosed("with")["trusted"], true);
}

/// The report without times, which differ between runs.
fn timeless(mut report: Value) -> Value {
    let fields = report.as_object_mut().unwrap();
    fields.remove("seconds_warmup");
    fields.remove("seconds_sampling");
    report
}

#[test]
fn draws_do_not_depend_on_threads() {
    let run = |threads: &str| {
        let spec = example("regression-n10-eps3");
        let args = ["--threads", threads, "--json", "--draws", "60", "--warmup", "40"];
        timeless(json(soma().arg("fit").arg(spec).args(args)))
    };
    let one = run("1");
    assert_eq!(one, run("2"));
    assert_eq!(one, run("5"));
}

#[test]
fn every_kernel_can_be_chosen() {
    for kernel in soma::kernel::KernelChoice::NAMES {
        let is_counts = kernel == "counts";
        let spec = example(if is_counts { "category-counts" } else { "regression-n10-eps3" });
        let args = ["--json", "--kernel", kernel];
        let report = json(soma().arg("fit").arg(spec).args(QUICK).args(args));
        assert_eq!(report["kernel"], kernel);
    }
    let args = ["--kernel", "soma-subset", "--subset", "3", "--thin", "2", "--json"];
    let spec = example("regression-n10-eps3");
    let report = json(soma().arg("fit").arg(spec).args(QUICK).args(args));
    assert_eq!(report["moves"], 2 * 50 * 2 * 10);
}

#[test]
fn wrong_options_are_refused() {
    for (args, word) in [
        (vec!["--kernel", "sona"], "soma"),
        (vec!["--chains", "0"], "0"),
        (vec!["--draws", "0"], "0"),
        (vec!["--thin", "0"], "0"),
        (vec!["--kernel", "soma-subset", "--subset", "11"], "from 1 to n = 10"),
        (vec!["--kernel", "soma", "--subset", "3"], "soma-subset"),
        (vec!["--resume"], "--out"),
        (vec!["--nothing"], "--nothing"),
    ] {
        let spec = example("regression-n10-eps3");
        let output = soma().arg("fit").arg(spec).args(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(word), "{args:?} gave\n{error}");
    }
    soma().args(["fit", "nowhere.toml"]).assert().code(2);
}

/// Rejected before anything is allocated, and before a folder is created.
#[test]
fn a_run_that_cannot_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(example("private-mean-n2")).unwrap();
    let large = text.replacen("n = 2", "n = 1000000000", 1);
    assert_ne!(text, large);
    let path = folder.path().join("large.toml");
    std::fs::write(&path, large).unwrap();
    let run = folder.path().join("run");
    let mut fit = soma();
    fit.arg("fit").arg(&path).args(["--chains", "64", "--threads", "64", "--out"]).arg(&run);
    let output = fit.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("memory: the run does not fit (given: about "), "{said}");
    assert!(!run.exists());
    let check = soma().arg("check").arg(&path).output().unwrap();
    let said = String::from_utf8(check.stdout).unwrap();
    assert!(said.contains("\nmemory   about ") && said.contains(" GB on "), "{said}");
}

/// An update of 2,000 shares takes long: the first Ctrl-C interrupts it.
#[cfg(unix)]
#[test]
fn ctrl_c_is_answered_within_an_iteration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shares.toml");
    let values = vec!["0.0005"; 2000].join(", ");
    let spec = format!(
        "[release]\nn = 300\nstatistic = \"mean\"\nvalues = [{values}]\n\
         query = {{ kind = \"mean\", clamp = [0.0, 1.0] }}\n\
         mechanism = {{ kind = \"laplace\", epsilon = 1.0 }}\n\
         [model]\nkind = \"dirichlet\"\nprior = {{ kind = \"gamma\", shape = 1.0, rate = 1.0 }}\n\
         [sampler]\nchains = 1\nwarmup = 100000\n"
    );
    std::fs::write(&path, spec).unwrap();
    let mut fit = std::process::Command::new(env!("CARGO_BIN_EXE_soma"));
    let mut child = fit.arg("fit").arg(&path).arg("--quiet").spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let told = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(told.unwrap().success());
    // A generous timeout for a loaded machine.
    for _ in 0..600 {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(1), "nothing was drawn");
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    child.kill().unwrap();
    panic!("Ctrl-C was not answered");
}
