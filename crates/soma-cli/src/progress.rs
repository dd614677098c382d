//! The progress bar, with the R-hat of the draws so far.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use soma::chain::Settings;
use soma::diagnostics::rhat;

/// The most draws of a chain that the R-hat of the bar is made of: when there are more, every
/// second one is let go.
const KEPT: usize = 1000;

/// How often the bar is drawn anew.
const PAUSE: Duration = Duration::from_millis(200);

/// What the bar shows.
pub struct Progress {
    bar: ProgressBar,
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
    /// A bar for a run; nothing where it is not wanted, or where there is no terminal.
    pub fn new(settings: &Settings, quiet: bool) -> Option<Self> {
        use std::io::IsTerminal;
        if quiet || !std::io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::new(settings.iterations() * settings.chains as u64);
        let style = "{bar:40} {percent:>3}%  {msg}  {elapsed_precise}, {eta_precise} to go";
        bar.set_style(
            ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        let thinned = || Mutex::new(Thinned { every: 1, seen: 0, draws: Vec::new() });
        Some(Progress {
            bar,
            done: AtomicU64::new(0),
            chains: (0..settings.chains).map(|_| thinned()).collect(),
            over: AtomicBool::new(false),
        })
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

    /// Shows the bar until the run is over; to be called on a thread of its own.
    pub fn show(&self) {
        while !self.over.load(Ordering::Relaxed) {
            self.bar.set_position(self.done.load(Ordering::Relaxed));
            self.bar.set_message(match self.rhat() {
                Some(rhat) => format!("R-hat {rhat:.3}"),
                None => "warm-up".to_string(),
            });
            std::thread::park_timeout(PAUSE);
        }
        self.bar.finish_and_clear();
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
