//! Control and progress of a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;

/// Stops chains from another thread, and counts their iterations.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug, Default)]
pub struct Control {
    stopped: AtomicBool,
    done: AtomicU64,
}

#[pymethods]
impl Control {
    #[new]
    fn new() -> Self {
        Control::default()
    }

    /// Stops all chains after the current iteration.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether `stop` was called.
    #[getter]
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Counts an iteration, or another piece of work.
    pub fn count(&self) {
        self.advance(1);
    }

    /// The count so far.
    #[getter]
    fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

impl Control {
    /// Counts `many` iterations.
    pub fn advance(&self, many: u64) {
        self.done.fetch_add(many, Ordering::Relaxed);
    }

    /// The flag set by `stop`.
    pub fn flag(&self) -> &AtomicBool {
        &self.stopped
    }
}
