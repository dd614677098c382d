//! What has been spent on a table of data: a line of JSON for each release, in a file beside it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::publish::Total;

/// One release of the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// Seconds since 1970.
    pub time: u64,
    /// The file that was written.
    pub published: String,
    /// Which data sets are neighbours.
    pub neighbours: String,
    /// The total of parts with pure differential privacy.
    pub epsilon: f64,
    /// The total of parts with zero-concentrated differential privacy.
    pub rho: f64,
}

impl Entry {
    /// A release made now.
    pub fn now(published: &Path, neighbours: &str, total: Total) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Entry {
            time: since.map_or(0, |since| since.as_secs()),
            published: published.display().to_string(),
            neighbours: neighbours.to_string(),
            epsilon: total.epsilon,
            rho: total.rho,
        }
    }
}

/// The ledger of a file of data.
pub fn path(data: &Path) -> PathBuf {
    let mut name = data.file_name().unwrap_or_default().to_os_string();
    name.push(".ledger.jsonl");
    data.with_file_name(name)
}

/// The releases so far. A line that cannot be read is an error: nobody knows what it spent.
pub fn read(path: &Path) -> Result<Vec<Entry>, String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let read = |(i, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            format!("{}, line {}: is no entry of a ledger: {error}", path.display(), i + 1)
        })
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(read).collect()
}

/// Adds an entry, on disk when this returns.
pub fn add(path: &Path, entry: &Entry) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file =
        std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
    let line = serde_json::to_string(entry).map_err(|error| error.to_string())?;
    writeln!(file, "{line}").map_err(failed)?;
    file.sync_all().map_err(failed)
}
