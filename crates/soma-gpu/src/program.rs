//! CUDA text for a problem.

mod counts;
mod language;
mod layout;
mod model;
mod outputs;
mod slots;
mod statistics;
mod stored;
mod tables;
mod text_model;

use std::fmt::Write;

use soma::Invalid;
use soma::chain::{MovesChoice, Problem};
use soma::kernel::{KernelChoice, Subset};
use soma::model::Recipe;

use layout::{Layout, Size};
use model::Carried;
use statistics::Statistics;
use stored::Stored;

/// Choices of the sampler, and overrides of the defaults.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The kernel that imputes records.
    pub kernel: KernelChoice,
    /// The theta updates.
    pub moves: MovesChoice,
    /// Make one move from a given state and report it, instead of a chain (for tests).
    pub is_frozen: bool,
    /// Run pairs of coupled chains instead of chains.
    pub is_paired: bool,
    /// Keep the thetas of the pairs in all iterations, for estimates.
    pub keeps: bool,
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
            is_paired: false,
            keeps: false,
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
    /// The number of parameters; 1 where the model has none.
    pub parameters: usize,
    /// The names of the values of a draw, beside the cost.
    pub outputs: Vec<String>,
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
    /// Whether pairs keep their thetas.
    pub(crate) keeps: bool,
    stored: Stored,
    /// Whether the first number of a record says whether there is one.
    is_slotted: bool,
    units: Units,
}

/// The published numbers in the units of a program.
#[derive(Debug, Clone)]
enum Units {
    /// Of statistics of records.
    Statistics(Statistics),
    /// So many sums of counts of cells.
    Counts(usize),
}

/// Non-centred updates of theta in an iteration. Each costs 0.16 of a sweep of sys-imwg; effective draws per
/// second at epsilon 30 are most with eight (docs/gpu.md).
const NON_CENTRED: usize = 8;

/// The same where quantiles in double precision make each cost several sweeps.
const NON_CENTRED_IN_DOUBLE: usize = 4;

impl Program {
    /// Generates the program of a problem. The error names what the GPU does not support.
    pub fn new(problem: &Problem, options: Options) -> Result<Self, Invalid> {
        if counts::are_taken(&options, problem) {
            return counts::program(problem, options);
        }
        let release = problem.release();
        let n = release.n();
        let is_slotted = release.slotted().is_some();
        if is_slotted && (options.is_paired || problem.fixed().is_some()) {
            let allowed = "a public n for pairs and for fixed parameters";
            return Err(unfit("release.n", "unknown", allowed));
        }
        let model = problem.record_model();
        let recipe = model.recipe().ok_or_else(|| {
            let allowed = "regression, normal, exponential, beta, dirichlet, categorical, uniform, or a model \
                           written as text";
            unfit("model.kind", model.kind(), allowed)
        })?;
        if problem.fixed().is_some() && options.is_paired {
            let allowed = "a model without them, for pairs";
            return Err(unfit("model.fixed", "fixed parameters", allowed));
        }
        let stored = Stored::of(&recipe);
        let statistics = Statistics::of(release)?;
        if n > 1 << 20 {
            return Err(unfit("release.n", n, "up to 1048576 records"));
        }
        let (block, order) = match options.is_paired {
            true => (1, Order::Blocks),
            false => block_of(options.kernel, n)?,
        };
        // The text of a pair's model, and its kernel.
        let pair = options.is_paired.then(|| pair_of(&options, &recipe)).transpose()?;
        let non_centred = match (options.moves, model::carried(&recipe)) {
            _ if problem.fixed().is_some() => 0,
            (MovesChoice::Centred, _) | (MovesChoice::Auto, None) => 0,
            // An update costs several sweeps: it pays only where centred updates are slow (docs/gpu.md).
            (MovesChoice::Auto, Some(Carried::ByShapes)) => 0,
            (moves, None) => {
                let allowed = "centred or auto: records of this model cannot be carried to another theta there";
                return Err(unfit("sampler.moves", moves.name(), allowed));
            }
            (_, Some(Carried::Single)) => options.non_centred.unwrap_or(NON_CENTRED),
            (_, Some(Carried::Double | Carried::ByShapes)) => {
                options.non_centred.unwrap_or(NON_CENTRED_IN_DOUBLE)
            }
        };
        let parts = model::text(&recipe, problem, non_centred > 0)?;
        let parameters = model.parameters().len().max(1);
        let (outputs, draw) = outputs::of(problem, stored);
        let dim = release.query().record_dim();
        let given = model::sums(&recipe);
        let sums = statistics.len() + given + usize::from(is_slotted);
        let size = Size {
            records: n,
            dim,
            variables: statistics.variables(),
            block,
            sums,
            statistics: statistics.len(),
            is_heavy: non_centred > 0 || options.is_paired || !parts.second.is_empty(),
            is_read_often: non_centred > 0,
        };
        let layout = Layout::new(size, options)?;
        let Layout { lanes, threads, is_resident, is_padded, shared } = layout;
        let kernel = match options.kernel {
            other if options.is_paired => format!("pairs of {}", other.name()),
            KernelChoice::SomaBlocks { .. } => format!("soma-blocks of {block}"),
            KernelChoice::SomaSubset { .. } => format!("soma-subset of {block}"),
            KernelChoice::Auto => "sys-imwg".into(),
            other => other.name().to_string(),
        };
        let mut text = String::new();
        let _ = write!(
            text,
            "// {kernel} on {n} records of a {} model; statistics: {}.\n\
             // Made by `soma gpu show`.\n\n\
             constexpr int RECORDS = {n}, DIM = {dim}, STATS = {}, PARAMETERS = {parameters};\n\
             // Values of a draw, and whether theta is fixed.\n\
             constexpr int OUTPUTS = {};\n\
             constexpr bool FIXED = {};\n\
             // Numbers of a record that its statistics are computed from.\n\
             constexpr int VARIABLES = {};\n\
             // SOMA chooses among BLOCK records at a time; LANES threads share a chain.\n\
             constexpr int BLOCK = {block}, LANES = {lanes}, THREADS = {threads};\n\
             // Whether the records of a chain are in shared memory during a launch.\n\
             constexpr bool RESIDENT = {is_resident};\n\
             // Whether the slots of a thread are filled up to a multiple of four.\n\
             constexpr bool PADDED = {is_padded};\n\
             constexpr bool RANDOM_PLACE = {}, FROZEN = {};\n\
             // Whether each move of a sweep has a block of its own: the next BLOCK records, or, SCATTERED, as many at \
             random.\n\
             constexpr bool OWN_BLOCK = {}, SCATTERED = {};\n\
             // Whether a sweep may come to a record more than once, and so cannot sum or carry it as it passes.\n\
             constexpr bool REVISITS = RANDOM_PLACE || OWN_BLOCK;\n\
             // Non-centred updates of theta in an iteration.\n\
             constexpr int NON_CENTRED = {};\n\n",
            model.kind(),
            release.query().labels().join(", "),
            statistics.len(),
            outputs.len(),
            problem.fixed().is_some(),
            statistics.variables(),
            order == Order::Random,
            options.is_frozen,
            matches!(order, Order::Cyclic | Order::Scattered),
            order == Order::Scattered,
            non_centred,
        );
        text += &slots::text(release, given)?;
        text += "\n";
        text += include_str!("text/random.cu");
        text += "\n";
        let is_plain = matches!(
            recipe,
            Recipe::Regression { .. } | Recipe::Exponential { .. } | Recipe::Uniform { .. }
        );
        if statistics.has_programs() || !is_plain {
            text += include_str!("text/functions.cu");
            text += "\n";
        }
        text += &parts.first;
        text += "\n";
        text += &statistics.text(stored)?;
        text += "\n";
        text += include_str!("text/params.cu");
        text += "\n";
        text += include_str!("text/records.cu");
        text += "\n";
        text += include_str!("text/proposals.cu");
        text += "\n";
        let sweep = match block {
            1 => include_str!("text/single.cu"),
            _ => include_str!("text/blocks.cu"),
        };
        let rest = match &pair {
            Some(pair) => vec![
                include_str!("text/theta.cu"),
                include_str!("text/start.cu"),
                pair,
                include_str!("text/pair.cu"),
            ],
            None => {
                let theta = include_str!("text/theta.cu");
                text += sweep;
                text += "\n";
                vec![
                    &parts.second[..],
                    theta,
                    include_str!("text/start.cu"),
                    &draw,
                    include_str!("text/chain.cu"),
                ]
            }
        };
        text += &rest.join("\n");
        Ok(Program {
            text,
            records: n,
            dim,
            parameters,
            outputs,
            lanes,
            threads,
            shared,
            non_centred,
            kernel,
            keeps: options.is_paired && options.keeps,
            stored,
            is_slotted,
            units: Units::Statistics(statistics),
        })
    }

    /// The number of statistics, K.
    pub fn statistics(&self) -> usize {
        match &self.units {
            Units::Statistics(statistics) => statistics.len(),
            Units::Counts(rows) => *rows,
        }
    }

    /// The published values in the program's units, for a problem whose release has the same laws.
    pub fn published(&self, problem: &Problem) -> Vec<f64> {
        match &self.units {
            Units::Statistics(statistics) => statistics.published(problem.release()),
            Units::Counts(_) => tables::published(problem),
        }
    }

    /// The log density of the release of `problem` at a cost of 0.
    pub(crate) fn top(&self, problem: &Problem) -> f64 {
        if let Units::Counts(_) = self.units {
            return tables::top(problem);
        }
        // The log density of whole records: true sums that are whole numbers are rounded in it.
        let release = problem.release();
        let (sums, scales) = (release.sums(), release.sum_scales());
        let parts = sums.iter().zip(scales.iter());
        let nearest: Vec<f64> = parts.map(|(sum, scale)| (sum - sum.round()) / scale).collect();
        let published: usize = release.published_parts().iter().map(|p| p.query().dim()).sum();
        let coordinates = (0..published).filter_map(|k| release.potential().coordinate(k));
        let cost: f64 = coordinates.zip(&nearest).map(|(law, residual)| law.cost(*residual)).sum();
        release.log_density(&nearest) + cost
    }

    /// Fails if the program is that of one release alone: `many` says what asks for others.
    pub(crate) fn check_many(&self, problem: &Problem, many: &str) -> Result<(), Invalid> {
        if self.has_tables() && tables::are_of_one_release(problem) {
            let given = format!("{many}, with a law that is tabulated for the published values");
            let allowed = "Laplace or Gaussian noise, discrete or not, as it is; or --device cpu";
            return Err(unfit("release.mechanism", given, allowed));
        }
        Ok(())
    }

    /// Whether releases are simulated with counts in the place of records.
    pub(crate) fn has_tables(&self) -> bool {
        matches!(self.units, Units::Counts(_))
    }

    /// Tuning values per chain: `TUNING` of the text. Non-centred updates have them.
    pub(crate) fn tuning(&self) -> usize {
        let p = self.parameters;
        if self.non_centred > 0 { 2 + 2 * p + p * (p + 1) } else { 0 }
    }

    /// Number `at` of the records, row by row, as the device stores it.
    pub(crate) fn stored(&self, at: usize, x: f64) -> f64 {
        if self.is_slotted && at.is_multiple_of(self.dim) { x } else { self.stored.store(x) }
    }

    /// The inverse of [`stored`](Program::stored).
    pub(crate) fn shown(&self, at: usize, x: f64) -> f64 {
        if self.is_slotted && at.is_multiple_of(self.dim) { x } else { self.stored.show(x) }
    }
}

/// The order in which a sweep comes to the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Block after block, with a move for each record of a block.
    Blocks,
    /// The next block for each move.
    Cyclic,
    /// A random subset for each move.
    Scattered,
    /// A random record for each move.
    Random,
}

/// The largest random subset: choosing it costs the square of its size.
const MOST_SCATTERED: usize = 104;

/// The block size, and the order.
fn block_of(kernel: KernelChoice, n: usize) -> Result<(usize, Order), Invalid> {
    match kernel {
        KernelChoice::Soma => Ok((n, Order::Blocks)),
        // The fastest in effective draws per second (docs/gpu.md).
        KernelChoice::Auto => Ok((1, Order::Blocks)),
        KernelChoice::SomaBlocks { size } => Ok((size.unwrap_or(10).clamp(1, n), Order::Blocks)),
        KernelChoice::SomaSubset { size, .. } if size >= n => Ok((n, Order::Blocks)),
        KernelChoice::SomaSubset { size: 0 | 1, subset: Subset::Cyclic } => Ok((1, Order::Blocks)),
        KernelChoice::SomaSubset { size: 0 | 1, subset: Subset::Random } => Ok((1, Order::Random)),
        KernelChoice::SomaSubset { size, subset: Subset::Cyclic } => Ok((size, Order::Cyclic)),
        KernelChoice::SomaSubset { size, subset: Subset::Random } if size > MOST_SCATTERED => {
            let allowed =
                format!("up to {MOST_SCATTERED} of them; or order = cyclic, or soma-blocks");
            Err(unfit("sampler.subset", format!("{size} records at random"), allowed))
        }
        KernelChoice::SomaSubset { size, subset: Subset::Random } => Ok((size, Order::Scattered)),
        KernelChoice::SysImwg => Ok((1, Order::Blocks)),
        KernelChoice::RanImwg => Ok((1, Order::Random)),
        other => {
            let allowed = "soma, soma-blocks, soma-subset, sys-imwg, ran-imwg or auto (which is sys-imwg there)";
            Err(unfit("sampler.kernel", other.name(), allowed))
        }
    }
}

/// What pairs of chains need of the model, and which kernel they have.
fn pair_of(options: &Options, recipe: &Recipe) -> Result<String, Invalid> {
    let model = match recipe {
        Recipe::Regression { .. } => include_str!("text/regression_pair.cu"),
        Recipe::Exponential { .. } => include_str!("text/exponential_pair.cu"),
        other => {
            let given = match other {
                Recipe::Text(_) => "a model written as text",
                _ => "this model",
            };
            return Err(unfit("model.kind", given, "regression, normal or exponential, for pairs"));
        }
    };
    let is_among_all = match options.kernel {
        KernelChoice::Soma => true,
        KernelChoice::SysImwg => false,
        other => {
            return Err(unfit("sampler.kernel", other.name(), "soma or sys-imwg, for pairs"));
        }
    };
    Ok(format!(
        "// Whether a move chooses among all records, as SOMA does, or comes to the next one, as Sys-IMwG does.\n\
         constexpr bool AMONG_ALL = {is_among_all};\n\
         // Whether thetas are kept in all iterations.\n\
         constexpr bool KEEPS = {};\n\n{model}",
        options.keeps,
    ))
}

fn unfit(field: &str, given: impl ToString, allowed: impl Into<String>) -> Invalid {
    Invalid::new(field, "is not supported on the GPU", given.to_string(), allowed.into())
}
