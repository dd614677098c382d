//! Many pairs, on any number of threads.

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

/// How pairs are run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairSettings {
    /// The kernel of both chains.
    pub kernel: KernelChoice,
    /// How many iterations X is ahead of Y.
    pub lag: u64,
    /// The iteration of X up to which a meeting is waited for.
    pub max_iterations: u64,
    /// The seed.
    pub seed: u64,
    /// The iterations that unbiased estimates average, if these are wanted.
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

/// The pairs of a pilot: enough to choose a lag and a window by.
pub const PILOT: u64 = 24;

/// The numbers of pilot pairs begin here, so that what is chosen by them does not depend on the
/// pairs that are then run with it.
const FIRST_PILOT: u64 = 1 << 32;

/// The meeting times of a few pairs with a lag of one, to choose the lag and the window by; `ended`
/// is told of each as it ends.
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

/// What one pair did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairRun {
    /// The number of the pair, which names its random streams.
    pub index: u64,
    /// The meeting time, if they met.
    pub met: Option<u64>,
    /// What it cost, in iterations of one chain.
    pub cost: u64,
    /// What all sweeps did.
    pub counts: Counts,
    /// The estimates, if they were wanted and the pair met.
    pub estimate: Option<Estimate>,
}

/// Functions of a draw whose posterior means are wanted.
pub type Functions<'f> = dyn Fn(&[f64]) -> Vec<f64> + Sync + 'f;

/// Runs pair number `index` until it has met and the window is over, or until the limit. `None`
/// if `stop` was set meanwhile.
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

/// Runs the pairs with these numbers on `threads` threads and hands each to `done` as it comes,
/// in no certain order; what a pair does depends on its number alone. Ends early, with what there
/// is, if `stop` is set, and with the first error if there is one.
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
