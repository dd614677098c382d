//! Simulation-based calibration: a chain for each of many simulated releases.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use soma::calibration::{Autocorrelation, Calibration, Plan, Series, simulated, simulated_counts};
use soma::chain::Problem;
use soma::rng::stream;
use soma::{Failure, Invalid, Outcome};

use crate::chains::{Chains, own_start};
use crate::device::Device;
use crate::program::Program;

/// The ranks of a calibration, and the time of each part.
#[derive(Debug, Clone)]
pub struct Ranked {
    /// The quantities: the parameters, and the log density of the release.
    pub names: Vec<String>,
    /// The rank of each quantity, by replication.
    pub rows: Vec<Vec<u64>>,
    /// The autocorrelation of each quantity from one draw of a chain to the next, over all chains.
    pub autocorrelations: Vec<Autocorrelation>,
    /// Seconds for the simulated releases, on the CPU.
    pub seconds_simulating: f64,
    /// Seconds for the chains, on the device.
    pub seconds_chains: f64,
}

impl Ranked {
    /// Whether the ranks are uniform.
    pub fn calibration(&self, plan: &Plan) -> Calibration {
        let mut found = Calibration::named(self.names.clone(), plan, &self.rows);
        for (ranks, value) in found.quantities.iter_mut().zip(&self.autocorrelations) {
            ranks.autocorrelation = Some(*value);
        }
        found
    }
}

/// The outputs of a program among those of its problem, which may have counts and derived quantities too.
pub(crate) fn places(program: &Program, problem: &Problem) -> Result<Vec<usize>, Invalid> {
    let (names, outputs) = (&program.outputs, problem.outputs());
    let place = |name: &String| {
        outputs.iter().position(|output| output == name).ok_or_else(|| {
            let given = format!("a release whose draws have no {name}");
            let what = "is not supported on the GPU";
            Invalid::new("model", what, given, "a model whose parameters are drawn")
        })
    };
    names.iter().map(place).collect()
}

/// Values within this relative difference count as ties: single precision would break ties at random. Ties
/// occur where all records are clamped, because the release then has a single density.
const ROUNDING: f64 = 1e-5;

/// A simulated release.
struct Simulated {
    published: Vec<f64>,
    start: Vec<f64>,
    truth: Vec<f64>,
    /// Log density of the release at a cost of 0.
    top: f64,
}

/// Ranks of replications `0..plan.replications`. The releases are those that the CPU simulates from the same
/// seed; all chains run side by side.
pub fn rank(
    device: &mut dyn Device,
    program: &Program,
    template: &Problem,
    plan: &Plan,
    threads: NonZeroUsize,
) -> Outcome<Ranked> {
    let begun = std::time::Instant::now();
    program.check_many(template, "a calibration")?;
    let places = places(program, template)?;
    let simulate = |number: u64| one(program, template, plan, &places, number);
    let all = over_threads(plan.replications, 64, threads, &simulate)?;
    let seconds_simulating = begun.elapsed().as_secs_f64();
    let published: Vec<f64> = all.iter().flat_map(|one| one.published.clone()).collect();
    let theta: Vec<f64> = all.iter().flat_map(|one| one.start.clone()).collect();
    let (warmup, thin) = (plan.warmup, plan.thin);
    let mut chains =
        Chains::start(device, program, plan.seed, 0, warmup, thin, &published, &theta)?;
    let last = warmup + plan.draws * thin;
    let width = program.outputs.len() + 1;
    let mut below = vec![0_u64; all.len() * width];
    let mut equal = below.clone();
    let mut series = vec![Series::default(); all.len() * width];
    while chains.iteration() < last {
        let drawn = chains.advance(device, last, true)?;
        for draw in 0..drawn.draws() {
            for (chain, one) in all.iter().enumerate() {
                for k in 0..width {
                    let value = drawn.get(draw, k, chain);
                    let value = if k + 1 < width { value } else { one.top - value };
                    series[chain * width + k].push(value);
                    let gap = value - one.truth[k];
                    let is_equal = gap.abs() <= ROUNDING * (1.0 + one.truth[k].abs());
                    equal[chain * width + k] += u64::from(is_equal);
                    below[chain * width + k] += u64::from(gap < 0.0 && !is_equal);
                }
            }
        }
    }
    // Ties are broken at random.
    let rank = |at: usize| below[at] + mixed(plan.seed, at as u64) % (equal[at] + 1);
    let rows: Vec<Vec<u64>> =
        (0..all.len()).map(|r| (0..width).map(|k| rank(r * width + k)).collect()).collect();
    let mut names = program.outputs.clone();
    names.push("log_density".into());
    let of = |k: usize| Autocorrelation::of(series.iter().skip(k).step_by(width));
    let autocorrelations = (0..width).map(of).collect();
    let seconds_chains = chains.seconds;
    Ok(Ranked { names, rows, autocorrelations, seconds_simulating, seconds_chains })
}

/// `work` on each number below `count`, `at_once` after each other, over threads: its results in order.
pub(crate) fn over_threads<T: Send>(
    count: u64,
    at_once: u64,
    threads: NonZeroUsize,
    work: &(dyn Fn(u64) -> Outcome<T> + Sync),
) -> Outcome<Vec<T>> {
    let next = AtomicU64::new(0);
    let found = Mutex::new(Vec::new());
    let failure: Mutex<Option<Failure>> = Mutex::default();
    let run = || {
        loop {
            let from = next.fetch_add(at_once, Ordering::Relaxed);
            let to = count.min(from + at_once);
            if from >= to {
                return;
            }
            match (from..to).map(work).collect::<Outcome<Vec<T>>>() {
                Ok(some) => found.lock().unwrap_or_else(|e| e.into_inner()).push((from, some)),
                Err(error) => {
                    next.store(count, Ordering::Relaxed);
                    failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (1..threads.get()).for_each(|_| {
            scope.spawn(run);
        });
        run();
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(error);
    }
    let mut found = found.into_inner().unwrap_or_else(|e| e.into_inner());
    found.sort_unstable_by_key(|(from, _)| *from);
    Ok(found.into_iter().flat_map(|(_, some)| some).collect())
}

fn one(
    program: &Program,
    template: &Problem,
    plan: &Plan,
    places: &[usize],
    number: u64,
) -> Outcome<Simulated> {
    let simulate = if program.has_tables() { simulated_counts } else { simulated };
    let (problem, outputs) = simulate(template, plan, number)?;
    let mut truth: Vec<f64> = places.iter().map(|&at| outputs[at]).collect();
    truth.extend(outputs.last());
    let start = own_start(&problem, &mut stream(plan.seed, 2 * number + 1))?;
    let top = program.top(&problem);
    Ok(Simulated { published: program.published(&problem), start, truth, top })
}

/// A hash of the seed and a position (SplitMix64), to break ties.
fn mixed(seed: u64, at: u64) -> u64 {
    let mut x = seed ^ at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
