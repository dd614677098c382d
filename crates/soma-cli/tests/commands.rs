//! `soma check`, `soma examples` and `soma diagnose`.

mod common;

use common::{example, examples, json, soma};

#[test]
fn no_shipped_spec_has_problems() {
    for (name, _) in examples() {
        let output = soma().arg("check").arg(example(&name)).output().unwrap();
        assert!(output.status.success(), "{name}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("no problems found") && text.contains("records"), "{text}");
    }
}

#[test]
fn a_release_alone_has_no_problems() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release.toml");
    let (_, text) = examples().into_iter().find(|(name, _)| name == "atus-male").unwrap();
    std::fs::write(&path, &text[..text.find("[model]").unwrap()]).unwrap();
    let output = soma().arg("check").arg(&path).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("n = 3128 records"));
    soma().arg("fit").arg(&path).assert().code(2);
}

#[test]
fn examples_are_listed_and_printed() {
    let list = String::from_utf8(soma().arg("examples").output().unwrap().stdout).unwrap();
    for (name, text) in examples() {
        assert!(list.contains(&name), "{name} is not listed");
        let printed = soma().args(["examples", &name]).output().unwrap().stdout;
        assert_eq!(String::from_utf8(printed).unwrap().trim_end(), text.trim_end());
    }
    let output = soma().args(["examples", "atus-femal"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("did you mean atus-female?"));
}

#[test]
fn a_stored_run_is_diagnosed_as_it_was_reported() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let spec = example("category-counts");
    let args = ["--draws", "60", "--warmup", "40", "--json", "--out"];
    let fitted = json(soma().arg("fit").arg(&spec).args(args).arg(&out));
    let diagnosed = json(soma().arg("diagnose").arg(&out).arg("--json"));
    assert_eq!(fitted, diagnosed);
    soma().arg("diagnose").arg(&out).assert().success();

    // A second run in the same folder would mix two runs.
    soma().arg("fit").arg(&spec).args(args).arg(&out).assert().code(2);
    soma().arg("diagnose").arg(folder.path()).assert().code(2);
}
