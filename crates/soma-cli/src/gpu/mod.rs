//! `--device` and `soma gpu`: many chains on one GPU, where the program was built with the feature `gpu`.

#[cfg(feature = "gpu")]
mod bench;
#[cfg(feature = "gpu")]
mod report;
#[cfg(feature = "gpu")]
mod work;

use std::path::PathBuf;

use soma::chain::{MovesChoice, Problem, Settings};

use crate::args::KernelArgs;
use crate::exit::{Failed, Outcome};

/// Where chains run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Device {
    /// On the GPU where there is one and the counted work is worth its start.
    #[default]
    Auto,
    /// On the CPU.
    Cpu,
    /// On the GPU.
    Gpu,
}

/// The option `--device`.
#[derive(clap::Args, Default)]
pub struct DeviceArgs {
    /// Where chains run. auto takes a GPU for 1,000 chains or more with 10^10 moves in all.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: Device,
}

/// What `soma gpu` does.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Print the CUDA text that a spec is turned into.
    Show(ShowArgs),
    /// Compare single moves on the GPU with their enumerated probabilities.
    Check(ShowArgs),
    /// Measure the GPU: moves and effective draws per second.
    Bench(BenchArgs),
}

/// A spec, and how it is sampled.
#[derive(clap::Args)]
pub struct ShowArgs {
    /// The spec.
    #[arg(value_name = "SPEC.toml")]
    pub spec: PathBuf,
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Which theta updates are used.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(MovesChoice::NAMES))]
    pub moves: Option<String>,
}

/// What is measured.
#[derive(clap::Args)]
pub struct BenchArgs {
    /// Only the rows whose name contains this.
    pub filter: Option<String>,
    /// Threads of a chain, in the place of what suits.
    #[arg(long)]
    pub lanes: Option<usize>,
    /// Blocks of threads of a multiprocessor, in the place of what suits.
    #[arg(long)]
    pub blocks: Option<usize>,
    /// Non-centred updates of theta in an iteration, in the place of what suits.
    #[arg(long)]
    pub non_centred: Option<usize>,
    /// Times as many chains as run at once.
    #[arg(long, default_value = "1")]
    pub waves: usize,
}

/// Chains and moves from which on `auto` takes the GPU.
const WORTH_CHAINS: u64 = 1_000;
const WORTH_MOVES: f64 = 1e10;

impl Device {
    /// Whether to run on the GPU; an error where that was asked for and cannot be.
    pub fn is_gpu(self, problem: &Problem, settings: &Settings) -> Result<bool, Failed> {
        let moves = settings.iterations() as f64 * problem.release().n() as f64;
        let is_worth =
            settings.chains as u64 >= WORTH_CHAINS && moves * settings.chains as f64 >= WORTH_MOVES;
        match self {
            Device::Cpu => Ok(false),
            Device::Auto => Ok(is_worth && missing().is_none() && fits(problem, settings)),
            Device::Gpu => match missing() {
                None => Ok(true),
                Some(missing) => Err(Failed::Input(format!("--device gpu: {missing}"))),
            },
        }
    }
}

/// What is missing for a GPU to be used.
#[cfg(feature = "gpu")]
fn missing() -> Option<String> {
    soma_gpu::Cuda::missing()
}

#[cfg(feature = "gpu")]
fn fits(problem: &Problem, settings: &Settings) -> bool {
    let options = soma_gpu::Options::new(settings.kernel, settings.moves);
    soma_gpu::Program::new(problem, options).is_ok()
}

#[cfg(feature = "gpu")]
pub use work::{calibrate, fit};

/// The subcommand.
#[cfg(feature = "gpu")]
pub fn run(args: Args) -> Outcome {
    match args.what {
        What::Show(args) => work::show(&args),
        What::Check(args) => work::check(&args),
        What::Bench(args) => bench::run(&args),
    }
}

/// Why there is no GPU in this program.
#[cfg(not(feature = "gpu"))]
const WITHOUT: &str = "this program was built without it. In a clone of the repository \
     `cargo install --path crates/soma-cli --features gpu` builds one with it; or go on without: \
     --device cpu.";

#[cfg(not(feature = "gpu"))]
fn missing() -> Option<String> {
    Some(WITHOUT.into())
}

#[cfg(not(feature = "gpu"))]
fn fits(_: &Problem, _: &Settings) -> bool {
    false
}

/// The subcommand, in a program that was built without it.
#[cfg(not(feature = "gpu"))]
pub fn run(args: Args) -> Outcome {
    let name = match args.what {
        What::Show(_) => "show",
        What::Check(_) => "check",
        What::Bench(_) => "bench",
    };
    Err(Failed::Input(format!("soma gpu {name}: {WITHOUT}")))
}
