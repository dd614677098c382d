//! Options of a run, which override the spec.

use std::num::NonZeroUsize;

use clap::builder::PossibleValuesParser;
use clap::value_parser;
use soma::chain::MovesChoice;
use soma::kernel::KernelChoice;
use soma::spec::{MOST_CHAINS, Sampler};

/// The kernel and the seed.
#[derive(clap::Args)]
pub struct KernelArgs {
    /// The kernel that imputes the records.
    #[arg(long, value_parser = PossibleValuesParser::new(KernelChoice::NAMES))]
    kernel: Option<String>,
    /// The size of the subset, for the kernel soma-subset; of a block, for soma-blocks.
    #[arg(long, value_name = "M", value_parser = value_parser!(u32).range(1..))]
    subset: Option<u32>,
    /// The same seed gives the same draws.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

impl KernelArgs {
    /// The settings given on the command line.
    pub fn sampler(&self) -> Sampler {
        let named = |name: &String| KernelChoice::NAMES.into_iter().find(|known| known == name);
        Sampler {
            kernel: self.kernel.as_ref().and_then(named),
            subset: self.subset.map(|size| size as usize),
            seed: self.seed,
            ..Sampler::default()
        }
    }
}

/// The length of the warm-up.
#[derive(Clone, Copy)]
enum Warmup {
    Iterations(u64),
    Certified,
}

fn warmup(text: &str) -> Result<Warmup, String> {
    match text {
        "certified" => Ok(Warmup::Certified),
        number => number
            .parse()
            .map(Warmup::Iterations)
            .map_err(|_| "must be a whole number, or `certified`".to_string()),
    }
}

/// The options that a spec's `[sampler]` can also give.
#[derive(clap::Args)]
pub struct SamplerArgs {
    #[command(flatten)]
    kernel: KernelArgs,
    /// Which theta updates are used; `centred` gives the paper's chain.
    #[arg(long, value_parser = PossibleValuesParser::new(MovesChoice::NAMES))]
    moves: Option<String>,
    /// The number of chains.
    #[arg(long, value_name = "C", value_parser = value_parser!(u64).range(1..=MOST_CHAINS))]
    chains: Option<u64>,
    /// Iterations of each chain before the first draw that is kept; `certified` computes their
    /// number from meeting times, for the chain with centred updates of theta.
    #[arg(long, value_name = "W", value_parser = warmup)]
    warmup: Option<Warmup>,
    /// Draws kept of each chain.
    #[arg(long, value_name = "D", value_parser = value_parser!(u64).range(1..))]
    draws: Option<u64>,
    /// Keep one iteration in T.
    #[arg(long, value_name = "T", value_parser = value_parser!(u64).range(1..))]
    thin: Option<u64>,
}

impl SamplerArgs {
    /// The settings given on the command line.
    pub fn sampler(&self) -> Sampler {
        let warmup = match self.warmup {
            Some(Warmup::Iterations(warmup)) => Some(warmup),
            Some(Warmup::Certified) | None => None,
        };
        let moves = self.moves.as_deref().and_then(MovesChoice::named);
        Sampler {
            moves: moves.or(self.is_certified().then_some(MovesChoice::Centred)),
            chains: self.chains.map(|chains| chains as usize),
            warmup,
            draws: self.draws,
            thin: self.thin,
            ..self.kernel.sampler()
        }
    }

    /// Whether the warm-up is computed from meeting times.
    pub fn is_certified(&self) -> bool {
        matches!(self.warmup, Some(Warmup::Certified))
    }
}

/// The number of threads of a run.
#[derive(clap::Args, Default)]
pub struct ThreadArgs {
    /// The number of threads; all cores if not given. The draws do not depend on it.
    #[arg(long, value_name = "T")]
    threads: Option<NonZeroUsize>,
}

impl ThreadArgs {
    /// The number of threads.
    pub fn count(&self) -> NonZeroUsize {
        let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(all)
    }
}
