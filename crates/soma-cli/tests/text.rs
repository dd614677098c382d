//! Models and statistics as text, in a spec.

mod common;

use std::path::PathBuf;

use common::{json, soma};

/// The spec of the book.
fn spec() -> String {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/language.md");
    let text = std::fs::read_to_string(page).unwrap();
    let start = text.find("```toml\n").unwrap() + "```toml\n".len();
    text[start..start + text[start..].find("```").unwrap()].to_string()
}

fn stored(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn the_spec_of_the_book_is_understood_and_fitted() {
    let (_folder, path) = stored(&spec());
    let output = soma().arg("check").arg(&path).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.contains("no problems found"), "{said}");
    assert!(said.contains("log_normal") && said.contains("clamp(income, 0, 100)"), "{said}");
    let options = ["--json", "--quiet", "--warmup", "50", "--draws", "20", "--chains", "2"];
    let report = json(soma().arg("fit").arg(&path).args(options));
    let names: Vec<&str> = report["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["m", "s"]);
}

#[test]
fn mistakes_name_the_line_and_what_was_meant() {
    for (wrong, right, key, said) in [
        ("m ~ nromal(3, 1)", "m ~ normal(3, 1)", "model.parameters", "did you mean"),
        ("\"income\"", "\"clamp(income, 0, 100)\"", "line 14: release.statistics[0]", "clamp"),
        ("log_normal(m, S)", "log_normal(m, s)", "spec.toml:7:24", "`s`"),
    ] {
        let (_folder, path) = stored(&spec().replacen(right, wrong, 1));
        let output = soma().arg("check").arg(&path).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(message.contains(said) && !message.contains("allowed"), "{message}");
        assert!(message.contains(key), "{message}");
    }
    let alone = spec();
    let (_folder, path) = stored(&alone[alone.find("[release]").unwrap()..]);
    // A release alone can be checked, and not be fitted.
    soma().arg("check").arg(&path).assert().code(0);
    soma().arg("fit").arg(&path).assert().code(2);
}

/// Each part has its statistics and its sensitivity under its own name.
#[test]
fn a_check_tells_the_parts_apart() {
    let part = |name: &str, statistic: &str, value: f64| {
        format!(
            "[[release.parts]]\nname = \"{name}\"\nstatistic = \"sum\"\nvalues = [{value}]\n\
             statistics = [\"{statistic}\"]\nmechanism = {{ kind = \"laplace\", epsilon = 0.5 }}\n\n"
        )
    };
    let text = format!(
        "[release]\nn = 100\n\n{}{}[model]\nparameters = \"b ~ normal(0, 2)\"\n\
         record = \"\"\"\nage ~ normal(50, 15)\nsmoker ~ bernoulli(logistic(b))\n\"\"\"\n",
        part("smokers", "smoker", 31.5),
        part("their age", "clamp(age, 18, 90) * smoker / 7", 200.0)
    );
    let (_folder, path) = stored(&text);
    let output = soma().arg("check").arg(&path).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "  smokers: the sum over them of the statistics (smoker), laplace noise of scale 2",
        "moves    smokers: a record replaced moves the sum by l1 1 (a search reaches 1)",
        "moves    their age: a record replaced moves the sum by l1 12.8571 (a search reaches ",
        "smokers: statistics (1):\n  smoker ",
        "their age: statistics (1):\n  clamp(age, 18, 90) * smoker / 7 ",
        "replaced: l1 12.8571, l2 12.8571 (from the ranges)",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
}

/// A budget that was divided into a bound that no search reaches is warned of, unless the curator's
/// sensitivity or scale is stated; and the stated budget is shown.
#[test]
fn a_check_warns_of_a_loose_bound() {
    let checked = |statistics: &str, mechanism: &str| {
        let text = format!(
            "[release]\nn = 100\nstatistic = \"sum\"\nvalues = [3.0, 4.0]\n\
             statistics = [{statistics}]\nmechanism = {{ kind = \"laplace\", {mechanism} }}\n\
             [model]\nparameters = \"m ~ normal(0, 2)\"\nrecord = \"x ~ normal(m, 1)\"\n"
        );
        let (_folder, path) = stored(&text);
        let output = soma().arg("check").arg(&path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    // Interval arithmetic takes u - u ^ 2 to be between -1 and 1, and it is between 0 and 1/4.
    let loose = "\"clamp(x, 0, 1)\", \"clamp(x, 0, 1) - clamp(x, 0, 1) ^ 2\"";
    let said = checked(loose, "epsilon = 0.5");
    let words =
        "warning  the scale follows from epsilon = 0.5 and the bound l1 3, and a search finds 1";
    assert!(said.contains(words), "{said}");
    for mechanism in ["scale = 5", "epsilon = 0.5, sensitivity = 2"] {
        assert!(!checked(loose, mechanism).contains("warning"), "{mechanism}");
    }
    let exact = checked("\"x > 0\", \"clamp(x, 0, 1)\"", "epsilon = 0.5");
    assert!(!exact.contains("warning"), "{exact}");
    let stated = checked(loose, "epsilon = 0.5, sensitivity = 2");
    let words = "(epsilon = 0.5 for a sensitivity of 2, as stated; with the sensitivity that is shown, \
                 epsilon 0.7500 if a record is replaced";
    assert!(stated.contains(words), "{stated}");
}
