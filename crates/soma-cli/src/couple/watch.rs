//! The progress of pairs: a bar in a terminal, and otherwise a line at intervals, for log files.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The time to the first line, and the longest interval between two.
const PAUSES: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(300)];

/// The refresh interval of the bar.
const TICK: Duration = Duration::from_millis(200);

/// A progress display of pairs.
pub struct Watch {
    what: &'static str,
    pairs: u64,
    done: AtomicU64,
    /// The number of pairs finished before.
    before: u64,
    over: AtomicBool,
    quiet: bool,
}

impl Watch {
    /// A display for this many pairs, of which `done` are finished; shows nothing if `quiet`.
    pub fn new(what: &'static str, pairs: u64, done: u64, quiet: bool) -> Self {
        let over = AtomicBool::new(false);
        Watch { what, pairs, done: AtomicU64::new(done), before: done, over, quiet }
    }

    /// Called when a pair has ended.
    pub fn ended(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Shows progress while `work` runs.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.quiet {
            return work();
        }
        std::thread::scope(|scope| {
            let shown = scope.spawn(|| match std::io::stderr().is_terminal() {
                true => self.show_bar(),
                false => self.show_lines(),
            });
            let result = work();
            self.over.store(true, Ordering::Relaxed);
            shown.thread().unpark();
            result
        })
    }

    /// Waits for this long, or until the end. Returns whether to continue.
    fn waits(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        while !self.over.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::park_timeout(left);
        }
        false
    }

    fn show_bar(&self) {
        let style = "{bar:40} {pos} of {len} {msg}  {elapsed_precise}, {eta_precise} to go";
        let bar = ProgressBar::new(self.pairs).with_position(self.before).with_message(self.what);
        bar.set_style(
            ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        while self.waits(TICK) {
            bar.set_position(self.done.load(Ordering::Relaxed));
            bar.tick();
        }
        bar.finish_and_clear();
    }

    fn show_lines(&self) {
        let (begun, [mut pause, longest]) = (Instant::now(), PAUSES);
        while self.waits(pause) {
            pause = (pause * 2).min(longest);
            let (done, seconds) =
                (self.done.load(Ordering::Relaxed), begun.elapsed().as_secs_f64());
            eprintln!("{}", self.line(done, seconds));
        }
    }

    fn line(&self, done: u64, seconds: f64) -> String {
        let made = done.saturating_sub(self.before);
        let left = match made {
            0 => String::new(),
            made => {
                let each = seconds / made as f64;
                format!(", about {:.0} s to go", each * self.pairs.saturating_sub(done) as f64)
            }
        };
        format!("{done} of {} {} after {seconds:.0} s{left}", self.pairs, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_it_is() {
        let watch = Watch::new("pairs", 100, 20, false);
        assert_eq!(watch.line(20, 10.0), "20 of 100 pairs after 10 s");
        assert_eq!(watch.line(40, 10.0), "40 of 100 pairs after 10 s, about 30 s to go");
    }

    #[test]
    fn the_watch_ends_with_the_work() {
        for quiet in [false, true] {
            let watch = Watch::new("pairs", 2, 0, quiet);
            assert_eq!(watch.during(|| watch.ended()), ());
        }
    }
}
