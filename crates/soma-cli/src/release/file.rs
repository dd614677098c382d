//! Data in CSV and Parquet files.

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::data::{Cell, Data};

impl Data {
    /// Reads a file by the ending of its name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let read = match ending.to_ascii_lowercase().as_str() {
            "csv" => Data::csv(path),
            "parquet" => Data::parquet(path),
            _ => Err("is no table that is read. Allowed: a file .csv or .parquet".to_string()),
        };
        read.map_err(|why| format!("{}: {why}", path.display()))
    }

    fn csv(path: &Path) -> Result<Self, String> {
        let mut reader = csv::Reader::from_path(path).map_err(|error| malformed(&error))?;
        let header = reader.headers().map_err(|error| malformed(&error))?;
        let names: Vec<String> = header.iter().map(|name| name.trim().to_string()).collect();
        // The first line is not shown: it is confidential if the file has no header.
        if let [only] = &names[..]
            && let Some(other) = only.chars().find(|one| [';', '\t', '|'].contains(one))
        {
            return Err(format!(
                "has a single column (given: {other:?} between columns). Allowed: commas between \
                 columns, and decimal points"
            ));
        }
        let mut columns = vec![Vec::new(); names.len()];
        for row in reader.records() {
            let row = row.map_err(|error| malformed(&error))?;
            for (column, text) in columns.iter_mut().zip(row.iter()) {
                column.push(Cell::of_text(text));
            }
        }
        if let [only] = &mut columns[..] {
            let text = std::fs::read(path).map_err(|error| error.to_string())?;
            only.extend(std::iter::repeat_n(Cell::Missing, empty_lines(&text)));
        }
        Data::new(names, columns)
    }

    fn parquet(path: &Path) -> Result<Self, String> {
        let why = |error: parquet::errors::ParquetError| {
            format!("{error}. Allowed: Parquet without compression, or with snappy or zstd")
        };
        let file = File::open(path).map_err(|error| error.to_string())?;
        let reader = SerializedFileReader::new(file).map_err(why)?;
        let schema = reader.metadata().file_metadata().schema();
        let names: Vec<String> =
            schema.get_fields().iter().map(|field| field.name().to_string()).collect();
        let mut columns = vec![Vec::new(); names.len()];
        for row in reader.get_row_iter(None).map_err(why)? {
            let row = row.map_err(why)?;
            for (column, (_, field)) in columns.iter_mut().zip(row.get_column_iter()) {
                column.push(of_field(field));
            }
        }
        Data::new(names, columns)
    }
}

/// How many empty lines stand between others. With several columns such a line is no row; in a single column
/// it is a missing value, which would be left out without a word.
fn empty_lines(text: &[u8]) -> usize {
    let (mut found, mut since, mut length, mut is_quoted, mut is_first) = (0, 0, 0, false, true);
    for byte in text.iter().chain(b"\n") {
        match byte {
            b'\n' if !is_quoted && length == 0 => since += 1,
            b'\n' if !is_quoted => {
                found += if is_first { 0 } else { since };
                (since, length, is_first) = (0, 0, false);
            }
            b'\r' => {}
            _ => {
                is_quoted ^= *byte == b'"';
                length += 1;
            }
        }
    }
    found
}

/// What is wrong with a file, without what stands in it.
fn malformed(error: &csv::Error) -> String {
    let line = error.position().map_or(0, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::Io(error) => error.to_string(),
        csv::ErrorKind::Utf8 { .. } => {
            format!("line {line}: is not in UTF-8. Allowed: a file in UTF-8")
        }
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => format!(
            "line {line}: has another number of columns than the header (given: {len}). Allowed: \
             {expected_len}, and quotes around texts with commas"
        ),
        _ => "is no table. Allowed: a CSV file with a header".into(),
    }
}

fn of_field(field: &Field) -> Cell {
    let number = |x: f64| if x.is_finite() { Cell::Number(x) } else { Cell::Missing };
    match field {
        Field::Bool(is) => Cell::Text(is.to_string()),
        Field::Byte(x) => Cell::Number(f64::from(*x)),
        Field::Short(x) => Cell::Number(f64::from(*x)),
        Field::Int(x) => Cell::Number(f64::from(*x)),
        Field::Long(x) => Cell::Number(*x as f64),
        Field::UByte(x) => Cell::Number(f64::from(*x)),
        Field::UShort(x) => Cell::Number(f64::from(*x)),
        Field::UInt(x) => Cell::Number(f64::from(*x)),
        Field::ULong(x) => Cell::Number(*x as f64),
        Field::Float(x) => number(f64::from(*x)),
        Field::Double(x) => number(*x),
        Field::Float16(x) => number(f64::from(*x)),
        Field::Str(text) => Cell::of_text(text),
        Field::Null => Cell::Missing,
        // Decimals are numbers; dates, bytes and lists are texts, which are no number.
        other => Cell::of_text(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use parquet::data_type::Decimal;

    use super::*;

    #[test]
    fn a_table_has_commas_between_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Data::read(&path)
        };
        let said = read("id;age\n1;2,5\n").unwrap_err();
        assert!(said.contains("';' between") && said.contains("Allowed: commas"), "{said}");
        assert!(!said.contains("age"), "{said}");
        // With the mark that some programs put before UTF-8.
        assert_eq!(read("\u{feff}id,age\n1,2.5\n").unwrap().names(), ["id", "age"]);
        assert_eq!(read("id\n1\n").unwrap().rows(), 1);
        assert_eq!(read("id,age\n1,2\n\n3,4\n\n").unwrap().rows(), 2);
    }

    /// Leaving such rows out would publish the number of the others.
    #[test]
    fn an_empty_line_of_a_single_column_is_a_missing_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        for (text, missing) in [
            ("age\n1\n\n2\n", 1),
            ("age\n\n\n2\n\n\n", 2),
            ("age\r\n1\r\n\r\n2\r\n", 1),
            ("age\n\"a\n\nb\"\n\n\"\"\n2", 2),
            ("\n\nage\n1\n2\n3", 0),
        ] {
            std::fs::write(&path, text).unwrap();
            let data = Data::read(&path).unwrap();
            let column = data.column("age").unwrap();
            let found = column.iter().filter(|cell| **cell == Cell::Missing).count();
            assert_eq!(found, missing, "{text:?}");
        }
    }

    /// A date or a decimal that were taken for a missing value would be refused for the wrong reason.
    #[test]
    fn decimals_are_numbers_and_dates_are_texts() {
        let decimal = Field::Decimal(Decimal::from_i32(-1234, 8, 2));
        assert_eq!(of_field(&decimal), Cell::Number(-12.34));
        assert_eq!(of_field(&Field::Date(0)), Cell::Text("1970-01-01".into()));
        assert_eq!(of_field(&Field::Null), Cell::Missing);
        assert_eq!(of_field(&Field::Double(f64::NAN)), Cell::Missing);
        assert_eq!(of_field(&Field::Bool(true)).number(), Some(1.0));
        assert_eq!(of_field(&Field::Str("west".into())), Cell::Text("west".into()));
    }
}
