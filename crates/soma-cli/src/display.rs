//! Progress: a bar in a terminal, and otherwise a line at intervals, for log files.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The refresh interval of the bar.
const PAUSE: Duration = Duration::from_millis(200);

/// The time to the first line, and the longest interval between two.
const PAUSES: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(300)];

/// A progress display.
pub struct Display {
    /// The bar, if there is a terminal.
    bar: Option<ProgressBar>,
    all: u64,
    /// What is counted.
    unit: &'static str,
    done: AtomicU64,
    over: AtomicBool,
}

impl Display {
    /// A display for this total number of iterations.
    pub fn new(iterations: u64, in_terminal: bool) -> Self {
        Display {
            bar: in_terminal.then(|| bar(iterations)),
            all: iterations,
            unit: "iterations",
            done: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// A display that counts something else.
    pub fn counting(self, unit: &'static str) -> Self {
        Display { unit, ..self }
    }

    /// Whether standard error is a terminal.
    pub fn is_terminal() -> bool {
        std::io::IsTerminal::is_terminal(&std::io::stderr())
    }

    /// Adds what is complete.
    pub fn advance(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
    }

    /// Shows progress while `work` runs; `state` is appended, where it says something.
    pub fn during<T>(&self, state: impl Fn() -> String + Sync, work: impl FnOnce() -> T) -> T {
        let ended = |shown: std::thread::Thread| {
            self.over.store(true, Ordering::Relaxed);
            shown.unpark();
        };
        std::thread::scope(|scope| {
            let shown = scope.spawn(|| match &self.bar {
                Some(bar) => self.show_bar(bar, &state),
                None => self.show_lines(&state),
            });
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            ended(shown.thread().clone());
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn show_bar(&self, bar: &ProgressBar, state: &dyn Fn() -> String) {
        while !self.over.load(Ordering::Relaxed) {
            bar.set_position(self.done.load(Ordering::Relaxed));
            let said = state();
            bar.set_message(if said.is_empty() { self.count() } else { said });
            std::thread::park_timeout(PAUSE);
        }
        bar.finish_and_clear();
    }

    fn show_lines(&self, state: &dyn Fn() -> String) {
        let (begun, [mut pause, longest]) = (Instant::now(), PAUSES);
        let mut next = pause;
        while !self.over.load(Ordering::Relaxed) {
            let passed = begun.elapsed();
            if passed >= next {
                eprintln!("{}", self.line(passed.as_secs_f64(), &state()));
                pause = (2 * pause).min(longest);
                next = passed + pause;
            }
            std::thread::park_timeout(next.saturating_sub(passed));
        }
    }

    /// Whether some iteration is over. The first of a chain takes longest: it looks for a start.
    pub fn has_begun(&self) -> bool {
        self.done.load(Ordering::Relaxed) > 0
    }

    /// The line after this many seconds.
    pub fn line(&self, seconds: f64, state: &str) -> String {
        let comma = if state.is_empty() { "" } else { ", " };
        format!("{} after {seconds:.0} s{comma}{state}", self.count())
    }

    fn count(&self) -> String {
        format!("{} of {} {}", self.done.load(Ordering::Relaxed), self.all, self.unit)
    }
}

fn bar(iterations: u64) -> ProgressBar {
    let bar = ProgressBar::new(iterations);
    let style = "{bar:40} {percent:>3}%  {msg}  {elapsed_precise}, {eta_precise} to go";
    let style = ProgressStyle::with_template(style);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
