//! How much memory a run takes, counted from sizes before anything is allocated.

use super::{Draw, MovesChoice, Problem, Settings};
use crate::counts::{CountProblem, Shares};
use crate::kernel::{KernelChoice, RecordSizes};

/// What a run needs, in bytes, at its peak.
///
/// Chains need memory in proportion to the records, and only those that run at one time. The count
/// is of the arrays that grow with the problem; it is 10 to 100 per cent above what is measured, since
/// what a chain needs depends on the kernel and the moves that it finds best. What the program itself needs, some
/// megabytes, is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeed {
    /// One chain at work.
    pub chain: u64,
    /// How many chains are at work at a time.
    pub at_a_time: u64,
    /// The draws: all of them where they are kept in memory, and one column of them, with what
    /// its diagnostics need, where they are stored.
    pub draws: u64,
}

/// What the diagnostics of one parameter need for each of its draws, beside the draw itself: ranks,
/// halves of chains and the Fourier transform of a chain.
const DIAGNOSTICS: u64 = 45;

/// Draws of a chain that a store holds until a file of them is full, and as many being written.
const STORED_ROWS: u64 = 2 << 15;

impl MemoryNeed {
    /// Of a run of `problem` on `threads` threads, its draws kept in memory or `stored`.
    pub fn of(problem: &Problem, settings: &Settings, threads: usize, stored: bool) -> Self {
        let outputs = problem.output_count();
        let all = (settings.chains as u64).saturating_mul(settings.draws);
        let row = product(&[8, outputs]);
        let kept = match stored {
            // A growing list has room for twice as many as it holds.
            false => all.saturating_mul(row.saturating_add(16 + 2 * size_of::<Draw>() as u64)),
            true => (settings.chains as u64)
                .saturating_mul(settings.draws.min(STORED_ROWS))
                .saturating_mul(row.saturating_add(32)),
        };
        let chain = match problem.counts() {
            Ok(counts) if settings.samples_counts(problem) => of_counts(counts, stored),
            _ => of_chain(problem, settings, stored),
        };
        MemoryNeed {
            chain,
            at_a_time: threads.clamp(1, settings.chains.max(1)) as u64,
            draws: kept.saturating_add(all.saturating_mul(8 + DIAGNOSTICS)),
        }
    }

    /// All of it.
    pub fn bytes(&self) -> u64 {
        self.chain.saturating_mul(self.at_a_time).saturating_add(self.draws)
    }
}

fn of_chain(problem: &Problem, settings: &Settings, stored: bool) -> u64 {
    let (release, model) = (problem.release(), problem.model());
    let query = release.query();
    let (n, d, k) = (release.n(), query.record_dim(), query.dim());
    let records = product(&[8, n, d]);
    let statistics = product(&[8, n, k]);
    let is_coded = crate::records::imputed::is_coded(query.as_ref());
    let held = if is_coded { n as u64 } else { statistics };

    let sizes = RecordSizes { n, record_dim: d, statistic_dim: k, is_coded };
    let kernel = settings.kernel.memory(sizes);
    let trial = if settings.kernel == KernelChoice::Auto { records } else { 0 };

    // Moves of theta keep noise as it is and as it is proposed, and records with their statistics.
    let moves = match (problem.fixed(), settings.moves, model.transport()) {
        (Some(_), ..) | (None, MovesChoice::Centred, _) => 0,
        (None, _, Some(transport)) => {
            let noise = product(&[8, n, transport.noise_dim()]);
            sum(&[noise, noise, noise, records, records]).max(sum(&[noise, records, statistics]))
        }
        (None, _, None) if model.carry().is_some() => sum(&[records, statistics]),
        (None, _, None) => 0,
    };
    let parameters = model.parameters().len();
    let matrices = match problem.fixed() {
        Some(_) => 0,
        None => product(&[8 * 6, parameters, parameters]),
    };

    // A chain begins with its records twice; a checkpoint is a copy, and its encoding, which grows
    // by doubling; summaries of the records sort a column of them.
    let start = records;
    let checkpoint = if stored { product(&[3 * 8, n, d]) } else { 0 };
    let column = if problem.fixed().is_some() { product(&[8, n]) } else { 0 };
    let passing = start.max(sum(&[trial.max(checkpoint), column]));
    let all = sum(&[records, held, kernel, moves, matrices, passing]);
    all.saturating_add(all / 10)
}

/// A chain of counts: the counts, what was learned of them, and the published sums, with a few
/// copies of each; matrices of theta.
fn of_counts(problem: &CountProblem, stored: bool) -> u64 {
    let (cells, rows) = (problem.table().cells(), problem.published().len());
    let dim = match problem.shares() {
        Shares::Dirichlet(_) => 0,
        Shares::Model(model) => model.dim(),
    };
    let copies = if stored { 20 } else { 12 };
    let vectors = sum(&[product(&[8, copies, cells]), product(&[8, copies, rows])]);
    sum(&[vectors, product(&[8 * 8, dim, dim]), product(&[8, dim, cells])])
}

/// Sizes come from a user, and may be beyond all measure.
fn product(factors: &[usize]) -> u64 {
    factors.iter().fold(1, |product: u64, &factor| product.saturating_mul(factor as u64))
}

fn sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum: u64, &part| sum.saturating_add(part))
}
