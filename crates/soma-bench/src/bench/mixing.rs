//! Effective draws of theta, per sweep and per second.

use serde::Serialize;
use soma::chain::{Chain, MoveReport, MovesChoice, Problem};
use soma::diagnostics::{ess_bulk, rhat};
use soma::error::Failure;
use soma::kernel::KernelChoice;

use super::grid::{Cell, cells};
use crate::exit::{self, Failed, Outcome};

/// What is measured, and for how long.
#[derive(clap::Args)]
pub struct Plan {
    /// Only this problem: regression, dirichlet, histogram, mean or all; for mixing regression,
    /// dirichlet, normal or beta.
    #[arg(long, value_name = "NAME")]
    pub(super) problem: Option<String>,
    /// Only these numbers of records.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = super::input::records)]
    pub(super) n: Vec<usize>,
    /// Only these privacy budgets.
    #[arg(long, value_name = "E", value_delimiter = ',', value_parser = super::input::epsilon)]
    pub(super) epsilon: Vec<f64>,
    /// The number of releases of each cell, each with a chain of its own.
    #[arg(long, value_name = "S", default_value_t = 4)]
    pub(super) seeds: u64,
    /// The first seed. Nothing was tuned on those from 101 up.
    #[arg(long, value_name = "S", default_value_t = 1)]
    first_seed: u64,
    /// The most seconds that a chain may sample for, warm-up not counted: 1 if not given. Without
    /// --mixing, the seconds that the kernels are timed for on each problem.
    #[arg(long, value_name = "T", value_parser = super::input::seconds)]
    pub(super) seconds: Option<f64>,
    /// The most draws of a chain.
    #[arg(long, value_name = "D", default_value_t = 2000)]
    pub(super) draws: usize,
}

impl Plan {
    fn cells(&self) -> Vec<Cell> {
        let wanted = |cell: &Cell| {
            self.problem.as_deref().is_none_or(|name| name == cell.problem)
                && (self.n.is_empty() || self.n.contains(&cell.n))
                && (self.epsilon.is_empty() || self.epsilon.contains(&cell.epsilon))
        };
        cells().into_iter().filter(wanted).collect()
    }

    fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(1.0)
    }

    /// The first seed.
    pub fn first_seed(&self) -> u64 {
        self.first_seed
    }

    fn seeds(&self) -> std::ops::Range<u64> {
        self.first_seed..self.first_seed + self.seeds
    }
}

/// The chains that are compared: the paper's with two kernels, and the default.
const CHAINS: [(MovesChoice, KernelChoice); 3] = [
    (MovesChoice::Centred, KernelChoice::SysImwg),
    (MovesChoice::Centred, KernelChoice::Soma),
    (MovesChoice::Auto, KernelChoice::Auto),
];

/// Iterations before the measurement: the default warm-up of `soma fit`.
const WARMUP: u64 = 1000;

/// Draws between two readings of the clock.
const BETWEEN_LOOKS: usize = 25;

/// Seconds per time slice of a chain.
const SLICE: f64 = 0.02;

/// One line of the output: means over the seeds, and their standard errors.
#[derive(Serialize)]
struct Line {
    problem: &'static str,
    n: usize,
    epsilon: f64,
    moves: &'static str,
    /// The kernel; for the default, the one chosen on each release.
    kernel: String,
    /// Per draw: an iteration has one sweep, or fewer if the theta updates renew the records.
    ess_per_sweep: f64,
    ess_per_sweep_se: f64,
    ess_per_second: f64,
    ess_per_second_se: f64,
    seeds: u64,
    /// Effective draws per second relative to the centred chain with the soma kernel: for the
    /// default only.
    times_centred: Option<f64>,
    /// Sweeps after which the next 400 of four chains have R-hat below 1.01: for the default only.
    sweeps_to_converge: Option<u64>,
    made: Vec<MoveReport>,
}

/// Measures and prints, cell by cell.
pub fn run(plan: &Plan, json: bool) -> Outcome {
    let mut lines = Vec::new();
    let cells = plan.cells();
    if cells.is_empty() {
        return Err(Failed::Input(
            "no problem of the grid matches --problem, --n and --epsilon".into(),
        ));
    }
    if !json {
        exit::print(&format!(
            "At most {} draws and {} s of a chain, {} releases from seed {}.\n\n{HEADER}",
            plan.draws,
            plan.seconds(),
            plan.seeds,
            plan.first_seed
        ))?;
    }
    for cell in cells {
        let measured = measure(plan, cell).map_err(|error| Failed::Run(error.to_string()))?;
        if !json {
            measured.iter().try_for_each(|line| exit::print(&row(line)))?;
        }
        lines.extend(measured);
    }
    if json { exit::print(&exit::json(&lines)) } else { Ok(()) }
}

/// A chain that is measured.
struct Runner<'a> {
    chain: Chain<'a>,
    draws: Vec<Vec<f64>>,
    seconds: f64,
}

impl<'a> Runner<'a> {
    /// A chain after its warm-up.
    fn new(
        problem: &'a Problem,
        (moves, kernel): (MovesChoice, KernelChoice),
        seed: u64,
        most: f64,
    ) -> Result<Self, Failure> {
        let mut chain = Chain::new(problem, kernel, seed, 0)?.with_moves(moves, WARMUP)?;
        let started = Clock::now();
        // The default adapts in all of its warm-up; that of the paper's chain may be shortened.
        let must_finish = moves == MovesChoice::Auto;
        while chain.iteration() < WARMUP && (must_finish || started.seconds() < most) {
            chain.step()?;
        }
        let draws = vec![Vec::new(); chain.theta().len()];
        Ok(Runner { chain, draws, seconds: 0.0 })
    }

    /// Continues for a time slice. Returns whether there is more to do.
    fn go_on(&mut self, plan: &Plan) -> Result<bool, Failure> {
        let started = Clock::now();
        let left = |draws: &Vec<Vec<f64>>| draws[0].len() < plan.draws;
        while left(&self.draws) && started.seconds() < SLICE {
            // Reading the clock takes as long as a sweep of few records.
            for _ in 0..BETWEEN_LOOKS {
                self.chain.step()?;
                let both = self.draws.iter_mut().zip(self.chain.theta());
                both.for_each(|(all, value)| all.push(*value));
            }
        }
        self.seconds += started.seconds();
        Ok(left(&self.draws) && self.seconds < plan.seconds())
    }

    /// The smallest effective sample size over the parameters.
    fn smallest(&self) -> f64 {
        self.draws.iter().map(|all| ess_bulk(&[all])).fold(f64::INFINITY, f64::min)
    }
}

/// All chains on each release of a cell, in interleaved time slices, so that disturbances slow all
/// equally.
fn measure(plan: &Plan, cell: Cell) -> Result<Vec<Line>, Failure> {
    let mut per_sweep = vec![Vec::new(); CHAINS.len()];
    let mut per_second = per_sweep.clone();
    let mut made = vec![Vec::new(); CHAINS.len()];
    let mut taken: Vec<Vec<String>> = vec![Vec::new(); CHAINS.len()];
    for seed in plan.seeds() {
        let problem = cell.simulate(seed)?.problem;
        let runners = CHAINS.iter().map(|kind| Runner::new(&problem, *kind, seed, plan.seconds()));
        let mut runners = runners.collect::<Result<Vec<_>, Failure>>()?;
        let mut busy = vec![true; runners.len()];
        while busy.contains(&true) {
            for (runner, busy) in runners.iter_mut().zip(&mut busy).filter(|(_, busy)| **busy) {
                *busy = runner.go_on(plan)?;
            }
        }
        for (index, runner) in runners.iter().enumerate() {
            let smallest = runner.smallest();
            per_sweep[index].push(smallest / runner.draws[0].len() as f64);
            per_second[index].push(smallest / runner.seconds);
            made[index] = runner.chain.moves();
            let kernel = runner.chain.chosen().map(|chosen| chosen.kernel.clone());
            let kernel = kernel.unwrap_or_else(|| CHAINS[index].1.name().into());
            if !taken[index].contains(&kernel) {
                taken[index].push(kernel);
            }
        }
    }
    let sweeps = sweeps_to_converge(cell, CHAINS[2].1, plan.first_seed)?;
    let rival = mean(&per_second[1]).0;
    let line = |(index, made): (usize, Vec<MoveReport>)| {
        let (moves, _) = CHAINS[index];
        let is_default = moves == MovesChoice::Auto;
        let (ess_per_sweep, ess_per_sweep_se) = mean(&per_sweep[index]);
        let (ess_per_second, ess_per_second_se) = mean(&per_second[index]);
        Line {
            problem: cell.problem,
            n: cell.n,
            epsilon: cell.epsilon,
            moves: moves.name(),
            kernel: taken[index].join(", "),
            ess_per_sweep,
            ess_per_sweep_se,
            ess_per_second,
            ess_per_second_se,
            seeds: plan.seeds,
            times_centred: is_default.then(|| ess_per_second / rival),
            sweeps_to_converge: sweeps.filter(|_| is_default),
            made,
        }
    };
    Ok(made.into_iter().enumerate().map(line).collect())
}

/// Four chains from their starts: the number of sweeps, in tens, after which the next 400 have
/// R-hat of their eight halves below 1.01 for every parameter. R-hat below 1.01 takes some hundreds
/// of effective draws to show, hence the length of the window.
fn sweeps_to_converge(cell: Cell, kernel: KernelChoice, seed: u64) -> Result<Option<u64>, Failure> {
    const WINDOW: usize = 400;
    const MOST: usize = 400;
    const EVERY: usize = 10;
    let problem = cell.simulate(seed)?.problem;
    let chains = (0..4).map(|index| {
        Chain::new(&problem, kernel, seed, index)?.with_moves(MovesChoice::Auto, WARMUP)
    });
    let mut chains = chains.collect::<Result<Vec<_>, Failure>>()?;
    let mut draws = vec![vec![Vec::new(); 4]; chains[0].theta().len()];
    for sweep in 1..=MOST + WINDOW {
        for (index, chain) in chains.iter_mut().enumerate() {
            chain.step()?;
            draws.iter_mut().zip(chain.theta()).for_each(|(all, v)| all[index].push(*v));
        }
        let Some(from) = sweep.checked_sub(WINDOW).filter(|from| from % EVERY == 0) else {
            continue;
        };
        let good = |all: &Vec<Vec<f64>>| {
            let window: Vec<&[f64]> = all.iter().map(|chain| &chain[from..]).collect();
            rhat(&window) < 1.01
        };
        if draws.iter().all(good) {
            return Ok(Some(from as u64));
        }
    }
    Ok(None)
}

/// CPU time of this thread, if the system reports it (Linux does), which excludes other work of the
/// machine; otherwise wall time.
pub(super) struct Clock {
    wall: std::time::Instant,
    on_core: Option<f64>,
}

impl Clock {
    pub(super) fn now() -> Self {
        Clock { wall: std::time::Instant::now(), on_core: on_core() }
    }

    pub(super) fn seconds(&self) -> f64 {
        match (self.on_core, on_core()) {
            (Some(before), Some(now)) => now - before,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

fn on_core() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(1e-9 * nanoseconds)
}

/// The mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if n > 1.0 { (squares / (n * (n - 1.0))).sqrt() } else { f64::NAN })
}

const HEADER: &str = "\
| problem | n | epsilon | moves | kernel | ESS per sweep | ESS per second | times centred soma | \
converged after | made |
|---|---:|---:|---|---|---:|---:|---:|---:|---|";

fn row(line: &Line) -> String {
    let made = line.made.iter().map(|made| {
        let rate = 100.0 * made.tally.accepted as f64 / made.tally.proposed.max(1) as f64;
        let share = 100.0 * made.share;
        let every = if made.every > 1 { format!("/{}", made.every) } else { String::new() };
        format!("{} x{}{every}: {rate:.0}% taken, {share:.0}% of work", made.name, made.repeats)
    });
    let made: Vec<String> = made.collect();
    format!(
        "| {} | {} | {} | {} | {} | {:.4} +- {:.4} | {:.1} +- {:.1} | {} | {} | {} |",
        line.problem,
        line.n,
        line.epsilon,
        line.moves,
        line.kernel,
        line.ess_per_sweep,
        line.ess_per_sweep_se,
        line.ess_per_second,
        line.ess_per_second_se,
        line.times_centred.map_or("-".into(), |times| format!("{times:.1}")),
        line.sweeps_to_converge.map_or("-".into(), |sweeps| sweeps.to_string()),
        made.join("; "),
    )
}

/// One release of the grid, for other programs.
#[derive(Serialize)]
struct Published {
    problem: &'static str,
    n: usize,
    epsilon: f64,
    seed: u64,
    scale: f64,
    values: Vec<f64>,
}

/// Prints the releases.
pub fn releases(plan: &Plan) -> Outcome {
    let mut all = Vec::new();
    for cell in plan.cells() {
        for seed in plan.seeds() {
            let simulated = cell.simulate(seed).map_err(|error| Failed::Run(error.to_string()))?;
            let release = simulated.problem.release();
            let (scale, values) = (release.scales()[0], release.values());
            let Cell { problem, n, epsilon } = cell;
            all.push(Published { problem, n, epsilon, seed, scale, values });
        }
    }
    let text = serde_json::to_string(&all).map_err(|error| Failed::Run(error.to_string()))?;
    exit::print(&text)
}
