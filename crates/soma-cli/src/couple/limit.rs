//! The limit of iterations for a meeting.

use soma::coupling::{Meetings, PairSettings};

use crate::exit::Failed;

/// The default limit in moves of a chain: about a second.
const MOVES: u64 = 2_000_000;

/// The default limit in iterations for chains of `n` records.
pub fn usual(n: usize) -> u64 {
    (MOVES / n.max(1) as u64).clamp(200, 100_000)
}

/// The lag suggested by `pilot`; at most half of the limit, since there are no meetings before the
/// lag.
pub fn lag(pilot: &Meetings, settings: &PairSettings) -> u64 {
    pilot.suggested_lag().min(settings.max_iterations / 2).max(1)
}

/// Rejects a lag that leaves no iteration to meet in.
pub fn check_lag(lag: u64, settings: &PairSettings) -> Result<(), Failed> {
    let most = settings.max_iterations;
    if lag < most {
        return Ok(());
    }
    Err(Failed::Input(format!(
        "--max-iterations: no pair can meet before iteration {}, one after the lag (given: {most}). \
         Allowed: a number above the lag.",
        lag.saturating_add(1)
    )))
}

/// Fails if no pair of the pilot has met: more pairs would not help.
pub fn check(pilot: &Meetings, settings: &PairSettings, n: usize) -> Result<(), Failed> {
    if pilot.met() > 0 {
        return Ok(());
    }
    let (pairs, limit) = (pilot.times().len(), settings.max_iterations);
    Err(Failed::Run(format!(
        "none of {pairs} pilot pairs of {n} records met by iteration {limit}, so no bound \
         follows. Couplings are for small and medium problems: meeting takes longer with more \
         records and with less noise. Raise --max-iterations of `soma couple`, try another --kernel, \
         or judge the chains by R-hat (`soma diagnose`)."
    )))
}
