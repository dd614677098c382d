//! Runs many chains on several threads.
//!
//! Chain c draws from random stream c only, so its draws do not depend on the number of threads or
//! on which other chains are run.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::{Engine, EngineSnapshot, MovesChoice, Problem};
use crate::error::{Invalid, Outcome};
use crate::interrupt::Interrupted;
use crate::kernel::{Counts, KernelChoice};
use crate::threads::over_threads;

/// Settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The kernel of the records.
    pub kernel: KernelChoice,
    /// The theta updates.
    #[serde(default)]
    pub moves: MovesChoice,
    /// The number of chains.
    pub chains: usize,
    /// Iterations of each chain before the first that may be kept.
    pub warmup: u64,
    /// Draws kept of each chain.
    pub draws: u64,
    /// The thinning interval: one iteration in this many is kept.
    pub thin: u64,
    /// Determines the random streams: the same seed gives the same draws.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let (kernel, moves) = (KernelChoice::Auto, MovesChoice::Auto);
        Settings { kernel, moves, chains: 4, warmup: 1000, draws: 1000, thin: 1, seed: 1 }
    }
}

impl Settings {
    /// The largest number of iterations of a chain.
    pub(crate) const MOST: u64 = 1 << 48;

    /// The largest number of chains: of all parts of a run that are merged. Each takes some memory,
    /// before the run begins.
    const MOST_CHAINS: usize = 1 << 20;

    /// Whether the settings are valid for `problem`.
    pub fn check(&self, problem: &Problem) -> Result<(), Invalid> {
        self.check_engine(problem)?;
        self.check_for(problem.release().n())
    }

    /// Whether the settings are valid for `n` records.
    pub fn check_for(&self, n: usize) -> Result<(), Invalid> {
        let at_least_one = |field: &str, value: u64| match value {
            0 => Err(Invalid::new(field, "must be positive", value, "a whole number from 1 up")),
            _ => Ok(()),
        };
        at_least_one("chains", self.chains as u64)?;
        if self.chains > Self::MOST_CHAINS {
            let allowed = format!("at most {}", Self::MOST_CHAINS);
            return Err(Invalid::new("chains", "are too many", self.chains, allowed));
        }
        at_least_one("draws", self.draws)?;
        at_least_one("thin", self.thin)?;
        let sampling = self.draws.checked_mul(self.thin);
        if sampling.and_then(|s| s.checked_add(self.warmup)).is_none_or(|all| all > Self::MOST) {
            return Err(Invalid::new(
                "draws",
                "the number of iterations is out of range",
                format!("{} of warm-up and {} times {}", self.warmup, self.draws, self.thin),
                format!("at most {} iterations of a chain", Self::MOST),
            ));
        }
        self.kernel.check(n)
    }

    /// The total number of iterations of a chain.
    pub fn iterations(&self) -> u64 {
        self.warmup + self.draws * self.thin
    }

    /// The number of draws kept after `iteration` iterations.
    pub fn draws_after(&self, iteration: u64) -> u64 {
        iteration.saturating_sub(self.warmup) / self.thin
    }
}

/// One kept draw of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    /// In the order of [`Problem::outputs`].
    pub values: Vec<f64>,
    /// The counts of the sweeps since the previous draw; zero if there was none.
    pub counts: Counts,
    /// The acceptance rate in these sweeps, or in the last one before them if there was none.
    pub acceptance: f64,
    /// The normalised log density of the released values given the imputed records, in the units of
    /// the release.
    pub log_density: f64,
}

/// The callbacks of a run.
///
/// They are called from the threads of the run. Calls for one chain come in order; calls for
/// different chains come in any order.
pub trait Observer: Sync {
    /// Called before a chain begins. Returns the state to resume from, if it was stored.
    fn begin(&self, chain: usize) -> Outcome<Option<EngineSnapshot>> {
        let _ = chain;
        Ok(None)
    }

    /// Called for each kept draw; `state` is the chain.
    fn draw(&self, chain: usize, draw: Draw, state: &Engine) -> Outcome;

    /// Called after each iteration, in warm-up or after it, and after `draw` if a draw was kept. A
    /// snapshot taken here resumes from here.
    fn step(&self, chain: usize, state: &Engine) -> Outcome {
        let _ = (chain, state);
        Ok(())
    }

    /// Called when a chain has ended or was stopped. The last iteration is incomplete if
    /// [`Engine::is_whole`] is false.
    fn end(&self, chain: usize, state: &Engine) -> Outcome {
        let _ = (chain, state);
        Ok(())
    }

    /// Whether to stop now. Called before each iteration and several times a second during one; a
    /// long iteration is interrupted and lost.
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
    /// An empty collection for `chains` chains.
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
/// The first error, of a model or of the observer, stops all chains and is returned.
pub fn run(
    problem: &Problem,
    settings: &Settings,
    threads: NonZeroUsize,
    observer: &dyn Observer,
) -> Outcome {
    run_chains(problem, settings, 0..settings.chains, threads, observer)
}

/// Runs some of the chains of `settings`; the others may be run elsewhere.
pub fn run_chains(
    problem: &Problem,
    settings: &Settings,
    chains: Range<usize>,
    threads: NonZeroUsize,
    observer: &dyn Observer,
) -> Outcome {
    settings.check(problem)?;
    over_threads(chains.len() as u64, threads, &|| observer.stop(), &|_| (), |number, stop| {
        run_chain(problem, settings, chains.start + number as usize, observer, stop)
    })?;
    Ok(())
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
