//! The file that a release is written to.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

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
    if inputs.iter().any(|input| real(input) == real(path)) {
        return Err(format!(
            "{shown}: is a file that the release is made from. Allowed: another file to publish."
        ));
    }
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    // A pipe would be waited for.
    let text = path.is_file().then(|| fs::read_to_string(path).ok()).flatten();
    let is_release = text.is_some_and(|text| publish::is_ours(&text));
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

/// The path without links; of a file that is not there yet, in the folder where it will be.
fn real(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize().unwrap_or_default();
    path.canonicalize().unwrap_or(folder.join(path.file_name().unwrap_or_default()))
}

/// A file to publish that nobody sees before it is whole, and whose room on disk is taken before
/// anything is spent: of a release that cannot be written nothing would be left but its price.
#[derive(Debug)]
pub struct Place<'a> {
    path: PathBuf,
    unfinished: PathBuf,
    file: File,
    again: bool,
    option: &'a str,
}

impl<'a> Place<'a> {
    /// Room for a text of this many bytes, as a hidden file beside `path`.
    pub fn new(path: &Path, bytes: usize, again: bool, option: &'a str) -> Result<Self, String> {
        // What a link leads to is written, and not the link.
        let path = path.canonicalize().unwrap_or(path.to_path_buf());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let since =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let own = format!(".{name}.{}-{since}.unfinished", std::process::id());
        let unfinished = path.with_file_name(own);
        let file = OpenOptions::new().write(true).create_new(true).open(&unfinished);
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        let mut place = Place { path, unfinished, file, again, option };
        let room = place.file.write_all(&vec![b' '; bytes]).and_then(|()| place.file.sync_all());
        room.map_err(|error| format!("{}: {error}", place.path.display()))?;
        Ok(place)
    }

    /// Writes the text, and gives it its name: that of no file, or of a release that may be written over.
    pub fn publish(mut self, text: &str) -> Result<(), String> {
        // Another program may have made a file since.
        check(&self.path, &[], self.again, self.option)?;
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        let mut written = || -> std::io::Result<()> {
            self.file.rewind()?;
            self.file.write_all(text.as_bytes())?;
            self.file.set_len(text.len() as u64)?;
            self.file.sync_all()?;
            match self.path.symlink_metadata().is_ok() {
                true => fs::rename(&self.unfinished, &self.path)?,
                false => fs::hard_link(&self.unfinished, &self.path).or_else(|error| {
                    // Some file systems have no links.
                    let is_there = error.kind() == ErrorKind::AlreadyExists;
                    if is_there { Err(error) } else { fs::rename(&self.unfinished, &self.path) }
                })?,
            }
            soma_store::sync_folder(self.path.parent())
        };
        written().map_err(failed)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // Where it has its name, there is nothing to remove.
        let _ = fs::remove_file(&self.unfinished);
    }
}
