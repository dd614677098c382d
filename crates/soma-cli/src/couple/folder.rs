//! Finished pairs on disk.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use soma::coupling::{PairRun, PairSettings};
use soma_store::{FolderLock, is_sealed_object, seal_object, write_whole};

use super::function::Functions;
use crate::exit::Failed;

/// A folder with `couple.json`, the settings, and `pairs.jsonl`, a line for each finished pair.
/// Each has a checksum; that of a pair includes the settings, so that a pair of another run is
/// rejected like a damaged one.
pub struct Folder {
    path: PathBuf,
    spec: String,
    manifest: Option<Manifest>,
    runs: Vec<PairRun>,
    pairs: Option<File>,
    /// Identifies the run, from [`begin`](Folder::begin) on.
    run: String,
    _lock: FolderLock,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    version: String,
    spec: String,
    settings: PairSettings,
    functions: Vec<String>,
}

impl Manifest {
    /// Identifies the run, independently of the version.
    fn run(&self) -> String {
        json(&(&self.spec, &self.settings, &self.functions))
    }
}

const MANIFEST: &str = "couple.json";
const PAIRS: &str = "pairs.jsonl";

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("plain data: {error}"))
}

impl Folder {
    /// Opens the folder at `path`, which is created if necessary, for pairs of a spec.
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
            run: String::new(),
            _lock: lock,
        };
        match std::fs::read_to_string(path.join(MANIFEST)) {
            Ok(text) => {
                let damaged = |problem: &str| folder.unfit(&format!("{MANIFEST} is {problem}"));
                let manifest: Manifest = serde_json::from_str(&text)
                    .map_err(|error| damaged(&format!("damaged: {error}")))?;
                if !is_sealed_object("", text.trim_end()) {
                    return Err(damaged("damaged: its checksum does not match its contents"));
                }
                if manifest.spec != spec {
                    return Err(folder.unfit("its pairs are of another spec"));
                }
                folder.manifest = Some(manifest);
                folder.read_pairs()?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if path.join(PAIRS).exists() {
                    return Err(folder.unfit(&format!("it has {PAIRS} and no {MANIFEST}")));
                }
            }
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

    /// Reads the pairs. An incomplete last line, left by a kill, is dropped, and its pair run
    /// again.
    fn read_pairs(&mut self) -> Result<(), Failed> {
        let text = match std::fs::read_to_string(self.path.join(PAIRS)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(self.unfit(&format!("{PAIRS}: {error}"))),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let run = self.manifest.as_ref().map(Manifest::run).unwrap_or_default();
        let mut seen = HashSet::new();
        for (number, line) in whole.lines().enumerate() {
            let damaged = |problem: &str| {
                self.unfit(&format!("{PAIRS} is damaged at line {}: {problem}", number + 1))
            };
            if !is_sealed_object(&run, line) {
                return Err(damaged("its checksum does not match its contents and this run"));
            }
            let pair: PairRun =
                serde_json::from_str(line).map_err(|error| damaged(&error.to_string()))?;
            if !seen.insert(pair.index) {
                return Err(damaged(&format!("pair {} is there twice", pair.index)));
            }
            self.runs.push(pair);
        }
        Ok(())
    }

    /// The settings of the pairs in the folder, if there are any.
    pub fn settings(&self) -> Option<&PairSettings> {
        self.manifest.as_ref().map(|manifest| &manifest.settings)
    }

    /// The pairs in the folder.
    pub fn runs(&self) -> &[PairRun] {
        &self.runs
    }

    /// Prepares the folder for more pairs with these settings.
    pub fn begin(&mut self, settings: &PairSettings, functions: &Functions) -> Result<(), Failed> {
        let failed = |error: std::io::Error| Failed::Run(format!("--out: {error}"));
        let names = functions.names().to_vec();
        if self.manifest.as_ref().is_some_and(|manifest| manifest.functions != names) {
            return Err(self.unfit("its pairs estimated other functions"));
        }
        let manifest = Manifest {
            version: env!("CARGO_PKG_VERSION").to_string(),
            spec: self.spec.clone(),
            settings: settings.clone(),
            functions: names,
        };
        let text = seal_object("", &json(&manifest)) + "\n";
        let run = manifest.run();
        let lines: String = self.runs.iter().map(|pair| line(&run, pair)).collect();
        let path = self.path.join(PAIRS);
        write_whole(&self.path.join(MANIFEST), text.as_bytes())
            .and_then(|()| write_whole(&path, lines.as_bytes()))
            .map_err(|error| Failed::Run(format!("--out: {error}")))?;
        self.run = run;
        self.manifest = Some(manifest);
        self.pairs = Some(OpenOptions::new().append(true).open(&path).map_err(failed)?);
        Ok(())
    }

    /// Adds a finished pair.
    pub fn add(&mut self, run: &PairRun) -> Result<(), Failed> {
        let sealed = line(&self.run, run);
        match &mut self.pairs {
            Some(file) => file
                .write_all(sealed.as_bytes())
                .map_err(|error| Failed::Run(format!("--out: {error}"))),
            None => Ok(()),
        }
    }
}

/// The line of a pair of this run.
fn line(run: &str, pair: &PairRun) -> String {
    seal_object(run, &json(pair)) + "\n"
}
