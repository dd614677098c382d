//! Files that are either there as a whole or not at all, and that last through a power cut.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::StoreError;

/// What the name of a file ends in while it is written.
const UNFINISHED: &str = ".unfinished";

/// Writes `path` by `fill`, under another name until it is complete and on the disk. When this
/// returns, the file and its name are on the disk: what is written afterwards may rely on it.
/// After a failure nothing is left behind.
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
        // The error that is reported is the first; a second one here would say the same.
        let _ = fs::remove_file(&unfinished);
        StoreError::io(path)(error)
    })
}

/// Writes `contents` to `path` so that it is there as a whole or, after a failure, as it was before;
/// and on the disk when this returns.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<(), StoreError> {
    write(path, |file| file.write_all(contents))
}

/// Makes a folder, whose name is then on the disk.
pub(crate) fn make_folder(path: &Path) -> Result<(), StoreError> {
    let made = || -> std::io::Result<()> {
        fs::create_dir_all(path)?;
        sync_folder(Some(path))?;
        sync_folder(path.parent())
    };
    made().map_err(StoreError::io(path))
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> Result<bool, StoreError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io(path)(error)),
    }
}

/// Removes what a kill left of the writing of `path`.
pub(crate) fn remove_unfinished(path: &Path) -> Result<(), StoreError> {
    remove(&unfinished(path)).map(|_| ())
}

fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}{UNFINISHED}"))
}

/// Brings the names of the files in a folder to the disk. Not every system lets a folder be opened;
/// where it does not, there is nothing to be done.
fn sync_folder(folder: Option<&Path>) -> std::io::Result<()> {
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

    /// Neither a failure while the file is filled nor one when it is named leaves anything.
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
