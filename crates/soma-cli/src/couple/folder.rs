//! Finished pairs on disk.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use soma::coupling::{PairRun, PairSettings};
use soma_store::FolderLock;

use super::function::Function;
use crate::exit::Failed;

/// A folder with `couple.json`, which says how pairs are run, and `pairs.jsonl`, a line for each
/// finished pair.
pub struct Folder {
    path: PathBuf,
    spec: String,
    manifest: Option<Manifest>,
    runs: Vec<PairRun>,
    pairs: Option<File>,
    _lock: FolderLock,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    version: String,
    spec: String,
    settings: PairSettings,
    functions: Vec<String>,
}

impl Folder {
    /// The folder at `path`, which is made if there is none, for pairs of a spec.
    pub fn open(path: &Path, spec: &str) -> Result<Self, Failed> {
        let failed = |error: std::io::Error| Failed::Run(format!("{}: {error}", path.display()));
        let lock =
            FolderLock::acquire(path).map_err(|error| Failed::Run(format!("--out: {error}")))?;
        let mut folder = Folder {
            path: path.to_path_buf(),
            spec: spec.to_string(),
            manifest: None,
            runs: Vec::new(),
            pairs: None,
            _lock: lock,
        };
        match std::fs::read_to_string(path.join("couple.json")) {
            Ok(text) => {
                let manifest: Manifest = serde_json::from_str(&text)
                    .map_err(|error| folder.unfit(&format!("couple.json is damaged: {error}")))?;
                if manifest.spec != spec {
                    return Err(folder.unfit("its pairs are of another spec"));
                }
                folder.manifest = Some(manifest);
                folder.read_pairs()?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        Ok(folder)
    }

    fn unfit(&self, problem: &str) -> Failed {
        Failed::Input(format!(
            "--out: {problem} (given: {}). Allowed: an empty folder, or that of the same run.",
            self.path.display()
        ))
    }

    /// Reads the pairs. A last line that a kill has cut off is left out, and run again.
    fn read_pairs(&mut self) -> Result<(), Failed> {
        let text = match std::fs::read_to_string(self.path.join("pairs.jsonl")) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(self.unfit(&format!("pairs.jsonl: {error}"))),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for (number, line) in whole.lines().enumerate() {
            let run = serde_json::from_str(line).map_err(|error| {
                self.unfit(&format!("pairs.jsonl is damaged at line {}: {error}", number + 1))
            })?;
            self.runs.push(run);
        }
        Ok(())
    }

    /// How the pairs in the folder were run, if there are any.
    pub fn settings(&self) -> Option<&PairSettings> {
        self.manifest.as_ref().map(|manifest| &manifest.settings)
    }

    /// The pairs in the folder.
    pub fn runs(&self) -> &[PairRun] {
        &self.runs
    }

    /// Makes ready for more pairs with these settings.
    pub fn begin(&mut self, settings: &PairSettings, functions: &[Function]) -> Result<(), Failed> {
        let failed = |error: std::io::Error| Failed::Run(format!("--out: {error}"));
        let names: Vec<String> = functions.iter().map(|f| f.name().to_string()).collect();
        if self.manifest.as_ref().is_some_and(|manifest| manifest.functions != names) {
            return Err(self.unfit("its pairs estimated other functions"));
        }
        let manifest = Manifest {
            version: env!("CARGO_PKG_VERSION").to_string(),
            spec: self.spec.clone(),
            settings: settings.clone(),
            functions: names,
        };
        let text = serde_json::to_string_pretty(&manifest).expect("plain data");
        // Under another name first, so that a kill leaves a whole file.
        let (new, path) = (self.path.join("couple.json.new"), self.path.join("couple.json"));
        std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path)).map_err(failed)?;
        self.manifest = Some(manifest);
        let mut lines = String::new();
        for run in &self.runs {
            lines += &serde_json::to_string(run).expect("plain data");
            lines.push('\n');
        }
        let (new, path) = (self.path.join("pairs.jsonl.new"), self.path.join("pairs.jsonl"));
        std::fs::write(&new, lines).and_then(|()| std::fs::rename(&new, &path)).map_err(failed)?;
        self.pairs = Some(OpenOptions::new().append(true).open(&path).map_err(failed)?);
        Ok(())
    }

    /// Adds a finished pair.
    pub fn add(&mut self, run: &PairRun) -> Result<(), Failed> {
        let line = serde_json::to_string(run).expect("plain data") + "\n";
        match &mut self.pairs {
            Some(file) => file
                .write_all(line.as_bytes())
                .map_err(|error| Failed::Run(format!("--out: {error}"))),
            None => Ok(()),
        }
    }
}
