//! One writer for a folder.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::StoreError;

/// Holds a folder until it is dropped, so that two programs do not write into it together. The
/// system lets go of it when the program ends, however that comes about.
#[derive(Debug)]
pub struct FolderLock {
    file: File,
    path: PathBuf,
}

impl FolderLock {
    const FILE: &str = ".lock";

    /// Takes hold of `folder`, which is made if there is none.
    pub fn acquire(folder: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::io(folder))?;
        let path = folder.join(Self::FILE);
        // Not truncated: another program may hold it, with its reserve.
        let file = File::options().create(true).write(true).truncate(false).open(&path);
        let file = file.map_err(StoreError::io(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let problem = "is being written by another run; wait until it has ended, or \
                               choose another folder";
                return Err(StoreError::unfit(folder, problem));
            }
            // Some file systems have no locks; a run there is as good as it was without them.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(StoreError::io(&path)(error)),
        }
        Ok(FolderLock { file, path })
    }

    /// Takes so many bytes of the disk, so that the end of the run can be written down when the
    /// disk is full.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), StoreError> {
        let reserve = || -> std::io::Result<()> {
            self.file.set_len(0)?;
            (&self.file).write_all(&vec![b'.'; bytes])
        };
        reserve().map_err(StoreError::io(&self.path))
    }

    /// Gives back what was reserved.
    pub(crate) fn release(&self) -> Result<(), StoreError> {
        self.file.set_len(0).map_err(StoreError::io(&self.path))
    }
}
