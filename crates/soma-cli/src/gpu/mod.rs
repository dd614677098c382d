//! `--device` and `soma gpu`: many chains on one GPU, where the program was built with the feature `gpu`.

#[cfg(feature = "gpu")]
mod bench;
#[cfg(feature = "gpu")]
mod report;
#[cfg(feature = "gpu")]
mod work;

use std::path::PathBuf;

use soma::chain::{MovesChoice, Problem, Settings};
use soma::coupling::{PairRun, PairSettings};

use crate::args::KernelArgs;
use crate::exit::{Failed, Outcome};

/// Where chains run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Device {
    /// On the GPU, if there is one and the number of moves is worth its start-up time.
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
    /// Print the CUDA text that is generated from a spec.
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
    /// Only the rows whose name contains this, or the one that has this name.
    pub filter: Option<String>,
    /// Threads per chain, instead of the default.
    #[arg(long)]
    pub lanes: Option<usize>,
    /// Threads per block, instead of the default.
    #[arg(long)]
    pub threads: Option<usize>,
    /// Non-centred updates of theta per iteration, instead of the default.
    #[arg(long)]
    pub non_centred: Option<usize>,
    /// Run this many times as many chains as fit on the GPU at once.
    #[arg(long, default_value = "1")]
    pub waves: usize,
}

/// The settings that pilot pairs suggest, or why no pairs are worth running.
pub type SettingsOf<'a> = dyn Fn(&[PairRun]) -> Result<PairSettings, Failed> + 'a;

/// Least chains and moves for which `auto` takes the GPU.
const WORTH_CHAINS: u64 = 1_000;
const WORTH_MOVES: f64 = 1e10;

impl Device {
    /// Whether to run on the GPU. Fails if the GPU was asked for and cannot be used.
    pub fn is_gpu(self, problem: &Problem, settings: &Settings) -> Result<bool, Failed> {
        let moves = settings.iterations() as f64 * problem.release().n() as f64;
        let work = (settings.chains as u64, moves * settings.chains as f64);
        self.is_gpu_for(work, || fits(problem, settings))
    }

    /// The same for a number of chains and of moves in all; `fits` says whether the GPU can do it.
    pub fn is_gpu_for(
        self,
        (chains, moves): (u64, f64),
        fits: impl FnOnce() -> bool,
    ) -> Result<bool, Failed> {
        let is_worth = chains >= WORTH_CHAINS && moves >= WORTH_MOVES;
        match self {
            Device::Cpu => Ok(false),
            Device::Auto => Ok(is_worth && missing().is_none() && fits()),
            Device::Gpu => match missing() {
                None => Ok(true),
                Some(missing) => Err(Failed::Input(format!("--device gpu: {missing}"))),
            },
        }
    }
}

/// What is missing to use a GPU.
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
pub use work::{calibrate, couple, fit, plan};

/// The subcommand.
#[cfg(feature = "gpu")]
pub fn run(args: Args) -> Outcome {
    match args.what {
        What::Show(args) => work::show(&args),
        What::Check(args) => work::check(&args),
        What::Bench(args) => bench::run(&args),
    }
}

/// The message of a program without GPU support.
#[cfg(not(feature = "gpu"))]
const WITHOUT: &str = "this program was built without GPU support. To build it in: \
     `cargo install --path crates/soma-cli --features gpu` in a clone of the repository. To run without \
     a GPU: --device cpu.";

#[cfg(not(feature = "gpu"))]
fn missing() -> Option<String> {
    Some(WITHOUT.into())
}

#[cfg(not(feature = "gpu"))]
fn fits(_: &Problem, _: &Settings) -> bool {
    false
}

/// Pairs on the GPU, in a program without GPU support.
#[cfg(not(feature = "gpu"))]
pub fn couple(
    _: &Problem,
    _: &PairSettings,
    _: u64,
    _: Option<&SettingsOf<'_>>,
    _: &dyn Fn(&[f64]) -> Vec<f64>,
    _: bool,
) -> Result<(PairSettings, Vec<PairRun>), Failed> {
    Err(Failed::Input(format!("--device gpu: {WITHOUT}")))
}

/// The subcommand, in a program without GPU support.
#[cfg(not(feature = "gpu"))]
pub fn run(args: Args) -> Outcome {
    let name = match args.what {
        What::Show(_) => "show",
        What::Check(_) => "check",
        What::Bench(_) => "bench",
    };
    Err(Failed::Input(format!("soma gpu {name}: {WITHOUT}")))
}
