//! A run as the program watches it: where draws go, what the bar shows, when to stop.

use std::sync::Mutex;

use soma::chain::{Chosen, Collected, Draw, Engine, EngineSnapshot, MoveReport, Observer};
use soma::{Outcome, chain};
use soma_store::{Store, Watch};

use crate::interrupt;
use crate::progress::Progress;

/// Where the draws go.
pub enum Sink {
    /// Into memory, with what each chain says of itself at its end.
    Memory { collected: Collected, ends: Mutex<Vec<End>>, watch: Watch },
    /// Into a folder.
    Disk(Box<Store>),
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
pub struct Session {
    /// Where the draws go.
    pub sink: Sink,
    /// How far it is, where that is shown.
    pub progress: Option<Progress>,
}

impl Session {
    /// Runs the chains while the bar is shown.
    pub fn run(
        &self,
        problem: &chain::Problem,
        settings: &chain::Settings,
        threads: std::num::NonZeroUsize,
    ) -> Outcome {
        std::thread::scope(|scope| {
            let bar = self.progress.as_ref().map(|bar| (bar, scope.spawn(|| bar.show())));
            let outcome = chain::run(problem, settings, threads, self);
            if let Some((bar, shown)) = bar {
                bar.end();
                shown.thread().unpark();
            }
            outcome
        })
    }
}

impl Observer for Session {
    fn begin(&self, chain: usize) -> Outcome<Option<EngineSnapshot>> {
        let snapshot = match &self.sink {
            Sink::Memory { watch, .. } => {
                watch.begin(chain, 0);
                None
            }
            Sink::Disk(store) => store.begin(chain)?,
        };
        if let (Some(bar), Some(snapshot)) = (&self.progress, &snapshot) {
            bar.advance(snapshot.iteration());
        }
        Ok(snapshot)
    }

    fn draw(&self, chain: usize, draw: Draw, state: &Engine) -> Outcome {
        if let Some(bar) = &self.progress {
            bar.draw(chain, &draw.values);
        }
        match &self.sink {
            Sink::Memory { collected, .. } => collected.draw(chain, draw, state),
            Sink::Disk(store) => store.draw(chain, draw, state),
        }
    }

    fn step(&self, chain: usize, state: &Engine) -> Outcome {
        if let Some(bar) = &self.progress {
            bar.advance(1);
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
