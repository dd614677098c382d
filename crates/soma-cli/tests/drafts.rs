//! What `soma check` says of releases that have not been made yet.

mod common;

use std::path::PathBuf;

use common::soma;

const SPEC: &str = r#"
[release]
neighbours = "replace"

[[release.parts]]
name = "hours"
statistic = "sum"
statistics = ["clamp(hours_worked, 0, 80)"]
mechanism = { kind = "laplace", epsilon = 0.3 }

[[release.parts]]
name = "regions"
statistic = "sum"
statistics = ["one_hot(region, 3)"]
mechanism = { kind = "discrete-laplace", epsilon = 0.3 }

[[release.parts]]
name = "members"
statistic = "sum"
statistics = ["member"]
mechanism = { kind = "discrete-laplace", epsilon = 0.3 }

[model]
parameters = """
m ~ normal(40, 10)
s ~ half_normal(10)
w[1..3] ~ dirichlet([1, 1, 1])
q ~ beta(1, 1)
"""
record = """
hours_worked ~ normal(m, s)   # in a week
region ~ categorical(w)
member ~ bernoulli(q)
"""
"#;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(spec: &str) -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.write(spec);
        folder
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("spec.toml")
    }

    fn write(&self, spec: &str) {
        std::fs::write(self.path(), spec).unwrap();
    }

    /// The code, what is printed and the error.
    fn check(&self) -> (Option<i32>, String, String) {
        let output = soma().arg("check").arg(self.path()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

/// Without values, with or without the tables of a curator, a check says what the noise will be, and
/// a fit what to do.
#[test]
fn a_release_without_values_is_checked_and_not_fitted() {
    let folder = Folder::new(&SPEC.replace("[release]", "[release]\nn = 500"));
    let (code, said, errors) = folder.check();
    assert_eq!(code, Some(0), "{errors}");
    for part in
        ["values   none yet", "laplace noise of scale 266.667", "n = 500 records", "model    text"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let fit = soma().arg("fit").arg(folder.path()).output().unwrap();
    let errors =
        String::from_utf8_lossy(&fit.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(fit.status.code(), Some(2), "{errors}");
    for part in ["values: is missing", "`soma check`", "`soma plan`", "`soma release`"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    // n is that of the data then, too.
    folder.write(SPEC);
    let (code, said, errors) = folder.check();
    assert!(
        code == Some(0) && said.contains("n = 1000") && said.contains("shown for 1000"),
        "{errors}"
    );
    // One part without values is a mistake.
    let parts = "[release]\nn = 9\n[[release.parts]]\nstatistic = \"sum\"\nquery = { kind = \"count\" }\n\
                 mechanism = { kind = \"laplace\", scale = 1.0 }\n";
    let second = parts.split_once("n = 9\n").unwrap().1;
    for (text, expected) in
        [(parts.to_string(), 0), (format!("{parts}{second}values = [9]\nname = \"again\"\n"), 2)]
    {
        folder.write(&text);
        let (code, said, errors) = folder.check();
        assert_eq!(code, Some(expected), "{said}{errors}");
    }
    // How many values a query of one range has is said by the columns.
    let shares = "[release]\nn = 9\nstatistic = \"mean\"\nquery = { kind = \"log-sum\", clamp = [0.1, 1] }\n\
                  mechanism = { kind = \"laplace\", epsilon = 1 }\n[model]\nkind = \"dirichlet\"\n\
                  prior = { kind = \"gamma\", shape = 1, rate = 1 }\n";
    folder.write(shares);
    let (code, _, errors) = folder.check();
    assert!(code == Some(2) && errors.contains("columns = [...]"), "{errors}");
    folder.write(&format!("{shares}[data]\ncolumns = [\"work\", \"sleep\", \"rest\"]\n"));
    let (code, said, errors) = folder.check();
    assert!(code == Some(0) && said.contains("(log x1, log x2, log x3)"), "{said}{errors}");
    // A release alone, of statistics that a model has to explain.
    let alone = SPEC.split("[model]").next().unwrap();
    folder.write(alone);
    let (code, said, errors) = folder.check();
    assert!(code == Some(0) && said.contains("no values yet"), "{said}{errors}");
}

/// The printed scale is that of the plan's first budget, which is said where the mechanisms state
/// another one.
#[test]
fn a_check_says_which_budget_the_scale_is_of() {
    let said = |budget: &str| {
        let spec = format!("{SPEC}\n[plan]\nn = [500]\n{budget}\n");
        let folder = Folder::new(&spec);
        folder.check().1
    };
    let other = said("epsilon = [1.8, 3]");
    assert!(other.contains("laplace noise of scale 133.333"), "{other}");
    let line = "\nplan     2 settings; the noise above is that of the first, \"as stated\", with the epsilon 1.8 of [plan] \
                in the place of the epsilon 0.9 of [release]\n";
    assert!(other.contains(line), "{other}");
    for same in [said("epsilon = 0.9"), said("")] {
        assert!(same.contains("laplace noise of scale 266.667"), "{same}");
        assert!(
            same.contains(
                "\nplan     1 setting; the noise above is that of the first, \"as stated\", with epsilon 0.9\n"
            ),
            "{same}"
        );
    }
}
