//! Effective draws of theta, per sweep and per second.

use serde::Serialize;
use soma::chain::{Chain, MoveReport, MovesChoice};
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
    /// The most seconds that a chain may sample for, warm-up not counted: 5 if not given. Without
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
        self.seconds.unwrap_or(5.0)
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
    (MovesChoice::Auto, KernelChoice::Soma),
];

/// Iterations before the measurement. The default needs fewer than a tenth of them.
const WARMUP: u64 = 400;

/// Draws between two looks at the clock.
const BETWEEN_LOOKS: usize = 25;

/// One line of the answer: means over the seeds, and their standard errors.
#[derive(Serialize)]
struct Line {
    problem: &'static str,
    n: usize,
    epsilon: f64,
    moves: &'static str,
    kernel: &'static str,
    ess_per_sweep: f64,
    ess_per_sweep_se: f64,
    ess_per_second: f64,
    ess_per_second_se: f64,
    seeds: u64,
    /// Sweeps until R-hat of eight half-chains fell below 1.01: the default's only.
    sweeps_to_converge: Option<u64>,
    made: Vec<MoveReport>,
}

/// Measures and prints.
pub fn run(plan: &Plan, json: bool) -> Outcome {
    let mut lines = Vec::new();
    let cells = plan.cells();
    if cells.is_empty() {
        return Err(Failed::Input(
            "no problem of the grid is as --problem, --n and --epsilon say".into(),
        ));
    }
    for cell in cells {
        for (moves, kernel) in CHAINS {
            let line = measure(plan, cell, moves, kernel);
            lines.push(line.map_err(|error| Failed::Run(error.to_string()))?);
        }
    }
    if json {
        return exit::print(&exit::json(&lines));
    }
    exit::print(&table(&lines))
}

fn measure(
    plan: &Plan,
    cell: Cell,
    moves: MovesChoice,
    kernel: KernelChoice,
) -> Result<Line, Failure> {
    let (mut per_sweep, mut per_second) = (Vec::new(), Vec::new());
    let mut made = Vec::new();
    for seed in plan.seeds() {
        let problem = cell.simulate(seed)?.problem;
        let mut chain = Chain::new(&problem, kernel, seed, 0)?.with_moves(moves, WARMUP)?;
        let started = Clock::now();
        // The default learns in all of its warm-up; the paper's chain may be stopped in it.
        let must_finish = moves == MovesChoice::Auto;
        while chain.iteration() < WARMUP && (must_finish || started.seconds() < plan.seconds()) {
            chain.step()?;
        }
        let mut draws: Vec<Vec<f64>> = vec![Vec::new(); chain.theta().len()];
        let started = Clock::now();
        while draws[0].len() < plan.draws && started.seconds() < plan.seconds() {
            // Looking at the clock takes as long as a sweep of few records.
            for _ in 0..BETWEEN_LOOKS {
                chain.step()?;
                draws.iter_mut().zip(chain.theta()).for_each(|(all, value)| all.push(*value));
            }
        }
        let seconds = started.seconds();
        let smallest = draws.iter().map(|all| ess_bulk(&[all])).fold(f64::INFINITY, f64::min);
        per_sweep.push(smallest / draws[0].len() as f64);
        per_second.push(smallest / seconds);
        made = chain.moves();
    }
    let (ess_per_sweep, ess_per_sweep_se) = mean(&per_sweep);
    let (ess_per_second, ess_per_second_se) = mean(&per_second);
    let sweeps_to_converge = match moves {
        MovesChoice::Auto => sweeps_to_converge(cell, kernel, plan.first_seed)?,
        _ => None,
    };
    Ok(Line {
        problem: cell.problem,
        n: cell.n,
        epsilon: cell.epsilon,
        moves: moves.name(),
        kernel: kernel.name(),
        ess_per_sweep,
        ess_per_sweep_se,
        ess_per_second,
        ess_per_second_se,
        seeds: plan.seeds,
        sweeps_to_converge,
        made,
    })
}

/// Four chains from their starts: the first multiple of twenty sweeps at which R-hat of all halves
/// of the last half is below 1.01 for every parameter.
fn sweeps_to_converge(cell: Cell, kernel: KernelChoice, seed: u64) -> Result<Option<u64>, Failure> {
    const MOST: u64 = 800;
    let problem = cell.simulate(seed)?.problem;
    let chains = (0..4).map(|index| {
        Chain::new(&problem, kernel, seed, index)?.with_moves(MovesChoice::Auto, WARMUP)
    });
    let mut chains = chains.collect::<Result<Vec<_>, Failure>>()?;
    let mut draws = vec![vec![Vec::new(); 4]; chains[0].theta().len()];
    for sweep in 1..=MOST {
        for (index, chain) in chains.iter_mut().enumerate() {
            chain.step()?;
            draws.iter_mut().zip(chain.theta()).for_each(|(all, v)| all[index].push(*v));
        }
        let from = sweep as usize / 2;
        let good = |all: &Vec<Vec<f64>>| {
            let halves: Vec<&[f64]> = all.iter().map(|chain| &chain[from..]).collect();
            rhat(&halves) < 1.01
        };
        if sweep % 20 == 0 && draws.iter().all(good) {
            return Ok(Some(sweep));
        }
    }
    Ok(None)
}

/// The time that this thread has had on a core, where the system tells it (Linux does), so that
/// what else the machine does is not counted; and otherwise the time on the wall.
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

fn table(lines: &[Line]) -> String {
    let mut text = String::from(
        "| problem | n | epsilon | moves | kernel | ESS per sweep | ESS per second | converged after | made |\n\
         |---|---:|---:|---|---|---:|---:|---:|---|\n",
    );
    for line in lines {
        let made = line.made.iter().map(|made| {
            let rate = 100.0 * made.tally.accepted as f64 / made.tally.proposed.max(1) as f64;
            let share = 100.0 * made.share;
            format!("{} x{}: {rate:.0}% taken, {share:.0}% of work", made.name, made.repeats)
        });
        let made: Vec<String> = made.collect();
        text += &format!(
            "| {} | {} | {} | {} | {} | {:.4} +- {:.4} | {:.1} +- {:.1} | {} | {} |\n",
            line.problem,
            line.n,
            line.epsilon,
            line.moves,
            line.kernel,
            line.ess_per_sweep,
            line.ess_per_sweep_se,
            line.ess_per_second,
            line.ess_per_second_se,
            line.sweeps_to_converge.map_or("-".into(), |sweeps| sweeps.to_string()),
            made.join("; "),
        );
    }
    text
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
            let (scale, values) = (release.mechanism().scales()[0], release.values().to_vec());
            let Cell { problem, n, epsilon } = cell;
            all.push(Published { problem, n, epsilon, seed, scale, values });
        }
    }
    let text = serde_json::to_string(&all).map_err(|error| Failed::Run(error.to_string()))?;
    exit::print(&text)
}
