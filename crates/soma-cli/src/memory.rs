//! Whether there is memory for a run, before it begins.

use std::num::NonZeroUsize;

use soma::chain::{MemoryNeed, Problem, Settings};
use soma_store::{Available, available_memory};

use crate::exit::Failed;

/// What a run needs, as a line of text.
pub fn line(problem: &Problem, settings: &Settings, threads: NonZeroUsize) -> String {
    let need = MemoryNeed::of(problem, settings, threads.get(), false);
    let threads = need.at_a_time;
    let plural = if threads == 1 { "" } else { "s" };
    let there_is = available_memory().map_or_else(String::new, |Available { bytes, limit }| {
        format!("; there is {} {limit}", size(bytes))
    });
    format!("about {} on {threads} thread{plural}{there_is}", size(need.bytes()))
}

/// An error if a run cannot fit.
pub fn check(
    problem: &Problem,
    settings: &Settings,
    threads: NonZeroUsize,
    stored: bool,
) -> Result<(), Failed> {
    let need = MemoryNeed::of(problem, settings, threads.get(), stored);
    let Some(available) = available_memory() else { return Ok(()) };
    if need.bytes() <= available.bytes {
        return Ok(());
    }
    Err(Failed::Input(refusal(&need, available, stored)))
}

fn refusal(need: &MemoryNeed, available: Available, stored: bool) -> String {
    let mut ways = Vec::new();
    if need.at_a_time > 1 && need.chain.saturating_add(need.draws) <= available.bytes {
        let fitting = (available.bytes - need.draws) / need.chain.max(1);
        ways.push(format!("--threads {}", fitting.max(1)));
    }
    if need.draws > available.bytes / 2 {
        ways.push(if stored { "fewer draws" } else { "--out DIR, or fewer draws" }.to_string());
    }
    ways.push(format!("a machine with {}", size(need.bytes())));
    format!(
        "memory: the run does not fit (given: about {} for {} chain{} at a time, {} for the draws). \
         Allowed: at most {}, which there is {}; {}.",
        size(need.chain.saturating_mul(need.at_a_time)),
        need.at_a_time,
        if need.at_a_time == 1 { "" } else { "s" },
        size(need.draws),
        size(available.bytes),
        available.limit,
        ways.join(", or "),
    )
}

/// A number of bytes that one can read.
fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        small if small < 1e6 => format!("{:.0} kB", (small / 1e3).ceil()),
        middle if middle < 1e9 => format!("{:.0} MB", (middle / 1e6).ceil()),
        large => format!("{:.1} GB", large / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use soma_store::Limit;

    use super::*;

    const GIGABYTE: u64 = 1_000_000_000;

    #[test]
    fn a_refusal_says_what_would_fit() {
        let need = MemoryNeed { chain: GIGABYTE, at_a_time: 4, draws: GIGABYTE / 10 };
        let available = Available { bytes: 5 * GIGABYTE / 2, limit: Limit::Group };
        assert_eq!(
            refusal(&need, available, false),
            "memory: the run does not fit (given: about 4.0 GB for 4 chains at a time, 100 MB for \
             the draws). Allowed: at most 2.5 GB, which there is under the limit of the container; \
             --threads 2, or a machine with 4.1 GB."
        );
        let need = MemoryNeed { chain: 1, at_a_time: 1, draws: 3 * GIGABYTE };
        let said = refusal(&need, available, false);
        assert!(said.contains("; --out DIR, or fewer draws, or a machine with 3.0 GB."), "{said}");
    }
}
