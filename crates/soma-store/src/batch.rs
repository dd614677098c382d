//! The file `batch.json` of a batch of fits, from which it is resumed. Its last field is a checksum
//! of the text before it: fits that have not begun are known from this file alone.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use soma::chain::Settings;

use crate::{StoreError, atomic, object};

/// A fit of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedFit {
    /// Its name and that of its folder.
    pub name: String,
    /// The text of its spec.
    pub spec: String,
    /// Its settings, with the options of the command line.
    pub settings: Settings,
}

/// The contents of `batch.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// The version of the layout of the folder.
    pub format: u32,
    /// The version of the program.
    pub version: String,
    /// The fits.
    pub fits: Vec<PlannedFit>,
}

impl Batch {
    /// The version of the layout that this version reads and writes.
    pub const FORMAT: u32 = 1;
    /// The name of the file.
    pub const FILE: &str = "batch.json";
    /// The name of the table of results beside it.
    pub const RESULTS: &str = "results.parquet";

    /// A batch of these fits.
    pub fn new(fits: Vec<PlannedFit>) -> Self {
        Batch { format: Self::FORMAT, version: env!("CARGO_PKG_VERSION").to_string(), fits }
    }

    /// Whether a name is valid: it is a folder beside the files of the batch.
    pub fn is_name(name: &str) -> bool {
        let mut parts = Path::new(name).components();
        let is_plain = matches!(parts.next(), Some(Component::Normal(part)) if part == name);
        let is_taken = [Self::FILE, Self::RESULTS].contains(&name);
        is_plain && parts.next().is_none() && !is_taken && !name.starts_with('.')
    }

    /// Writes the file to `folder`, which is created if necessary.
    pub fn write(&self, folder: &Path) -> Result<(), StoreError> {
        atomic::make_folder(folder)?;
        let text = object::indented(self);
        atomic::write(&folder.join(Self::FILE), |file| file.write_all(text.as_bytes()))
    }

    /// The batch in `folder`.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(Self::FILE);
        let text = std::fs::read(&path).map_err(StoreError::io(&path))?;
        let remedy = "Start the batch afresh in another folder; complete fits can still be read.";
        Batch::parse(&text).map_err(|problem| StoreError::damaged(&path, problem, remedy))
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let found: Format = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if found.format != Self::FORMAT {
            return Err(format!(
                "it is of format {}, of another version of soma, and this one reads format {}",
                found.format,
                Self::FORMAT
            ));
        }
        if !object::is_sealed_indented(text) {
            return Err("its checksum does not match its contents".into());
        }
        let batch: Batch = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let mut names = HashSet::new();
        for PlannedFit { name, .. } in &batch.fits {
            if !Batch::is_name(name) {
                return Err(format!("{name:?} cannot be the name of a fit"));
            }
            if !names.insert(name) {
                return Err(format!("two fits are named {name:?}"));
            }
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(names: &[&str]) -> Batch {
        let fit = |name: &&str| PlannedFit {
            name: name.to_string(),
            spec: "[release]".into(),
            settings: Settings::default(),
        };
        Batch::new(names.iter().map(fit).collect())
    }

    #[test]
    fn a_batch_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let written = batch(&["a", "b.c", "d e"]);
        written.write(&folder.path().join("out")).unwrap();
        assert_eq!(Batch::read(&folder.path().join("out")).unwrap(), written);
    }

    /// A batch whose text was changed would fit another release than was asked for.
    #[test]
    fn any_damage_is_seen() {
        let text = object::indented(&batch(&["a", "b"])).into_bytes();
        assert!(Batch::parse(&text).is_ok());
        for at in 0..text.len() {
            for mask in [1, 2, 16, 64] {
                let mut damaged = text.clone();
                damaged[at] ^= mask;
                assert!(Batch::parse(&damaged).is_err(), "byte {at}");
            }
            assert!(Batch::parse(&text[..at]).is_err(), "cut at {at}");
        }
        let plain = serde_json::to_vec(&batch(&["a"])).unwrap();
        assert!(Batch::parse(&plain).unwrap_err().contains("checksum"));
    }

    /// A malicious file cannot name a folder outside the batch, or a folder twice.
    #[test]
    fn names_lead_nowhere_else() {
        let parsed = |batch: &Batch| Batch::parse(object::indented(batch).as_bytes());
        for bad in ["", "..", ".", "a/b", "/etc", "../a", "a/", ".lock", "batch.json"] {
            assert!(parsed(&batch(&["good", bad])).is_err(), "{bad}");
        }
        assert!(parsed(&batch(&["a", "a"])).unwrap_err().contains("two fits"));
        let other = Batch { format: 9, ..batch(&["a"]) };
        assert!(parsed(&other).unwrap_err().contains("it is of format 9"));
    }
}
