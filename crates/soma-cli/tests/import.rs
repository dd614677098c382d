//! `soma import`: tables in the formats of tools become releases that `soma check` accepts.

mod common;

use std::path::PathBuf;

use common::soma;

/// Imports tables, and returns the release and the output of `soma check`.
fn imported(tables: &[&str], args: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("release.toml");
    let files = written(&folder, tables);
    let (tool, options) = args.split_first().unwrap();
    soma()
        .arg("import")
        .arg(tool)
        .args(&files)
        .args(options)
        .arg("--out")
        .arg(&out)
        .assert()
        .success();
    let check = soma().arg("check").arg(&out).assert().success();
    let said = String::from_utf8(check.get_output().stdout.clone()).unwrap();
    (std::fs::read_to_string(&out).unwrap(), said)
}

/// The error for tables that cannot be imported.
fn refused(tables: &[&str], args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (tool, options) = args.split_first().unwrap();
    let files = written(&folder, tables);
    let refused = soma().arg("import").arg(tool).args(&files).args(options).assert().code(2);
    String::from_utf8(refused.get_output().stderr.clone()).unwrap()
}

fn written(folder: &tempfile::TempDir, tables: &[&str]) -> Vec<PathBuf> {
    let write = |(i, table): (usize, &&str)| {
        let path = folder.path().join(format!("{i}.csv"));
        std::fs::write(&path, table).unwrap();
        path
    };
    tables.iter().enumerate().map(write).collect()
}

const SUMMARY: &str = "column,aggregate,distribution,scale\n\
    len,Frame Length,Integer Laplace,4.500000000000002\n\
    age,Sum,Float Laplace,450.0000001998404\n";
const RESULT: &str = "len,age\n1016,39686.1224766333\n";

#[test]
fn opendp_scales_are_those_it_prints() {
    let args = ["opendp", "--clamp", "age=0,100"];
    let (text, said) = imported(&[SUMMARY, RESULT], &args);
    assert!(text.contains(r#"{ kind = "laplace", scale = 450.0000001998404 }"#), "{text}");
    assert!(text.contains(r#"{ kind = "discrete-laplace", scale = 4.500000000000002 }"#), "{text}");
    assert!(said.contains("2 parts about an unknown number of records"), "{said}");
    let (swapped, _) = imported(&[RESULT, SUMMARY], &args);
    assert_eq!(text, swapped);
    let (known, said) = imported(&[SUMMARY, RESULT], &[&args[..], &["--n", "1000"]].concat());
    assert!(known.contains("n = 1000") && said.contains("n = 1000"), "{said}");
}

#[test]
fn opendp_asks_for_what_it_does_not_print() {
    let message = refused(&[SUMMARY, RESULT], &["opendp"]);
    assert!(message.contains("--clamp age=LOW,HIGH"), "{message}");
    let message = refused(&[SUMMARY], &["opendp"]);
    assert!(message.contains("query.summarize()"), "{message}");
    let ratio = "column,aggregate,distribution,scale\nage,Sum,Float Laplace,200.0\n\
                 age,Length,Integer Laplace,2.0\n";
    let args = ["opendp", "--clamp", "age=0,100"];
    let message = refused(&[ratio, "age\n40.5\n"], &args);
    assert!(message.contains("release.n") && message.contains("--n N"), "{message}");
    let other = SUMMARY.replace("Float Laplace", "Cauchy");
    let message = refused(&[&other, RESULT], &["opendp"]);
    assert!(message.contains("row 2") && message.contains("Cauchy"), "{message}");
}

/// OpenDP's scores, and the scale that it prints, are multiplied by the denominator of alpha.
#[test]
fn opendp_quantiles_have_the_scale_of_scores_that_are_not_multiplied() {
    let tables = |alpha: &str, scale: &str| {
        let head = "column,aggregate,distribution,scale\n";
        [format!("{head}age,{alpha}-Quantile,ExponentialMin,{scale}\n"), "age\n40.0\n".to_string()]
    };
    let args = ["opendp", "--n", "1000", "--candidates", "age=20,30,40"];
    let scale = |alpha: &str, scale: &str, further: &[&str]| {
        let [summary, result] = tables(alpha, scale);
        let (text, _) = imported(&[&summary, &result], &[&args[..], further].concat());
        let value = text.split("scale = ").nth(1).unwrap().split(" }").next().unwrap();
        value.parse::<f64>().unwrap()
    };
    assert_eq!(scale("0.5", "2.0", &[]), 1.0);
    assert_eq!(scale("0.25", "20.0", &[]), 5.0);
    // As OpenDP 0.16 prints them at epsilon 0.3: twice 0.9 over 0.3.
    for (alpha, printed, max_length) in [
        ("0.1", "2.1617278211378384e17", "100"),
        ("0.09999999999999994", "5.534023222112866e16", "2000"),
        ("0.09999999999995121", "110680464442260.02", "1000000"),
        ("0.09999999998373697", "110680464440.00002", "1000000000"),
    ] {
        let found = scale(alpha, printed, &["--max-length", max_length]);
        assert!((found - 6.0).abs() < 1e-8, "{max_length}: {found}");
    }
    let [summary, result] = tables("0.1", "2.1617278211378384e17");
    let message = refused(&[&summary, &result], &args);
    assert!(message.contains("--max-length M"), "{message}");
}

#[test]
fn opendp_sums_of_whole_numbers_and_counts_without_noise() {
    let summary = "column,aggregate,distribution,scale\nhours,Sum,Integer Gaussian,84.85\n";
    let args = ["opendp", "--n", "1000", "--clamp", "hours=0,60"];
    let (text, said) = imported(&[summary, "hours\n29223\n"], &args);
    assert!(text.contains("granularity = 1"), "{text}");
    assert!(said.contains("lattice of width 1"), "{said}");
    let public = SUMMARY.replace("4.500000000000002", "0.0");
    let message = refused(&[&public, RESULT], &["opendp", "--clamp", "age=0,100"]);
    assert!(message.contains("--n 1016"), "{message}");
}

#[test]
fn columns_that_are_not_there_are_named() {
    for (args, words) in [
        (["--clamp", "ages=0,100"], "clamp: there is no such column (given: ages)"),
        (["--columns", "len,agee"], "did you mean age?"),
    ] {
        let message = refused(&[SUMMARY, RESULT], &[&["opendp"], &args[..]].concat());
        assert!(message.contains(words), "{message}");
    }
    let args = ["opendp", "--clamp", "height=0,100"];
    let message = refused(&[SUMMARY, &RESULT.replace("age", "height")], &args);
    assert!(message.contains("the column age is missing"), "{message}");
    let table = "geocode,query,estimate,std_dev\n44,total,23.5,1.5\n44,a,13.25,2.5\n44,b,9.5,3.5\n";
    let message = refused(&[table], &["census-gls", "--columns", "total,a,c"]);
    assert!(message.contains("columns: there is no such column (given: c)"), "{message}");
    let args = ["table", "--noise", "laplace", "--scale", "2"];
    let message = refused(&["region,count\na,12\nb,3\na,31\n"], &args);
    assert!(message.contains("two rows (given: a)"), "{message}");
    let missing = soma().args(["import", "table", "no-such.csv"]).assert().code(2);
    let message = String::from_utf8(missing.get_output().stderr.clone()).unwrap();
    assert!(message.contains("the path of a table"), "{message}");
}

#[test]
fn groups_below_opendps_threshold_are_suppressed() {
    let summary = "column,aggregate,distribution,scale,threshold\n\
                   len,Frame Length,Integer Gaussian,1.5,8\n";
    let result = "region,len\nc,30\na,12\n";
    let (text, _) = imported(&[summary, result], &["opendp", "--labels", "a,b,c"]);
    assert!(text.contains(r#"values = [12, "suppressed", 30]"#), "{text}");
    assert!(text.contains("threshold = 8"), "{text}");
    let message = refused(&[summary, result], &["opendp", "--labels", "a,b"]);
    assert!(message.contains("\"c\" is in the table"), "{message}");
}

/// An unsigned count of zero under Gaussian noise may have been below zero.
#[test]
fn unsigned_counts_of_opendp_are_clamped() {
    let summary = "column,aggregate,distribution,scale\nlen,Frame Length,Integer Gaussian,1.5\n";
    let (text, _) = imported(&[summary, "region,len\na,12\nb,0\n"], &["opendp"]);
    assert!(text.contains("clamp = [0, inf]"), "{text}");
    let (text, _) = imported(&[summary, "region,len\na,12\nb,-1\n"], &["opendp"]);
    assert!(!text.contains("clamp"), "{text}");
}

#[test]
fn laplace_scale_of_pipelinedp_is_sd_over_root_two() {
    let table = "partition,count,count_noise_stddev\nb,17.25,1.4142135623730951\n\
                 a,12.5,1.4142135623730951\n";
    let (text, _) = imported(&[table], &["pipelinedp", "--noise", "laplace"]);
    assert!(text.contains(r#"{ kind = "laplace", scale = 1.0 }"#), "{text}");
    assert!(text.contains("values = [12.5, 17.25]"), "{text}");
    assert!(
        refused(&[table], &["pipelinedp"]).contains("--noise laplace or"),
        "noise is asked for"
    );
    let whole = table.replace("17.25", "17").replace("12.5", "12");
    let (text, _) = imported(&[&whole], &["pipelinedp", "--noise", "laplace"]);
    assert!(text.contains(r#"{ kind = "rounded-laplace", scale = 1.0 }"#), "{text}");
}

/// The variance of a discrete Gaussian is not its parameter: at a parameter of 1/4 it is 14% less.
#[test]
fn census_measurements_are_margins_of_one_table() {
    let table = "geocode,query_name,query_shape,value,variance,plb\n\
        44,total,\"(1, 1, 1)\",[23],2.5,0.1\n\
        44,sex,\"(2, 1, 1)\",\"[14, 8]\",0.215,0.1\n\
        44,sex * age,\"(2, 1, 3)\",\"[4, 5, 6, 3, 2, 1]\",4.5,0.1\n\
        45,total,\"(1, 1, 1)\",[3],2.5,0.1\n";
    let args = ["census-nmf", "--geocode", "44"];
    let (text, said) = imported(&[table], &args);
    assert!(text.contains("axes = [2, 3], margin = []"), "{text}");
    assert!(text.contains("axes = [2, 3], margin = [0]"), "{text}");
    assert!(text.contains("axes = [2, 3], margin = [0, 1]"), "{text}");
    assert!(text.contains("variance = 0.215"), "{text}");
    let scale = said.lines().find(|line| line.contains("sex:")).unwrap();
    let scale = scale.split("scale ").nth(1).unwrap();
    let scale: f64 = scale.split([' ', ',']).next().unwrap().parse().unwrap();
    assert!((scale * scale - 0.25).abs() < 0.005, "{scale}");
    assert!(refused(&[table], &["census-nmf"]).contains("such as 44, 45"), "a unit is asked for");
    let grouped = table.replace("\"(2, 1, 1)\",\"[14, 8]\"", "\"(1, 1, 2)\",\"[14, 8]\"");
    assert!(refused(&[&grouped], &args).contains("groups levels"), "a recode is no margin");
}

#[test]
fn census_estimates_have_a_scale_each() {
    let table = "geocode,query,estimate,std_dev\n44,total,23.5,1.5\n44,a,13.25,2.5\n44,b,9.5,3.5\n";
    let (text, _) = imported(&[table], &["census-gls"]);
    assert!(text.contains(r#"{ kind = "gaussian", scale = 1.5 }"#), "{text}");
    assert!(text.contains(r#"{ kind = "gaussian", scale = [2.5, 3.5] }"#), "{text}");
}

#[test]
fn tables_of_counts() {
    let table = "sex,age,count,std_dev\nf,old,12,2\nf,young,*,2\nm,old,9,3\nm,young,7,2\n";
    let args = ["table", "--noise", "discrete-gaussian", "--threshold", "5"];
    let (text, _) = imported(&[table], &args);
    assert!(text.contains(r#"axes = [["f", "m"], ["old", "young"]]"#), "{text}");
    assert!(text.contains(r#"values = [12, "suppressed", 9, 7]"#), "{text}");
    assert!(text.contains("variance = [4.0, 4.0, 9.0, 4.0]"), "{text}");
    assert!(refused(&[table], &args[..3]).contains("threshold"), "what is hidden has a threshold");
    let message = refused(&["sex,count\nf,3\nf,4\n"], &["table", "--noise", "laplace"]);
    assert!(message.contains("two rows"), "{message}");
    let message = refused(&["sex,count\nf,3,4\n"], &["table", "--noise", "laplace"]);
    assert!(message.contains("not a table"), "{message}");
}
