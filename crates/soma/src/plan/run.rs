//! All replications of all settings, over threads.

use std::num::NonZeroUsize;

use super::{Fitted, Plan, floor, replicate};
use crate::error::Outcome;
use crate::threads::over_threads;

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
    let fit = |job: u64| {
        let (replication, kind) = (job / kinds, (job % kinds) as usize);
        match kind.checked_sub(plan.settings.len()) {
            None => replicate(plan, &plan.settings[kind], replication),
            Some(at) => floor(plan, &plan.settings[floors[at]], replication),
        }
    };
    let (stop, done) = (|| observer.stop(), |_| observer.done());
    let jobs = plan.replications * kinds;
    let all = over_threads(jobs, threads, &stop, &done, |job, _| fit(job))?;
    let mut sorted: Vec<Vec<(u64, Fitted)>> = vec![Vec::new(); kinds as usize];
    for (job, fitted) in all {
        sorted[(job % kinds) as usize].push((job / kinds, fitted));
    }
    let of_floors = sorted.split_off(plan.settings.len());
    Ok(Made { fits: sorted, floors: floors.into_iter().zip(of_floors).collect() })
}
