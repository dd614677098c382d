//! Files that are either there as a whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::StoreError;

/// Writes `path` by `fill`, under another name until it is complete and on the disk.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}.unfinished"));
    let written = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(&unfinished)?);
        fill(&mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&unfinished, path)
    };
    written().map_err(StoreError::io(path))
}
