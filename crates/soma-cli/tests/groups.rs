//! `soma groups`: one table in, one table out.

mod common;

use std::path::PathBuf;

use common::soma;

const TABLE: &str = "group,cell,value,scale,n\nnorth,a,12,2,\nnorth,b,3,2,\nsouth,a,12,2,15\n\
                     south,b,3,2,15\n";

fn written(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("table.csv");
    std::fs::write(&path, text).unwrap();
    path
}

const HIDDEN: &str = "group,cell,value,scale\nx,a,1,1\nx,b,Suppressed,1\n";

/// What the program says of a table that it refuses.
fn refused(text: &str, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = written(&folder, text);
    let refused = soma().arg("groups").arg(path).args(args).assert().code(2);
    String::from_utf8(refused.get_output().stderr.clone()).unwrap()
}

/// The cells of a CSV file, row by row.
fn cells(path: &PathBuf) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let row = |row: Result<csv::StringRecord, csv::Error>| {
        row.unwrap().iter().map(String::from).collect()
    };
    reader.records().map(row).collect()
}

#[test]
fn groups_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let (table, csv) = (written(&folder, TABLE), folder.path().join("out.csv"));
    let parquet = folder.path().join("out.parquet");
    let noise = ["--noise", "discrete-laplace", "--quiet", "--strict", "--draws", "4000"];
    let ran = soma()
        .arg("groups")
        .arg(&table)
        .args(noise)
        .arg("--out")
        .arg(&csv)
        .arg("--out")
        .arg(&parquet)
        .assert()
        .success();
    let said = String::from_utf8(ran.get_output().stdout.clone()).unwrap();
    assert!(said.contains("2 of 2 groups are trusted"), "{said}");
    // The answers: a column for each share, with its interval.
    assert!(said.contains("p[a]") && said.contains("0.7") && said.contains(" to 0."), "{said}");
    let rows = cells(&csv);
    let find = |group: &str, parameter: &str| {
        rows.iter().find(|row| row[0] == group && row[1] == parameter)
    };
    // The oracles of two categories: n unknown, and n = 15.
    for (group, expected) in [("north", 0.74876), ("south", 0.76105)] {
        let row = find(group, "p[a]").unwrap();
        let (mean, mcse): (f64, f64) = (row[2].parse().unwrap(), row[7].parse().unwrap());
        assert!((mean - expected).abs() < 4.5 * mcse, "{group}: {mean} +- {mcse}");
        assert_eq!(row[13], "trusted");
    }
    assert!(find("north", "n").is_some() && find("south", "n").is_none());
    // The Parquet file has the same rows.
    let (columns, read) = soma_store::read_table(&parquet).unwrap();
    assert_eq!(columns[..3], ["group", "parameter", "mean"]);
    assert_eq!(read, rows);
    // And a table as Parquet is read as well.
    let again = soma().arg("groups").arg(&parquet).args(&noise[..2]).assert().code(2);
    let said = String::from_utf8(again.get_output().stderr.clone()).unwrap();
    assert!(said.contains("the column cell is missing"), "{said}");
}

/// The size of a group is public, unknown, or known with noise: the oracles of two categories.
#[test]
fn sizes_of_groups() {
    let folder = tempfile::tempdir().unwrap();
    let text = "group,cell,value,n,noisy_n,n_scale\n\
                x,a,12,15,,\nx,b,3,15,,\ny,a,12,unknown,,\ny,b,3,unknown,,\n\
                z,a,12,,18,1\nz,b,3,,18,1\n";
    let (table, csv) = (written(&folder, text), folder.path().join("out.csv"));
    let args = ["--noise", "discrete-laplace", "--scale", "2", "--draws", "4000", "--quiet"];
    soma().arg("groups").arg(&table).args(args).arg("--out").arg(&csv).assert().success();
    let rows = cells(&csv);
    for (group, expected) in [("x", 0.76105), ("y", 0.74876), ("z", 0.72971)] {
        let row = rows.iter().find(|row| row[0] == group && row[1] == "p[a]").unwrap();
        let (mean, mcse): (f64, f64) = (row[2].parse().unwrap(), row[7].parse().unwrap());
        assert!((mean - expected).abs() < 4.5 * mcse, "{group}: {mean} +- {mcse}");
    }
    // Pooled groups take it too.
    soma().arg("groups").arg(&table).args(args).arg("--pool").assert().success();
}

/// Counts clamped at zero and suppressed counts have the exact answers, and pooled ones are fitted.
#[test]
fn counts_that_were_clamped_or_suppressed() {
    let clamped = "group,cell,value,scale\nx,a,12,3\nx,b,0,3\n";
    let hidden = "group,cell,value,scale,threshold\nx,a,95,10,90\nx,b,suppressed,10,90\n";
    for (text, option, expected) in
        [(clamped, Some("--clamp-at-zero"), 0.83629), (hidden, None, 0.72406)]
    {
        let folder = tempfile::tempdir().unwrap();
        let (table, csv) = (written(&folder, text), folder.path().join("out.csv"));
        let mut fit = soma();
        fit.arg("groups")
            .arg(&table)
            .args(["--noise", "discrete-gaussian", "--quiet"])
            .args(option);
        fit.args(["--draws", "4000"]).arg("--out").arg(&csv).assert().success();
        let rows = cells(&csv);
        let row = rows.iter().find(|row| row[1] == "p[a]").unwrap();
        let (mean, mcse): (f64, f64) = (row[2].parse().unwrap(), row[7].parse().unwrap());
        assert!((mean - expected).abs() < 4.5 * mcse, "{text}: {mean} +- {mcse}");
    }
    let both = "group,cell,value\nx,a,12\nx,b,suppressed\ny,a,8\ny,b,9\n";
    let folder = tempfile::tempdir().unwrap();
    let args = ["--noise", "discrete-laplace", "--scale", "2", "--threshold", "4", "--pool"];
    let mut fit = soma();
    fit.arg("groups").arg(written(&folder, both)).args(args).args(["--draws", "200", "--quiet"]);
    fit.assert().success();
}

/// What cannot fit is refused before anything is allocated or written.
#[test]
fn draws_that_cannot_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (table, csv) = (written(&folder, TABLE), folder.path().join("out.csv"));
    for (option, given, part) in [
        ("--draws", "1000000000000", "draws: do not fit in memory"),
        ("--draws", "18446744073709551615", "the number of iterations is out of range"),
        ("--thin", "18446744073709551615", "the number of iterations is out of range"),
        ("--warmup", "18446744073709551615", "the number of iterations is out of range"),
    ] {
        for pool in [None, Some("--pool")] {
            let mut fit = soma();
            fit.arg("groups").arg(&table).args(["--noise", "discrete-laplace", option, given]);
            let refused = fit.args(pool).arg("--out").arg(&csv).assert().code(2);
            let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
            assert!(said.contains(part), "{option} {given} {pool:?}: {said}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the table is there");
}

/// A run that is killed goes on from the groups that had ended, with the results of one that was not.
#[test]
fn killed_runs_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (0..40).flat_map(|g| [(g, "a", 12 + g), (g, "b", 3), (g, "c", 40 - g)]);
    let rows = rows.map(|(g, cell, value)| format!("g{g},{cell},{value}\n"));
    let table = written(&folder, &format!("group,cell,value\n{}", rows.collect::<String>()));
    let path = |name: &str| folder.path().join(name);
    let args = |out: &str| {
        let mut args = vec!["groups".to_string(), table.display().to_string(), "--out".into()];
        args.push(path(out).display().to_string());
        let more = "--noise discrete-laplace --scale 2 --draws 6000 --threads 1 --quiet";
        args.extend(more.split(' ').map(String::from));
        args
    };
    soma().args(args("whole.csv")).assert().success();
    assert!(!path("whole.csv.progress").exists());
    let mut killed = std::process::Command::new(env!("CARGO_BIN_EXE_soma"));
    let mut killed =
        killed.args(args("out.csv")).stdout(std::process::Stdio::null()).spawn().unwrap();
    let journal = path("out.csv.progress");
    while std::fs::metadata(&journal).map_or(0, |file| file.len()) < 5000 {
        assert!(killed.try_wait().unwrap().is_none(), "it ended before it could be killed");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(!path("out.csv").exists());
    let said = |args: Vec<String>| {
        let refused = soma().args(args).assert().code(2);
        String::from_utf8(refused.get_output().stderr.clone()).unwrap()
    };
    let again = said(args("out.csv"));
    assert!(again.contains("holds what was done of a run that was stopped"), "{again}");
    let seed = ["--resume", "--seed", "2"].map(String::from);
    let other = said([args("out.csv"), seed.to_vec()].concat());
    assert!(other.contains("of another table or of other options"), "{other}");
    // What is torn at its end is dropped.
    let mut bytes = std::fs::read(&journal).unwrap();
    bytes.extend([7, 0, 0, 0, 1]);
    std::fs::write(&journal, bytes).unwrap();
    soma().args(args("out.csv")).arg("--resume").assert().success();
    assert!(!journal.exists());
    assert_eq!(std::fs::read(path("out.csv")).unwrap(), std::fs::read(path("whole.csv")).unwrap());
}

#[test]
fn pooled_groups() {
    let folder = tempfile::tempdir().unwrap();
    let (table, csv) = (written(&folder, TABLE), folder.path().join("out.csv"));
    let args = ["--noise", "discrete-laplace", "--pool", "--quiet", "--draws", "500"];
    let ran = soma().arg("groups").arg(&table).args(args).arg("--out").arg(&csv).assert().success();
    let said = String::from_utf8(ran.get_output().stdout.clone()).unwrap();
    assert!(said.contains("concentration") && said.contains("The common prior"), "{said}");
    let rows = cells(&csv);
    let shared: Vec<&str> =
        rows.iter().filter(|row| row[0].is_empty()).map(|row| row[1].as_str()).collect();
    assert_eq!(shared, ["concentration", "mean[a]", "mean[b]"]);
    assert!(rows.iter().any(|row| row[0] == "south" && row[1] == "count[b]"));
}

#[test]
fn bad_tables_are_refused() {
    let noise = ["--noise", "discrete-laplace"];
    let bare = "group,cell,value\nx,a,1\nx,b,2\n";
    for (text, args, words) in [
        ("group,value\nx,1\n", &noise[..], "the column cell is missing"),
        (bare, &noise[..], "scale: the noise needs one scale (given: nothing)"),
        (TABLE, &["--noise", "laplace", "--scale", "1"], "a column scale and an option"),
        ("group,cell,value,scale\nx,a,1,1\nx,b,z,1\n", &noise[..], "row 2: value is not a number"),
        ("group,cell,value,scale\nx,a,1,1\nx,a,2,1\nx,b,2,1\n", &noise[..], "there twice"),
        ("group,cell,value,scale\nx,a,1,1\nx,b,2,0\n", &noise[..], "row 2.scale"),
        ("group,cell,value,scale\nx,a,1,1\nx,b,2,1\ny,a,2,1\n", &noise[..], "group y has no row"),
        (bare, &["--noise", "gaussian", "--epsilon", "1"], "epsilon"),
        (HIDDEN, &noise[..], "row 2: a count is not shown"),
        (HIDDEN, &["--noise", "laplace", "--threshold", "5"], "row 1: a count up to the threshold"),
        (
            "group,cell,value,scale,noisy_n\nx,a,1,1,2\nx,b,2,1,2\n",
            &noise[..],
            "needs one scale of its noise",
        ),
        (
            "group,cell,value,scale,n,noisy_n,n_scale\nx,a,1,1,3,2,1\nx,b,2,1,3,2,1\n",
            &noise[..],
            "row 1: the number of records is public and noisy",
        ),
        ("group,cell,value,scale,n\nx,a,1,1,3.5\nx,b,2,1,3.5\n", &noise[..], "empty or unknown"),
        (
            "group,cell,value,scale\nx,a,-1,1\nx,b,2,1\n",
            &["--noise", "laplace", "--clamp-at-zero"],
            "row 1: with --clamp-at-zero no count is below zero",
        ),
    ] {
        let said = refused(text, args);
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// A total among the cells would count everybody twice: it is said, once.
#[test]
fn a_cell_that_looks_like_a_total_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let table = written(&folder, "group,cell,value\nx,a,10\nx,b,20\nx,Total,31\n");
    let args = ["--noise", "discrete-laplace", "--scale", "1", "--draws", "20", "--warmup", "20"];
    let ran = soma().arg("groups").arg(&table).args(args).assert().success();
    let noted = String::from_utf8(ran.get_output().stderr.clone()).unwrap();
    assert!(noted.contains("\"Total\"") && noted.contains("not margins"), "{noted}");
    let plain = written(&folder, "group,cell,value\nx,a,10\nx,b,20\n");
    let ran = soma().arg("groups").arg(&plain).args(args).assert().success();
    assert!(!String::from_utf8(ran.get_output().stderr.clone()).unwrap().contains("margins"));
}

#[test]
fn other_names_of_noise_lead_to_ours() {
    let said = refused(TABLE, &["--noise", "geometric"]);
    assert!(said.contains("did you mean discrete-laplace?"), "{said}");
}
