//! One writer for a folder.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use crate::StoreError;

/// Holds a folder until it is dropped, so that two programs do not write into it together. The
/// system lets go of it when the program ends, however that comes about.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    const FILE: &str = ".lock";

    /// Takes hold of `folder`, which is made if there is none.
    pub fn acquire(folder: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::io(folder))?;
        let path = folder.join(Self::FILE);
        let file = File::create(&path).map_err(StoreError::io(&path))?;
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
        Ok(FolderLock { _file: file })
    }
}
