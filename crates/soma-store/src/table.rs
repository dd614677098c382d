//! A table of a run: its columns and its files.

use std::path::{Path, PathBuf};

use parquet::schema::types::TypePtr;

use crate::columns::{Kind, schema};
use crate::part::{self, PartReader};
use crate::{Manifest, StoreError};

pub(crate) const DRAWS: &str = "draws";
pub(crate) const RECORDS: &str = "records";

/// Rows of draws in a full file.
const DRAWS_PER_PART: u64 = 1 << 15;

/// Rows of records in a full file, approximately; at least the records of one draw.
const RECORDS_PER_PART: u64 = 1 << 17;

/// Columns in addition to the parameters.
pub(crate) const RESERVED: [&str; 4] = ["chain", "draw", "acceptance", "log_density"];

/// The rows of all chains, in files with a fixed number of rows of one chain each. The key columns
/// of a row follow from its index.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    folder: PathBuf,
    /// The integer columns, which come first, and the number columns.
    keys: Vec<String>,
    values: Vec<String>,
    /// Rows in a full file.
    pub(crate) capacity: u64,
    /// Rows per stored draw, and the thinning interval.
    per_draw: u64,
    thin: u64,
    /// The [fingerprint](Manifest::fingerprint) of the run.
    pub(crate) run: String,
}

impl Table {
    /// The draws of the run in `folder`.
    pub(crate) fn draws(folder: &Path, manifest: &Manifest) -> Self {
        let also = ["acceptance".to_string(), "log_density".to_string()];
        Table {
            folder: folder.join(DRAWS),
            keys: vec!["chain".into(), "draw".into()],
            values: manifest.parameters.iter().cloned().chain(also).collect(),
            capacity: DRAWS_PER_PART,
            per_draw: 1,
            thin: 1,
            run: manifest.fingerprint(),
        }
    }

    /// The imputed records of the run in `folder`, of length `dim`, if they are stored.
    pub(crate) fn records(folder: &Path, manifest: &Manifest, dim: usize) -> Option<Self> {
        let n = manifest.n as u64;
        manifest.records_thin.map(|thin| Table {
            folder: folder.join(RECORDS),
            keys: vec!["chain".into(), "draw".into(), "record".into()],
            values: (1..=dim).map(|c| format!("x{c}")).collect(),
            capacity: n * (RECORDS_PER_PART / n).max(1),
            per_draw: n,
            thin,
            run: manifest.fingerprint(),
        })
    }

    /// The Parquet schema; fails if a name is invalid.
    pub(crate) fn schema(&self) -> parquet::errors::Result<TypePtr> {
        let keys = self.keys.iter().map(|name| (name.as_str(), Kind::Whole));
        let values = self.values.iter().map(|name| (name.as_str(), Kind::Number));
        schema(keys.chain(values))
    }

    /// The numbers of key and of value columns.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.keys.len(), self.values.len())
    }

    /// The index among all columns of the value column with this name.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        let place = self.values.iter().position(|value| value == name)?;
        Some(self.keys.len() + place)
    }

    /// The key at this index of row number `row` of a chain.
    pub(crate) fn key(&self, place: usize, chain: usize, row: u64) -> u64 {
        match place {
            0 => chain as u64,
            1 => (row / self.per_draw).saturating_mul(self.thin),
            _ => row % self.per_draw,
        }
    }

    /// The number of rows of this many draws.
    pub(crate) fn rows(&self, draws: u64) -> u64 {
        draws.div_ceil(self.thin).saturating_mul(self.per_draw)
    }

    /// The file number `part` of a chain.
    pub(crate) fn path(&self, chain: usize, part: u64) -> PathBuf {
        self.folder.join(format!("chain-{chain:04}-part-{part:05}.parquet"))
    }

    /// The files with the first `rows` rows of a chain, and the number of these rows in each.
    pub(crate) fn parts(&self, rows: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let capacity = self.capacity;
        (0..rows.div_ceil(capacity)).map(move |part| (part, capacity.min(rows - part * capacity)))
    }

    /// Whether the first `rows` rows of a chain are on disk and undamaged.
    pub(crate) fn check(&self, chain: usize, rows: u64) -> Result<(), StoreError> {
        self.parts(rows).try_for_each(|(number, needed)| {
            // The seal first: a damaged file is not decoded.
            part::check_seal(&self.path(chain, number))?;
            PartReader::open(self, chain, number, needed)?.check_keys()
        })
    }
}
