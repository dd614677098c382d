//! A journal: which pieces of a long piece of work are done, to go on after a kill.
//!
//! The file is a sequence of frames: the length of what follows, its checksum (CRC-32), and a value
//! in postcard's encoding. The first frame is a fingerprint of the work. A frame is synced to disk
//! before the next one is written, so that a kill or a power failure leaves whole frames and at most
//! one that is torn, which is dropped.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{StoreError, atomic};

/// Bytes before the value of a frame.
const HEAD: usize = 8;

/// An open journal, to which threads append.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

impl Journal {
    /// A new journal of the work with this fingerprint, where there is none yet.
    pub fn create(path: impl Into<PathBuf>, work: &str) -> Result<Self, StoreError> {
        let path = path.into();
        if path.exists() {
            let problem = "holds what was done of a run that was stopped; go on with it (--resume), \
                           or remove it";
            return Err(StoreError::unfit(&path, problem));
        }
        let first = frame(&path, &work)?;
        atomic::write(&path, |file| file.write_all(&first))?;
        Journal::at(path, first.len() as u64)
    }

    /// The journal at `path` and what it holds, or a new one. It must be of the same work.
    pub fn resume<T: DeserializeOwned>(
        path: impl Into<PathBuf>,
        work: &str,
    ) -> Result<(Self, Vec<T>), StoreError> {
        let path = path.into();
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok((Journal::create(path, work)?, Vec::new()));
            }
            Err(error) => return Err(StoreError::io(&path)(error)),
        };
        let mut rest = &bytes[..];
        if take::<String>(&mut rest).as_deref() != Some(work) {
            let problem = "is of another table or of other options, and cannot be gone on with";
            return Err(StoreError::unfit(&path, problem));
        }
        let done = std::iter::from_fn(|| take(&mut rest)).collect();
        let length = (bytes.len() - rest.len()) as u64;
        Ok((Journal::at(path, length)?, done))
    }

    /// Opens the file to append after its first `length` bytes.
    fn at(path: PathBuf, length: u64) -> Result<Self, StoreError> {
        let open = || {
            let mut file = File::options().write(true).open(&path)?;
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length))?;
            Ok(file)
        };
        let file = open().map_err(StoreError::io(&path))?;
        Ok(Journal { file: Mutex::new(file), path })
    }

    /// Appends what was done. On return it is on disk.
    pub fn append<T: Serialize>(&self, done: &T) -> Result<(), StoreError> {
        let frame = frame(&self.path, done)?;
        let mut file = self.file.lock().unwrap_or_else(|e| e.into_inner());
        let written = file.write_all(&frame).and_then(|()| file.sync_data());
        written.map_err(StoreError::io(&self.path))
    }

    /// Removes the file: all is done.
    pub fn remove(self) -> Result<(), StoreError> {
        atomic::remove(&self.path).map(|_| ())
    }
}

/// A value as a frame.
fn frame<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, StoreError> {
    let value = postcard::to_stdvec(value)
        .map_err(|error| StoreError::unfit(path, format!("cannot be encoded: {error}")))?;
    let length = u32::try_from(value.len())
        .map_err(|_| StoreError::unfit(path, "cannot hold so large a piece"))?;
    let head = [length.to_le_bytes(), crc32fast::hash(&value).to_le_bytes()];
    Ok([&head.concat()[..], &value].concat())
}

/// The value of the first frame of `bytes`, which then begin after it; nothing, and `bytes` as they
/// are, if it is torn or damaged.
fn take<T: DeserializeOwned>(bytes: &mut &[u8]) -> Option<T> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let word = |at: usize| head[at..at + 4].try_into().map(u32::from_le_bytes);
    let (length, crc) = (word(0).ok()?, word(4).ok()?);
    let (value, rest) = rest.split_at_checked(length as usize)?;
    if crc32fast::hash(value) != crc {
        return None;
    }
    let value = postcard::from_bytes(value).ok()?;
    *bytes = rest;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file cut or damaged anywhere gives the frames before that place, and goes on from there.
    #[test]
    fn whole_frames_survive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("work.progress");
        let journal = Journal::create(&path, "mine").unwrap();
        let all: Vec<(String, f64)> =
            (0..5).map(|k| (format!("group {k}"), f64::NAN.copysign(1.0) * f64::from(k))).collect();
        all.iter().for_each(|one| journal.append(one).unwrap());
        assert!(Journal::create(&path, "mine").is_err());
        let whole = std::fs::read(&path).unwrap();
        let names = |work: &str| {
            Journal::resume::<(String, f64)>(&path, work)
                .map(|(journal, done)| (journal, done.into_iter().map(|d| d.0).collect::<Vec<_>>()))
        };
        assert!(names("other").is_err());
        let first = HEAD + 5;
        for length in first..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let (journal, done) = names("mine").unwrap();
            let of_frame = (whole.len() - first) / 5;
            assert_eq!(done.len(), (length - first) / of_frame);
            journal.append(&("more".to_string(), 1.0)).unwrap();
            assert_eq!(names("mine").unwrap().1.last().unwrap(), "more");
        }
        let mut damaged = whole.clone();
        damaged[first + HEAD + 2] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        assert!(names("mine").unwrap().1.is_empty());
        names("mine").unwrap().0.remove().unwrap();
        assert!(!path.exists());
        assert!(names("mine").unwrap().1.is_empty(), "a new one");
    }
}
