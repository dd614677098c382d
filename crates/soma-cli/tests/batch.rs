//! Many fits in one call: the same draws as one by one, also after interruptions.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{example, json, soma};

/// `count` specs of tables with 24 cells, each with other counts, in a folder.
fn tables(folder: &Path, count: usize) -> PathBuf {
    let specs = folder.join("specs");
    std::fs::create_dir_all(&specs).unwrap();
    let labels: Vec<String> = (0..24).map(|cell| format!("\"c{cell}\"")).collect();
    for table in 0..count {
        // Arbitrary, distinct counts.
        let value = |cell: usize| ((7 * cell + 13 * table) % 19 + 1).to_string();
        let values: Vec<String> = (0..24).map(value).collect();
        let text = format!(
            "[release]\nn = 240\nstatistic = \"sum\"\nvalues = [{}]\n\
             query = {{ kind = \"categories\", labels = [{}] }}\n\
             mechanism = {{ kind = \"discrete-laplace\", scale = 2.0 }}\n\
             [model]\nkind = \"categorical\"\nprior = {{ kind = \"dirichlet\", alpha = 1.0 }}\n\
             [sampler]\nseed = {table}\n",
            values.join(", "),
            labels.join(", "),
        );
        std::fs::write(specs.join(format!("table-{table:04}.toml")), text).unwrap();
    }
    specs
}

/// All files below a folder that hold draws or results, with their contents.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for path in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "parquet" || end == "checkpoint") {
                let name = path.strip_prefix(folder).unwrap().to_path_buf();
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

const QUICK: [&str; 6] = ["--chains", "2", "--warmup", "30", "--draws", "60"];

#[test]
fn a_batch_gives_the_draws_of_single_fits() {
    let folder = tempfile::tempdir().unwrap();
    let specs = tables(folder.path(), 3);
    let out = folder.path().join("out");
    let mut command = soma();
    command.arg("fit").arg(&specs).arg(example("regression-n10-eps3")).args(QUICK);
    let report = json(command.args(["--json", "--threads", "2", "--out"]).arg(&out));
    let fits = report["fits"].as_array().unwrap();
    let names: Vec<&str> = fits.iter().map(|fit| fit["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["table-0000", "table-0001", "table-0002", "regression-n10-eps3"]);
    let counts: u64 = ["trusted", "untrusted", "stopped", "failed"]
        .iter()
        .map(|verdict| report[verdict].as_u64().unwrap())
        .sum();
    assert_eq!(counts, 4);
    assert!(out.join("results.parquet").exists());
    for (name, fit) in names.iter().zip(fits) {
        let spec = if name.starts_with("table") {
            specs.join(format!("{name}.toml"))
        } else {
            example(name)
        };
        let alone = folder.path().join("alone").join(name);
        let single =
            json(soma().arg("fit").arg(spec).args(QUICK).arg("--json").arg("--out").arg(&alone));
        for field in ["parameters", "verdict", "advice", "theta_moves", "seed"] {
            assert_eq!(fit[field], single[field], "{field} of {name}");
        }
        assert!(files(&out.join(name)) == files(&alone), "the files of {name} differ");
    }
    // Without a folder the draws are the same.
    let mut command = soma();
    command.arg("fit").arg(&specs).arg(example("regression-n10-eps3")).args(QUICK);
    let in_memory = json(command.arg("--json"));
    for (one, other) in fits.iter().zip(in_memory["fits"].as_array().unwrap()) {
        assert_eq!(one["parameters"], other["parameters"]);
    }
}

/// A batch that is killed three times at random times and resumed leaves the files of an
/// uninterrupted one: `SOMA_FITS` fits.
///
/// `SOMA_FITS=1000 cargo test --release -p soma-mcmc-cli --test batch killed -- --nocapture`
#[test]
fn a_batch_that_is_killed_and_resumed_gives_the_same_results() {
    let count = std::env::var("SOMA_FITS").map_or(8, |fits| fits.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let specs = tables(folder.path(), count);
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let fit = |out: &Path, given: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_soma"));
        command.arg("fit").args(given).arg("--out").arg(out);
        command.args(["--quiet", "--strict", "--threads", "2", "--checkpoint", "0.02"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let options = ["--chains", "2", "--warmup", "200", "--draws", "300"];
    let first: Vec<&str> = [specs.to_str().unwrap()].into_iter().chain(options).collect();
    let begun = Instant::now();
    // 300 draws are too few to be trusted, and `--strict` reports it.
    assert_eq!(fit(&whole, &first).status().unwrap().code(), Some(3));
    let seconds = begun.elapsed().as_secs_f64();

    let seed = std::process::id();
    let mut hit = 0;
    for kill in 0..3u32 {
        // Pseudo-random fractions of the duration of the batch, by a linear congruential generator.
        let random =
            f64::from(seed.wrapping_mul(1_664_525).wrapping_add(kill * 977) % 1000) / 1000.0;
        let given: &[&str] = if kill == 0 { &first } else { &["--resume"] };
        let mut child = fit(&killed, given).spawn().unwrap();
        std::thread::sleep(Duration::from_secs_f64(seconds * (0.1 + 0.3 * random)));
        hit += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(hit > 0, "the batch was over before it was killed");
    // No spec and no option is given: they are in the folder.
    assert_eq!(fit(&killed, &["--resume"]).status().unwrap().code(), Some(3));
    let (one, other) = (files(&whole), files(&killed));
    assert_eq!(one.len(), 1 + 4 * count, "draws and checkpoints of two chains, and the results");
    assert!(one.keys().eq(other.keys()));
    for (name, contents) in &one {
        assert!(other[name] == *contents, "{} differs", name.display());
    }
    println!("{count} fits in {seconds:.1} s; {hit} of 3 kills came before the end");
}

/// Fits that have not begun are known from `batch.json` alone: damage of it must not go unnoticed,
/// and crafted settings are refused before anything is allocated for them.
#[test]
fn a_damaged_or_crafted_batch_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let specs = tables(folder.path(), 2);
    let out = folder.path().join("out");
    let mut fit = soma();
    fit.arg("fit").arg(&specs).args(QUICK).arg("--quiet").arg("--out").arg(&out);
    fit.assert().success();
    std::fs::remove_dir_all(out.join("table-0001")).unwrap();
    let file = out.join("batch.json");
    let good = std::fs::read_to_string(&file).unwrap();
    let refused = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let refused = soma().args(["fit", "--quiet", "--resume", "--out"]).arg(&out).assert();
        let output = refused.code(2).get_output().stderr.clone();
        assert!(!out.join("table-0001").exists());
        String::from_utf8(output).unwrap()
    };
    let digit = good.find("values = [").unwrap() + "values = [".len();
    for new in ["7", "8"] {
        let mut changed = good.clone();
        changed.replace_range(digit..digit + 1, new);
        if changed != good {
            assert!(refused(&changed).contains("checksum does not match"));
        }
    }
    for chains in ["1000000000000", "4611686018427387904", "0"] {
        let crafted = good.replacen("\"chains\": 2", &format!("\"chains\": {chains}"), 1);
        assert_ne!(crafted, good);
        let said = refused(&soma_store::testing::seal_manifest(&crafted));
        assert!(said.contains("chains"), "{said}");
    }
}

/// `--strict` ends with 3 where a fit is not trusted, alone or in a batch, and only there.
#[test]
fn strict_is_an_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let good = ["--chains", "2", "--warmup", "500", "--draws", "2000"];
    let bad = ["--chains", "2", "--warmup", "10", "--draws", "20"];
    let code = |args: &[&str], spec: &[PathBuf]| {
        let output = soma().arg("fit").args(spec).args(args).output().unwrap();
        assert!(!output.stdout.is_empty(), "the table is printed all the same");
        output.status.code().unwrap()
    };
    let with = |args: &[&'static str]| [args, &["--strict"]].concat();
    let one = [example("private-mean-n2")];
    let two = [one[0].clone(), example("histogram-n20")];
    assert_eq!([code(&bad, &one), code(&with(&bad), &one)], [0, 3]);
    assert_eq!([code(&bad, &two), code(&with(&bad), &two)], [0, 3]);
    assert_eq!([code(&with(&good), &one), code(&with(&good), &two)], [0, 0]);
    let text = soma().arg("fit").args(&two).args(bad).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("0 of 2 fits are trusted.") && text.contains("untrusted"), "{text}");
    // A stored run gets the same verdict when its parts are merged.
    let out = folder.path().join("part");
    soma().arg("fit").args(&one).args(bad).arg("--out").arg(&out).assert().success();
    let joined = folder.path().join("joined");
    soma().arg("merge").arg(&out).arg("--strict").arg("--out").arg(joined).assert().code(3);
}

/// The suggested settings are in `--json`, as in the sentence.
#[test]
fn the_advice_has_numbers() {
    let args = ["--chains", "1", "--warmup", "10", "--draws", "20"];
    let spec = example("regression-n10-eps3");
    let report = json(soma().arg("fit").arg(&spec).args(args).arg("--json"));
    let advice = &report["advice"];
    assert_eq!(advice["chains"], 4);
    let draws = advice["draws"].as_u64().unwrap();
    let rough = report["verdict"]["reasons"].as_array().unwrap();
    let rough = rough.iter().find(|reason| reason["kind"] == "rough").unwrap();
    let [ess, wanted] = ["ess", "wanted"].map(|name| rough[name].as_f64().unwrap());
    // 1.2 times 20 draws times the missing factor, rounded up to one digit.
    let least = 1.2 * 20.0 * wanted / ess.max(1.0);
    assert!((least..=2.0 * least).contains(&(draws as f64)), "{draws} for {rough}");
    let text = soma().arg("fit").arg(&spec).args(args).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains(&format!("--draws {draws}")) && text.contains("--chains 4"), "{text}");
}

/// The chains of one run, made by three calls into three folders, are merged into the run of one
/// call.
#[test]
fn parts_are_merged_into_the_run_of_one_call() {
    let folder = tempfile::tempdir().unwrap();
    let spec = tables(folder.path(), 2);
    let fit = |table: usize, out: &str, args: &[&str]| {
        let mut command = soma();
        let spec = spec.join(format!("table-{table:04}.toml"));
        command.arg("fit").arg(spec).args(["--warmup", "20", "--draws", "40"]).args(args);
        command.arg("--quiet").arg("--out").arg(folder.path().join(out)).assert().success();
    };
    fit(0, "whole", &["--chains", "5"]);
    fit(0, "a", &["--chains", "2"]);
    fit(0, "b", &["--chains", "2", "--chains-from", "2"]);
    fit(0, "c", &["--chains", "1", "--chains-from", "4"]);
    let merge = |parts: &[&str], out: &str| {
        let mut command = soma();
        command.arg("merge").args(parts).args(["--json", "--out", out]).current_dir(folder.path());
        command
    };
    let merged = json(&mut merge(&["c", "a", "b"], "merged"));
    let whole = json(soma().args(["diagnose", "--json", "whole"]).current_dir(folder.path()));
    for field in ["parameters", "verdict", "chains", "draws", "moves", "theta_moves"] {
        assert_eq!(merged[field], whole[field], "{field}");
    }
    let path = |name: &str| folder.path().join(name);
    assert!(files(&path("merged")) == files(&path("whole")));
    // A merged run can be resumed.
    let more = |name: &str| {
        let mut command = soma();
        command.args(["fit", "--resume", "--quiet", "--draws", "70", "--out"]).arg(path(name));
        command.assert().success();
    };
    more("merged");
    more("whole");
    assert!(files(&path("merged")) == files(&path("whole")));

    fit(0, "d", &["--chains", "1", "--chains-from", "2"]);
    fit(0, "other-seed", &["--chains", "2", "--chains-from", "2", "--seed", "77"]);
    fit(1, "other-spec", &["--chains", "2", "--chains-from", "2"]);
    for (parts, word) in [
        (vec!["a", "c"], "no folder holds chain 2"),
        (vec!["a", "b", "d"], "which another folder holds too"),
        (vec!["a", "other-seed"], "other settings"),
        (vec!["a", "other-spec"], "another spec"),
        (vec!["a", "nowhere"], "does not exist"),
        (vec!["a", "whole"], "which another folder holds too"),
    ] {
        let output = merge(&parts, "refused").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{parts:?}: {said}");
        assert!(said.contains(word) || parts[1] == "whole", "{said}");
        assert!(!path("refused").exists());
    }
    merge(&["a", "b"], "merged").assert().code(2);
}

/// A row of a table of releases gives the draws of a spec with its cells.
#[test]
fn rows_of_a_table_are_fitted_as_specs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let spec = |values: &str, n: u32, seed: u32| {
        format!(
            "[release]\nn = {n}\nstatistic = \"sum\"\nvalues = {values}\n\
             query = {{ kind = \"categories\", labels = [\"a\", \"b\"] }}\n\
             mechanism = {{ kind = \"discrete-laplace\", scale = 2.0 }}\n\
             [model]\nkind = \"categorical\"\nprior = {{ kind = \"dirichlet\", alpha = 1.0 }}\n\
             [sampler]\nseed = {seed}\n"
        )
    };
    std::fs::write(path("all.toml"), spec("[0, 0]", 50, 1)).unwrap();
    std::fs::write(path("south.toml"), spec("[31, 8]", 40, 7)).unwrap();
    let table = "name,release.values.0,release.values.1,release.n,sampler.seed\n\
                 north,12,37,,\nsouth,31,8,40,7\n";
    std::fs::write(path("table.csv"), table).unwrap();
    let fit = |args: &[&str]| {
        let mut command = soma();
        command.current_dir(folder.path()).arg("fit").args(args).args(QUICK).arg("--quiet");
        command
    };
    let table = ["all.toml", "--releases", "table.csv", "--json", "--out", "out"];
    let report = json(&mut fit(&table));
    assert_eq!(report["fits"][0]["name"], "north");
    let alone = json(&mut fit(&["south.toml", "--json"]));
    assert_eq!(report["fits"][1]["parameters"], alone["parameters"]);
    assert_ne!(report["fits"][0]["parameters"], alone["parameters"]);
    // The same rows again are what the folder holds.
    fit(&[&table[..], &["--resume"]].concat()).assert().success();

    for (table, word) in [
        ("region,release.n\na,3\n", "the column name is missing"),
        ("name,release.values.9\na,3\n", "0 to 2"),
        ("name,release.n\na,-3\n", "table.csv, row 1"),
        ("name,release.size\na,3\n", "size"),
        ("name,release.n\na,3\na,4\n", "different names"),
        ("name,release.n\na/b,3\n", "cannot be the name"),
    ] {
        std::fs::write(path("table.csv"), table).unwrap();
        let output = fit(&["all.toml", "--releases", "table.csv"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn what_cannot_be_a_batch_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let specs = tables(folder.path(), 2);
    let out = folder.path().join("out");
    let run = |args: &[&str], paths: &[&Path]| {
        let mut command = soma();
        let output = command.arg("fit").args(paths).args(QUICK).args(args).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let stored = ["--out", out.to_str().unwrap()];
    assert_eq!(run(&stored, &[&specs]).0, 0);
    let resumed = [&stored[..], &["--resume"]].concat();
    let copy = folder.path().join("table-0001.toml");
    std::fs::copy(specs.join("table-0001.toml"), &copy).unwrap();
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let other = folder.path().join("more").join("table-0000.toml");
    std::fs::create_dir(other.parent().unwrap()).unwrap();
    std::fs::copy(example("category-counts"), &other).unwrap();
    for (args, paths, word) in [
        (&stored[..], vec![specs.as_path()], "holds a batch already"),
        (&[], vec![&specs, &copy], "so is that of"),
        (&[], vec![&empty], "there is no spec in this folder"),
        (&resumed, vec![&other, &specs], "of another spec"),
        (&[&resumed[..], &["--seed", "9"]].concat(), vec![&specs], "other settings"),
        (&["--chains-from", "2", "--out", "x"], vec![&specs], "one spec"),
        (&["--warmup", "certified"], vec![&specs], "certified"),
    ] {
        let args: Vec<&str> = args.to_vec();
        let mut command = soma();
        let quick = if args.contains(&"--warmup") { &QUICK[..2] } else { &QUICK };
        command.arg("fit").args(&paths).args(quick).args(&args);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{word}: {said}");
        assert!(said.contains(word), "{said}");
    }
    // One invalid spec stops the batch before it begins.
    std::fs::write(specs.join("wrong.toml"), "[release]\nn = 0\n").unwrap();
    let fresh = folder.path().join("fresh");
    let (code, said) = run(&["--out", fresh.to_str().unwrap()], &[&specs]);
    assert!(code == 2 && said.contains("wrong.toml"), "{said}");
    // More draws are allowed.
    std::fs::remove_file(specs.join("wrong.toml")).unwrap();
    let mut command = soma();
    command.args(["fit", "--resume", "--draws", "90", "--json", "--out"]).arg(&out);
    assert_eq!(json(&mut command)["fits"][1]["draws"], 90);
    soma().args(["fit", "--resume", "--out"]).arg(&empty).assert().code(2);
}

/// Ctrl-C ends a batch with the draws so far; fits that were not begun have none.
#[cfg(unix)]
#[test]
fn an_interrupted_batch_reports_and_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let specs = tables(folder.path(), 3);
    let out = folder.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_soma"));
    command.arg("fit").arg(&specs).args(["--draws", "1000000", "--warmup", "10"]);
    command.args(["--threads", "1", "--checkpoint", "0.01", "--json", "--quiet", "--out"]);
    let child = command.arg(&out).stdout(Stdio::piped()).spawn().unwrap();
    let draws = out.join("table-0000/draws/chain-0000-part-00000.parquet");
    while !draws.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(told.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["stopped"], 3, "{report}");
    assert!(report["fits"][0]["draws"].as_u64().unwrap() > 0);
    assert_eq!(report["fits"][1]["error"], "it was not begun");
    assert!(out.join("results.parquet").exists());
    // A single fit of the batch can be diagnosed, and the batch is not mistaken for one.
    soma().arg("diagnose").arg(out.join("table-0000")).assert().success();
    soma().arg("diagnose").arg(&out).assert().code(2);
}
