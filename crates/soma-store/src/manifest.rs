//! The manifest of a run: its spec, settings and progress, as JSON.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use soma::chain::{Chosen, MoveReport, Settings, Tally};

use crate::table::RESERVED;
use crate::{StoreError, atomic, object};

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Running; or killed while running.
    Running,
    /// Stopped by the user before its end; it can be resumed.
    Stopped,
    /// Ended by an error; it can be resumed.
    Failed,
    /// All draws were made.
    Complete,
}

/// The contents of `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the layout of the folder.
    pub format: u32,
    /// The version of the program.
    pub version: String,
    /// How the run stands.
    pub status: Status,
    /// The text of the spec.
    pub spec: String,
    /// The settings, with the options of the command line. Its chains are those in this folder.
    pub settings: Settings,
    /// The index of the first chain: not 0 in a part of a run whose chains are in several folders.
    pub first_chain: usize,
    /// The kernel that each chain chose and the reason, if the kernel is `auto`.
    pub chosen: Vec<Option<Chosen>>,
    /// The reports of the sweeps and theta updates of each chain after warm-up.
    pub theta_moves: Vec<Vec<MoveReport>>,
    /// The number of records.
    pub n: usize,
    /// The names of the columns of draws.
    pub parameters: Vec<String>,
    /// The thinning interval of stored records, if they are stored.
    pub records_thin: Option<u64>,
    /// Stored draws of each chain.
    pub draws: Vec<u64>,
    /// Iterations of each chain at its last checkpoint; 0 if there is none.
    pub iterations: Vec<u64>,
    /// Moves after warm-up, of all chains.
    pub moves: u64,
    /// Moves after warm-up that were accepted.
    pub accepted: u64,
    /// The acceptance rate after warm-up.
    pub acceptance_rate: f64,
    /// Seconds that the warm-up took.
    pub seconds_warmup: f64,
    /// Seconds that the draws took.
    pub seconds_sampling: f64,
}

/// A fingerprint of some bytes, 64-bit FNV-1a: it distinguishes runs, and is not a protection.
pub fn fingerprint(bytes: &[u8]) -> String {
    let mix = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix))
}

impl Manifest {
    /// The version of the layout that this version reads and writes.
    pub const FORMAT: u32 = 3;
    /// The name of the file.
    pub const FILE: &str = "manifest.json";

    /// Identifies the run, independently of its length, the chains in this folder and its progress.
    /// Every file of the run has it, and a file with another is rejected.
    pub(crate) fn fingerprint(&self) -> String {
        let settings = Settings { draws: 0, chains: 0, ..self.settings.clone() };
        let run = (&self.spec, settings, self.n, &self.parameters, self.records_thin);
        let text = serde_json::to_vec(&run).unwrap_or_else(|e| unreachable!("plain data: {e}"));
        fingerprint(&text)
    }

    /// The indices of the chains in this folder.
    pub fn chains(&self) -> std::ops::Range<usize> {
        self.first_chain..self.first_chain + self.settings.chains
    }

    /// The position of a chain among those in this folder.
    pub(crate) fn place(&self, chain: usize) -> Option<usize> {
        chain.checked_sub(self.first_chain).filter(|&place| place < self.settings.chains)
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let text = self.text();
        atomic::write(&folder.join(Self::FILE), |file| file.write_all(text.as_bytes()))
    }

    /// The manifest as JSON, whose last field is a checksum of the text before it.
    pub(crate) fn text(&self) -> String {
        object::indented(self)
    }

    /// The manifest of the run in `folder`.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(Self::FILE);
        let text = std::fs::read(&path).map_err(|error| {
            if !folder.exists() {
                StoreError::unfit(folder, "does not exist: a run is the folder given by --out")
            } else if error.kind() == std::io::ErrorKind::NotFound {
                StoreError::unfit(folder, "holds no run: it has no manifest.json")
            } else {
                StoreError::io(&path)(error)
            }
        })?;
        let remedy = "The draws in the folder draws/ can still be read by other programs.";
        Manifest::parse(&text).map_err(|problem| StoreError::damaged(&path, problem, remedy))
    }

    /// Parses a manifest; the error says what is wrong.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let format: Format = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if format.format != Self::FORMAT {
            return Err(format!(
                "it is of format {}, of another version of soma, and this one reads format {}",
                format.format,
                Self::FORMAT
            ));
        }
        if !object::is_sealed_indented(text) {
            return Err("its checksum does not match its contents".into());
        }
        let manifest: Manifest = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Whether the fields are consistent: all that is computed from them relies on it.
    fn check(&self) -> Result<(), String> {
        let settings = &self.settings;
        if self.n == 0 {
            return Err("it has no records".into());
        }
        settings.check_for(self.n).map_err(|invalid| invalid.to_string())?;
        if self.first_chain.checked_add(settings.chains).is_none() {
            return Err(format!("there is no chain number {}", self.first_chain));
        }
        let lengths = [
            ("draws", self.draws.len()),
            ("iterations", self.iterations.len()),
            ("chosen", self.chosen.len()),
            ("theta_moves", self.theta_moves.len()),
        ];
        for (field, length) in lengths {
            if length != settings.chains {
                return Err(format!("{field} has {length} entries of {} chains", settings.chains));
            }
        }
        for (&draws, &iteration) in self.draws.iter().zip(&self.iterations) {
            if iteration > settings.iterations() || draws != settings.draws_after(iteration) {
                return Err(format!("{draws} draws do not match {iteration} iterations"));
            }
        }
        let names: HashSet<&str> = self.parameters.iter().map(String::as_str).collect();
        if names.len() < self.parameters.len() || RESERVED.iter().any(|name| names.contains(name)) {
            return Err("two columns have the same name".into());
        }
        if self.records_thin == Some(0) {
            return Err("records_thin is 0".into());
        }
        let tallies = || self.theta_moves.iter().flatten().map(|made| made.tally);
        let sums: [fn(&Tally) -> u64; 3] = [|t| t.work, |t| t.proposed, |t| t.accepted];
        let adds_up = |of: fn(&Tally) -> u64| {
            tallies().try_fold(0, |sum: u64, tally| sum.checked_add(of(&tally))).is_some()
        };
        if !sums.into_iter().all(adds_up) {
            return Err("the tallies of the moves are inconsistent".into());
        }
        let is_time = |seconds: f64| seconds.is_finite() && seconds >= 0.0;
        if self.accepted > self.moves || !(0.0..=1.0).contains(&self.acceptance_rate) {
            return Err("more was accepted than was proposed".into());
        }
        if !is_time(self.seconds_warmup) || !is_time(self.seconds_sampling) {
            return Err("a time is negative".into());
        }
        Ok(())
    }
}

/// What is read first.
#[derive(Deserialize)]
struct Format {
    format: u32,
}
