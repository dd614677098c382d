//! The cost of a move: each kernel relative to Sys-IMwG, at fixed theta.

use serde::Serialize;
use soma::error::Failure;
use soma::kernel::{
    Batch, Counts, Kernel, KernelChoice, KernelOptions, ModelProposals, Proposals, Records,
    Strategy,
};
use soma::rng::{self, Rng};

use super::grid::{Cell, Simulated};
use super::interleave::{Timed, interleave};
use super::lines::Lines;
use crate::exit::{Failed, Outcome};

/// The draw of a proposal with its statistic and nothing else: the lower limit of every kernel.
pub const DRAW: &str = "draw";

/// The kernels of the library's table.
pub fn kernels() -> Vec<&'static str> {
    let auto = KernelChoice::Auto.name();
    let counts = KernelChoice::Counts.name();
    KernelChoice::NAMES.into_iter().filter(|&name| name != auto && name != counts).collect()
}

/// What can be timed: the draw alone, and the kernels.
pub fn contenders() -> Vec<&'static str> {
    std::iter::once(DRAW).chain(kernels()).collect()
}

/// Seconds for each problem by default.
const SECONDS: f64 = 1.5;

/// The problems with their default budgets and numbers of records.
const PROBLEMS: [(&str, &[f64], &[usize]); 4] = [
    ("regression", &[1.0, 3.0, 10.0, 30.0], &[10, 100, 1_000, 10_000, 100_000, 1_000_000]),
    ("dirichlet", &[10.0], &[3_528, 100_000]),
    ("histogram", &[10.0], &[20, 1_000, 100_000, 1_000_000]),
    ("mean", &[1.0, 30.0], &[1_000, 100_000]),
];

/// What to measure.
pub struct Plan<'a> {
    /// The name of a problem, or all.
    pub problem: &'a str,
    /// The privacy budgets; empty for the defaults.
    pub epsilon: &'a [f64],
    /// The numbers of records; empty for the defaults.
    pub n: &'a [usize],
    /// Names from [`contenders`]; empty for all.
    pub kernels: &'a [String],
    /// Seconds for each problem.
    pub seconds: Option<f64>,
    /// The seed of the releases and of the moves.
    pub seed: u64,
}

impl Plan<'_> {
    /// The problems, budgets and numbers of records.
    pub fn cells(&self) -> Result<Vec<Cell>, Failed> {
        let names = PROBLEMS.map(|(name, ..)| name);
        if self.problem != "all" && !names.contains(&self.problem) {
            let message = format!("--problem: there is no problem `{}`", self.problem);
            return Err(Failed::Input(format!("{message}; it is {} or all", names.join(", "))));
        }
        let mut cells = Vec::new();
        for (problem, epsilons, ns) in PROBLEMS {
            if self.problem != "all" && self.problem != problem {
                continue;
            }
            let epsilons = if self.epsilon.is_empty() { epsilons } else { self.epsilon };
            let ns = if self.n.is_empty() { ns } else { self.n };
            for &epsilon in epsilons {
                cells.extend(ns.iter().map(|&n| Cell { problem, n, epsilon }));
            }
        }
        Ok(cells)
    }

    /// The names to time; `usual` if none was given.
    pub fn kernels<'a>(&'a self, usual: Vec<&'a str>) -> Vec<&'a str> {
        match self.kernels {
            [] => usual,
            named => named.iter().map(String::as_str).collect(),
        }
    }
}

/// One line of the output.
#[derive(Serialize)]
struct Line {
    problem: &'static str,
    epsilon: f64,
    n: usize,
    kernel: String,
    strategy: Option<String>,
    ns_per_move: f64,
    ratio_to_sys_imwg: f64,
    weight_evaluations_per_move: f64,
    /// `None` if nothing is proposed.
    acceptance_rate: Option<f64>,
}

/// Measures and prints.
pub fn run(plan: &Plan, json: bool) -> Outcome {
    let cells = plan.cells()?;
    let header = [
        ("problem", 11, true),
        ("epsilon", 7, false),
        ("n", 10, false),
        ("kernel", 12, true),
        ("strategy", 10, true),
        ("ns/move", 9, false),
        ("to sys-imwg", 11, false),
        ("weights", 8, false),
        ("accepted", 8, false),
    ];
    let mut lines = Lines::begin(&header, cells.len(), json)?;
    for cell in cells {
        lines.next(&cell.to_string());
        for line in measure(plan, cell)? {
            let cells = [
                line.problem.into(),
                line.epsilon.to_string(),
                line.n.to_string(),
                line.kernel.clone(),
                line.strategy.clone().unwrap_or("-".into()),
                format!("{:.1}", line.ns_per_move),
                format!("{:.2}", line.ratio_to_sys_imwg),
                format!("{:.2}", line.weight_evaluations_per_move),
                line.acceptance_rate.map_or("-".into(), |rate| format!("{:.1}%", 100.0 * rate)),
            ];
            lines.add(line, &cells)?;
        }
    }
    lines.end()
}

fn measure(plan: &Plan, cell: Cell) -> Result<Vec<Line>, Failure> {
    let Simulated { problem, theta, records } = cell.simulate(plan.seed)?;
    let release = problem.release();
    let potential = release.potential();
    // One state for all: it is a draw from the invariant distribution of every kernel, and stays
    // one under all of them.
    let mut records = Records::new(release, records)?;
    let mut proposals = ModelProposals::new(problem.model(), &theta, release);
    let asked = plan.kernels(contenders());
    let mut names = asked.clone();
    if !names.contains(&"sys-imwg") {
        names.push("sys-imwg");
    }
    let contenders = names
        .iter()
        .enumerate()
        .map(|(stream, name)| Contender::new(name, cell.n, rng::stream(plan.seed, stream as u64)));
    let mut contenders = contenders.collect::<Result<Vec<_>, Failure>>()?;
    let seconds = plan.seconds.unwrap_or(SECONDS);
    let sweep = |contender: &mut Contender| match &mut contender.kernel {
        Some(kernel) => kernel.sweep(&mut records, &mut proposals, potential, &mut contender.rng),
        None => draw(cell.n, &mut proposals, &mut contender.batch, &mut contender.rng),
    };
    let timed = interleave(&mut contenders, seconds, |_| Ok(()), sweep)?;
    let sys = names.iter().position(|&name| name == "sys-imwg").expect("it was put in");
    let line = |name: &&str| {
        let index = names.iter().position(|other| other == name)?;
        let strategy = contenders[index].strategy().map(Strategy::name);
        Some(Line::new(cell, name, strategy, &timed[index], &timed[sys]))
    };
    Ok(asked.iter().filter_map(line).collect())
}

impl Line {
    fn new(cell: Cell, kernel: &str, strategy: Option<String>, timed: &Timed, sys: &Timed) -> Self {
        let counts = timed.counts;
        Line {
            problem: cell.problem,
            epsilon: cell.epsilon,
            n: cell.n,
            kernel: kernel.to_string(),
            strategy,
            ns_per_move: timed.nanoseconds(),
            ratio_to_sys_imwg: timed.ratio_to(sys),
            weight_evaluations_per_move: counts.evaluations as f64 / counts.moves as f64,
            acceptance_rate: (kernel != DRAW).then(|| counts.acceptance_rate()),
        }
    }
}

/// A kernel, or the draw alone.
struct Contender {
    kernel: Option<Kernel>,
    batch: Batch,
    rng: Rng,
}

impl Contender {
    fn new(name: &str, n: usize, rng: Rng) -> Result<Self, Failure> {
        let kernel = choice(name, n).map(|choice| choice.build(n)).transpose()?;
        Ok(Contender { kernel, batch: Batch::default(), rng })
    }

    fn strategy(&self) -> Option<Strategy> {
        match &self.kernel {
            Some(Kernel::Soma(soma)) => soma.strategy(),
            _ => None,
        }
    }
}

/// The kernel of this name with its default options; `None` for the draw alone.
pub fn choice(name: &str, n: usize) -> Option<KernelChoice> {
    KernelChoice::named(name, KernelOptions::default(), n)
}

/// As many proposals as in a sweep, without moves.
fn draw(
    n: usize,
    proposals: &mut ModelProposals,
    batch: &mut Batch,
    rng: &mut Rng,
) -> Result<Counts, Failure> {
    let (size, mut left) = (proposals.batch_size(), n);
    while left > 0 {
        let now = size.min(left);
        proposals.fill(now, batch, rng)?;
        left -= now;
    }
    std::hint::black_box(&*batch);
    Ok(Counts { moves: n as u64, ..Counts::default() })
}
