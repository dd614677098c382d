//! A run, read back.

use std::path::{Path, PathBuf};

use crate::store::DRAWS;
use crate::{Manifest, StoreError, part};

/// A stored run, complete or not.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    manifest: Manifest,
}

impl Run {
    /// The run in `folder`.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let folder = folder.as_ref().to_path_buf();
        let manifest = Manifest::read(&folder)?;
        Ok(Run { folder, manifest })
    }

    /// What the run is and how far it has come.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The stored values of one parameter (or of `acceptance` or `log_density`), by chain.
    ///
    /// Only this column is read, so that a long run can be looked at column by column.
    pub fn column(&self, name: &str) -> Result<Vec<Vec<f64>>, StoreError> {
        let folder = self.folder.join(DRAWS);
        let chains = self.manifest.draws.iter().enumerate();
        chains.map(|(chain, &rows)| part::read_column(&folder, chain, name, rows)).collect()
    }
}
