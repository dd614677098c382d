//! `soma gpu bench`: moves and effective draws per second.

use soma::chain::{MovesChoice, Problem};
use soma::kernel::KernelChoice;
use soma::spec::Spec;
use soma_gpu::{Chains, Cuda, Device, Drawn, Options, starts};

use super::BenchArgs;
use super::work::program;
use crate::exit::{self, Failed, Outcome};
use crate::table;

const N100_EPS30: &str = include_str!("../../../../examples/regression-n100-eps30.toml");
const N100_EPS3: &str = include_str!("../../../../examples/regression-n100-eps3.toml");
const N10_EPS30: &str = include_str!("../../../../examples/regression-n10-eps30.toml");

/// Sweeps per second of the paper's PyTorch code on the same card (regression, n = 100), measured by the
/// project.
const PYTORCH_SWEEPS: f64 = 16.5;

/// One row.
struct Item {
    name: &'static str,
    spec: &'static str,
    n: Option<u64>,
    kernel: KernelChoice,
    moves: MovesChoice,
    /// Iterations of warm-up, and of draws after it.
    warmup: u64,
    draws: u64,
}

fn items() -> Vec<Item> {
    let blocks = |size| KernelChoice::SomaBlocks { size: Some(size) };
    let (sys, soma) = (KernelChoice::SysImwg, KernelChoice::Soma);
    let speed = |name, spec, n, kernel| Item {
        name,
        spec,
        n,
        kernel,
        moves: MovesChoice::Centred,
        warmup: 128,
        draws: 128,
    };
    let whole = |name, spec, kernel, moves| Item {
        name,
        spec,
        n: None,
        kernel,
        moves,
        warmup: 1024,
        draws: 512,
    };
    let (centred, both) = (MovesChoice::Centred, MovesChoice::Interwoven);
    vec![
        speed("soma, n = 100", N100_EPS30, None, soma),
        speed("soma, n = 10", N10_EPS30, None, soma),
        speed("soma-blocks of 10, n = 1000", N100_EPS30, Some(1000), blocks(10)),
        speed("soma, n = 1000", N100_EPS30, Some(1000), soma),
        speed("sys-imwg, n = 100", N100_EPS30, None, sys),
        speed("ran-imwg, n = 100", N100_EPS30, None, KernelChoice::RanImwg),
        speed("soma-blocks of 2, n = 100", N100_EPS30, None, blocks(2)),
        speed("soma-blocks of 4, n = 100", N100_EPS30, None, blocks(4)),
        whole("theta, epsilon 30, sys-imwg, centred", N100_EPS30, sys, centred),
        whole("theta, epsilon 30, sys-imwg, interwoven", N100_EPS30, sys, both),
        whole("theta, epsilon 30, soma-blocks of 4, interwoven", N100_EPS30, blocks(4), both),
        whole("theta, epsilon 3, sys-imwg, centred", N100_EPS3, sys, centred),
        whole("theta, epsilon 3, sys-imwg, interwoven", N100_EPS3, sys, both),
        whole("theta, epsilon 3, soma-blocks of 4, interwoven", N100_EPS3, blocks(4), both),
    ]
}

/// The subcommand.
pub fn run(args: &BenchArgs) -> Outcome {
    if let Some(missing) = Cuda::missing() {
        return Err(Failed::Input(format!("soma gpu bench: {missing}")));
    }
    let filter = args.filter.as_deref().unwrap_or("");
    let mut rows = Vec::new();
    let mut name = String::new();
    for item in chosen(items(), filter) {
        rows.push(measure(&item, args, &mut name)?);
    }
    let header = [
        "regression p = 2",
        "chains",
        "lanes",
        "registers",
        "spilled bytes",
        "threads/SM",
        "moves/s",
        "accepted",
        "theta accepted",
        "eff. draws/s",
        "times PyTorch",
    ];
    exit::print(&format!("{}\n{name}", table::framed(&header, rows.into_iter())))
}

/// The rows with this in their names, or that one whose name it is.
fn chosen(items: Vec<Item>, filter: &str) -> impl Iterator<Item = Item> {
    let is_whole = items.iter().any(|item| item.name == filter);
    items.into_iter().filter(move |item| match is_whole {
        true => item.name == filter,
        false => item.name.contains(filter),
    })
}

fn measure(item: &Item, args: &BenchArgs, name: &mut String) -> Result<Vec<String>, Failed> {
    let text = item.n.map_or_else(|| item.spec.to_string(), |n| soma::spec::with_n(item.spec, n));
    let spec = Spec::parse(&text).map_err(|error| Failed::Run(error.to_string()))?;
    let problem: &Problem = &spec.problem;
    let mut options = Options::new(item.kernel, item.moves);
    (options.lanes, options.threads) = (args.lanes, args.threads);
    options.non_centred = args.non_centred;
    let program = program(problem, options)?;
    let mut device = Cuda::new(&program)?;
    *name = device.name();
    let (registers, spilled, threads) = device.resources()?;
    let (processors, _) = device.processors()?;
    let chains = args.waves * threads as usize * processors as usize / program.lanes;
    let published = program.published(problem);
    let theta = starts(problem, 1, 0, chains)?;
    let mut run = Chains::start(&mut device, &program, 1, 0, item.warmup, 1, &published, &theta)?;
    let last = item.warmup + item.draws;
    while run.iteration() < item.warmup {
        run.advance(&mut device, item.warmup, false)?;
    }
    let before = run.seconds;
    let mut sums = ChainSums::new(program.parameters, chains);
    while run.iteration() < last {
        sums.add(&run.advance(&mut device, last, item.draws > 128)?);
    }
    let seconds = run.seconds - before;
    let n = problem.release().n() as f64;
    let sweeps = item.draws as f64 * chains as f64 / seconds;
    let (accepted, theta_accepted) = run.acceptance(&mut device)?;
    let effective =
        sums.effective().map_or("-".into(), |ess| format!("{:.1} M", 1e-6 * ess / seconds));
    Ok(vec![
        item.name.to_string(),
        chains.to_string(),
        program.lanes.to_string(),
        registers.to_string(),
        spilled.to_string(),
        threads.to_string(),
        format!("{:.2} G", 1e-9 * sweeps * n),
        format!("{:.1}%", 100.0 * accepted),
        format!("{:.1}%", 100.0 * theta_accepted),
        effective,
        format!("{:.1e}", sweeps / PYTORCH_SWEEPS),
    ])
}

/// Sums of the draws of each chain.
struct ChainSums {
    parameters: usize,
    draws: usize,
    /// For each parameter and chain.
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl ChainSums {
    fn new(parameters: usize, chains: usize) -> Self {
        let zeros = vec![0.0; parameters * chains];
        ChainSums { parameters, draws: 0, sums: zeros.clone(), squares: zeros }
    }

    fn add(&mut self, drawn: &Drawn) {
        for row in drawn.values.chunks_exact(drawn.width * drawn.chains) {
            let each = self.sums.iter_mut().zip(&mut self.squares).zip(row);
            each.for_each(|((sum, square), &value)| {
                *sum += f64::from(value);
                *square += f64::from(value) * f64::from(value);
            });
            self.draws += 1;
        }
    }

    /// Effective draws, the least over parameters: the number of chains times the variance of a draw over the
    /// variance of a chain mean.
    fn effective(&self) -> Option<f64> {
        let chains = self.sums.len() / self.parameters;
        let draws = (self.draws > 0).then_some(self.draws as f64)?;
        let count = chains as f64;
        let of = |k: usize| {
            let (sums, squares) = (&self.sums[k * chains..][..chains], &self.squares[k * chains..]);
            let mean = sums.iter().sum::<f64>() / (count * draws);
            let square = squares[..chains].iter().sum::<f64>() / (count * draws);
            let gaps = sums.iter().map(|sum| (sum / draws - mean) * (sum / draws - mean));
            let of_means = gaps.sum::<f64>() / (count - 1.0);
            count * (square - mean * mean) / of_means
        };
        (0..self.parameters).map(of).min_by(f64::total_cmp)
    }
}
