//! One Parquet file of rows, read and checked.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, DoubleType, Int64Type};
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::table::Table;
use crate::{StoreError, seal};

/// The metadata key of the fingerprint of the run.
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

/// Whether the file at `path` is undamaged.
pub(crate) fn check_seal(path: &Path) -> Result<(), StoreError> {
    match seal::holds(&mut open(path)?) {
        Ok(true) => Ok(()),
        Ok(false) => Err(damaged(path, "its checksum does not match its contents")),
        Err(error) => Err(StoreError::io(path)(error)),
    }
}

/// Calls the Parquet reader, which may panic on a malicious file.
fn guarded<T, E: ToString>(
    path: &Path,
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| damaged(path, error)),
        Err(_) => Err(damaged(path, "it cannot be decoded")),
    }
}

/// The largest number of rows decoded at a time.
const BATCH: usize = 8192;

/// The first rows of a file of a table.
pub(crate) struct PartReader<'a> {
    table: &'a Table,
    chain: usize,
    /// Rows in files before this one.
    before: u64,
    /// Rows to read from this file.
    needed: u64,
    path: PathBuf,
    reader: SerializedFileReader<File>,
}

impl<'a> PartReader<'a> {
    /// The first `needed` rows of file number `part` of a chain. Its columns must be those of the
    /// table, and it must belong to the same run.
    pub(crate) fn open(
        table: &'a Table,
        chain: usize,
        part: u64,
        needed: u64,
    ) -> Result<Self, StoreError> {
        let path = table.path(chain, part);
        let file = open(&path)?;
        let reader = guarded(&path, || SerializedFileReader::new(file))?;
        let before = part * table.capacity;
        let reader = PartReader { table, chain, before, needed, path, reader };
        reader.check_metadata()?;
        Ok(reader)
    }

    fn check_metadata(&self) -> Result<(), StoreError> {
        let file = self.reader.metadata().file_metadata();
        let wanted = self.table.schema().map_err(|error| damaged(&self.path, error))?;
        let found = file.schema();
        if !found.is_group() || wanted.get_fields() != found.get_fields() {
            return Err(damaged(&self.path, "its columns are not those of the run"));
        }
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

    /// Whether the keys of all rows are correct: a file of another chain, or another file of this
    /// one, is rejected.
    pub(crate) fn check_keys(&self) -> Result<(), StoreError> {
        (0..self.table.counts().0).try_for_each(|place| {
            let mut row = self.before;
            self.batches::<Int64Type>(place, |keys| {
                let expected = (row..).map(|row| self.table.key(place, self.chain, row) as i64);
                if !keys.iter().copied().eq(expected.take(keys.len())) {
                    return Err(damaged(&self.path, "its rows are not those of this chain"));
                }
                row += keys.len() as u64;
                Ok(())
            })
        })
    }

    /// Appends the values of the column at `place` among all columns to `values`.
    pub(crate) fn read(&self, place: usize, values: &mut Vec<f64>) -> Result<(), StoreError> {
        self.batches::<DoubleType>(place, |batch| {
            values.extend_from_slice(batch);
            Ok(())
        })
    }

    /// Passes the rows of a column to `take` in batches. The type of the column was checked when
    /// the file was opened.
    fn batches<T: DataType>(
        &self,
        place: usize,
        mut take: impl FnMut(&[T::T]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut left = usize::try_from(self.needed).unwrap_or(usize::MAX);
        for group in 0..self.reader.num_row_groups() {
            let column =
                guarded(&self.path, || self.reader.get_row_group(group)?.get_column_reader(place))?;
            let mut column =
                guarded(&self.path, || Ok::<_, String>(get_typed_column_reader::<T>(column)))?;
            while left > 0 {
                let mut batch = Vec::new();
                let wanted = left.min(BATCH);
                guarded(&self.path, || column.read_records(wanted, None, None, &mut batch))?;
                if batch.is_empty() {
                    break;
                }
                // A malicious file may return more than requested.
                batch.truncate(left);
                take(&batch)?;
                left -= batch.len();
            }
        }
        if left > 0 {
            return Err(damaged(&self.path, "rows are missing"));
        }
        Ok(())
    }
}
