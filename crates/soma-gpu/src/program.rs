//! CUDA text for a problem.

mod model;
mod statistics;

use std::fmt::Write;

use soma::Invalid;
use soma::chain::{MovesChoice, Problem};
use soma::kernel::KernelChoice;

use statistics::Statistics;

/// What of the sampler can be chosen.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How records are imputed.
    pub kernel: KernelChoice,
    /// How theta is moved.
    pub moves: MovesChoice,
    /// One move from a given state, and a report on it, in the place of a chain: for tests.
    pub is_frozen: bool,
    /// Threads of a chain, a power of two up to 32, in the place of what suits.
    pub lanes: Option<usize>,
    /// Blocks of threads that a multiprocessor should hold at once, in the place of what suits.
    pub blocks_per_sm: Option<usize>,
    /// Non-centred updates of theta in an iteration, in the place of what suits.
    pub non_centred: Option<usize>,
}

impl Options {
    /// A chain with this kernel and these moves of theta.
    pub fn new(kernel: KernelChoice, moves: MovesChoice) -> Self {
        Options {
            kernel,
            moves,
            is_frozen: false,
            lanes: None,
            blocks_per_sm: None,
            non_centred: None,
        }
    }
}

/// CUDA text, and what the host must know of it.
#[derive(Debug, Clone)]
pub struct Program {
    /// The text.
    pub text: String,
    /// n.
    pub records: usize,
    /// D, the length of a record.
    pub dim: usize,
    /// The number of parameters.
    pub parameters: usize,
    /// Threads of a chain.
    pub lanes: usize,
    /// Threads of a block.
    pub threads: usize,
    /// Non-centred updates of theta in an iteration.
    pub non_centred: usize,
    /// The name of the kernel, with the size of its blocks.
    pub kernel: String,
    statistics: Statistics,
}

/// Records that a thread can hold.
const MOST_PER_LANE: usize = 32;
/// Records that a thread is given, if they can be spread over more threads.
const PER_LANE: usize = 26;

/// Non-centred updates of theta in an iteration. Each costs nearly as much as a sweep of sys-imwg; with
/// three, effective draws per second at epsilon 3 are most (docs/gpu.md).
const NON_CENTRED: usize = 3;

impl Program {
    /// The program of a problem; or what a GPU cannot do with it.
    pub fn new(problem: &Problem, options: Options) -> Result<Self, Invalid> {
        let release = problem.release();
        let n = release.n();
        if release.slotted().is_some() {
            return Err(unfit("release.n", "unknown", "a number of records that is public"));
        }
        if n > 1 << 20 {
            return Err(unfit("release.n", n, "up to 1048576 records"));
        }
        let model = problem.model();
        let recipe = model.recipe().ok_or_else(|| {
            unfit("model.kind", model.kind(), "regression, normal or exponential")
        })?;
        if problem.fixed().is_some() {
            return Err(unfit("model.fixed", "fixed parameters", "a model without them"));
        }
        let statistics = Statistics::of(release)?;
        let (block, is_random) = block_of(options.kernel, n)?;
        let lanes = options.lanes.unwrap_or_else(|| lanes_for(block));
        let per_lane = block.div_ceil(lanes);
        if per_lane > MOST_PER_LANE || !lanes.is_power_of_two() || lanes > 32 {
            return Err(unfit(
                "sampler.kernel",
                format!("{} on {block} records at a time", options.kernel.name()),
                format!("up to {} records at a time: soma-blocks, or sys-imwg", 32 * MOST_PER_LANE),
            ));
        }
        let non_centred = match options.moves {
            MovesChoice::Centred => 0,
            _ => options.non_centred.unwrap_or(NON_CENTRED),
        };
        let parameters = model.parameters().len();
        let dim = release.query().record_dim();
        let threads = 128;
        // Registers: those of the records, of their weights, and of the rest.
        let registers = per_lane * (dim + 1) + 3 * statistics.len() + 60;
        let suits = (512 / registers.clamp(64, 255).next_multiple_of(8)).clamp(2, 8);
        let blocks_per_sm = options.blocks_per_sm.unwrap_or(suits);
        let kernel = match options.kernel {
            KernelChoice::SomaBlocks { .. } => format!("soma-blocks of {block}"),
            KernelChoice::Auto => "sys-imwg".into(),
            other => other.name().to_string(),
        };
        let mut text = String::new();
        let _ = write!(
            text,
            "// {kernel} on {n} records of a {} model; statistics: {}.\n\
             // Made by `soma gpu show`.\n\n\
             constexpr int RECORDS = {n}, DIM = {dim}, STATS = {}, PARAMETERS = {parameters};\n\
             // SOMA chooses among BLOCK records at a time; LANES threads share a chain.\n\
             constexpr int BLOCK = {block}, LANES = {lanes}, THREADS = {threads}, BLOCKS_PER_SM = {blocks_per_sm};\n\
             constexpr bool RANDOM_PLACE = {is_random}, FROZEN = {};\n\
             // Non-centred updates of theta in an iteration.\n\
             constexpr int NON_CENTRED = {};\n\n",
            model.kind(),
            release.query().labels().join(", "),
            statistics.len(),
            options.is_frozen,
            non_centred,
        );
        text += include_str!("text/random.cu");
        text += "\n";
        text += &model::text(&recipe);
        text += "\n";
        text += &statistics.text();
        text += "\n";
        text += include_str!("text/moves.cu");
        text += "\n";
        text += include_str!("text/chain.cu");
        Ok(Program {
            text,
            records: n,
            dim,
            parameters,
            lanes,
            threads,
            non_centred,
            kernel,
            statistics,
        })
    }

    /// K, the number of statistics.
    pub fn statistics(&self) -> usize {
        self.statistics.len()
    }

    /// What the program is given of a release with the laws that it was made for.
    pub fn published(&self, release: &soma::release::Release) -> Vec<f64> {
        self.statistics.published(release)
    }

    /// The numbers of a chain that the non-centred update learns: `TUNING` of the text.
    pub(crate) fn tuning(&self) -> usize {
        let p = self.parameters;
        2 + 2 * p + p * (p + 1)
    }
}

/// How many records are chosen among, and whether it is a random one.
fn block_of(kernel: KernelChoice, n: usize) -> Result<(usize, bool), Invalid> {
    match kernel {
        KernelChoice::Soma => Ok((n, false)),
        // Blocks that a thread holds, where it is for us to choose: no shuffles.
        KernelChoice::Auto => Ok((1, false)),
        KernelChoice::SomaBlocks { size } => Ok((size.unwrap_or(10).clamp(1, n), false)),
        KernelChoice::SysImwg => Ok((1, false)),
        KernelChoice::RanImwg => Ok((1, true)),
        other => {
            let allowed = "soma, soma-blocks, sys-imwg, ran-imwg or auto (which is sys-imwg there)";
            Err(unfit("sampler.kernel", other.name(), allowed))
        }
    }
}

/// Threads of a chain that chooses among so many records.
fn lanes_for(block: usize) -> usize {
    let few = block.div_ceil(PER_LANE).next_power_of_two();
    few.min(32)
}

fn unfit(field: &str, given: impl ToString, allowed: impl Into<String>) -> Invalid {
    Invalid::new(field, "the GPU cannot do this yet", given.to_string(), allowed.into())
}
