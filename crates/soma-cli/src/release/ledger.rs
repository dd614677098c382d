//! What has been spent on a table of data: a line of JSON for each release, in a file beside it.
//!
//! The ledger is as confidential as the data. It counts what it knows of: the data by the name of
//! their file, and by a digest of their content among the ledgers of the same folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use soma::error::rounded;
use soma::spec::Limit;

use super::publish::Total;

/// One release of the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// Seconds since 1970.
    pub time: u64,
    /// The file that was written; empty, if none was.
    pub published: String,
    /// Which data sets are neighbours.
    pub neighbours: String,
    /// The total of parts with pure differential privacy.
    pub epsilon: f64,
    /// The total of parts with zero-concentrated differential privacy.
    pub rho: f64,
    /// The digest of the data.
    #[serde(default)]
    pub data: String,
    /// Whether confidential numbers were shown to who made the release.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsafe_diagnostics: bool,
}

impl Entry {
    /// A release made now of the data with this digest.
    pub fn now(published: &Path, neighbours: &str, total: Total, data: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Entry {
            time: since.map_or(0, |since| since.as_secs()),
            published: published.display().to_string(),
            neighbours: neighbours.to_string(),
            epsilon: total.epsilon,
            rho: total.rho,
            data: data.to_string(),
            unsafe_diagnostics: false,
        }
    }

    fn spends(&self) -> bool {
        self.epsilon > 0.0 || self.rho > 0.0
    }
}

/// The ending of the name of a ledger.
const ENDING: &str = ".ledger.jsonl";

/// The ledger of a file of data.
pub fn path(data: &Path) -> PathBuf {
    let mut name = data.file_name().unwrap_or_default().to_os_string();
    name.push(ENDING);
    data.with_file_name(name)
}

/// The releases so far: all of this ledger, and those of the data with this digest in the other
/// ledgers of its folder.
pub fn before(path: &Path, digest: &str) -> Result<Vec<Entry>, String> {
    let mut all = read(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    for file in files {
        let is_ledger = file.file_name().to_string_lossy().ends_with(ENDING);
        if is_ledger && Some(file.file_name().as_os_str()) != path.file_name() {
            all.extend(read(&file.path())?.into_iter().filter(|entry| entry.data == digest));
        }
    }
    all.retain(Entry::spends);
    Ok(all)
}

/// The entries of a ledger. A line that cannot be read is an error: nobody knows what it spent.
fn read(path: &Path) -> Result<Vec<Entry>, String> {
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

/// Refuses a second release of the same data, unless it is asked for by `option`.
pub fn check_first(before: &[Entry], again: bool, option: &str) -> Result<(), String> {
    match before.last() {
        Some(last) if !again => Err(format!(
            "these data were released {}, last to {:?}; together that spent {}, and another release \
             spends its budget on top. Allowed: the release that there is, or {option}.",
            times(before.len()),
            last.published,
            sum(before, Total::default()).said()
        )),
        _ => Ok(()),
    }
}

/// Refuses a release that spends more than the data may, together with those before it.
pub fn check_budget(before: &[Entry], total: Total, most: Option<Limit>) -> Result<(), String> {
    let all = sum(before, total);
    let (name, most, spent) = match most {
        None => return Ok(()),
        Some(Limit::Epsilon(most)) if all.rho == 0.0 => ("epsilon", most, all.epsilon),
        Some(Limit::Rho(most)) => ("rho", most, all.rho_of_all()),
        Some(Limit::Epsilon(most)) => {
            return Err(format!(
                "data.budget: a part has Gaussian noise, which spends rho (given: epsilon {most}). \
                 Allowed: budget = {{ rho = ... }}."
            ));
        }
    };
    // The lattice that sums are computed on adds a little to a budget.
    if spent <= most * (1.0 + 1e-9) {
        return Ok(());
    }
    Err(format!(
        "data.budget: all releases together would spend {name} {}: {} so far, in {}, and {} now \
         (given: {name} {most}). Allowed: a release that spends at most {name} {}.",
        rounded(spent),
        sum(before, Total::default()).said(),
        releases(before.len()),
        total.said(),
        rounded((most - spent_before(name, before)).max(0.0)),
    ))
}

/// What the releases so far and one more spend.
pub fn sum(before: &[Entry], total: Total) -> Total {
    before.iter().fold(total, |sum, entry| Total {
        epsilon: sum.epsilon + entry.epsilon,
        rho: sum.rho + entry.rho,
    })
}

fn spent_before(name: &str, before: &[Entry]) -> f64 {
    let spent = sum(before, Total::default());
    if name == "rho" { spent.rho_of_all() } else { spent.epsilon }
}

fn times(count: usize) -> String {
    if count == 1 { "once before".into() } else { format!("{count} times before") }
}

fn releases(count: usize) -> String {
    if count == 1 { "1 release".into() } else { format!("{count} releases") }
}

/// Says what had been spent before, if anything had.
pub fn warning(before: &[Entry], total: Total) -> Option<String> {
    (!before.is_empty()).then(|| {
        format!(
            "these data were released {}; all releases together spend {}",
            times(before.len()),
            sum(before, total).said()
        )
    })
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
