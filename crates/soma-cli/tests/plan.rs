//! `soma plan`, from the outside.

mod common;

use common::{example, soma};

/// A regression without values, with two designs.
fn spec() -> String {
    let text = std::fs::read_to_string(example("regression-n100-eps3")).unwrap();
    let from = text.find("values = [").unwrap();
    let to = from + text[from..].find(']').unwrap() + 1;
    let without = format!("{}{}", &text[..from], &text[to..]);
    format!(
        "{without}\n[plan]\nepsilon = [1, 30]\nn = 20\ntarget = \"sd(beta1) < 0.9\"\n\
         replications = 4\nwarmup = 50\ndraws = 100\n\
         parameters = {{ beta0 = -1.0, beta1 = 0.5, beta2 = 1.0, sigma2 = 1.0 }}\n\n\
         [[plan.designs]]\nname = \"wide\"\n\n\
         [[plan.designs]]\nname = \"narrow\"\n\
         query = {{ kind = \"gram\", predictors = 2, clamp = [-3.0, 3.0] }}\n"
    )
}

fn plan(text: &str, options: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec.toml");
    std::fs::write(&path, text).unwrap();
    let output = soma().arg("plan").arg(&path).arg("--quiet").args(options).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_same_seed_gives_the_same_plan_on_any_number_of_threads() {
    let (code, one, errors) = plan(&spec(), &["--json", "--threads", "1"]);
    assert_eq!(code, Some(0), "{errors}");
    let (_, three, _) = plan(&spec(), &["--json", "--threads", "3"]);
    assert_eq!(one, three);
    let report: serde_json::Value = serde_json::from_str(&one).unwrap();
    let settings = report["settings"].as_array().unwrap();
    assert_eq!(settings.len(), 4);
    // More budget, narrower intervals, and never narrower than without privacy by more than chance.
    let width = |i: usize| settings[i]["quantities"][1]["width"].as_f64().unwrap();
    assert!(width(0) > width(1) && width(2) > width(3), "{one}");
    let floor = report["floors"][0]["quantities"][1]["width"].as_f64().unwrap();
    assert!(width(1) > 0.8 * floor, "{one}");
    assert_eq!(settings[1]["budget"], 30.0);
    assert!(report["answer"].as_str().unwrap().ends_with('.'));
}

#[test]
fn tables_a_figure_and_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let figure = folder.path().join("plan.svg");
    let (code, said, errors) =
        plan(&spec(), &["--figure", figure.to_str().unwrap(), "--replications", "2"]);
    assert_eq!(code, Some(0), "{errors}");
    for part in ["wide, n = 20", "narrow, n = 20", "no privacy", "beta1", "plug-in", "target met"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let figure = std::fs::read_to_string(figure).unwrap();
    for part in ["<svg", "width of 90% interval", "without privacy: ", "</svg>"] {
        assert!(figure.contains(part), "{part}: {figure}");
    }
}

/// Chains of a few draws settle by chance only: the table says how many did, and nothing is NaN.
#[test]
fn fits_that_have_not_settled_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let figure = folder.path().join("plan.svg");
    let short = ["--warmup", "0", "--draws", "20", "--figure", figure.to_str().unwrap()];
    let (code, said, errors) = plan(&spec(), &short);
    assert_eq!(code, Some(0), "{errors}");
    for part in ["settled", " of 4", "and are left out", "--warmup 0 --draws 40"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("NaN"), "{said}");
    assert!(!std::fs::read_to_string(figure).unwrap().contains("NaN"));
}

#[test]
fn mistakes_are_named() {
    let cases: [(&[&str], &str); 4] = [
        (&["--target", "beta1 < 0.1"], "sd(NAME) < NUMBER"),
        (&["--target", "sd(beta9) < 0.1"], "beta0"),
        (&["--epsilon", "0"], "epsilon"),
        (&["--draws", "3"], "draws"),
    ];
    for (options, part) in cases {
        let (code, _, errors) = plan(&spec(), options);
        assert_eq!(code, Some(2), "{options:?}: {errors}");
        assert!(errors.contains(part), "{options:?}: {errors}");
    }
    let wrong = spec().replace("predictors = 2, clamp = [-3.0, 3.0]", "predictors = 2");
    let (code, _, errors) = plan(&wrong, &[]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("narrow") && errors.contains("clamp"), "{errors}");
    let stray = spec().replace("beta1 = 0.5", "slope = 0.5");
    assert!(plan(&stray, &[]).2.contains("slope"));
}

/// A program without OpenDP says where one with it comes from.
#[cfg(not(feature = "curator"))]
#[test]
fn release_says_how_to_get_it() {
    let output = soma().args(["release", "x.toml", "--data", "x.csv", "--out", "y.toml"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("--features curator") && errors.contains("pip install opendp"));
}
