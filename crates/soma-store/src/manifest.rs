//! What a run is and how far it has come, as JSON.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use soma::chain::{Chosen, MoveReport, Settings};

use crate::{StoreError, atomic};

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// At work; or killed at work.
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
    /// How the run is made, with what the command line said.
    pub settings: Settings,
    /// Which kernel each chain took and why, where it was to find one and has.
    #[serde(default)]
    pub chosen: Vec<Option<Chosen>>,
    /// What the sweeps and the moves of theta of each chain did after warm-up.
    #[serde(default)]
    pub theta_moves: Vec<Vec<MoveReport>>,
    /// The number of records.
    pub n: usize,
    /// The names of the columns of draws.
    pub parameters: Vec<String>,
    /// Of how many draws one has its imputed records stored, where they are.
    pub records_thin: Option<u64>,
    /// Stored draws of each chain.
    pub draws: Vec<u64>,
    /// Moves after warm-up, of all chains.
    pub moves: u64,
    /// Moves after warm-up that were accepted.
    pub accepted: u64,
    /// The share of moves accepted after warm-up.
    pub acceptance_rate: f64,
    /// Seconds that the warm-up took.
    pub seconds_warmup: f64,
    /// Seconds that the draws took.
    pub seconds_sampling: f64,
}

impl Manifest {
    pub(crate) const FORMAT: u32 = 1;
    pub(crate) const FILE: &str = "manifest.json";

    pub(crate) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        atomic::write(&folder.join(Self::FILE), |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }

    pub(crate) fn read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(Self::FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            if !folder.exists() {
                StoreError::unfit(folder, "is not there: a run is the folder that --out named")
            } else if error.kind() == std::io::ErrorKind::NotFound {
                StoreError::unfit(folder, "holds no run: it has no manifest.json")
            } else {
                StoreError::io(&path)(error)
            }
        })?;
        let remedy = "The draws in the folder draws/ can still be read by other programs.";
        let manifest: Manifest = serde_json::from_str(&text)
            .map_err(|error| StoreError::damaged(&path, error, remedy))?;
        if manifest.format != Self::FORMAT {
            let problem = format!("it has format {}, not {}", manifest.format, Self::FORMAT);
            return Err(StoreError::damaged(&path, problem, remedy));
        }
        Ok(manifest)
    }
}
