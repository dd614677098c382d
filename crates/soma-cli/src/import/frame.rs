//! A table of text, with errors that name the file and the column.

use std::path::Path;

use crate::exit::Failed;
use crate::spec_file;

/// The rows of a file with a header.
pub struct Frame {
    /// The name in errors: the path of the file.
    pub source: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Frame {
    /// The table in a file, CSV or Parquet by the end of its name.
    pub fn read(path: &Path) -> Result<Frame, Failed> {
        let source = path.display().to_string();
        if path.extension().is_some_and(|end| end == "parquet") {
            let (columns, rows) = soma_store::read_table(path)?;
            return Ok(Frame { source, columns, rows });
        }
        Frame::parse(source, &spec_file::contents(path)?).map_err(Failed::Input)
    }

    /// Reads the text of a CSV file.
    pub fn parse(source: impl Into<String>, text: &str) -> Result<Frame, String> {
        let source = source.into();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let bad = |error: csv::Error| {
            format!(
                "{source}: this is not a table (given: {error}). Allowed: CSV with a header, and as \
                 many cells in every row."
            )
        };
        let owned = |row: &csv::StringRecord| row.iter().map(String::from).collect::<Vec<_>>();
        let columns = owned(reader.headers().map_err(bad)?);
        let rows: Vec<Vec<String>> = reader
            .records()
            .map(|row| row.map(|row| owned(&row)))
            .collect::<Result<_, _>>()
            .map_err(bad)?;
        if rows.is_empty() {
            return Err(format!("{source}: has no row. Allowed: a header and at least one row."));
        }
        Ok(Frame { source, columns, rows })
    }

    /// The index of a column, if present.
    pub fn find(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|own| own.eq_ignore_ascii_case(column))
    }

    /// The index of a required column.
    pub fn need(&self, column: &str) -> Result<usize, String> {
        self.find(column).ok_or_else(|| {
            format!(
                "{}: the column {column} is missing (given: {}). Allowed: the table as the tool \
                 writes it.",
                self.source,
                self.columns.join(", ")
            )
        })
    }

    /// The number in a cell.
    pub fn number(&self, row: usize, column: usize) -> Result<f64, String> {
        let text = &self.rows[row][column];
        text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| {
            format!(
                "{}, row {}: {} is not a number (given: {text:?}). Allowed: a number.",
                self.source,
                row + 1,
                self.columns[column]
            )
        })
    }

    /// The numbers of a column.
    pub fn numbers(&self, column: usize) -> Result<Vec<f64>, String> {
        (0..self.rows.len()).map(|row| self.number(row, column)).collect()
    }

    /// The cells of some columns, row by row.
    pub fn keys(&self, columns: &[usize]) -> Vec<Vec<String>> {
        let row = |row: &Vec<String>| columns.iter().map(|&column| row[column].clone()).collect();
        self.rows.iter().map(row).collect()
    }
}
