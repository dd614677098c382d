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
    pub floors: Floors,
}

impl Plan {
    /// How many fits there are in all, the floors among them.
    pub fn fits(&self) -> u64 {
        self.replications * (self.settings.len() + self.floors().len()) as u64
    }
}

/// What the data themselves say, for each number of records, by its first setting.
pub type Floors = Vec<(usize, Vec<(u64, Fitted)>)>;

/// Makes a plan on `threads` threads. Replication by replication, so that what is done when it is
/// stopped is as much of every setting.
pub fn run(plan: &Plan, threads: NonZeroUsize, observer: &dyn Observer) -> Outcome<Made> {
    plan.check()?;
    let floors = plan.floors();
    let settings = plan.settings.len();
    let fit = |kind: usize, replication: u64| match kind.checked_sub(settings) {
        None => replicate(plan, &plan.settings[kind], replication),
        Some(at) => floor(plan, &plan.settings[floors[at]], replication),
    };
    let mut fits = fits(plan, settings + floors.len(), threads, observer, &fit)?;
    let of_floors = fits.split_off(settings);
    Ok(Made { fits, floors: floors.into_iter().zip(of_floors).collect() })
}

/// The floors of a plan alone, for fits that are made elsewhere.
pub fn run_floors(plan: &Plan, threads: NonZeroUsize, observer: &dyn Observer) -> Outcome<Floors> {
    let floors = plan.floors();
    let fit = |at: usize, replication: u64| floor(plan, &plan.settings[floors[at]], replication);
    let fits = fits(plan, floors.len(), threads, observer, &fit)?;
    Ok(floors.into_iter().zip(fits).collect())
}

/// All replications of `kinds` kinds of fits.
fn fits(
    plan: &Plan,
    kinds: usize,
    threads: NonZeroUsize,
    observer: &dyn Observer,
    fit: &(dyn Fn(usize, u64) -> Outcome<Fitted> + Sync),
) -> Outcome<Vec<Vec<(u64, Fitted)>>> {
    let (stop, done) = (|| observer.stop(), |_| observer.done());
    let each = kinds as u64;
    let jobs = plan.replications * each;
    let all =
        over_threads(jobs, threads, &stop, &done, |job, _| fit((job % each) as usize, job / each))?;
    let mut sorted: Vec<Vec<(u64, Fitted)>> = vec![Vec::new(); kinds];
    for (job, fitted) in all {
        sorted[(job % each) as usize].push((job / each, fitted));
    }
    Ok(sorted)
}
