//! Numbered pieces of work over threads: chains, replications, groups.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Failure, Outcome};
use crate::interrupt::{self, Halt, Interrupted};

/// Does pieces 0, 1, ..., `count` - 1 on at most `threads` threads, in the order of their numbers.
///
/// Returns the results with their numbers, in order. Pieces that were not begun when `stop` was
/// true, or were [interrupted](crate::interrupt), are not among them. The first failure of another
/// kind stops the other pieces, and is returned; a piece can ask by its second argument whether it
/// is to stop, for the one reason or the other. `done` is told how many pieces are done: every
/// number from 1 up, in order.
pub(crate) fn over_threads<T: Send>(
    count: u64,
    threads: NonZeroUsize,
    stop: &(dyn Fn() -> bool + Sync),
    done: &(dyn Fn(u64) + Sync),
    piece: impl Fn(u64, &dyn Fn() -> bool) -> Outcome<T> + Sync,
) -> Outcome<Vec<(u64, T)>> {
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let results: Mutex<Vec<(u64, T)>> = Mutex::default();
    let failure: Mutex<Option<Failure>> = Mutex::default();
    let ends = || failed.load(Ordering::Relaxed) || stop();
    let work = |halt: &Halt| {
        while !ends() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            match halt.during(|| piece(number, &ends)) {
                Ok(result) => {
                    let mut results = results.lock().unwrap_or_else(|e| e.into_inner());
                    results.push((number, result));
                    done(results.len() as u64);
                }
                Err(error) if error.is::<Interrupted>() => return,
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                }
            }
        }
    };
    let workers = (threads.get() as u64).min(count);
    interrupt::watched(&ends, |halt| {
        std::thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(|| work(halt));
            }
            work(halt);
        });
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(error);
    }
    let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    results.sort_unstable_by_key(|(number, _)| *number);
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 3] = [1, 2, 7];

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).unwrap()
    }

    fn never() -> bool {
        false
    }

    fn untold(_: u64) {}

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        for size in SIZES {
            let made = over_threads(50, threads(size), &never, &untold, |number, _| {
                // Later pieces end first.
                std::thread::sleep(std::time::Duration::from_micros(50 - number));
                Ok(number * number)
            });
            let expected: Vec<(u64, u64)> =
                (0..50).map(|number| (number, number * number)).collect();
            assert_eq!(made.unwrap(), expected);
        }
    }

    #[test]
    fn what_is_done_is_kept_when_it_is_stopped() {
        for size in SIZES {
            let told: Mutex<Vec<u64>> = Mutex::default();
            let stop = || told.lock().unwrap().len() >= 5;
            let done = |pieces| told.lock().unwrap().push(pieces);
            let made = over_threads(u64::MAX, threads(size), &stop, &done, |number, _| Ok(number));
            let made = made.unwrap();
            // A piece more for each thread that had begun one.
            assert!((5..5 + size).contains(&made.len()), "{made:?}");
            assert_eq!(told.into_inner().unwrap(), (1..=made.len() as u64).collect::<Vec<_>>());
        }
    }

    /// A failure is returned, and ends the pieces that are at work beside it.
    #[test]
    fn a_failure_stops_the_other_pieces() {
        for size in SIZES {
            let begun = AtomicU64::new(0);
            let made = over_threads(u64::MAX, threads(size), &never, &untold, |number, stop| {
                begun.fetch_add(1, Ordering::Relaxed);
                if number == 3 {
                    return Err("number 3".into());
                }
                while number > 3 && !stop() {
                    interrupt::check()?;
                }
                Ok(number)
            });
            assert_eq!(made.unwrap_err().to_string(), "number 3");
            assert!(begun.into_inner() <= 4 + size as u64);
        }
    }

    /// An endless piece is interrupted. It is missing, and no failure.
    #[test]
    fn an_interrupted_piece_is_missing() {
        for size in SIZES {
            let endless = AtomicBool::new(false);
            let stop = || endless.load(Ordering::Relaxed);
            let made = over_threads(9, threads(size), &stop, &untold, |number, _| {
                if number == 4 {
                    endless.store(true, Ordering::Relaxed);
                    loop {
                        interrupt::check()?;
                    }
                }
                Ok(number)
            });
            let made = made.unwrap();
            assert!(made.iter().all(|(number, _)| *number != 4));
            assert!((0..4).all(|early| made.contains(&(early, early))), "{made:?}");
        }
    }
}
