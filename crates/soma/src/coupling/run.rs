//! Runs many pairs on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::chains::CoupledChains;
use super::meetings::Meetings;
use super::unbiased::{Accumulator, Estimate, Window};
use crate::chain::Problem;
use crate::error::Outcome;
use crate::interrupt::{self, Interrupted};
use crate::kernel::{Counts, KernelChoice};

/// Settings of a run of pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairSettings {
    /// The kernel of both chains.
    pub kernel: KernelChoice,
    /// The number of iterations that X is ahead of Y.
    pub lag: u64,
    /// The limit: a pair that has not met by this iteration of X is stopped.
    pub max_iterations: u64,
    /// The seed.
    pub seed: u64,
    /// The window of the unbiased estimates, if any.
    pub window: Option<Window>,
}

impl PairSettings {
    /// The meeting times of runs with these settings, in the order of the pairs.
    pub fn meetings(&self, runs: &[PairRun]) -> Meetings {
        let mut runs: Vec<_> = runs.iter().map(|run| (run.index, run.met)).collect();
        runs.sort_unstable();
        Meetings::new(self.lag, self.max_iterations, runs.into_iter().map(|run| run.1).collect())
    }
}

/// The number of pilot pairs, from which the lag and the window are chosen.
pub const PILOT: u64 = 24;

/// The first index of pilot pairs. Their streams are disjoint from those of the pairs that are then
/// run, so the chosen settings are independent of them.
const FIRST_PILOT: u64 = 1 << 32;

/// The meeting times of [`PILOT`] pairs with a lag of one, from which the lag and the window are
/// chosen. Calls `ended` after each pair.
pub fn pilot(
    problem: &Problem,
    settings: &PairSettings,
    threads: usize,
    ended: &(dyn Fn() + Sync),
    stop: &AtomicBool,
) -> Outcome<Meetings> {
    let settings = PairSettings { lag: 1, window: None, ..settings.clone() };
    let indices: Vec<u64> = (FIRST_PILOT..FIRST_PILOT + PILOT).collect();
    let runs = Mutex::new(Vec::new());
    let keep = |run| {
        runs.lock().expect("no panic here").push(run);
        ended();
    };
    run_pairs(problem, &settings, &indices, threads, &|_| Vec::new(), &keep, stop)?;
    Ok(settings.meetings(&runs.into_inner().expect("no panic here")))
}

/// The result of one pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairRun {
    /// The index of the pair, which determines its random streams.
    pub index: u64,
    /// The meeting time, if the pair met.
    pub met: Option<u64>,
    /// The cost in iterations of one chain.
    pub cost: u64,
    /// Counts over all sweeps.
    pub counts: Counts,
    /// The unbiased estimates, if requested and if the pair met.
    pub estimate: Option<Estimate>,
}

/// Functions of a draw whose posterior means are estimated.
pub type Functions<'f> = dyn Fn(&[f64]) -> Vec<f64> + Sync + 'f;

/// Runs pair number `index` until it has met and the window has passed, or until the limit. `None`
/// if `stop` was set.
pub fn run_pair(
    problem: &Problem,
    settings: &PairSettings,
    index: u64,
    functions: &Functions<'_>,
    stop: &AtomicBool,
) -> Outcome<Option<PairRun>> {
    let halted = || stop.load(Ordering::Relaxed);
    let run = interrupt::watched(&halted, |halt| {
        halt.during(|| follow(problem, settings, index, functions, &halted))
    });
    match run {
        Err(error) if error.is::<Interrupted>() => Ok(None),
        run => run,
    }
}

fn follow(
    problem: &Problem,
    settings: &PairSettings,
    index: u64,
    functions: &Functions<'_>,
    halted: &dyn Fn() -> bool,
) -> Outcome<Option<PairRun>> {
    let PairSettings { kernel, lag, max_iterations, seed, window } = *settings;
    let mut chains = CoupledChains::new(problem, kernel, lag, seed, index)?;
    let functions_of = |chains: &CoupledChains<'_>| {
        let (x, y) = chains.draws();
        (functions(&x), y.map(|y| functions(&y)))
    };
    let mut sums = window.map(|window| Accumulator::new(window, functions_of(&chains).0.len()));
    let mut alone = 0;
    loop {
        let t = chains.iteration();
        if let Some(sums) = &mut sums {
            let (x, y) = functions_of(&chains);
            sums.add(t, &x);
            if let Some(y) = y.filter(|_| t >= lag) {
                sums.correct(t, lag, &x, &y);
            }
        }
        let waiting = chains.met().is_none() && t < max_iterations;
        let averaging = chains.met().is_some() && window.is_some_and(|window| t < window.m());
        if !waiting && !averaging {
            break;
        }
        if halted() {
            return Ok(None);
        }
        alone += u64::from(averaging || t < lag);
        chains.step()?;
    }
    let met = chains.met();
    Ok(Some(PairRun {
        index,
        met,
        cost: 2 * chains.iteration() - alone,
        counts: chains.counts(),
        estimate: met.and_then(|_| sums.map(Accumulator::finish)),
    }))
}

/// Runs the pairs with these indices on `threads` threads and passes each to `done` as it ends, in
/// any order. The result of a pair depends on its index alone. Returns early if `stop` is set, or
/// with the first error.
pub fn run_pairs(
    problem: &Problem,
    settings: &PairSettings,
    indices: &[u64],
    threads: usize,
    functions: &Functions<'_>,
    done: &(dyn Fn(PairRun) + Sync),
    stop: &AtomicBool,
) -> Outcome {
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let work = || {
        while let Some(&index) = indices.get(next.fetch_add(1, Ordering::Relaxed)) {
            match run_pair(problem, settings, index, functions, stop) {
                Ok(Some(run)) => done(run),
                Ok(None) => break,
                Err(error) => {
                    failure.lock().expect("no panic here").get_or_insert(error);
                    next.store(indices.len(), Ordering::Relaxed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (0..threads.clamp(1, indices.len().max(1))).for_each(|_| {
            scope.spawn(work);
        });
    });
    failure.into_inner().expect("no panic here").map_or(Ok(()), Err)
}
