//! One Parquet file of rows, read and checked.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};

use crate::table::Table;
use crate::{StoreError, seal};

/// The key under which a file has the fingerprint of its run.
pub(crate) const RUN: &str = "soma.run";

const REMEDY: &str = "Put the file back from a copy, or start the run afresh in another folder.";

fn damaged(path: &Path, problem: impl ToString) -> StoreError {
    StoreError::damaged(path, problem, REMEDY)
}

fn open(path: &Path) -> Result<File, StoreError> {
    File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => damaged(path, "it is missing"),
        _ => StoreError::io(path)(error),
    })
}

/// Whether the file at `path` is as it was written.
pub(crate) fn check_seal(path: &Path) -> Result<(), StoreError> {
    match seal::holds(&mut open(path)?) {
        Ok(true) => Ok(()),
        Ok(false) => Err(damaged(path, "its checksum does not fit its contents")),
        Err(error) => Err(StoreError::io(path)(error)),
    }
}

/// Calls the Parquet reader, which may panic on a file that was made to harm it.
fn guarded<T, E: ToString>(
    path: &Path,
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| damaged(path, error)),
        Err(_) => Err(damaged(path, "it cannot be decoded")),
    }
}

/// The first rows of a file of a table.
#[derive(Debug)]
pub(crate) struct PartReader<'a> {
    table: &'a Table,
    chain: usize,
    /// Rows in files before this one.
    before: u64,
    /// Rows that are wanted of this one.
    needed: u64,
    path: PathBuf,
    file: File,
    metadata: ArrowReaderMetadata,
}

impl<'a> PartReader<'a> {
    /// The first `needed` rows of file number `part` of a chain. Its columns must be those of the
    /// table, and it must be a file of the same run.
    pub(crate) fn open(
        table: &'a Table,
        chain: usize,
        part: u64,
        needed: u64,
    ) -> Result<Self, StoreError> {
        let path = table.path(chain, part);
        let file = open(&path)?;
        let metadata = guarded(&path, || ArrowReaderMetadata::load(&file, Default::default()))?;
        let before = part * table.capacity;
        let reader = PartReader { table, chain, before, needed, path, file, metadata };
        reader.check_metadata()?;
        Ok(reader)
    }

    fn check_metadata(&self) -> Result<(), StoreError> {
        let (wanted, found) = (self.table.schema(), self.metadata.schema());
        if wanted.fields() != found.fields() {
            return Err(damaged(&self.path, "its columns are not those of the run"));
        }
        let file = self.metadata.metadata().file_metadata();
        let run = file.key_value_metadata().into_iter().flatten().find(|pair| pair.key == RUN);
        if run.and_then(|pair| pair.value.as_ref()) != Some(&self.table.run) {
            return Err(damaged(&self.path, "it belongs to another run"));
        }
        let rows = u64::try_from(file.num_rows()).unwrap_or(0);
        if rows < self.needed {
            return Err(damaged(&self.path, "rows are missing"));
        }
        if rows > self.table.capacity {
            return Err(damaged(&self.path, "it has too many rows"));
        }
        Ok(())
    }

    /// Whether the keys of all rows are what they should be: a file of another chain, or another
    /// file of this one, is refused.
    pub(crate) fn check_keys(&self) -> Result<(), StoreError> {
        let keys = self.table.counts().0;
        let mut row = self.before;
        for batch in self.batches(0..keys)? {
            let batch = batch?;
            for place in 0..keys {
                let column = batch.column(place).as_primitive::<UInt64Type>();
                let expected = (row..).map(|row| self.table.key(place, self.chain, row));
                if !column.values().iter().copied().eq(expected.take(column.len())) {
                    return Err(damaged(&self.path, "its rows are not those of this chain"));
                }
            }
            row += batch.num_rows() as u64;
        }
        Ok(())
    }

    /// Adds the values of the column at `place` among all columns to `values`.
    pub(crate) fn read(&self, place: usize, values: &mut Vec<f64>) -> Result<(), StoreError> {
        for batch in self.batches(place..place + 1)? {
            let batch = batch?;
            values.extend_from_slice(batch.column(0).as_primitive::<Float64Type>().values());
        }
        Ok(())
    }

    /// The rows that are wanted, in batches with some of the columns.
    fn batches(
        &self,
        columns: std::ops::Range<usize>,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, StoreError>>, StoreError> {
        let file = self.file.try_clone().map_err(StoreError::io(&self.path))?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        // By place and not by name: a dot in a name would stand for nested columns.
        let mask = ProjectionMask::leaves(builder.parquet_schema(), columns.clone());
        let builder = builder.with_projection(mask);
        let mut reader = guarded(&self.path, || builder.build())?;
        let mut left = usize::try_from(self.needed).unwrap_or(usize::MAX);
        Ok(std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let next = guarded(&self.path, || reader.next().transpose());
            let batch = match next.transpose() {
                Some(Ok(batch)) if batch.num_rows() > 0 => batch,
                Some(Err(error)) => {
                    left = 0;
                    return Some(Err(error));
                }
                _ => {
                    left = 0;
                    return Some(Err(damaged(&self.path, "rows are missing")));
                }
            };
            let is_whole = |column| Array::null_count(column) == 0;
            if batch.num_columns() != columns.len() || !batch.columns().iter().all(is_whole) {
                left = 0;
                return Some(Err(damaged(&self.path, "its columns are not those of the run")));
            }
            let batch = batch.slice(0, left.min(batch.num_rows()));
            left -= batch.num_rows();
            Some(Ok(batch))
        }))
    }
}
