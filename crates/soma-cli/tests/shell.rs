//! Completions and manual pages contain the commands of the program.

mod common;

use common::soma;

fn printed(args: &[&str]) -> String {
    String::from_utf8(soma().args(args).assert().success().get_output().stdout.clone()).unwrap()
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = printed(&["completions", shell]);
        for word in ["soma", "fit", "merge", "chains-from"] {
            assert!(script.contains(word), "{word} is missing for {shell}");
        }
    }
    soma().args(["completions", "tcsh"]).assert().code(2);
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    assert!(printed(&["man"]).contains(".TH soma 1"));
    let page = printed(&["man", "fit"]);
    assert!(page.contains("soma\\-fit") && page.contains("\\-\\-strict"), "{page}");
    soma().args(["man", "fti"]).assert().code(2);
    let folder = tempfile::tempdir().unwrap();
    soma().arg("man").arg("--out").arg(folder.path()).assert().success();
    for name in ["soma.1", "soma-fit.1", "soma-merge.1", "soma-diagnose.1"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}
