//! Stopping in the middle of an iteration.
//!
//! An iteration over many records, or of a model with many parameters, may take minutes. Whoever
//! runs chains is asked before each iteration whether to stop; beside that, long loops call
//! [`check`], which fails once a stop has been asked for and the iteration has had its time to end.
//! The iteration is then lost, and nothing else: what was drawn before it stays.
//!
//! The flag is kept per thread, since a model's methods have no argument that could carry it.
//! Results do not depend on it: a run that is stopped has the first draws of one that is not.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// How often a stop is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// How long an iteration may go on after a stop was asked for: most end by themselves, and then
/// nothing is lost.
const GRACE: Duration = Duration::from_millis(500);

thread_local! {
    static HALT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// The work was broken off because somebody asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped in the middle of an iteration")]
pub struct Interrupted;

/// Fails if the work of this thread is to be broken off. For loops that may take long, once for
/// every few milliseconds of work; a model of your own may call it too.
#[inline]
pub fn check() -> Result<(), Interrupted> {
    let halted =
        HALT.with_borrow(|halt| halt.as_ref().is_some_and(|it| it.load(Ordering::Relaxed)));
    if halted { Err(Interrupted) } else { Ok(()) }
}

/// What breaks off the work of threads.
#[derive(Debug)]
pub struct Halt(Arc<AtomicBool>);

impl Halt {
    /// Does `work` on this thread, in which [`check`] fails once the time has come.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = HALT.replace(Some(self.0.clone()));
        let _restored = OnDrop(move || HALT.set(before.clone()));
        work()
    }
}

/// Does `work` while another thread looks whether to `stop`.
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
        // Also where the work panics: the scope waits for the watch.
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

    /// Work that never ends is broken off; work of other threads, and later work, is not.
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
