//! Atomic and durable writes of files.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::StoreError;

/// The suffix of a file while it is written.
const UNFINISHED: &str = ".unfinished";

/// Writes `path` by `fill`, under a temporary name until it is complete and synced. On return, the
/// file and its name are on disk, so later writes may rely on it. After a failure nothing is left
/// behind.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut File) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    let unfinished = unfinished(path);
    let written = || -> std::io::Result<()> {
        let mut options = File::options();
        let mut file =
            options.read(true).write(true).create(true).truncate(true).open(&unfinished)?;
        fill(&mut file)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        sync_folder(path.parent())
    };
    written().map_err(|error| {
        // The first error is reported; a second one here would add nothing.
        let _ = fs::remove_file(&unfinished);
        StoreError::io(path)(error)
    })
}

/// Writes `contents` to `path` atomically: after a failure the old file is unchanged. On return the
/// file is on disk.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<(), StoreError> {
    write(path, |file| file.write_all(contents))
}

/// Creates a folder and syncs its name to disk.
pub(crate) fn make_folder(path: &Path) -> Result<(), StoreError> {
    let made = || -> std::io::Result<()> {
        fs::create_dir_all(path)?;
        sync_folder(Some(path))?;
        sync_folder(path.parent())
    };
    made().map_err(StoreError::io(path))
}

/// Removes a file, if it exists.
pub(crate) fn remove(path: &Path) -> Result<bool, StoreError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io(path)(error)),
    }
}

/// Removes the temporary file of an interrupted write of `path`.
pub(crate) fn remove_unfinished(path: &Path) -> Result<(), StoreError> {
    remove(&unfinished(path)).map(|_| ())
}

fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}{UNFINISHED}"))
}

/// Syncs the names of the files in a folder to disk: in the current folder, if it is empty. Some systems
/// cannot open a folder; then there is nothing to do.
pub fn sync_folder(folder: Option<&Path>) -> std::io::Result<()> {
    if cfg!(unix)
        && let Some(folder) = folder
    {
        let here = Path::new(".");
        let folder = if folder.as_os_str().is_empty() { here } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failure to fill or to rename the file leaves nothing behind.
    #[test]
    fn a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let full = |file: &mut File| {
            file.write_all(b"some of it")?;
            Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
        };
        assert!(write(&path, full).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::create_dir_all(path.join("in the way")).unwrap();
        assert!(write(&path, |file| file.write_all(b"all of it")).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
