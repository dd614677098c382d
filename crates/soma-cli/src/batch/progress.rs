//! The progress of a batch.

use std::sync::atomic::{AtomicUsize, Ordering};

use soma_store::PlannedFit;

use crate::display::Display;
use crate::progress::Shown;

/// The progress of a batch.
pub struct BatchProgress {
    display: Display,
    fits: usize,
    done: AtomicUsize,
    untrusted: AtomicUsize,
}

impl BatchProgress {
    /// The progress of these fits.
    pub fn new(fits: &[PlannedFit]) -> Self {
        let iterations = fits.iter().fold(0u64, |sum, PlannedFit { settings, .. }| {
            sum.saturating_add(settings.iterations().saturating_mul(settings.chains as u64))
        });
        BatchProgress {
            display: Display::new(iterations, Display::is_terminal()),
            fits: fits.len(),
            done: AtomicUsize::new(0),
            untrusted: AtomicUsize::new(0),
        }
    }

    /// Shows progress while `work` runs, if there is a display.
    pub fn during<T>(progress: Option<&Self>, work: impl FnOnce() -> T) -> T {
        match progress {
            Some(progress) => progress.display.during(|| progress.state(), work),
            None => work(),
        }
    }

    /// Called when a fit has ended with this verdict.
    pub fn ended(&self, verdict: &str) {
        self.done.fetch_add(1, Ordering::Relaxed);
        if verdict != "trusted" {
            self.untrusted.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn state(&self) -> String {
        let [done, untrusted] =
            [&self.done, &self.untrusted].map(|count| count.load(Ordering::Relaxed));
        let bad = if untrusted > 0 { format!(", {untrusted} not trusted") } else { String::new() };
        format!("{done} of {} fits{bad}", self.fits)
    }
}

impl Shown for BatchProgress {
    fn advance(&self, iterations: u64) {
        self.display.advance(iterations);
    }

    fn draw(&self, _: usize, _: &[f64]) {}
}
