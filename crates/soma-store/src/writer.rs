//! Writes the rows of one chain to Parquet files with a fixed number of rows.
//!
//! The last file is rewritten, with more rows, at each checkpoint until it is full. So the files
//! depend on the rows only and not on the times of checkpoints, and a resumed run leaves the same
//! files as an uninterrupted one.

use parquet::file::metadata::KeyValue;

use crate::columns::{self, Values};
use crate::part::{self, PartReader};
use crate::table::Table;
use crate::{StoreError, atomic};

/// Writes the rows of one chain.
#[derive(Debug)]
pub(crate) struct PartWriter {
    table: Table,
    chain: usize,
    /// Rows in files before the current one.
    before: u64,
    values: Vec<Vec<f64>>,
    /// Whether there are rows that are not on disk.
    dirty: bool,
}

impl PartWriter {
    pub(crate) fn new(table: Table, chain: usize) -> Self {
        let values = vec![Vec::new(); table.counts().1];
        PartWriter { table, chain, before: 0, values, dirty: false }
    }

    /// The table of the rows.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Appends a row; writes the file when it is full.
    pub(crate) fn push(&mut self, values: &[f64]) -> Result<(), StoreError> {
        self.values.iter_mut().zip(values).for_each(|(column, value)| column.push(*value));
        self.dirty = true;
        if self.rows() == self.table.capacity {
            self.flush()?;
            self.before += self.table.capacity;
            self.clear();
        }
        Ok(())
    }

    /// Writes the current file with its rows so far.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        if !self.dirty {
            return Ok(());
        }
        let path = self.table.path(self.chain, self.before / self.table.capacity);
        let schema = self.table.schema();
        let schema = schema.map_err(|error| StoreError::unfit(&path, error.to_string()))?;
        let rows = self.before..self.before + self.rows();
        let keys = (0..self.table.counts().0).map(|place| {
            let key = |row| self.table.key(place, self.chain, row);
            Values::Whole(rows.clone().map(key).collect())
        });
        let values = self.values.iter().map(|column| Values::Numbers(column));
        let run = KeyValue::new(part::RUN.to_string(), self.table.run.clone());
        atomic::write(&path, |file| columns::write(file, schema, vec![run], keys.chain(values)))?;
        self.dirty = false;
        Ok(())
    }

    /// Resumes the table after this many draws: reads the rows of the last file, and removes later
    /// files.
    pub(crate) fn restore(&mut self, draws: u64) -> Result<(), StoreError> {
        self.clear();
        let rows = self.table.rows(draws);
        let part = rows / self.table.capacity;
        self.before = part * self.table.capacity;
        let kept = rows - self.before;
        if kept > 0 {
            let reader = PartReader::open(&self.table, self.chain, part, kept)?;
            let keys = self.table.counts().0;
            for (place, column) in self.values.iter_mut().enumerate() {
                reader.read(keys + place, column)?;
            }
        }
        let first_stale = if kept > 0 { part + 1 } else { part };
        for stale in first_stale.. {
            if !atomic::remove(&self.table.path(self.chain, stale))? {
                break;
            }
        }
        for unfinished in part..=first_stale {
            atomic::remove_unfinished(&self.table.path(self.chain, unfinished))?;
        }
        // The last file may have rows from after the checkpoint.
        self.dirty = kept > 0;
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.values[0].len() as u64
    }

    fn clear(&mut self) {
        self.values.iter_mut().for_each(Vec::clear);
        self.dirty = false;
    }
}
