//! The last step of a release: what it spends is on disk before anything is published.

use std::path::Path;

use super::ledger::{self, Entry, Terms};
use super::out::Place;
use super::spent;

/// Why nothing was published.
#[derive(Debug)]
pub enum Unpublished {
    /// The ledger or the budget does not allow it; nothing is spent.
    Refused(String),
    /// The file could not be written.
    Unwritten(String),
}

/// Counts a release in the ledger `book` and writes its text to `out`, where there are such; returns the
/// releases before it.
///
/// The file is written under another name first, and that is tried before anything is spent. Whatever
/// ends the program between any two steps, what has been published has been counted.
pub fn count_and_publish(
    text: &str,
    entry: &Entry,
    out: Option<&Path>,
    book: Option<&Path>,
    terms: Terms,
) -> Result<Vec<Entry>, Unpublished> {
    let place = out.map(|out| Place::new(out, text.len(), terms.again, terms.option));
    let place = place.transpose().map_err(Unpublished::Unwritten)?;
    let before = match book {
        Some(book) => ledger::spend(book, entry, terms),
        None => spent::check_budget(&[], entry, terms.budget).map(|()| Vec::new()),
    };
    let before = before.map_err(Unpublished::Refused)?;
    if let Some(place) = place {
        let counted = book.map_or(String::new(), |book| {
            format!(" Nothing was published, and {} counts the release as made.", book.display())
        });
        place.publish(text).map_err(|why| Unpublished::Unwritten(format!("{why}.{counted}")))?;
    }
    Ok(before)
}
