//! Pieces of work over threads, until all are done or somebody asks to stop.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::run::Watch;
use crate::error::{Failure, Outcome};
use crate::interrupt::{self, Interrupted};

/// Does pieces 0, 1, ... of `count` on so many threads. A piece that was stopped, or not begun, is
/// missing; the first failure of another kind is returned.
pub(super) fn over_threads<T: Send>(
    count: usize,
    threads: NonZeroUsize,
    watch: &dyn Watch,
    piece: impl Fn(usize) -> Outcome<T> + Sync,
) -> Outcome<Vec<Option<T>>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::default()).collect();
    let failure: Mutex<Option<Failure>> = Mutex::default();
    let set = |place: &Mutex<Option<T>>, value: T| {
        *place.lock().unwrap_or_else(|e| e.into_inner()) = Some(value);
    };
    interrupt::watched(&|| watch.stop(), |halt| {
        let work = || {
            halt.during(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || watch.stop() {
                        return;
                    }
                    match piece(number) {
                        Ok(result) => set(&done[number], result),
                        Err(error) => {
                            next.store(count, Ordering::Relaxed);
                            failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                            return;
                        }
                    }
                }
            });
        };
        std::thread::scope(|scope| {
            (1..threads.get().min(count)).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
    });
    match failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some(error) if !error.is::<Interrupted>() => Err(error),
        _ => {
            let whole = |place: Mutex<Option<T>>| place.into_inner();
            Ok(done.into_iter().map(|p| whole(p).unwrap_or_else(|e| e.into_inner())).collect())
        }
    }
}
