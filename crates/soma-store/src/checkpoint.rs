//! The state of a chain, to go on from.
//!
//! A file is a mark, a version, a checksum (CRC-32) and the state in postcard's encoding. What
//! does not fit its checksum is refused: a chain that goes on from a damaged state would give
//! wrong draws without a sign of it.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use soma::chain::Snapshot;
use soma::kernel::Counts;

use crate::{StoreError, atomic};

const MARK: &[u8; 8] = b"SOMA-CHK";
const VERSION: u32 = 2;
const HEAD: usize = MARK.len() + 4 + 4;
const REMEDY: &str = "Start the run afresh in another folder, or put the file back from a copy.";

/// A chain as it was after its last stored draw (or in warm-up, with no draw yet).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub snapshot: Snapshot,
    /// Stored draws.
    pub draws: u64,
    /// What the sweeps after warm-up did.
    pub counts: Counts,
}

impl Checkpoint {
    pub(crate) fn write(&self, path: &Path) -> Result<(), StoreError> {
        let encoded = postcard::to_stdvec(self)
            .map_err(|error| StoreError::unfit(path, format!("cannot be encoded: {error}")))?;
        atomic::write(path, |file| {
            file.write_all(MARK)?;
            file.write_all(&VERSION.to_le_bytes())?;
            file.write_all(&crc32fast::hash(&encoded).to_le_bytes())?;
            file.write_all(&encoded)
        })
    }

    /// The checkpoint at `path`, if there is one.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, StoreError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(path)(error)),
        };
        let damaged = |problem: &str| StoreError::damaged(path, problem, REMEDY);
        if bytes.len() < HEAD {
            return Err(damaged("it is cut short"));
        }
        let (head, encoded) = bytes.split_at(HEAD);
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if &head[..MARK.len()] != MARK {
            return Err(damaged("it is not a checkpoint"));
        }
        if word(MARK.len()) != VERSION {
            return Err(damaged("it was written by another version of soma"));
        }
        if word(MARK.len() + 4) != crc32fast::hash(encoded) {
            return Err(damaged("its checksum does not fit its contents"));
        }
        let checkpoint = postcard::from_bytes(encoded);
        checkpoint.map(Some).map_err(|error| damaged(&format!("it cannot be decoded ({error})")))
    }
}
