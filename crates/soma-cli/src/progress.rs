//! The progress of a run, with the R-hat of the draws so far.

use std::sync::Mutex;

use soma::chain::Settings;
use soma::diagnostics::rhat;

use crate::display::Display;

/// Receives the progress of a run.
pub trait Shown: Sync {
    /// Called after this many further iterations.
    fn advance(&self, iterations: u64);

    /// Called for each kept draw of a chain; chains are numbered from 0.
    fn draw(&self, chain: usize, values: &[f64]);
}

/// The largest number of draws per chain for the R-hat of the bar; beyond it, every second one is
/// dropped.
const KEPT: usize = 1000;

/// The progress of a run.
pub struct Progress {
    display: Display,
    chains: Vec<Mutex<Thinned>>,
}

/// Thinned draws of a chain.
struct Thinned {
    every: u64,
    seen: u64,
    draws: Vec<Vec<f64>>,
}

impl Progress {
    /// The progress of a run; `None` if `quiet`.
    pub fn new(settings: &Settings, quiet: bool) -> Option<Self> {
        (!quiet).then(|| Progress::shown(settings, Display::is_terminal()))
    }

    fn shown(settings: &Settings, in_terminal: bool) -> Self {
        let iterations = settings.iterations().saturating_mul(settings.chains as u64);
        let thinned = || Mutex::new(Thinned { every: 1, seen: 0, draws: Vec::new() });
        Progress {
            display: Display::new(iterations, in_terminal),
            chains: (0..settings.chains).map(|_| thinned()).collect(),
        }
    }

    /// Shows progress while `work` runs, if there is a display.
    pub fn during<T>(progress: Option<&Self>, work: impl FnOnce() -> T) -> T {
        match progress {
            Some(progress) => progress.display.during(|| progress.state(), work),
            None => work(),
        }
    }

    /// The R-hat so far, or `warm-up`.
    fn state(&self) -> String {
        match (self.rhat(), self.display.has_begun()) {
            (Some(rhat), _) => format!("R-hat {rhat:.3}"),
            (None, true) => "warm-up".into(),
            (None, false) => "finding starts".into(),
        }
    }

    /// The largest R-hat of all parameters, over the chains that have nearly as many draws as the
    /// longest.
    fn rhat(&self) -> Option<f64> {
        let chains = self.chains.iter().map(|chain| {
            let kept = chain.lock().unwrap_or_else(|e| e.into_inner());
            (kept.seen, kept.draws.clone())
        });
        let mut chains: Vec<(u64, Vec<Vec<f64>>)> = chains.collect();
        let furthest = chains.iter().map(|(seen, _)| *seen).max()?;
        chains.retain(|(seen, _)| *seen > 0 && *seen >= furthest / 2);
        let parameters = chains.first()?.1.first()?.len();
        let column = |k: usize| -> Vec<Vec<f64>> {
            chains.iter().map(|(_, draws)| draws.iter().map(|draw| draw[k]).collect()).collect()
        };
        let all = (0..parameters).map(|k| rhat(&column(k)));
        all.filter(|rhat| !rhat.is_nan()).max_by(f64::total_cmp)
    }
}

impl Shown for Progress {
    fn advance(&self, iterations: u64) {
        self.display.advance(iterations);
    }

    fn draw(&self, chain: usize, values: &[f64]) {
        let mut kept = self.chains[chain].lock().unwrap_or_else(|e| e.into_inner());
        if kept.seen.is_multiple_of(kept.every) {
            kept.draws.push(values.to_vec());
        }
        kept.seen += 1;
        if kept.draws.len() > KEPT {
            let mut index = 0;
            kept.draws.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            kept.every *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a terminal there are lines.
    #[test]
    fn lines_say_how_far_it_is() {
        let settings = Settings { chains: 2, warmup: 10, draws: 40, ..Settings::default() };
        let progress = Progress::shown(&settings, false);
        let line = |seconds| progress.display.line(seconds, &progress.state());
        assert_eq!(line(12.3), "0 of 100 iterations after 12 s, finding starts");
        let fits = Display::new(30, false).counting("fits");
        assert_eq!(fits.line(10.0, ""), "0 of 30 fits after 10 s");
        progress.advance(5);
        assert_eq!(line(20.0), "5 of 100 iterations after 20 s, warm-up");
        progress.advance(55);
        for draw in [0.1, 0.4, 0.2, 0.3] {
            (0..2).for_each(|chain| progress.draw(chain, &[draw]));
        }
        let line = line(30.0);
        assert!(line.starts_with("60 of 100 iterations after 30 s, R-hat "), "{line}");
        assert_eq!(Progress::during(Some(&progress), || 7), 7);
    }
}
