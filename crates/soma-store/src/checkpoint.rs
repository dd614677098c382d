//! Checkpoints: the state of a chain, to resume from.
//!
//! A file is a magic number, a version, a checksum (CRC-32) and, in postcard's encoding, the run,
//! the chain and the state. A checkpoint that does not match its checksum is rejected: a chain
//! resumed from a damaged state would silently give wrong draws. So is one of another run or chain,
//! and an invalid state.

use std::io::{BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use soma::chain::{EngineSnapshot, Problem};
use soma::kernel::Counts;

use crate::{Manifest, StoreError, atomic};

const MARK: &[u8; 8] = b"SOMA-CHK";
const VERSION: u32 = 4;
const REMEDY: &str = "Put the file back from a copy, or start the run afresh in another folder.";

/// A chain after its last stored draw (or in warm-up, without draws).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// The fingerprint of the run, and the index of the chain.
    pub run: String,
    pub chain: u64,
    pub snapshot: EngineSnapshot,
    /// Stored draws.
    pub draws: u64,
    /// Counts of the sweeps after warm-up.
    pub counts: Counts,
}

impl Checkpoint {
    /// The length of the header.
    pub(crate) const HEAD: usize = MARK.len() + 4 + 4;

    pub(crate) fn write(&self, path: &Path) -> Result<(), StoreError> {
        let encoded = postcard::to_stdvec(self)
            .map_err(|error| StoreError::unfit(path, format!("cannot be encoded: {error}")))?;
        atomic::write(path, |file| {
            let mut file = BufWriter::new(file);
            file.write_all(MARK)?;
            file.write_all(&VERSION.to_le_bytes())?;
            file.write_all(&crc32fast::hash(&encoded).to_le_bytes())?;
            file.write_all(&encoded)?;
            file.flush()
        })
    }

    /// The checkpoint at `path`, if it exists.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, StoreError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(path)(error)),
        };
        let found = Checkpoint::parse(&bytes);
        found.map(Some).map_err(|problem| Checkpoint::damaged(path, problem))
    }

    /// The error for an unusable checkpoint at `path`.
    pub(crate) fn damaged(path: &Path, problem: impl ToString) -> StoreError {
        StoreError::damaged(path, problem, REMEDY)
    }

    /// Parses a checkpoint; the error says what is wrong.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() < Self::HEAD {
            return Err("it is truncated".into());
        }
        let (head, encoded) = bytes.split_at(Self::HEAD);
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if &head[..MARK.len()] != MARK {
            return Err("it is not a checkpoint".into());
        }
        if word(MARK.len()) != VERSION {
            return Err("it was written by another version of soma".into());
        }
        if word(MARK.len() + 4) != crc32fast::hash(encoded) {
            return Err("its checksum does not match its contents".into());
        }
        match postcard::take_from_bytes(encoded) {
            Ok((checkpoint, [])) => Ok(checkpoint),
            Ok(_) => Err("it is too long".into()),
            Err(error) => Err(format!("it cannot be decoded ({error})")),
        }
    }

    /// Whether this is a state of chain number `chain` of the run of `manifest`, for `problem`;
    /// otherwise the error says what is wrong.
    pub(crate) fn check(
        &self,
        problem: &Problem,
        manifest: &Manifest,
        chain: usize,
    ) -> Result<(), String> {
        if self.run != manifest.fingerprint() {
            return Err("it belongs to another run".into());
        }
        if self.chain != chain as u64 {
            return Err(format!("it belongs to chain {}", self.chain));
        }
        let settings = &manifest.settings;
        let iteration = self.snapshot.iteration();
        let come = manifest.place(chain).map_or(0, |place| manifest.iterations[place]);
        if iteration < come {
            return Err(format!(
                "it is from iteration {iteration}, but the run had reached {come}"
            ));
        }
        if self.draws != settings.draws_after(iteration) {
            return Err(format!("{} draws do not match {iteration} iterations", self.draws));
        }
        if self.counts.accepted > self.counts.moves {
            return Err("more was accepted than was proposed".into());
        }
        self.snapshot.check(problem)?;
        self.snapshot.check_run(problem, settings, chain)
    }
}
