//! What has been spent on a table of data: a line of JSON for each release, in a file beside it.
//!
//! The ledger is as confidential as the data. It counts what it knows of: the data by the name of
//! their file, and by a digest of their content among the ledgers of the same folder.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use soma::release::mechanism::Neighbours;
use soma::spec::Limit;

use super::publish::Total;
use super::spent::{check_budget, check_first};

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
    /// The most records of a person that the guarantee is for.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub contributions: u64,
    /// The digest of the data.
    #[serde(default)]
    pub data: String,
    /// Whether confidential numbers were shown to who made the release.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsafe_diagnostics: bool,
}

fn one() -> u64 {
    1
}

fn is_one(contributions: &u64) -> bool {
    *contributions == 1
}

impl Entry {
    /// A release made now of the data with this digest, guaranteed for one record.
    pub fn now(published: &Path, neighbours: &str, total: Total, data: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Entry {
            time: since.map_or(0, |since| since.as_secs()),
            published: published.display().to_string(),
            neighbours: neighbours.to_string(),
            epsilon: total.epsilon,
            rho: total.rho,
            contributions: 1,
            data: data.to_string(),
            unsafe_diagnostics: false,
        }
    }

    pub(super) fn total(&self) -> Total {
        Total { epsilon: self.epsilon, rho: self.rho }
    }

    pub(super) fn is(&self, neighbours: Neighbours) -> bool {
        self.neighbours == neighbours.name()
    }

    fn spends(&self) -> bool {
        self.epsilon > 0.0 || self.rho > 0.0
    }

    /// Refuses what no release can have spent: sums over it would count too little.
    fn check(&self) -> Result<(), String> {
        let budgets = [("epsilon", self.epsilon), ("rho", self.rho)];
        let wrong = budgets.into_iter().find(|(_, x)| !(x.is_finite() && *x >= 0.0));
        if let Some((name, given)) = wrong {
            return Err(format!(
                "{name} is no budget (given: {given}). Allowed: a number from 0 up"
            ));
        }
        let both = [Neighbours::Replace, Neighbours::AddRemove];
        if self.spends() && !both.into_iter().any(|own| self.is(own)) {
            return Err(format!(
                "neighbours are none (given: {:?}). Allowed: {}",
                self.neighbours,
                both.map(Neighbours::name).join(" or ")
            ));
        }
        match self.contributions {
            0 => Err("contributions are none (given: 0). Allowed: a whole number from 1 up".into()),
            _ => Ok(()),
        }
    }
}

/// The ending of the name of a ledger.
const ENDING: &str = ".ledger.jsonl";

/// Whether a file has the name of a ledger.
pub fn is_named(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().to_ascii_lowercase().ends_with(ENDING))
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
        Ok(file) => read(&mut shared(file, path)?, path)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(path)(error)),
    };
    for other in others(path)? {
        let own = read(&mut opened(&other)?, &other)?;
        all.extend(own.into_iter().filter(|entry| entry.data == digest));
    }
    all.retain(Entry::spends);
    Ok(all)
}

/// The other ledgers of the folder. A folder that cannot be listed may have some.
fn others(path: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut all = Vec::new();
    for file in std::fs::read_dir(folder).map_err(failed(folder))? {
        let other = file.map_err(failed(folder))?.path();
        if is_named(&other) && other.file_name() != path.file_name() && !is_same(&other, path) {
            all.push(other);
        }
    }
    Ok(all)
}

/// Whether two names are of one file, by a link of either kind.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    let id = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        path.metadata().ok().map(|own| (own.dev(), own.ino()))
    };
    #[cfg(not(unix))]
    let id = |path: &Path| path.canonicalize().ok();
    id(one).is_some_and(|own| Some(own) == id(other))
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// A ledger that is not written while it is open.
fn opened(path: &Path) -> Result<File, String> {
    shared(File::open(path).map_err(failed(path))?, path)
}

fn shared(file: File, path: &Path) -> Result<File, String> {
    locked(file.lock_shared(), path).map(|()| file)
}

fn locked(outcome: std::io::Result<()>, path: &Path) -> Result<(), String> {
    match outcome {
        // Some file systems have no locks.
        Err(error) if error.kind() != std::io::ErrorKind::Unsupported => Err(failed(path)(error)),
        _ => Ok(()),
    }
}

/// The entries of a ledger. A line that cannot be read is an error: nobody knows what it spent.
fn read(file: &mut File, path: &Path) -> Result<Vec<Entry>, String> {
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed(path))?;
    let entry = |line: &str| {
        let entry: Entry = serde_json::from_str(line).map_err(|error| error.to_string())?;
        entry.check().map(|()| entry)
    };
    let read = |(i, line): (usize, &str)| {
        entry(line).map_err(|why| {
            format!(
                "{}, line {}: is no entry of a ledger: {why}. Allowed: lines as they were written; \
                 a last line that was cut off may be removed, since its release was not published.",
                path.display(),
                i + 1
            )
        })
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(read).collect()
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

/// Adds the entry of a release, on disk when this returns, and returns those before it.
pub fn spend(path: &Path, entry: &Entry, terms: Terms) -> Result<Vec<Entry>, String> {
    entry.check().map_err(|why| format!("OpenDP's guarantee: {why}."))?;
    let check = |before: &[Entry]| {
        check_first(before, terms.again, terms.option)?;
        check_budget(before, entry, terms.budget)
    };
    // Before the file is made: what is refused leaves none.
    check(&before(path, &entry.data)?)?;
    let mut locked = Locked::open(path)?;
    let before = locked.before(&entry.data)?;
    check(&before)?;
    locked.append(entry)?;
    Ok(before)
}

/// Adds an entry that spends nothing, on disk when this returns.
pub fn note(path: &Path, entry: &Entry) -> Result<(), String> {
    Locked::open(path)?.append(entry)
}

/// A ledger that is written, and those of its folder, which are not until this is dropped: of two
/// releases made at the same time, of one file or of two with the same content, the second knows of the
/// first.
///
/// Each locks its own ledger for itself and the others shared, in the order of their names, so that none
/// waits in a circle. A ledger that is made in between is one whose release waits for this one, or it
/// has ended and is read.
struct Locked {
    path: PathBuf,
    own: File,
    others: Vec<(PathBuf, File)>,
}

impl Locked {
    fn open(path: &Path) -> Result<Self, String> {
        let is_new = path.symlink_metadata().is_err();
        let own = OpenOptions::new().create(true).read(true).append(true).open(path);
        let own = own.map_err(failed(path))?;
        if is_new {
            soma_store::sync_folder(path.parent()).map_err(failed(path))?;
        }
        let mut names = others(path)?;
        names.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
        let after = names.partition_point(|other| other.file_name() < path.file_name());
        let lock = |other: &PathBuf| Ok((other.clone(), opened(other)?));
        let mut others: Vec<_> = names[..after].iter().map(lock).collect::<Result<_, String>>()?;
        locked(own.lock(), path)?;
        others.extend(names[after..].iter().map(lock).collect::<Result<Vec<_>, String>>()?);
        Ok(Locked { path: path.to_path_buf(), own, others })
    }

    /// The releases so far, as [`before`] says.
    fn before(&mut self, digest: &str) -> Result<Vec<Entry>, String> {
        let mut all = read(&mut self.own, &self.path)?;
        for other in others(&self.path)? {
            let held = self.others.iter_mut().find(|(path, _)| *path == other);
            let entries = match held {
                Some((_, file)) => read(file, &other)?,
                None => read(&mut File::open(&other).map_err(failed(&other))?, &other)?,
            };
            all.extend(entries.into_iter().filter(|entry| entry.data == digest));
        }
        all.retain(Entry::spends);
        Ok(all)
    }

    /// Adds a line, or nothing.
    fn append(&mut self, entry: &Entry) -> Result<(), String> {
        let line = serde_json::to_string(entry).map_err(|error| error.to_string())?;
        let length = self.own.metadata().map_err(failed(&self.path))?.len();
        let start = if self.ends_within_a_line(length)? { "\n" } else { "" };
        let mut written = || {
            self.own.write_all(format!("{start}{line}\n").as_bytes())?;
            self.own.sync_all()
        };
        written().map_err(|error| {
            // Nobody could read what is there of a line; the first error is reported.
            let _ = self.own.set_len(length);
            failed(&self.path)(error)
        })
    }

    /// Whether the last line has no end, as an editor may leave it.
    fn ends_within_a_line(&mut self, length: u64) -> Result<bool, String> {
        if length == 0 {
            return Ok(false);
        }
        let mut last = [0];
        let own = &mut self.own;
        let read = own.seek(SeekFrom::End(-1)).and_then(|_| own.read_exact(&mut last));
        read.map_err(failed(&self.path))?;
        Ok(last != *b"\n")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// A second release waits where the first has not been counted yet, of the same file or of another in
    /// its folder, whichever name comes first. The wait is short: only without locks does it end early.
    #[test]
    fn a_release_waits_for_one_that_is_not_counted_yet() {
        for (first, second) in [("a", "a"), ("a", "b"), ("b", "a")] {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| path(&folder.path().join(name));
            let total = Total { epsilon: 0.5, rho: 0.0 };
            let entry = Entry::now(Path::new("p.toml"), "replace", total, "digest");
            let mut held = Locked::open(&at(first)).unwrap();
            assert!(held.before("digest").unwrap().is_empty());
            let (sender, receiver) = mpsc::channel();
            std::thread::scope(|scope| {
                let book = at(second);
                scope.spawn(move || {
                    let mut locked = Locked::open(&book).unwrap();
                    sender.send(locked.before("digest").unwrap().len()).unwrap();
                });
                let early = receiver.recv_timeout(Duration::from_millis(100));
                assert!(early.is_err(), "{first} {second}: not waited for");
                held.append(&entry).unwrap();
                drop(held);
                assert_eq!(receiver.recv().unwrap(), 1, "{first} {second}");
            });
        }
    }
}
