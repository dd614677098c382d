//! How far the groups are, on the screen and in a journal beside the results.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use soma::grouped::{Fitted, GroupTable, Plan, Watch};
use soma_store::{Journal, StoreError, fingerprint};

use super::read::Noisy;
use crate::display::Display;
use crate::exit::Outcome;
use crate::import::frame::Frame;
use crate::interrupt;

/// A journal with the groups that had ended when the run was stopped.
pub type Ended = (Journal, Vec<Fitted>);

/// A fingerprint of the table and of all that the draws depend on.
pub fn fingerprint_of(frame: &Frame, noisy: &Noisy, alpha: f64, plan: &Plan) -> String {
    let rows = (&frame.columns, &frame.rows);
    let version = env!("CARGO_PKG_VERSION");
    fingerprint(format!("{version} {noisy:?} {alpha} {plan:?} {rows:?}").as_bytes())
}

/// The journal of the run whose results go to `out`: `FILE.progress` beside it.
pub fn journal(out: &Path, work: &str, resumes: bool) -> Result<Ended, StoreError> {
    let mut path = out.as_os_str().to_owned();
    path.push(".progress");
    let path = PathBuf::from(path);
    match resumes {
        true => Journal::resume(path, work),
        false => Ok((Journal::create(path, work)?, Vec::new())),
    }
}

/// How far the groups are.
pub struct Progress {
    pub display: Display,
    groups: usize,
    done: AtomicUsize,
    untrusted: AtomicUsize,
    journal: Option<Journal>,
    /// Groups that had ended when the run was stopped.
    known: Mutex<HashMap<String, Fitted>>,
    /// What is wrong with the journal.
    failure: Mutex<Option<StoreError>>,
}

impl Progress {
    pub fn new(table: &GroupTable, plan: &Plan, pools: bool, ended: Option<Ended>) -> Self {
        let groups = table.names().len();
        let runs = if pools { plan.chains } else { plan.chains * groups };
        let all = plan.iterations().saturating_mul(runs as u64);
        let (journal, known) = match ended {
            Some((journal, known)) => (Some(journal), known),
            None => (None, Vec::new()),
        };
        Progress {
            display: Display::new(all, Display::is_terminal()),
            groups,
            done: AtomicUsize::new(0),
            untrusted: AtomicUsize::new(0),
            journal,
            known: Mutex::new(known.into_iter().map(|group| (group.name.clone(), group)).collect()),
            failure: Mutex::default(),
        }
    }

    pub fn state(&self) -> String {
        let [done, untrusted] =
            [&self.done, &self.untrusted].map(|count| count.load(Ordering::Relaxed));
        let bad = if untrusted > 0 { format!(", {untrusted} not trusted") } else { String::new() };
        format!("{done} of {} groups{bad}", self.groups)
    }

    /// Removes the journal if all groups are there. An error if it could not be written.
    pub fn finish(self, is_whole: bool) -> Outcome {
        if let Some(failure) = lock(&self.failure).take() {
            return Err(failure.into());
        }
        match self.journal.filter(|_| is_whole) {
            Some(journal) => Ok(journal.remove()?),
            None => Ok(()),
        }
    }

    fn count(&self, group: &Fitted) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.untrusted.fetch_add(usize::from(!group.verdict.is_trusted()), Ordering::Relaxed);
    }
}

impl Watch for Progress {
    fn advance(&self, iterations: u64) {
        self.display.advance(iterations);
    }

    fn known(&self, group: &str) -> Option<Fitted> {
        let known = lock(&self.known).remove(group)?;
        self.count(&known);
        Some(known)
    }

    fn ended(&self, group: &Fitted) {
        self.count(group);
        if let Some(Err(failure)) = self.journal.as_ref().map(|journal| journal.append(group)) {
            lock(&self.failure).get_or_insert(failure);
        }
    }

    fn stop(&self) -> bool {
        interrupt::seen() || lock(&self.failure).is_some()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
