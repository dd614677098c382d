//! A warm-up computed from meeting times.

use std::sync::Mutex;

use soma::chain::{Problem, Settings};
use soma::coupling::{PILOT, PairSettings, pilot, run_pairs};

use super::limit;
use super::watch::Watch;
use crate::exit::Failed;
use crate::interrupt;

/// The number of pairs for a certified warm-up.
const PAIRS: u64 = 200;

/// The iteration from which the chain of `settings` with centred updates is within 0.01 of the
/// posterior in total variation, with two standard errors added to the bound; at least one.
pub fn warmup(
    problem: &Problem,
    settings: &Settings,
    threads: usize,
    quiet: bool,
) -> Result<u64, Failed> {
    let n = problem.release().n();
    let first = PairSettings {
        kernel: settings.kernel.settled(),
        lag: 1,
        max_iterations: limit::usual(n),
        seed: settings.seed,
        window: None,
    };
    let stop = interrupt::flag();
    let watch = Watch::new("pilot pairs for the warm-up", PILOT, 0, quiet);
    let pilot = watch.during(|| pilot(problem, &first, threads, &|| watch.ended(), stop))?;
    if !interrupt::seen() {
        limit::check(&pilot, &first, n)?;
    }
    let pairs = PairSettings { lag: limit::lag(&pilot, &first), ..first };
    let runs = Mutex::new(Vec::new());
    let watch = Watch::new("pairs for the warm-up", PAIRS, 0, quiet);
    let keep = |run| {
        runs.lock().unwrap_or_else(|e| e.into_inner()).push(run);
        watch.ended();
    };
    let indices: Vec<u64> = (0..PAIRS).collect();
    watch.during(|| run_pairs(problem, &pairs, &indices, threads, &|_| Vec::new(), &keep, stop))?;
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
