//! CUDA text for a problem.

mod layout;
mod model;
mod statistics;

use std::fmt::Write;

use soma::Invalid;
use soma::chain::{MovesChoice, Problem};
use soma::kernel::KernelChoice;

use layout::Layout;
use statistics::Statistics;

/// Choices of the sampler, and overrides of the defaults.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The kernel that imputes records.
    pub kernel: KernelChoice,
    /// The theta updates.
    pub moves: MovesChoice,
    /// Make one move from a given state and report it, instead of a chain (for tests).
    pub is_frozen: bool,
    /// Threads per chain: a power of two up to 32.
    pub lanes: Option<usize>,
    /// Threads per block.
    pub threads: Option<usize>,
    /// Limit of shared memory per block, in bytes. By default 99 KiB, which cards since 2020 have.
    pub most_shared: usize,
    /// Non-centred updates of theta per iteration.
    pub non_centred: Option<usize>,
}

impl Options {
    /// The defaults, with this kernel and these theta updates.
    pub fn new(kernel: KernelChoice, moves: MovesChoice) -> Self {
        Options {
            kernel,
            moves,
            is_frozen: false,
            lanes: None,
            threads: None,
            most_shared: 99 << 10,
            non_centred: None,
        }
    }
}

/// CUDA text, and the constants that the host needs.
#[derive(Debug, Clone)]
pub struct Program {
    /// The text.
    pub text: String,
    /// The number of records, n.
    pub records: usize,
    /// The length of a record, D.
    pub dim: usize,
    /// The number of parameters.
    pub parameters: usize,
    /// Threads per chain.
    pub lanes: usize,
    /// Threads per block.
    pub threads: usize,
    /// Shared memory per block, in bytes.
    pub shared: usize,
    /// Non-centred updates of theta per iteration.
    pub non_centred: usize,
    /// The name of the kernel, with its block size.
    pub kernel: String,
    statistics: Statistics,
}

/// Non-centred updates of theta in an iteration. Each costs 0.16 of a sweep of sys-imwg; effective draws per
/// second at epsilon 30 are most with eight (docs/gpu.md).
const NON_CENTRED: usize = 8;

impl Program {
    /// Generates the program of a problem. The error names what the GPU does not support.
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
        let non_centred = match options.moves {
            MovesChoice::Centred => 0,
            _ => options.non_centred.unwrap_or(NON_CENTRED),
        };
        let parameters = model.parameters().len();
        let dim = release.query().record_dim();
        let sums = statistics.len() + model::sums(&recipe);
        let layout = Layout::new(n, dim, block, sums, statistics.len(), non_centred, options)?;
        let Layout { lanes, threads, is_resident, is_padded, shared } = layout;
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
             constexpr int BLOCK = {block}, LANES = {lanes}, THREADS = {threads};\n\
             // Whether the records of a chain are in shared memory during a launch.\n\
             constexpr bool RESIDENT = {is_resident};\n\
             // Whether the slots of a thread are filled up to a multiple of four.\n\
             constexpr bool PADDED = {is_padded};\n\
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
        text += include_str!("text/records.cu");
        text += "\n";
        text += include_str!("text/proposals.cu");
        text += "\n";
        text += match block {
            1 => include_str!("text/single.cu"),
            _ => include_str!("text/blocks.cu"),
        };
        text += "\n";
        text += include_str!("text/theta.cu");
        text += "\n";
        text += include_str!("text/chain.cu");
        Ok(Program {
            text,
            records: n,
            dim,
            parameters,
            lanes,
            threads,
            shared,
            non_centred,
            kernel,
            statistics,
        })
    }

    /// The number of statistics, K.
    pub fn statistics(&self) -> usize {
        self.statistics.len()
    }

    /// The published values in the program's units, for a release with the same laws.
    pub fn published(&self, release: &soma::release::Release) -> Vec<f64> {
        self.statistics.published(release)
    }

    /// Tuning values per chain: `TUNING` of the text.
    pub(crate) fn tuning(&self) -> usize {
        let p = self.parameters;
        2 + 2 * p + p * (p + 1)
    }
}

/// The block size, and whether the place is random.
fn block_of(kernel: KernelChoice, n: usize) -> Result<(usize, bool), Invalid> {
    match kernel {
        KernelChoice::Soma => Ok((n, false)),
        // The fastest in effective draws per second (docs/gpu.md).
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

fn unfit(field: &str, given: impl ToString, allowed: impl Into<String>) -> Invalid {
    Invalid::new(field, "is not supported on the GPU", given.to_string(), allowed.into())
}
