//! Many chains, over threads.
//!
//! Chain c draws from random stream c and from nothing else, so that its draws are the same for
//! any number of threads, and for any choice of chains that are run beside it.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::{Engine, EngineSnapshot, MovesChoice, Problem};
use crate::error::{Failure, Invalid, Outcome};
use crate::interrupt::{self, Halt, Interrupted};
use crate::kernel::{Counts, KernelChoice};

/// How a run is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How records are imputed.
    pub kernel: KernelChoice,
    /// How theta is moved.
    #[serde(default)]
    pub moves: MovesChoice,
    /// The number of chains.
    pub chains: usize,
    /// Iterations of each chain before the first that may be kept.
    pub warmup: u64,
    /// Draws kept of each chain.
    pub draws: u64,
    /// One iteration in so many is kept.
    pub thin: u64,
    /// Names the random streams: the same seed gives the same draws.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let (kernel, moves) = (KernelChoice::Auto, MovesChoice::Auto);
        Settings { kernel, moves, chains: 4, warmup: 1000, draws: 1000, thin: 1, seed: 1 }
    }
}

impl Settings {
    /// The most iterations of a chain: far more than anybody can wait for.
    const MOST: u64 = 1 << 48;

    /// Whether a run of `problem` can be made so.
    pub fn check(&self, problem: &Problem) -> Result<(), Invalid> {
        self.check_engine(problem)?;
        self.check_for(problem.release().n())
    }

    /// Whether a run of `n` records can be made so.
    pub fn check_for(&self, n: usize) -> Result<(), Invalid> {
        let at_least_one = |field: &str, value: u64| match value {
            0 => Err(Invalid::new(field, "must be positive", value, "a whole number from 1 up")),
            _ => Ok(()),
        };
        at_least_one("chains", self.chains as u64)?;
        at_least_one("draws", self.draws)?;
        at_least_one("thin", self.thin)?;
        let sampling = self.draws.checked_mul(self.thin);
        if sampling.and_then(|s| s.checked_add(self.warmup)).is_none_or(|all| all > Self::MOST) {
            return Err(Invalid::new(
                "draws",
                "the run would never end",
                format!("{} of warm-up and {} times {}", self.warmup, self.draws, self.thin),
                format!("at most {} iterations of a chain", Self::MOST),
            ));
        }
        self.kernel.check(n)
    }

    /// All iterations of a chain.
    pub fn iterations(&self) -> u64 {
        self.warmup + self.draws * self.thin
    }

    /// How many draws a chain has kept after so many iterations.
    pub fn draws_after(&self, iteration: u64) -> u64 {
        iteration.saturating_sub(self.warmup) / self.thin
    }
}

/// One kept draw of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    /// In the order of [`Problem::outputs`].
    pub values: Vec<f64>,
    /// What the sweeps did since the draw before: nothing, if there was none.
    pub counts: Counts,
    /// The share of proposals taken in these sweeps, or in the last one before them if there was
    /// none.
    pub acceptance: f64,
    /// The log density of the released values given the imputed records, normalised, in the unit
    /// of the release.
    pub log_density: f64,
}

/// What a run reports to, and is told by.
///
/// Its methods are called from the threads of the run. Calls about one chain come in the order in
/// which things happen; calls about different chains come in any order.
pub trait Observer: Sync {
    /// A chain is about to begin: the state to go on from, if it was stored.
    fn begin(&self, chain: usize) -> Outcome<Option<EngineSnapshot>> {
        let _ = chain;
        Ok(None)
    }

    /// A draw was kept; `state` is what it was taken of.
    fn draw(&self, chain: usize, draw: Draw, state: &Engine) -> Outcome;

    /// An iteration was made, in warm-up or after it; if its draw was kept, that has been seen.
    /// A snapshot taken here goes on from here.
    fn step(&self, chain: usize, state: &Engine) -> Outcome {
        let _ = (chain, state);
        Ok(())
    }

    /// A chain has come to its end, or was stopped before it: in the middle of an iteration, if
    /// [`Engine::is_whole`] says no.
    fn end(&self, chain: usize, state: &Engine) -> Outcome {
        let _ = (chain, state);
        Ok(())
    }

    /// Whether to stop now. Asked before each iteration, and some times a second while one is
    /// made: an iteration that then goes on for long is broken off, and lost.
    fn stop(&self) -> bool {
        false
    }
}

/// All draws of a run, kept in memory.
#[derive(Debug, Default)]
pub struct Collected {
    chains: Vec<Mutex<Vec<Draw>>>,
}

impl Collected {
    /// Room for the draws of `chains` chains.
    pub fn new(chains: usize) -> Self {
        Collected { chains: (0..chains).map(|_| Mutex::default()).collect() }
    }

    /// The draws of each chain.
    pub fn into_draws(self) -> Vec<Vec<Draw>> {
        let inner = |chain: Mutex<Vec<Draw>>| chain.into_inner().unwrap_or_else(|e| e.into_inner());
        self.chains.into_iter().map(inner).collect()
    }
}

impl Observer for Collected {
    fn draw(&self, chain: usize, draw: Draw, _: &Engine) -> Outcome {
        self.chains[chain].lock().unwrap_or_else(|e| e.into_inner()).push(draw);
        Ok(())
    }
}

/// Runs all chains of `settings` on at most `threads` threads.
///
/// The first failure, in a model or in the observer, stops all chains and is returned.
pub fn run(
    problem: &Problem,
    settings: &Settings,
    threads: NonZeroUsize,
    observer: &dyn Observer,
) -> Outcome {
    run_chains(problem, settings, 0..settings.chains, threads, observer)
}

/// Runs some of the chains of `settings`: the others may be run elsewhere.
pub fn run_chains(
    problem: &Problem,
    settings: &Settings,
    chains: Range<usize>,
    threads: NonZeroUsize,
    observer: &dyn Observer,
) -> Outcome {
    settings.check(problem)?;
    let next = AtomicUsize::new(chains.start);
    let failed = AtomicBool::new(false);
    let failure: Mutex<Option<Failure>> = Mutex::default();
    let stop = || failed.load(Ordering::Relaxed) || observer.stop();
    let work = |halt: &Halt| {
        loop {
            let chain = next.fetch_add(1, Ordering::Relaxed);
            if chain >= chains.end || stop() {
                return;
            }
            let ended = halt.during(|| run_chain(problem, settings, chain, observer, &stop));
            match ended {
                Ok(()) => {}
                Err(error) if error.is::<Interrupted>() => return,
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                }
            }
        }
    };
    interrupt::watched(&stop, |halt| {
        std::thread::scope(|scope| {
            for _ in 1..threads.get().min(chains.len()) {
                scope.spawn(|| work(halt));
            }
            work(halt);
        });
    });
    failure.into_inner().unwrap_or_else(|e| e.into_inner()).map_or(Ok(()), Err)
}

fn run_chain(
    problem: &Problem,
    settings: &Settings,
    index: usize,
    observer: &dyn Observer,
    stop: &dyn Fn() -> bool,
) -> Outcome {
    let mut chain = match observer.begin(index)? {
        Some(snapshot) => {
            snapshot.check_run(problem, settings, index)?;
            Engine::restore(problem, snapshot)?
        }
        None => Engine::new(problem, settings, index as u64)?,
    };
    while chain.iteration() < settings.iterations() {
        if stop() {
            break;
        }
        match chain.step() {
            Err(error) if error.is::<Interrupted>() => break,
            made => made?,
        };
        if chain.iteration() == settings.warmup {
            chain.take_counts();
        }
        let past = chain.iteration().saturating_sub(settings.warmup);
        if past > 0 && past % settings.thin == 0 {
            let acceptance = chain.acceptance_rate();
            let counts = chain.take_counts();
            let log_density = chain.log_density();
            let draw = Draw { values: chain.draw(), counts, acceptance, log_density };
            observer.draw(index, draw, &chain)?;
        }
        observer.step(index, &chain)?;
    }
    observer.end(index, &chain)
}
