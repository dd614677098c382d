//! The cost of a move of two coupled chains relative to a move of one.

use serde::Serialize;
use soma::chain::{Chain, Problem};
use soma::coupling::CoupledChains;
use soma::error::Failure;
use soma::kernel::{Counts, KernelChoice};
use soma::rng;

use super::cost::{self, Plan, choice};
use super::grid::{Cell, Simulated};
use super::interleave::interleave;
use super::lines::Lines;
use crate::exit::{Failed, Outcome};

/// The numbers of records by default: couplings are for small and medium problems.
const RECORDS: [usize; 3] = [10, 100, 1_000];

/// Seconds for each kernel on each problem by default.
const SECONDS: f64 = 0.4;

/// Sweeps between the starts of two pairs.
const BETWEEN: usize = 5;

/// Sweeps after which the second chain is independent of the first, from which it begins.
const APART: usize = 100;

/// One line of the output.
#[derive(Serialize)]
struct Line {
    problem: &'static str,
    epsilon: f64,
    n: usize,
    kernel: String,
    /// Whether theta is fixed, and so the same in both chains.
    fixed: bool,
    ns_per_move: f64,
    ns_per_coupled_move: f64,
    ratio: f64,
    weight_evaluations_per_coupled_move: f64,
}

/// Measures and prints.
pub fn run(plan: &Plan, json: bool) -> Outcome {
    let kernels = plan.kernels(cost::kernels());
    if kernels.contains(&cost::DRAW) {
        return Err(Failed::Input("--kernel: with --coupled it is kernels that are timed".into()));
    }
    let n = if plan.n.is_empty() { &RECORDS } else { plan.n };
    let epsilon = if plan.epsilon.is_empty() { &[3.0, 30.0] } else { plan.epsilon };
    let cells = Plan { n, epsilon, ..*plan }.cells()?;
    let columns = [
        ("problem", 11, true),
        ("epsilon", 7, false),
        ("n", 8, false),
        ("kernel", 12, true),
        ("theta", 6, true),
        ("ns/move", 9, false),
        ("coupled", 9, false),
        ("ratio", 6, false),
        ("weights", 8, false),
    ];
    let mut lines = Lines::begin(&columns, cells.len(), json)?;
    for cell in cells {
        lines.next(&cell.to_string());
        for kernel in &kernels {
            for fixed in [true, false] {
                let Some(line) = measure(plan, cell, kernel, fixed)? else { continue };
                let cells = [
                    line.problem.into(),
                    line.epsilon.to_string(),
                    line.n.to_string(),
                    line.kernel.clone(),
                    if fixed { "fixed" } else { "moves" }.into(),
                    format!("{:.1}", line.ns_per_move),
                    format!("{:.1}", line.ns_per_coupled_move),
                    format!("{:.2}", line.ratio),
                    format!("{:.2}", line.weight_evaluations_per_coupled_move),
                ];
                lines.add(line, &cells)?;
            }
        }
    }
    lines.end()
}

/// One chain, or two coupled ones: iterations of the paper's chain, a sweep and then an update of
/// theta if it is not fixed.
#[allow(clippy::large_enum_variant)]
enum Contender<'a> {
    Plain(Chain<'a>),
    Coupled(Pairs<'a>),
}

/// `None` if there is no theta to update.
fn measure(plan: &Plan, cell: Cell, name: &str, fixed: bool) -> Result<Option<Line>, Failure> {
    let Simulated { problem, theta, records } = cell.simulate(plan.seed)?;
    if theta.is_empty() && !fixed {
        return Ok(None);
    }
    let problem = if fixed { problem.with_fixed(theta.clone(), Vec::new())? } else { problem };
    let kernel = choice(name, cell.n).expect("a kernel");
    let chain = |stream| {
        let rng = rng::stream(plan.seed, stream);
        Chain::at(&problem, kernel, theta.clone(), records.clone(), rng)
    };
    let pairs = Pairs::new(&problem, kernel, [chain(1)?, chain(2)?], plan.seed)?;
    let mut contenders = [Contender::Plain(chain(0)?), Contender::Coupled(pairs)];
    let prepare = |contender: &mut Contender| match contender {
        Contender::Plain(_) => Ok(()),
        Contender::Coupled(pairs) => pairs.begin(),
    };
    let sweep = |contender: &mut Contender| match contender {
        Contender::Plain(chain) => chain.step(),
        Contender::Coupled(pairs) => pairs.step(),
    };
    let timed = interleave(&mut contenders, plan.seconds.unwrap_or(SECONDS), prepare, sweep)?;
    let counts = timed[1].counts;
    Ok(Some(Line {
        problem: cell.problem,
        epsilon: cell.epsilon,
        n: cell.n,
        kernel: name.to_string(),
        fixed,
        ns_per_move: timed[0].nanoseconds(),
        ns_per_coupled_move: timed[1].nanoseconds(),
        ratio: timed[1].ratio_to(&timed[0]),
        weight_evaluations_per_coupled_move: counts.evaluations as f64 / counts.moves as f64,
    }))
}

/// Pairs, each from two independent stationary chains.
struct Pairs<'a> {
    problem: &'a Problem,
    kernel: KernelChoice,
    sources: [Chain<'a>; 2],
    seed: u64,
    begun: u64,
    /// Pairs that have not met, and at the end possibly some that have.
    apart: Vec<CoupledChains<'a>>,
}

impl<'a> Pairs<'a> {
    fn new(
        problem: &'a Problem,
        kernel: KernelChoice,
        mut sources: [Chain<'a>; 2],
        seed: u64,
    ) -> Result<Self, Failure> {
        for _ in 0..APART {
            sources[1].step()?;
        }
        Ok(Pairs { problem, kernel, sources, seed, begun: 0, apart: Vec::new() })
    }

    /// Begins enough pairs for a time slice; pairs of few records meet soon.
    fn begin(&mut self) -> Result<(), Failure> {
        self.apart.retain(|pair| pair.met().is_none());
        let wanted = (1000 / self.problem.release().n()).clamp(1, 100);
        while self.apart.len() < wanted {
            for source in &mut self.sources {
                for _ in 0..BETWEEN {
                    source.step()?;
                }
            }
            let rng = rng::stream(self.seed, 1000 + self.begun);
            let sources = self.sources.each_ref();
            let mut pair = CoupledChains::at(self.problem, self.kernel, 1, sources, rng)?;
            // The first chain makes the iteration of its lag.
            pair.step()?;
            self.begun += 1;
            self.apart.push(pair);
        }
        Ok(())
    }

    /// An iteration of both chains of a pair; zero counts if all have met. A move is one of both.
    fn step(&mut self) -> Result<Counts, Failure> {
        while self.apart.last().is_some_and(|pair| pair.met().is_some()) {
            self.apart.pop();
        }
        let Some(pair) = self.apart.last_mut() else { return Ok(Counts::default()) };
        let before = pair.counts();
        pair.step()?;
        let made = pair.counts() - before;
        Ok(Counts { moves: made.moves / 2, ..made })
    }
}
