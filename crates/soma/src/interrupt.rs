//! Interrupts within an iteration.
//!
//! An iteration over many records, or of a model with many parameters, may take minutes. The caller
//! is asked before each iteration whether to stop. In addition, long loops call [`check`], which
//! fails after a stop was requested and a grace period has passed. Only that iteration is lost:
//! earlier draws are kept.
//!
//! The flag is thread-local, since the methods of a model have no argument for it. Results do not
//! depend on it: a stopped run has the first draws of a complete one.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// The polling interval.
const LOOK: Duration = Duration::from_millis(50);

/// The grace period of an iteration after a stop was requested: most end by then, and nothing is
/// lost.
const GRACE: Duration = Duration::from_millis(500);

thread_local! {
    static HALT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// The work was interrupted by request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped in the middle of an iteration")]
pub struct Interrupted;

/// Fails if the work of this thread is to be interrupted. For long loops, every few milliseconds of
/// work; a user's model may call it too.
#[inline]
pub fn check() -> Result<(), Interrupted> {
    let halted =
        HALT.with_borrow(|halt| halt.as_ref().is_some_and(|it| it.load(Ordering::Relaxed)));
    if halted { Err(Interrupted) } else { Ok(()) }
}

/// A handle that interrupts the work of threads.
#[derive(Debug)]
pub struct Halt(Arc<AtomicBool>);

impl Halt {
    /// Runs `work` on this thread; [`check`] fails in it after an interrupt.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = HALT.replace(Some(self.0.clone()));
        let _restored = OnDrop(move || HALT.set(before.clone()));
        work()
    }
}

/// Runs `work` while another thread polls `stop`.
pub fn watched<T>(stop: &(dyn Fn() -> bool + Sync), work: impl FnOnce(&Halt) -> T) -> T {
    let halt = Halt(Arc::default());
    let over = AtomicBool::new(false);
    let waits = |pause: Duration| {
        std::thread::park_timeout(pause);
        !over.load(Ordering::Relaxed)
    };
    let watch = || {
        while waits(LOOK) {
            if stop() {
                let _ = waits(GRACE);
                halt.0.store(true, Ordering::Relaxed);
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let watcher: Thread = scope.spawn(watch).thread().clone();
        // Also on a panic: the scope waits for the watching thread.
        let _ended = OnDrop(|| {
            over.store(true, Ordering::Relaxed);
            watcher.unpark();
        });
        work(&halt)
    })
}

struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Endless work is interrupted; work of other threads, and later work, is not.
    #[test]
    fn endless_work_is_broken_off() {
        let asked = AtomicBool::new(false);
        let stop = || asked.load(Ordering::Relaxed);
        let broken_off = watched(&stop, |halt| {
            assert_eq!(halt.during(check), Ok(()));
            asked.store(true, Ordering::Relaxed);
            halt.during(|| {
                while check().is_ok() {
                    std::thread::yield_now();
                }
                std::thread::scope(|scope| scope.spawn(check).join().unwrap())
            })
        });
        assert_eq!((broken_off, check()), (Ok(()), Ok(())));
    }

    #[test]
    fn the_watch_ends_with_the_work_even_in_a_panic() {
        assert_eq!(watched(&|| false, |_| 7), 7);
        let panicked = std::panic::catch_unwind(|| watched(&|| false, |_| panic!("in the work")));
        assert!(panicked.is_err());
    }
}
