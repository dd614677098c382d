//! Rows in Parquet, in files of a fixed number of rows.
//!
//! The last file is written again, with more rows, at each checkpoint until it is full. So what
//! the files hold depends on the rows alone and not on when the checkpoints were, and a run that
//! was resumed leaves the same files as one that was not.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::{StoreError, atomic};

/// The columns of a table: whole numbers first, then numbers.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    pub keys: Vec<String>,
    pub values: Vec<String>,
}

impl Columns {
    fn schema(&self) -> Arc<Schema> {
        let keys = self.keys.iter().map(|name| Field::new(name, DataType::UInt64, false));
        let values = self.values.iter().map(|name| Field::new(name, DataType::Float64, false));
        Arc::new(Schema::new(keys.chain(values).collect::<Vec<_>>()))
    }
}

/// The file number `part` of a chain in `folder`.
pub(crate) fn path(folder: &Path, chain: usize, part: u64) -> PathBuf {
    folder.join(format!("chain-{chain:04}-part-{part:05}.parquet"))
}

/// Writes the rows of one chain.
#[derive(Debug)]
pub(crate) struct PartWriter {
    folder: PathBuf,
    chain: usize,
    columns: Columns,
    /// Rows in a full file.
    capacity: u64,
    /// Rows in files before the present one.
    before: u64,
    keys: Vec<Vec<u64>>,
    values: Vec<Vec<f64>>,
    /// Whether there are rows that are not on the disk.
    dirty: bool,
}

impl PartWriter {
    pub(crate) fn new(folder: PathBuf, chain: usize, columns: Columns, capacity: u64) -> Self {
        let keys = vec![Vec::new(); columns.keys.len()];
        let values = vec![Vec::new(); columns.values.len()];
        PartWriter { folder, chain, columns, capacity, before: 0, keys, values, dirty: false }
    }

    /// Adds a row; a file that is then full is written.
    pub(crate) fn push(&mut self, keys: &[u64], values: &[f64]) -> Result<(), StoreError> {
        self.keys.iter_mut().zip(keys).for_each(|(column, key)| column.push(*key));
        self.values.iter_mut().zip(values).for_each(|(column, value)| column.push(*value));
        self.dirty = true;
        if self.rows() == self.capacity {
            self.flush()?;
            self.before += self.capacity;
            self.clear();
        }
        Ok(())
    }

    /// Writes the present file with the rows that it has so far.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        if !self.dirty {
            return Ok(());
        }
        let path = path(&self.folder, self.chain, self.before / self.capacity);
        let keys = self.keys.iter().map(|column| {
            let array: ArrayRef = Arc::new(UInt64Array::from(column.clone()));
            array
        });
        let values = self.values.iter().map(|column| {
            let array: ArrayRef = Arc::new(Float64Array::from(column.clone()));
            array
        });
        let schema = self.columns.schema();
        let batch = RecordBatch::try_new(schema.clone(), keys.chain(values).collect())
            .map_err(|error| StoreError::unfit(&path, format!("cannot be built: {error}")))?;
        atomic::write(&path, |file| {
            let settings = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let mut writer = ArrowWriter::try_new(&mut *file, schema, Some(settings))?;
            writer.write(&batch)?;
            writer.close()?;
            Ok(())
        })?;
        self.dirty = false;
        Ok(())
    }

    /// Takes up the table at `rows` rows: reads those of the last file, and removes later files.
    pub(crate) fn restore(&mut self, rows: u64) -> Result<(), StoreError> {
        self.clear();
        let part = rows / self.capacity;
        self.before = part * self.capacity;
        let kept = rows - self.before;
        if kept > 0 {
            let path = path(&self.folder, self.chain, part);
            self.read_rows(&path, kept as usize)?;
        }
        let first_stale = if kept > 0 { part + 1 } else { part };
        for part in first_stale.. {
            let stale = path(&self.folder, self.chain, part);
            match std::fs::remove_file(&stale) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
                Err(error) => return Err(StoreError::io(&stale)(error)),
            }
        }
        // The last file may hold rows from after the checkpoint.
        self.dirty = kept > 0;
        Ok(())
    }

    fn read_rows(&mut self, path: &Path, rows: usize) -> Result<(), StoreError> {
        for batch in batches(path, None)? {
            let batch = batch?;
            let room = rows - self.rows() as usize;
            let batch = batch.slice(0, room.min(batch.num_rows()));
            let (keys, values) = batch.columns().split_at(self.keys.len());
            for (column, array) in self.keys.iter_mut().zip(keys) {
                column.extend_from_slice(array.as_primitive::<UInt64Type>().values());
            }
            for (column, array) in self.values.iter_mut().zip(values) {
                column.extend_from_slice(array.as_primitive::<Float64Type>().values());
            }
        }
        if (self.rows() as usize) < rows {
            return Err(StoreError::damaged(path, "rows are missing", REMEDY));
        }
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.keys[0].len() as u64
    }

    fn clear(&mut self) {
        self.keys.iter_mut().for_each(Vec::clear);
        self.values.iter_mut().for_each(Vec::clear);
        self.dirty = false;
    }
}

const REMEDY: &str = "Start the run afresh in another folder, or put the file back from a copy.";

/// The rows of a file, in batches; of one column only, if asked for.
fn batches(
    path: &Path,
    column: Option<&str>,
) -> Result<impl Iterator<Item = Result<RecordBatch, StoreError>>, StoreError> {
    let damaged = |error: &dyn ToString| StoreError::damaged(path, error.to_string(), REMEDY);
    let file = File::open(path).map_err(StoreError::io(path))?;
    let mut builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| damaged(&error))?;
    if let Some(column) = column {
        let mask = ProjectionMask::columns(builder.parquet_schema(), [column]);
        builder = builder.with_projection(mask);
    }
    let reader = builder.build().map_err(|error| damaged(&error))?;
    let path = path.to_path_buf();
    Ok(reader.map(move |batch| batch.map_err(|e| StoreError::damaged(&path, e, REMEDY))))
}

/// The first `rows` values of a column of a chain, from as many files as it takes.
pub(crate) fn read_column(
    folder: &Path,
    chain: usize,
    column: &str,
    rows: u64,
) -> Result<Vec<f64>, StoreError> {
    let mut values = Vec::with_capacity(rows as usize);
    for part in 0.. {
        if values.len() as u64 >= rows {
            break;
        }
        let path = path(folder, chain, part);
        for batch in batches(&path, Some(column))? {
            let batch = batch?;
            let array = batch.columns().first().and_then(|array| array.as_primitive_opt());
            let array: &Float64Array = array.ok_or_else(|| {
                StoreError::damaged(&path, format!("it has no column {column}"), REMEDY)
            })?;
            values.extend_from_slice(array.values());
        }
    }
    values.truncate(rows as usize);
    Ok(values)
}
