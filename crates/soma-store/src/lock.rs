//! Exclusive access to a folder.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::StoreError;

/// Locks a folder until it is dropped, so that two programs do not write to it at the same time.
/// The system releases the lock when the program ends for any reason.
#[derive(Debug)]
pub struct FolderLock {
    file: File,
    path: PathBuf,
}

impl FolderLock {
    const FILE: &str = ".lock";

    /// Locks `folder`, which is created if necessary.
    pub fn acquire(folder: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::io(folder))?;
        let path = folder.join(Self::FILE);
        // Not truncated: another program may hold it, with its reserved bytes.
        let file = File::options().create(true).write(true).truncate(false).open(&path);
        let file = file.map_err(StoreError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = "is being written by another run; wait until it has ended, or \
                               choose another folder";
                return Err(StoreError::unfit(folder, problem));
            }
            // Some file systems have no locks; then there is no protection.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(StoreError::io(&path)(error)),
        }
        Ok(FolderLock { file, path })
    }

    /// Reserves this many bytes of the disk, so that the end of the run can be recorded when the
    /// disk is full.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), StoreError> {
        let reserve = || -> std::io::Result<()> {
            self.file.set_len(0)?;
            (&self.file).write_all(&vec![b'.'; bytes])
        };
        reserve().map_err(StoreError::io(&self.path))
    }

    /// Releases the reserved bytes.
    pub(crate) fn release(&self) -> Result<(), StoreError> {
        self.file.set_len(0).map_err(StoreError::io(&self.path))
    }
}
