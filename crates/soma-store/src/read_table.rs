//! A Parquet file of any columns, read as texts.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::StoreError;

/// Columns and rows of a table.
type Texts = (Vec<String>, Vec<Vec<String>>);

/// The names of the columns and the rows of the file at `path`. Numbers are written so that they are
/// read as the same number; what is missing is empty.
pub fn read_table(path: &Path) -> Result<Texts, StoreError> {
    let file = File::open(path).map_err(StoreError::io(path))?;
    // The reader may panic on a file that was made to harm it.
    let read = catch_unwind(AssertUnwindSafe(|| texts(file)));
    let remedy = "Give a Parquet file of numbers and texts, or CSV.";
    match read {
        Ok(Ok(texts)) => Ok(texts),
        Ok(Err(error)) => Err(StoreError::damaged(path, error, remedy)),
        Err(_) => Err(StoreError::damaged(path, "it cannot be decoded", remedy)),
    }
}

fn texts(file: File) -> parquet::errors::Result<Texts> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema();
    let columns = schema.get_fields().iter().map(|field| field.name().to_string()).collect();
    let row = |row: parquet::errors::Result<parquet::record::Row>| {
        Ok(row?.into_columns().into_iter().map(|(_, field)| text(&field)).collect())
    };
    let rows = reader.get_row_iter(None)?.map(row).collect::<parquet::errors::Result<_>>()?;
    Ok((columns, rows))
}

fn text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Double(number) => format!("{number:?}"),
        Field::Float(number) => format!("{number:?}"),
        Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into_owned(),
        other => other.to_string(),
    }
}
