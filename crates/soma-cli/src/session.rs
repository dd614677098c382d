//! A run as the program watches it: where draws go, what the bar shows, when to stop.

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

/// Where the draws go.
pub enum Sink {
    /// Into memory, with what each chain says of itself at its end.
    Memory { collected: Collected, ends: Mutex<Vec<End>>, watch: Watch },
    /// Into a folder.
    Disk(Box<Store>),
}

impl Sink {
    /// Memory for a run.
    pub fn memory(settings: &Settings) -> Self {
        Sink::Memory {
            collected: Collected::new(settings.chains),
            ends: Mutex::new(vec![End::default(); settings.chains]),
            watch: Watch::start(settings.chains, settings.warmup),
        }
    }

    /// Ends the run and reports on it. `folder` is that of a run that is stored.
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

/// What a chain says of itself at its end.
#[derive(Debug, Clone, Default)]
pub struct End {
    /// The kernel that it took, where it was to find one.
    pub chosen: Option<Chosen>,
    /// What its sweeps and theta updates did after warm-up.
    pub theta_moves: Vec<MoveReport>,
}

/// An observer of a run.
pub struct Session<'a> {
    /// Where the draws go.
    pub sink: Sink,
    /// The number of the first chain.
    pub first: usize,
    /// Where it is shown how far the run is.
    pub shown: Option<&'a dyn Shown>,
}

impl<'a> Session<'a> {
    /// A run whose draws go there.
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
