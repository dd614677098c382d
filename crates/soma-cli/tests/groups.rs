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
    ] {
        let said = refused(text, args);
        assert!(said.contains(words), "{words}: {said}");
    }
}
