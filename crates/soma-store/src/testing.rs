//! The readers for tests and fuzz targets: on bytes, with valid checksums.

use std::path::Path;

use soma::chain::{EngineSnapshot, Problem};

use crate::checkpoint::Checkpoint;
use crate::part::PartReader;
use crate::table::Table;
use crate::{Manifest, StoreError, object};

/// The length of the header of a checkpoint.
pub const CHECKPOINT_HEAD: usize = Checkpoint::HEAD;

/// Updates the checksum of a checkpoint whose contents may have been changed.
pub fn seal_checkpoint(bytes: &mut [u8]) {
    if bytes.len() >= CHECKPOINT_HEAD {
        let crc = crc32fast::hash(&bytes[CHECKPOINT_HEAD..]);
        bytes[CHECKPOINT_HEAD - 4..CHECKPOINT_HEAD].copy_from_slice(&crc.to_le_bytes());
    }
}

/// The state in a checkpoint of chain number `chain` of the run of `manifest`.
pub fn checkpoint(
    bytes: &[u8],
    problem: &Problem,
    manifest: &Manifest,
    chain: usize,
) -> Result<EngineSnapshot, String> {
    let found = Checkpoint::parse(bytes)?;
    found.check(problem, manifest, chain)?;
    Ok(found.snapshot)
}

/// A manifest with a valid checksum; `json` is a JSON object with or without one.
pub fn seal_manifest(json: &str) -> String {
    let body = json.split(object::INDENTED).next().unwrap_or(json).trim_end();
    let body = body.strip_suffix('}').unwrap_or(body).trim_end();
    object::seal_indented(body)
}

/// The manifest of this text.
pub fn manifest(text: &[u8]) -> Result<Manifest, String> {
    Manifest::parse(text)
}

/// All values of the first file of draws of a chain in `folder`, without checking its seal.
pub fn part(folder: &Path, manifest: &Manifest, chain: usize) -> Result<Vec<f64>, StoreError> {
    let table = Table::draws(folder, manifest);
    let draws = manifest.place(chain).map_or(0, |place| manifest.draws[place]);
    let needed = draws.min(table.capacity);
    let reader = PartReader::open(&table, chain, 0, needed)?;
    reader.check_keys()?;
    let (keys, count) = table.counts();
    let mut values = Vec::new();
    (keys..keys + count).try_for_each(|place| reader.read(place, &mut values))?;
    Ok(values)
}

/// The text of a manifest, as it is written.
pub fn text(manifest: &Manifest) -> String {
    manifest.text()
}
