//! Findings on disk.
//!
//! ```text
//! DIR/ITEM/item.json      the findings and how they were made
//! DIR/ITEM/NAME.csv       each table
//! DIR/ITEM/NAME.svg .png  each figure
//! DIR/paper.json          the numbers of all items
//! DIR/index.html          all items on one page
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::paper::page;
use crate::paper::{Findings, Item, Scale, Study, items};

/// Pixels of a PNG per pixel of a figure.
const ZOOM: f32 = 2.0;

/// An error of the folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file could not be read or written.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        problem: std::io::Error,
    },
    /// A figure could not be drawn.
    #[error(transparent)]
    Plot(#[from] soma_plot::PlotError),
}

/// The findings of an item and the settings of its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The item's name.
    pub item: String,
    /// The scale of the run.
    pub scale: Scale,
    /// The seed of the run.
    pub seed: u64,
    /// The version of the program.
    pub version: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was found.
    pub findings: Findings,
}

/// A folder of findings.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Folder { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The findings of an item, if they are in the folder.
    pub fn stored(&self, item: &Item) -> Option<Stored> {
        let text = fs::read_to_string(self.path.join(item.name).join("item.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Whether the folder has the findings of an item with the settings of `study`.
    pub fn has(&self, item: &Item, study: &Study<'_>) -> bool {
        self.stored(item).is_some_and(|stored| {
            stored.scale == study.scale()
                && stored.seed == study.seed()
                && stored.version == env!("CARGO_PKG_VERSION")
        })
    }

    /// Stores the findings of an item, then regenerates `paper.json` and the page.
    pub fn keep(
        &self,
        item: &Item,
        study: &Study<'_>,
        seconds: f64,
        findings: Findings,
    ) -> Result<(), FolderError> {
        let folder = self.path.join(item.name);
        fs::create_dir_all(&folder).map_err(|problem| failed(&folder, problem))?;
        for table in &findings.tables {
            write(&folder.join(format!("{}.csv", table.name)), table.csv().as_bytes())?;
        }
        for drawing in &findings.drawings {
            write(&folder.join(format!("{}.svg", drawing.name)), drawing.svg.as_bytes())?;
            let png = soma_plot::png(&drawing.svg, ZOOM)?;
            write(&folder.join(format!("{}.png", drawing.name)), &png)?;
        }
        let stored = Stored {
            item: item.name.into(),
            scale: study.scale(),
            seed: study.seed(),
            version: env!("CARGO_PKG_VERSION").into(),
            seconds,
            findings,
        };
        write(&folder.join("item.json"), json(&stored).as_bytes())?;
        self.summarise()
    }

    /// Generates `paper.json` and the page from the items in the folder.
    pub fn summarise(&self) -> Result<(), FolderError> {
        let here: Vec<(&Item, Stored)> = items::ALL
            .iter()
            .filter_map(|item| self.stored(item).map(|stored| (item, stored)))
            .collect();
        let entries: Vec<Entry<'_>> = here
            .iter()
            .flat_map(|(item, stored)| {
                stored.findings.checks.iter().map(|check| Entry { item: item.name, check })
            })
            .collect();
        write(&self.path.join("paper.json"), json(&entries).as_bytes())?;
        write(&self.path.join("index.html"), page::page(&here).as_bytes())
    }
}

/// One entry of `paper.json`.
#[derive(Serialize)]
struct Entry<'a> {
    item: &'a str,
    #[serde(flatten)]
    check: &'a crate::paper::Check,
}

fn json<T: Serialize>(value: &T) -> String {
    // Serialisation fails only for maps with keys that are not strings, and there are none.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    fs::write(path, bytes).map_err(|problem| failed(path, problem))
}

fn failed(path: &Path, problem: std::io::Error) -> FolderError {
    FolderError::File { path: path.display().to_string(), problem }
}
