//! The memory check before a run.

use std::num::NonZeroUsize;

use soma::chain::{MemoryNeed, Problem, Settings};
use soma_store::{Available, available_memory, check_memory, in_words};

use crate::exit::Failed;

/// The memory of a run, as a line of text.
pub fn line(problem: &Problem, settings: &Settings, threads: NonZeroUsize) -> String {
    let need = MemoryNeed::of(problem, settings, threads.get(), false);
    let plural = if need.at_a_time == 1 { "" } else { "s" };
    let there_is = available_memory().map_or_else(String::new, |Available { bytes, limit }| {
        format!("; there is {} {limit}", in_words(bytes))
    });
    format!("about {} on {} thread{plural}{there_is}", in_words(need.bytes()), need.at_a_time)
}

/// An error if a run cannot fit.
pub fn check(
    problem: &Problem,
    settings: &Settings,
    threads: NonZeroUsize,
    stored: bool,
) -> Result<(), Failed> {
    let need = MemoryNeed::of(problem, settings, threads.get(), stored);
    check_memory(need).map_err(|error| Failed::Input(error.to_string()))
}
