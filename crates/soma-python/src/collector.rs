//! Keeps the draws of a chain, in memory or in a folder, and lets Python's signals through.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::Python;
use pyo3::exceptions::PyKeyboardInterrupt;
use soma::Outcome;
use soma::chain::{Chosen, Draw, Engine, EngineSnapshot, Observer};
use soma_store::Store;

use crate::control::Control;

/// How often a chain looks for signals: seldom enough to cost nothing.
const LOOK: Duration = Duration::from_millis(50);

pub struct Collector<'a> {
    control: &'a Control,
    store: Option<&'a Store>,
    inner: Mutex<Inner>,
}

struct Inner {
    draws: Vec<Draw>,
    chosen: Option<Chosen>,
    looked: Instant,
}

impl<'a> Collector<'a> {
    pub fn new(control: &'a Control, store: Option<&'a Store>) -> Self {
        let inner = Inner { draws: Vec::new(), chosen: None, looked: Instant::now() };
        Collector { control, store, inner: Mutex::new(inner) }
    }

    /// The draws, but for those that went into a folder, and which kernel the chain took, where it
    /// was to find one.
    pub fn into_parts(self) -> (Vec<Draw>, Option<Chosen>) {
        let inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        (inner.draws, inner.chosen)
    }
}

impl Observer for Collector<'_> {
    fn begin(&self, chain: usize) -> Outcome<Option<EngineSnapshot>> {
        let Some(store) = self.store else { return Ok(None) };
        let snapshot = store.begin(chain)?;
        self.control.advance(snapshot.as_ref().map_or(0, EngineSnapshot::iteration));
        Ok(snapshot)
    }

    /// In a worker process the chain runs in the main thread, which alone sees Ctrl-C there.
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
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).draws.push(draw);
        Ok(())
    }

    fn end(&self, chain: usize, state: &Engine) -> Outcome {
        if let Some(store) = self.store {
            store.end(chain, state)?;
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.chosen = state.chosen();
        Ok(())
    }

    fn stop(&self) -> bool {
        self.control.stopped()
    }
}
