//! The times of warm-up and sampling.

use std::sync::Mutex;
use std::time::Instant;

/// The times at which a chain began, left its warm-up, and ended.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    begun: Option<Instant>,
    warm: Option<Instant>,
    ended: Option<Instant>,
}

/// A stopwatch of chains that run in parallel and in sequence.
#[derive(Debug)]
pub struct Watch {
    start: Instant,
    warmup: u64,
    chains: Vec<Mutex<Times>>,
}

impl Watch {
    /// Starts a stopwatch of `chains` chains with `warmup` iterations of warm-up.
    pub fn start(chains: usize, warmup: u64) -> Self {
        let chains = (0..chains).map(|_| Mutex::default()).collect();
        Watch { start: Instant::now(), warmup, chains }
    }

    /// Called when a chain begins, at this iteration.
    pub fn begin(&self, chain: usize, iteration: u64) {
        let now = Some(Instant::now());
        let warm = if iteration >= self.warmup { now } else { None };
        *self.times(chain) = Times { begun: now, warm, ended: None };
    }

    /// Called after each iteration of a chain.
    pub fn step(&self, chain: usize, iteration: u64) {
        if iteration == self.warmup {
            self.times(chain).warm = Some(Instant::now());
        }
    }

    /// Called when a chain has ended.
    pub fn end(&self, chain: usize) {
        self.times(chain).ended = Some(Instant::now());
    }

    /// Seconds of warm-up and of sampling so far. Chains may be in different phases: the wall time
    /// is divided in proportion to the chains' own times.
    pub fn seconds(&self) -> (f64, f64) {
        let now = Instant::now();
        let (mut warmup, mut sampling) = (0.0, 0.0);
        for chain in 0..self.chains.len() {
            let times = *self.times(chain);
            let Some(begun) = times.begun else { continue };
            let ended = times.ended.unwrap_or(now);
            let warm = times.warm.unwrap_or(ended);
            warmup += (warm - begun).as_secs_f64();
            sampling += (ended - warm).as_secs_f64();
        }
        let all = (now - self.start).as_secs_f64();
        let share = if warmup + sampling > 0.0 { warmup / (warmup + sampling) } else { 1.0 };
        (all * share, all * (1.0 - share))
    }

    fn times(&self, chain: usize) -> std::sync::MutexGuard<'_, Times> {
        self.chains[chain].lock().unwrap_or_else(|e| e.into_inner())
    }
}
