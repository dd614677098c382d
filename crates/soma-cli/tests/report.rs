//! `soma report` and `soma plot`.

mod common;

use std::path::PathBuf;

use common::{example, soma};

/// A small stored run of a shipped spec.
fn stored(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    let out = folder.path().join("run");
    let args = ["--draws", "60", "--warmup", "40", "--chains", "2", "--quiet", "--out"];
    soma().arg("fit").arg(example(name)).args(args).arg(&out).assert().success();
    out
}

#[test]
fn a_run_and_its_spec_have_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let run = stored(&folder, "category-counts");
    let page = folder.path().join("run.html");
    soma().arg("report").arg(&run).arg("--out").arg(&page).assert().success();
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>"));
    for said in [
        "Shares of five categories",
        "discrete-laplace noise",
        "count[sometimes]",
        "p[always]",
        "217",
        "id=\"counts\"",
        "id=\"check\"",
        "How it was made",
        "alpha = 1.0",
    ] {
        assert!(text.contains(said), "{said} is missing");
    }

    // Fitted for the report, with the same settings: the same answer.
    let page = folder.path().join("spec.html");
    let args = ["--draws", "60", "--warmup", "40", "--chains", "2", "--quiet", "--out"];
    soma().arg("report").arg(example("category-counts")).args(args).arg(&page).assert().success();
    let fitted = std::fs::read_to_string(&page).unwrap();
    let answer = |text: &str| {
        let from = text.find("<section id=\"answer\"").unwrap();
        text[from..from + text[from..].find("</section>").unwrap()].to_string()
    };
    assert_eq!(answer(&text), answer(&fitted));
}

#[test]
fn figures_are_written_alone() {
    let folder = tempfile::tempdir().unwrap();
    let run = stored(&folder, "mean-and-variance");
    for kind in ["density", "intervals", "learned", "predictive", "pairs", "trace", "rank", "ess"] {
        let file = folder.path().join(format!("{kind}.svg"));
        soma().arg("plot").arg(&run).arg(kind).arg("--out").arg(&file).assert().success();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("<?xml") && text.trim_end().ends_with("</svg>"), "{kind}");
    }
}

/// Of the size of the SVG, at two pixels for one.
#[cfg(feature = "png")]
#[test]
fn figures_are_written_as_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let run = stored(&folder, "mean-and-variance");
    for kind in ["density", "trace"] {
        let at = |end: &str| folder.path().join(format!("{kind}.{end}"));
        for end in ["svg", "png"] {
            soma().arg("plot").arg(&run).arg(kind).arg("--out").arg(at(end)).assert().success();
        }
        let text = std::fs::read_to_string(at("svg")).unwrap();
        let size = |name: &str| {
            let from = text.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
            let to = from + text[from..].find('"').unwrap();
            text[from..to].parse::<u32>().unwrap()
        };
        let pixels = std::fs::read(at("png")).unwrap();
        assert_eq!(&pixels[1..4], b"PNG");
        let of = |at: usize| u32::from_be_bytes(pixels[at..at + 4].try_into().unwrap());
        assert_eq!((of(16), of(20)), (2 * size("width"), 2 * size("height")), "{kind}");
        // More than a white sheet.
        assert!(pixels.len() > 5000, "{kind}: {} bytes", pixels.len());
    }
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let run = stored(&folder, "mean-and-variance");
    let failed = |args: &[&str], said: &str| {
        let output = soma().current_dir(&folder).args(args).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    };
    let run = run.to_string_lossy().into_owned();
    failed(&["plot", &run, "counts"], "not a table");
    #[cfg(not(feature = "png"))]
    failed(&["plot", &run, "density", "--out", "d.png"], "--features png");
    failed(&["plot", &run, "density", "--out", "d.pdf"], "ends in .svg or .png");
    failed(&["plot", &run, "histogram"], "possible values: density");
    failed(&["plot", "nowhere", "density"], "nowhere");
    failed(&["report", "nowhere"], "there is no such file");
    for table in ["pooled.csv", "pooled.parquet"] {
        std::fs::write(folder.path().join(table), "group,parameter,mean\n").unwrap();
        failed(&["report", table], "this is a table of results; reports are of runs and specs");
    }
    failed(&["report", &run, "--only", "mu,nobody"], "Allowed: mu, sigma2");
    failed(&["report", &run, "--out", "no/such/folder.html"], "there is no folder");
    failed(&["report", ".", "--out", "x.html"], "holds no run");
    assert!(!folder.path().join("d.png").exists() && !folder.path().join("x.html").exists());
}

/// A run that was stopped early, or has one chain, has a report too, which says so.
#[test]
fn a_poor_run_has_a_report_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let args = ["--draws", "6", "--warmup", "4", "--chains", "1", "--quiet", "--out"];
    soma().arg("fit").arg(example("atus-female")).args(args).arg(&out).assert().success();
    let page = folder.path().join("p.html");
    soma().arg("report").arg(&out).arg("--out").arg(&page).assert().success();
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("Not to be trusted") && text.contains("No figure: ranks compare chains"));
}

/// An analyst's spec: noisy counts, a noisy total, and what follows from them.
const CLINICS: &str = r#"
[release]
n = "unknown"

[[release.parts]]
name = "clinics"
query = { kind = "categories", labels = ["public", "private, paid"] }
statistic = "sum"
values = [412, 88]
mechanism = { kind = "discrete-laplace", scale = 2.0 }

[[release.parts]]
name = "all"
query = { kind = "count" }
statistic = "sum"
values = [503]
mechanism = { kind = "discrete-laplace", scale = 1.0 }

[model]
kind = "categorical"
prior = { kind = "dirichlet", alpha = 1.0 }

[derived]
"public, many more" = "count[public] > 2 * count[private, paid]"
"public above 0.82" = "p[public] > 0.82"
lead = "count[public] - count[private, paid]"
"a share" = "count[public] / n"
"#;

/// The cells of the row of a table that begins with `name`.
fn row(page: &str, section: &str, name: &str) -> Vec<String> {
    let from = page.find(&format!("<section id=\"{section}\"")).expect("the section");
    let start = format!("<tr><th scope=\"row\">{name}</th>");
    let from = from + page[from..].find(&start).unwrap_or_else(|| panic!("no row {name}"));
    let row = &page[from + start.len()..from + page[from..].find("</tr>").unwrap()];
    let cells = row.split("</td>").filter_map(|cell| cell.strip_prefix("<td>"));
    cells.map(String::from).collect()
}

/// Comparisons are probabilities and do not count against the draws; what was published of counts and
/// of their total is the plug-in answer; a title and a choice of quantities are taken.
#[test]
fn counts_and_comparisons_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("clinics.toml");
    std::fs::write(&spec, CLINICS).unwrap();
    let fit = soma().arg("fit").arg(&spec).args(["--quiet", "--strict"]).assert().success();
    let said = String::from_utf8(fit.get_output().stdout.clone()).unwrap();
    assert!(
        said.contains(
            "public, many more was 1 in all 4000 draws, so that its probability is above 0.99"
        ),
        "{said}"
    );
    assert!(said.contains("public above 0.82 (probability)"), "{said}");
    // In the order of the spec.
    let places =
        ["many more (", "above 0.82 (", " lead ", "a share"].map(|name| said.find(name).unwrap());
    assert!(places.is_sorted(), "{said}");

    let page = folder.path().join("p.html");
    let report = |more: &[&str]| {
        let out = soma()
            .arg("report")
            .arg(&spec)
            .args(["--quiet", "--out"])
            .arg(&page)
            .args(more)
            .output();
        assert!(out.unwrap().status.success());
        std::fs::read_to_string(&page).unwrap()
    };
    let text = report(&[]);
    let settled = row(&text, "answer", "public, many more");
    assert!(settled[0].starts_with("probability above 0.99"), "{settled:?}");
    assert_eq!(settled[1..], ["\u{2013}", "\u{2013}", "\u{2013}", "\u{2013}", "yes", "\u{2013}"]);
    let even = row(&text, "answer", "public above 0.82");
    assert!(even[0].starts_with("probability 0."), "{even:?}");
    assert!(even[4].starts_with("probability 0.1") && even[5] == "no", "{even:?}");
    assert_eq!(row(&text, "answer", "lead")[4..], ["\u{2013}", "324.00", "\u{2013}"]);
    assert_eq!(row(&text, "answer", "n")[4..], ["\u{2013}", "503.00", "\u{2013}"]);
    let share = row(&text, "answer", "p[public]");
    assert!(share[5].starts_with("0.8191"), "{share:?}");
    assert_eq!(row(&text, "counts", "total")[0], "503");
    assert_eq!(row(&text, "counts", "private, paid")[0], "88");
    assert!(text.contains("p[...] is a share among people like these"));

    let text =
        report(&["--title", "Clinics & care", "--only", "p[private, paid],lead", "--only", "n"]);
    assert!(text.contains("<h1>Clinics &amp; care</h1>"));
    let names: Vec<&str> = text
        [text.find("id=\"answer\"").unwrap()..text.find("id=\"published\"").unwrap()]
        .split("<tr><th scope=\"row\">")
        .skip(1)
        .map(|rest| rest.split("</th>").next().unwrap())
        .collect();
    assert_eq!(names, ["p[private, paid]", "lead", "n"]);
}

/// Comparisons are known in a stored run too.
#[test]
fn a_stored_run_with_a_comparison_can_be_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, out) = (folder.path().join("clinics.toml"), folder.path().join("run"));
    std::fs::write(&spec, CLINICS).unwrap();
    soma().arg("fit").arg(&spec).args(["--quiet", "--out"]).arg(&out).assert().success();
    let said = soma().arg("diagnose").arg(&out).output().unwrap().stdout;
    let said = String::from_utf8(said).unwrap();
    assert!(
        said.contains("The chains agree") && said.contains("public, many more was 1"),
        "{said}"
    );
}
