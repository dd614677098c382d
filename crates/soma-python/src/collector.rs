//! Collects the draws of a chain, in memory or in a folder, and handles Python's signals.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::Python;
use pyo3::exceptions::PyKeyboardInterrupt;
use soma::Outcome;
use soma::chain::{Chosen, Draw, Engine, EngineSnapshot, MoveReport, Observer};
use soma_store::Store;

use crate::control::Control;
use crate::draws::crossing;

/// The polling interval for signals: long enough to cost nothing.
const LOOK: Duration = Duration::from_millis(50);

pub struct Collector<'a> {
    control: &'a Control,
    store: Option<&'a Store>,
    /// The thinning interval of stored records; `None` if they are not stored.
    records_thin: Option<u64>,
    inner: Mutex<Inner>,
}

/// The results of a chain.
#[derive(Default)]
pub struct Collected {
    /// The draws, except those stored in a folder.
    pub draws: Vec<Draw>,
    /// The stored imputed records, concatenated over draws.
    pub records: Vec<f64>,
    /// The kernel that the chain chose, if the kernel is `auto`.
    pub chosen: Option<Chosen>,
    /// How it crosses between separate modes, see [`crossing`].
    pub crossing: Option<f64>,
    /// The reports of its sweeps and theta updates after warm-up.
    pub moves: Vec<MoveReport>,
}

struct Inner {
    collected: Collected,
    looked: Instant,
}

impl<'a> Collector<'a> {
    pub fn new(control: &'a Control, store: Option<&'a Store>, records_thin: Option<u64>) -> Self {
        let inner = Inner { collected: Collected::default(), looked: Instant::now() };
        Collector { control, store, records_thin, inner: Mutex::new(inner) }
    }

    /// The results of the chain.
    pub fn into_collected(self) -> Collected {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner).collected
    }
}

impl Observer for Collector<'_> {
    fn begin(&self, chain: usize) -> Outcome<Option<EngineSnapshot>> {
        let Some(store) = self.store else { return Ok(None) };
        let snapshot = store.begin(chain)?;
        self.control.advance(snapshot.as_ref().map_or(0, EngineSnapshot::iteration));
        Ok(snapshot)
    }

    /// In a worker process the chain runs in the main thread, the only one that receives Ctrl-C.
    fn step(&self, chain: usize, state: &Engine) -> Outcome {
        self.control.count();
        if let Some(store) = self.store {
            store.step(chain, state)?;
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.looked.elapsed() < LOOK {
            return Ok(());
        }
        inner.looked = Instant::now();
        Python::attach(|py| match py.check_signals() {
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                self.control.stop();
                Ok(())
            }
            other => Ok(other?),
        })
    }

    fn draw(&self, chain: usize, draw: Draw, state: &Engine) -> Outcome {
        if let Some(store) = self.store {
            return store.draw(chain, draw, state);
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let index = inner.collected.draws.len() as u64;
        if self.records_thin.is_some_and(|thin| index.is_multiple_of(thin)) {
            inner.collected.records.extend_from_slice(&state.records());
        }
        inner.collected.draws.push(draw);
        Ok(())
    }

    fn end(&self, chain: usize, state: &Engine) -> Outcome {
        if let Some(store) = self.store {
            store.end(chain, state)?;
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.collected.chosen = state.chosen();
        inner.collected.crossing = crossing(&state.moves());
        inner.collected.moves = state.moves();
        Ok(())
    }

    fn stop(&self) -> bool {
        self.control.stopped()
    }
}
