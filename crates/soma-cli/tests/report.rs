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
