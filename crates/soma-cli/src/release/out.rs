//! The file that a release is written to.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use super::{ledger, publish};

/// Refuses a file that must not be written over: one of `inputs`, one that is no release, and one
/// that is, unless `again` is given. `option` is what a user says for that.
pub fn check(path: &Path, inputs: &[&Path], again: bool, option: &str) -> Result<(), String> {
    let shown = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(format!(
            "{shown}: there is no folder {}. Allowed: a file in a folder that is there.",
            folder.display()
        ));
    }
    if ledger::is_named(path) {
        return Err(format!("{shown}: is the name of a ledger. Allowed: another file to publish."));
    }
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let real = |path: &Path| path.canonicalize().ok();
    if inputs.iter().any(|input| real(input).is_some_and(|own| Some(own) == real(path))) {
        return Err(format!(
            "{shown}: is a file that the release is made from. Allowed: another file to publish."
        ));
    }
    let is_release = std::fs::read_to_string(path).is_ok_and(|text| publish::is_ours(&text));
    match (is_release, again) {
        (false, _) => Err(format!(
            "{shown}: is no release written by soma, and is not written over. Allowed: another file."
        )),
        (true, false) => Err(format!(
            "{shown}: there is a release already, and another one spends its budget again. Allowed: \
             another file, or {option}."
        )),
        (true, true) => Ok(()),
    }
}

/// Writes a file that is not there, or that may be written over.
pub fn write(path: &Path, text: &str, again: bool) -> Result<(), String> {
    let mut options = OpenOptions::new();
    options.write(true);
    if again {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}
