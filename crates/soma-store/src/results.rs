//! The results of many fits, as one table in a Parquet file.

use std::path::Path;

use soma::diagnostics::Summary;

use crate::columns::{self, Kind, Values};
use crate::{StoreError, atomic};

/// A parameter of a fit, or a fit without draws.
#[derive(Debug, Clone)]
pub struct ResultRow {
    /// The name of the fit.
    pub name: String,
    /// The parameter; empty if the fit has no draws.
    pub parameter: String,
    /// The summary of its draws, if there are any.
    pub summary: Option<Summary>,
    /// Chains with draws, and the draws of each.
    pub chains: u64,
    /// Draws of each chain.
    pub draws: u64,
    /// The verdict on the fit: `trusted`, `untrusted`, `failed`, ...
    pub verdict: &'static str,
    /// The reasons against the fit, in sentences.
    pub reasons: String,
}

/// A column of numbers: its name, and its value in a summary.
type Number = (&'static str, fn(&Summary) -> f64);

const NUMBERS: [Number; 9] = [
    ("mean", |s| s.mean),
    ("sd", |s| s.sd),
    ("q5", |s| s.q5),
    ("q50", |s| s.q50),
    ("q95", |s| s.q95),
    ("mcse_mean", |s| s.mcse_mean),
    ("rhat", |s| s.rhat),
    ("ess_bulk", |s| s.ess_bulk),
    ("ess_tail", |s| s.ess_tail),
];

/// The columns of numbers of a summary, in the order of the file: the name of each, and what it
/// holds.
pub fn summary_columns() -> [Number; 9] {
    NUMBERS
}

/// Writes the rows to the file at `path`, which is there as a whole or not at all. What cannot be
/// told, such as R-hat of three draws, is missing (null).
pub fn write_results(path: &Path, rows: &[ResultRow]) -> Result<(), StoreError> {
    write_named(path, "name", rows)
}

/// The same with the column of names called `name`.
pub fn write_named(path: &Path, name: &str, rows: &[ResultRow]) -> Result<(), StoreError> {
    let texts = |of: fn(&ResultRow) -> &str| Values::Texts(rows.iter().map(of).collect());
    let whole = |of: fn(&ResultRow) -> u64| Values::Whole(rows.iter().map(of).collect());
    let numbers = NUMBERS.into_iter().map(|(name, of)| {
        let value = |row: &ResultRow| row.summary.as_ref().map_or(f64::NAN, of);
        (name, Kind::MaybeNumber, Values::MaybeNumbers(rows.iter().map(value).collect()))
    });
    let first = [
        (name, Kind::Text, texts(|row| &row.name)),
        ("parameter", Kind::Text, texts(|row| &row.parameter)),
    ];
    let last = [
        ("chains", Kind::Whole, whole(|row| row.chains)),
        ("draws", Kind::Whole, whole(|row| row.draws)),
        ("verdict", Kind::Text, texts(|row| row.verdict)),
        ("reasons", Kind::Text, texts(|row| &row.reasons)),
    ];
    let columns: Vec<(&str, Kind, Values)> = first.into_iter().chain(numbers).chain(last).collect();
    let schema = columns::schema(columns.iter().map(|(name, kind, _)| (*name, *kind)));
    let schema = schema.map_err(|error| StoreError::unfit(path, error.to_string()))?;
    let values = columns.into_iter().map(|(.., values)| values);
    atomic::write(path, |file| columns::write(file, schema, Vec::new(), values))
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::File;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    /// Read row by row, as another program would: strings, numbers and nulls.
    #[test]
    fn rows_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.parquet");
        let summary = Summary::of(&[[1.0, 2.0, 4.0], [1.5, 2.5, 3.0]]);
        assert!(summary.rhat.is_nan(), "three draws have none");
        let row = |name: &str, parameter: &str, summary, verdict| ResultRow {
            name: name.into(),
            parameter: parameter.into(),
            summary,
            chains: 2,
            draws: 3,
            verdict,
            reasons: "few".into(),
        };
        let rows = [
            row("a", "mu", Some(summary), "untrusted"),
            row("b", "", None, "failed"),
            row("c", "été", Some(summary), "untrusted"),
        ];
        write_results(&path, &rows).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let read: Vec<Vec<(String, Field)>> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns()).collect();
        assert_eq!(read.len(), 3);
        let get = |row: usize, name: &str| {
            let found = read[row].iter().find(|(column, _)| column == name);
            found.map(|(_, field)| field.clone()).unwrap()
        };
        assert_eq!(get(0, "name"), Field::Str("a".into()));
        assert_eq!(get(2, "parameter"), Field::Str("été".into()));
        assert_eq!(get(0, "mean"), Field::Double(summary.mean));
        assert_eq!(get(2, "q95"), Field::Double(summary.q95));
        assert_eq!([get(0, "rhat"), get(1, "mean")], [Field::Null, Field::Null]);
        assert_eq!(
            [get(1, "verdict"), get(1, "draws")],
            [Field::Str("failed".into()), Field::ULong(3)]
        );
        let columns: Vec<&str> = read[0].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(columns[..2], ["name", "parameter"]);
        assert_eq!(columns[11..], ["chains", "draws", "verdict", "reasons"]);
    }
}
