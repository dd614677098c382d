//! A run of the program: the destination of draws, the progress and the stop flag.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use soma::chain::{
    Chosen, Collected, Draw, Engine, EngineSnapshot, MoveReport, Observer, Problem, Settings,
};
use soma::{Outcome, chain};
use soma_store::{Run, Store, Watch};

use crate::exit::Failed;
use crate::interrupt;
use crate::progress::Shown;
use crate::report::Report;

/// The destination of the draws.
pub enum Sink {
    /// In memory, with the reports of each chain at its end.
    Memory { collected: Collected, ends: Mutex<Vec<End>>, watch: Watch },
    /// In a folder.
    Disk(Box<Store>),
}

/// A run in memory.
#[derive(Default)]
pub struct InMemory {
    /// The draws of each chain.
    pub draws: Vec<Vec<Draw>>,
    /// The report of each chain.
    pub ends: Vec<End>,
    /// The seconds of warm-up and of the draws.
    pub seconds: (f64, f64),
}

impl Sink {
    /// A sink in memory.
    pub fn memory(settings: &Settings) -> Self {
        Sink::Memory {
            collected: Collected::new(settings.chains),
            ends: Mutex::new(vec![End::default(); settings.chains]),
            watch: Watch::start(settings.chains, settings.warmup),
        }
    }

    /// What is in memory; nothing of a run in a folder.
    pub fn into_memory(self) -> InMemory {
        match self {
            Sink::Memory { collected, ends, watch } => {
                let ends = ends.into_inner().unwrap_or_else(|e| e.into_inner());
                InMemory { draws: collected.into_draws(), ends, seconds: watch.seconds() }
            }
            Sink::Disk(_) => InMemory::default(),
        }
    }

    /// Ends the run and reports on it. `folder` is that of a stored run.
    pub fn close(
        self,
        folder: Option<&Path>,
        problem: &Problem,
        settings: &Settings,
        outcome: Outcome,
    ) -> Result<Report, Failed> {
        match (self, folder) {
            (Sink::Memory { collected, ends, watch }, _) => {
                outcome?;
                let ends = ends.into_inner().unwrap_or_else(|e| e.into_inner());
                let draws = collected.into_draws();
                Report::of_draws(problem, settings, &draws, ends, watch.seconds())
            }
            (Sink::Disk(store), folder) => {
                let finished = store.finish(outcome.is_err());
                outcome?;
                finished?;
                let folder = folder.expect("a stored run has a folder");
                Report::of_run(&Run::open(folder)?)
            }
        }
    }
}

/// The reports of a chain at its end.
#[derive(Debug, Clone, Default)]
pub struct End {
    /// The kernel that it chose, if the kernel is `auto`.
    pub chosen: Option<Chosen>,
    /// The reports of its sweeps and theta updates after warm-up.
    pub theta_moves: Vec<MoveReport>,
}

/// An observer of a run.
pub struct Session<'a> {
    /// The destination of the draws.
    pub sink: Sink,
    /// The index of the first chain.
    pub first: usize,
    /// The progress display.
    pub shown: Option<&'a dyn Shown>,
}

impl<'a> Session<'a> {
    /// A run with this sink.
    pub fn new(sink: Sink, shown: Option<&'a dyn Shown>) -> Self {
        let first = match &sink {
            Sink::Memory { .. } => 0,
            Sink::Disk(store) => store.chains().start,
        };
        Session { sink, first, shown }
    }

    /// Runs some of the chains.
    pub fn run(
        &self,
        problem: &Problem,
        settings: &Settings,
        chains: Range<usize>,
        threads: NonZeroUsize,
    ) -> Outcome {
        chain::run_chains(problem, settings, chains, threads, self)
    }
}

impl Observer for Session<'_> {
    fn begin(&self, chain: usize) -> Outcome<Option<EngineSnapshot>> {
        let snapshot = match &self.sink {
            Sink::Memory { watch, .. } => {
                watch.begin(chain, 0);
                None
            }
            Sink::Disk(store) => store.begin(chain)?,
        };
        if let (Some(shown), Some(snapshot)) = (self.shown, &snapshot) {
            shown.advance(snapshot.iteration());
        }
        Ok(snapshot)
    }

    fn draw(&self, chain: usize, draw: Draw, state: &Engine) -> Outcome {
        if let Some(shown) = self.shown {
            shown.draw(chain - self.first, &draw.values);
        }
        match &self.sink {
            Sink::Memory { collected, .. } => collected.draw(chain, draw, state),
            Sink::Disk(store) => store.draw(chain, draw, state),
        }
    }

    fn step(&self, chain: usize, state: &Engine) -> Outcome {
        if let Some(shown) = self.shown {
            shown.advance(1);
        }
        match &self.sink {
            Sink::Memory { watch, .. } => watch.step(chain, state.iteration()),
            Sink::Disk(store) => store.step(chain, state)?,
        }
        Ok(())
    }

    fn end(&self, chain: usize, state: &Engine) -> Outcome {
        match &self.sink {
            Sink::Memory { watch, ends, .. } => {
                watch.end(chain);
                let mut ends = ends.lock().unwrap_or_else(|e| e.into_inner());
                ends[chain] = End { chosen: state.chosen(), theta_moves: state.moves() };
            }
            Sink::Disk(store) => store.end(chain, state)?,
        }
        Ok(())
    }

    fn stop(&self) -> bool {
        interrupt::seen()
    }
}
