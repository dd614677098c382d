//! A warm-up that meeting times vouch for.

use std::sync::Mutex;

use soma::chain::{Problem, Settings};
use soma::coupling::{PairSettings, pilot, run_pairs};

use super::limit;
use crate::exit::Failed;
use crate::interrupt;

/// Pairs that a warm-up is certified with.
const PAIRS: u64 = 200;

/// The iteration from which the chain of `settings` with centred moves is within 0.01 of the
/// posterior in total variation, two standard errors of the bound added; at least one.
pub fn warmup(problem: &Problem, settings: &Settings, threads: usize) -> Result<u64, Failed> {
    let n = problem.release().n();
    let first = PairSettings {
        kernel: settings.kernel.settled(),
        lag: 1,
        max_iterations: limit::usual(n),
        seed: settings.seed,
        window: None,
    };
    let stop = interrupt::flag();
    let pilot = pilot(problem, &first, threads, stop)?;
    if !interrupt::seen() {
        limit::check(&pilot, &first, n)?;
    }
    let pairs = PairSettings { lag: pilot.suggested_lag(), ..first };
    let runs = Mutex::new(Vec::new());
    let keep = |run| runs.lock().unwrap_or_else(|e| e.into_inner()).push(run);
    let indices: Vec<u64> = (0..PAIRS).collect();
    run_pairs(problem, &pairs, &indices, threads, &|_| Vec::new(), &keep, stop)?;
    let meetings = pairs.meetings(&runs.into_inner().unwrap_or_else(|e| e.into_inner()));
    if interrupt::seen() {
        return Err(Failed::Run("stopped before the warm-up was certified".to_string()));
    }
    meetings.first_under(0.01, 2.0).map(|t| t.max(1)).ok_or_else(|| {
        Failed::Run(format!(
            "the warm-up cannot be certified: {} of {PAIRS} pairs had not met at iteration {}. \
             Give --warmup a number, or see `soma couple`.",
            PAIRS as usize - meetings.met(),
            pairs.max_iterations,
        ))
    })
}
