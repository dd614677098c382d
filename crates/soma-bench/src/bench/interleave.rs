//! Interleaved timing: short slices of each contender in turn, in many rounds.
//!
//! A disturbance of the machine that lasts longer than a slice slows all contenders equally, so
//! that their ratios are fair.

use std::time::Instant;

use soma::error::Failure;
use soma::kernel::Counts;

/// The approximate length of a slice, in seconds: shorter than a time slice of the operating
/// system.
const SLICE: f64 = 1e-3;

/// The smallest number of rounds.
const FEWEST: usize = 5;

/// The sweeps of a contender before it is timed, or two if these would take too long.
const WARM: usize = 20;

/// The times and counts of a contender.
#[derive(Clone, Default)]
pub struct Timed {
    /// Nanoseconds per move, in each round.
    nanoseconds: Vec<f64>,
    /// The counts of all timed sweeps.
    pub counts: Counts,
}

impl Timed {
    /// Nanoseconds per move: the median over rounds.
    pub fn nanoseconds(&self) -> f64 {
        median(self.nanoseconds.clone())
    }

    /// The ratio of its time to that of `other`: the median over rounds.
    pub fn ratio_to(&self, other: &Timed) -> f64 {
        median(self.nanoseconds.iter().zip(&other.nanoseconds).map(|(a, b)| a / b).collect())
    }
}

/// Times all `contenders`, by calls of `sweep`, for about this many seconds in total. Before each
/// slice, `prepare` may prepare a contender, which is not timed.
pub fn interleave<C>(
    contenders: &mut [C],
    seconds: f64,
    mut prepare: impl FnMut(&mut C) -> Result<(), Failure>,
    mut sweep: impl FnMut(&mut C) -> Result<Counts, Failure>,
) -> Result<Vec<Timed>, Failure> {
    let share = seconds / (4 * contenders.len()) as f64;
    let mut sweeps = Vec::with_capacity(contenders.len());
    for contender in contenders.iter_mut() {
        let started = Instant::now();
        let mut made = 0;
        prepare(contender)?;
        while made < 2 || (made < WARM && started.elapsed().as_secs_f64() < share) {
            sweep(contender)?;
            made += 1;
        }
        let each = started.elapsed().as_secs_f64() / made as f64;
        sweeps.push((SLICE / each).clamp(1.0, 1e6) as usize);
    }
    let mut all = vec![Timed::default(); contenders.len()];
    let started = Instant::now();
    while all[0].nanoseconds.len() < FEWEST || started.elapsed().as_secs_f64() < seconds {
        for ((contender, timed), &sweeps) in contenders.iter_mut().zip(&mut all).zip(&sweeps) {
            prepare(contender)?;
            let mut counts = Counts::default();
            let begun = Instant::now();
            for _ in 0..sweeps {
                counts += sweep(contender)?;
            }
            let nanoseconds = 1e9 * begun.elapsed().as_secs_f64();
            timed.nanoseconds.push(nanoseconds / counts.moves as f64);
            timed.counts += counts;
        }
    }
    Ok(all)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { 0.5 * (values[middle - 1] + values[middle]) }
}
