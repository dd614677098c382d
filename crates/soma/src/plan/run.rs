//! All replications of all settings, over threads.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Fitted, Plan, floor, replicate};
use crate::error::{Failure, Outcome};
use crate::interrupt::{self, Halt, Interrupted};

/// What a plan reports to, and is told by, from the threads that it runs on.
pub trait Observer: Sync {
    /// One fit more is done.
    fn done(&self) {}

    /// Whether to stop now. What is done is kept.
    fn stop(&self) -> bool {
        false
    }
}

/// An observer that neither looks nor stops.
#[derive(Debug, Clone, Copy)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// The fits that were made: replications in order, without those that were not.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// For each setting, the fits with the number of their replication.
    pub fits: Vec<Vec<(u64, Fitted)>>,
    /// For each number of records, by its first setting, what the data themselves say.
    pub floors: Vec<(usize, Vec<(u64, Fitted)>)>,
}

impl Plan {
    /// How many fits there are in all, the floors among them.
    pub fn fits(&self) -> u64 {
        self.replications * (self.settings.len() + self.floors().len()) as u64
    }
}

/// Makes a plan on `threads` threads. Replication by replication, so that what is done when it is
/// stopped is as much of every setting.
pub fn run(plan: &Plan, threads: NonZeroUsize, observer: &dyn Observer) -> Outcome<Made> {
    plan.check()?;
    let floors = plan.floors();
    let kinds = (plan.settings.len() + floors.len()) as u64;
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let made: Mutex<Vec<(u64, Fitted)>> = Mutex::default();
    let failure: Mutex<Option<Failure>> = Mutex::default();
    let stop = || failed.load(Ordering::Relaxed) || observer.stop();
    let fit = |job: u64| {
        let (replication, kind) = (job / kinds, (job % kinds) as usize);
        match kind.checked_sub(plan.settings.len()) {
            None => replicate(plan, &plan.settings[kind], replication),
            Some(at) => floor(plan, &plan.settings[floors[at]], replication),
        }
    };
    let work = |halt: &Halt| {
        while !stop() {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= plan.replications * kinds {
                return;
            }
            match halt.during(|| fit(job)) {
                Ok(fitted) => {
                    made.lock().unwrap_or_else(|e| e.into_inner()).push((job, fitted));
                    observer.done();
                }
                Err(error) if error.is::<Interrupted>() => return,
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                }
            }
        }
    };
    interrupt::watched(&stop, |halt| {
        std::thread::scope(|scope| {
            for _ in 1..threads.get() {
                scope.spawn(|| work(halt));
            }
            work(halt);
        });
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(error);
    }
    let mut all = made.into_inner().unwrap_or_else(|e| e.into_inner());
    all.sort_unstable_by_key(|(job, _)| *job);
    let mut sorted: Vec<Vec<(u64, Fitted)>> = vec![Vec::new(); kinds as usize];
    for (job, fitted) in all {
        sorted[(job % kinds) as usize].push((job / kinds, fitted));
    }
    let of_floors = sorted.split_off(plan.settings.len());
    Ok(Made { fits: sorted, floors: floors.into_iter().zip(of_floors).collect() })
}
