//! What has been spent on a table of data: a line of JSON for each release, in a file beside it.
//!
//! The ledger is as confidential as the data. It counts what it knows of: the data by the name of
//! their file, and by a digest of their content among the ledgers of the same folder.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use soma::error::{counted, rounded};
use soma::release::mechanism::Neighbours;
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

    fn total(&self) -> Total {
        Total { epsilon: self.epsilon, rho: self.rho }
    }

    fn spends(&self) -> bool {
        self.epsilon > 0.0 || self.rho > 0.0
    }

    fn is(&self, neighbours: Neighbours) -> bool {
        self.neighbours == neighbours.name()
    }
}

/// The ending of the name of a ledger.
const ENDING: &str = ".ledger.jsonl";

/// Whether a file has the name of a ledger.
pub fn is_named(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING))
}

/// The ledger of a file of data; of the file that it leads to, where it is a link.
pub fn path(data: &Path) -> PathBuf {
    let is_link = data.symlink_metadata().is_ok_and(|own| own.is_symlink());
    let data = &is_link.then(|| data.canonicalize().ok()).flatten().unwrap_or(data.to_path_buf());
    let mut name = data.file_name().unwrap_or_default().to_os_string();
    name.push(ENDING);
    data.with_file_name(name)
}

/// The releases so far: all of this ledger, and those of the data with this digest in the other
/// ledgers of its folder.
pub fn before(path: &Path, digest: &str) -> Result<Vec<Entry>, String> {
    let mut all = match File::open(path) {
        Ok(mut file) => read(&mut file, path)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    all.extend(elsewhere(path, digest)?);
    all.retain(Entry::spends);
    Ok(all)
}

/// The entries of the data with this digest in the other ledgers of the folder.
fn elsewhere(path: &Path, digest: &str) -> Result<Vec<Entry>, String> {
    let mut all = Vec::new();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    for file in files {
        let other = file.path();
        if is_named(&other) && other.file_name() != path.file_name() {
            let mut file = File::open(&other).map_err(|e| format!("{}: {e}", other.display()))?;
            all.extend(read(&mut file, &other)?.into_iter().filter(|entry| entry.data == digest));
        }
    }
    Ok(all)
}

/// The entries of a ledger. A line that cannot be read is an error: nobody knows what it spent.
fn read(file: &mut File, path: &Path) -> Result<Vec<Entry>, String> {
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| format!("{}: {error}", path.display()))?;
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
            together(before, None)
        )),
        _ => Ok(()),
    }
}

/// Refuses a release that spends more than the data may, together with those before it.
pub fn check_budget(before: &[Entry], now: &Entry, most: Option<Limit>) -> Result<(), String> {
    let all = sum(before, Some(now));
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
        together(before, None),
        counted(before.len(), "release"),
        now.total().said(),
        rounded(room(before, now, most, name)),
    ))
}

/// How much of a budget a release like `now` may spend.
fn room(before: &[Entry], now: &Entry, most: f64, name: &str) -> f64 {
    // In the terms of both, in which what was spent before may count for more.
    let none = Entry { epsilon: 0.0, rho: 0.0, ..now.clone() };
    let spent = sum(before, Some(&none));
    let (spent, times) = match name {
        "rho" => (spent.rho_of_all(), 4.0),
        _ => (spent.epsilon, 2.0),
    };
    let is_more = now.is(Neighbours::AddRemove) && is_replaced(before.iter());
    (most - spent).max(0.0) / if is_more { times } else { 1.0 }
}

fn is_replaced<'a>(mut entries: impl Iterator<Item = &'a Entry>) -> bool {
    entries.any(|entry| entry.is(Neighbours::Replace))
}

/// What the releases so far and one more spend. If a record is replaced between the neighbours of any
/// of them, it is so for all: that is one removed and one added, twice the epsilon and four times the rho
/// (group privacy).
pub fn sum(before: &[Entry], now: Option<&Entry>) -> Total {
    let all = || before.iter().chain(now);
    let is_replaced = is_replaced(all());
    all().fold(Total::default(), |sum, entry| {
        let is_more = is_replaced && entry.is(Neighbours::AddRemove);
        let (epsilon, rho) = if is_more { (2.0, 4.0) } else { (1.0, 1.0) };
        Total { epsilon: sum.epsilon + epsilon * entry.epsilon, rho: sum.rho + rho * entry.rho }
    })
}

/// The same in words.
fn together(before: &[Entry], now: Option<&Entry>) -> String {
    let all = || before.iter().chain(now);
    let is_mixed = is_replaced(all()) && all().any(|entry| entry.is(Neighbours::AddRemove));
    let note = if is_mixed { " where a record is replaced, one removed and one added" } else { "" };
    format!("{}{note}", sum(before, now).said())
}

fn times(count: usize) -> String {
    if count == 1 { "once before".into() } else { format!("{count} times before") }
}

/// Says what had been spent before, if anything had.
pub fn warning(before: &[Entry], now: &Entry) -> Option<String> {
    (!before.is_empty()).then(|| {
        format!(
            "these data were released {}; all releases together spend {}",
            times(before.len()),
            together(before, Some(now))
        )
    })
}

/// What must hold for a release to be counted.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// Whether a second release is asked for.
    pub again: bool,
    /// How a user asks for it.
    pub option: &'a str,
    /// The most that all releases may spend.
    pub budget: Option<Limit>,
}

/// Adds the entry of a release, on disk when this returns, and returns those before it. The ledger is
/// locked and read again: of two releases made at the same time the second knows of the first.
pub fn spend(path: &Path, entry: &Entry, terms: Terms) -> Result<Vec<Entry>, String> {
    let mut file = locked(path)?;
    let mut before = read(&mut file, path)?;
    before.extend(elsewhere(path, &entry.data)?);
    before.retain(Entry::spends);
    check_first(&before, terms.again, terms.option)?;
    check_budget(&before, entry, terms.budget)?;
    append(&mut file, path, entry)?;
    Ok(before)
}

/// Adds an entry that spends nothing, on disk when this returns.
pub fn note(path: &Path, entry: &Entry) -> Result<(), String> {
    append(&mut locked(path)?, path, entry)
}

/// The file, which others wait for until it is closed.
fn locked(path: &Path) -> Result<File, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file =
        OpenOptions::new().create(true).read(true).append(true).open(path).map_err(failed)?;
    match file.lock() {
        // Some file systems have no locks.
        Err(error) if error.kind() != std::io::ErrorKind::Unsupported => Err(failed(error)),
        _ => Ok(file),
    }
}

fn append(file: &mut File, path: &Path, entry: &Entry) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let line = serde_json::to_string(entry).map_err(|error| error.to_string())?;
    writeln!(file, "{line}").map_err(failed)?;
    file.sync_all().map_err(failed)
}
