//! How far a run is, with the R-hat of the draws so far: a bar in a terminal, and a line now and then
//! where there is none, so that a log file shows that the run is alive.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use soma::chain::Settings;
use soma::diagnostics::rhat;

/// The most draws of a chain that the R-hat of the bar is made of: when there are more, every
/// second one is let go.
const KEPT: usize = 1000;

/// How often the bar is drawn anew.
const PAUSE: Duration = Duration::from_millis(200);

/// The time to the first line, and the longest between two.
const PAUSES: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(300)];

/// What is shown.
pub struct Progress {
    /// The bar, where there is a terminal.
    bar: Option<ProgressBar>,
    iterations: u64,
    done: AtomicU64,
    chains: Vec<Mutex<Thinned>>,
    over: AtomicBool,
}

/// Every so many draws of a chain.
struct Thinned {
    every: u64,
    seen: u64,
    draws: Vec<Vec<f64>>,
}

impl Progress {
    /// For a run; nothing where it is not wanted.
    pub fn new(settings: &Settings, quiet: bool) -> Option<Self> {
        use std::io::IsTerminal;
        (!quiet).then(|| Progress::shown(settings, std::io::stderr().is_terminal()))
    }

    fn shown(settings: &Settings, in_terminal: bool) -> Self {
        let iterations = settings.iterations().saturating_mul(settings.chains as u64);
        let thinned = || Mutex::new(Thinned { every: 1, seen: 0, draws: Vec::new() });
        Progress {
            bar: in_terminal.then(|| Progress::bar(iterations)),
            iterations,
            done: AtomicU64::new(0),
            chains: (0..settings.chains).map(|_| thinned()).collect(),
            over: AtomicBool::new(false),
        }
    }

    fn bar(iterations: u64) -> ProgressBar {
        let bar = ProgressBar::new(iterations);
        let style = "{bar:40} {percent:>3}%  {msg}  {elapsed_precise}, {eta_precise} to go";
        bar.set_style(
            ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar
    }

    /// So many iterations were made.
    pub fn advance(&self, iterations: u64) {
        self.done.fetch_add(iterations, Ordering::Relaxed);
    }

    /// A draw was kept.
    pub fn draw(&self, chain: usize, values: &[f64]) {
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

    /// Shows how far it is until the run is over; to be called on a thread of its own.
    pub fn show(&self) {
        match &self.bar {
            Some(bar) => self.show_bar(bar),
            None => self.show_lines(),
        }
    }

    fn show_bar(&self, bar: &ProgressBar) {
        while !self.over.load(Ordering::Relaxed) {
            bar.set_position(self.done.load(Ordering::Relaxed));
            bar.set_message(self.state());
            std::thread::park_timeout(PAUSE);
        }
        bar.finish_and_clear();
    }

    fn show_lines(&self) {
        let (begun, [mut pause, longest]) = (Instant::now(), PAUSES);
        let mut next = pause;
        while !self.over.load(Ordering::Relaxed) {
            let passed = begun.elapsed();
            if passed >= next {
                eprintln!("{}", self.line(passed.as_secs_f64()));
                pause = (2 * pause).min(longest);
                next = passed + pause;
            }
            std::thread::park_timeout(next.saturating_sub(passed));
        }
    }

    fn line(&self, seconds: f64) -> String {
        let done = self.done.load(Ordering::Relaxed);
        let state = self.state();
        format!("{done} of {} iterations after {seconds:.0} s, {state}", self.iterations)
    }

    /// The R-hat so far, or that there is none yet.
    fn state(&self) -> String {
        self.rhat().map_or_else(|| "warm-up".to_string(), |rhat| format!("R-hat {rhat:.3}"))
    }

    /// The run is over.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// The largest R-hat of all parameters, over the chains that have come about as far as the
    /// furthest.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Where nobody sees a bar, there are lines.
    #[test]
    fn lines_say_how_far_it_is() {
        let settings = Settings { chains: 2, warmup: 10, draws: 40, ..Settings::default() };
        let progress = Progress::shown(&settings, false);
        assert_eq!(progress.line(12.3), "0 of 100 iterations after 12 s, warm-up");
        progress.advance(60);
        for draw in [0.1, 0.4, 0.2, 0.3] {
            (0..2).for_each(|chain| progress.draw(chain, &[draw]));
        }
        let line = progress.line(30.0);
        assert!(line.starts_with("60 of 100 iterations after 30 s, R-hat "), "{line}");
        progress.end();
        progress.show();
    }
}
