//! Reading a stored run.

use std::path::{Path, PathBuf};

use crate::part::PartReader;
use crate::table::Table;
use crate::{Manifest, StoreError};

/// A stored run, complete or not.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    manifest: Manifest,
    draws: Table,
}

impl Run {
    /// Opens the run in `folder`. Checks that all of its draws are undamaged, which takes one pass
    /// over their files.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let folder = folder.as_ref().to_path_buf();
        let manifest = Manifest::read(&folder)?;
        let draws = Table::draws(&folder, &manifest);
        for (chain, &count) in manifest.chains().zip(&manifest.draws) {
            draws.check(chain, draws.rows(count))?;
        }
        Ok(Run { folder, manifest, draws })
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The stored values of one parameter (or of `acceptance` or `log_density`), by chain.
    ///
    /// Reads this column only, so that a long run can be read column by column.
    pub fn column(&self, name: &str) -> Result<Vec<Vec<f64>>, StoreError> {
        let read = |chain| {
            let mut all = Vec::new();
            self.column_parts(name, chain)?.try_for_each(|values| {
                all.extend(values?);
                Ok(())
            })?;
            Ok(all)
        };
        self.manifest.chains().map(read).collect()
    }

    /// Column number `column` of the stored imputed records, of `dim` columns, by chain: the
    /// records of all stored draws, concatenated. Checks all of the files first.
    pub fn records(&self, dim: usize, column: usize) -> Result<Vec<Vec<f64>>, StoreError> {
        let table = Table::records(&self.folder, &self.manifest, dim).filter(|_| column < dim);
        let table = table.ok_or_else(|| {
            StoreError::unfit(&self.folder, format!("has no column {column} of imputed records"))
        })?;
        let read = |(chain, &draws): (usize, &u64)| {
            let mut all = Vec::new();
            let rows = table.rows(draws);
            table.check(chain, rows)?;
            for (part, needed) in table.parts(rows) {
                let reader = PartReader::open(&table, chain, part, needed)?;
                reader.read(table.counts().0 + column, &mut all)?;
            }
            Ok(all)
        };
        self.manifest.chains().zip(&self.manifest.draws).map(read).collect()
    }

    /// The same for one chain, a file at a time: at most 32,768 values are in memory.
    pub fn column_parts(
        &self,
        name: &str,
        chain: usize,
    ) -> Result<impl Iterator<Item = Result<Vec<f64>, StoreError>> + use<'_>, StoreError> {
        let place = self.draws.place(name).ok_or_else(|| {
            StoreError::unfit(&self.folder, format!("has no column of draws named {name}"))
        })?;
        let count = self.manifest.place(chain).map_or(0, |place| self.manifest.draws[place]);
        Ok(self.draws.parts(count).map(move |(part, needed)| {
            let mut values = Vec::new();
            PartReader::open(&self.draws, chain, part, needed)?.read(place, &mut values)?;
            Ok(values)
        }))
    }
}
