//! The memory of a run, computed from sizes before anything is allocated.

use super::{Draw, MovesChoice, Problem, Settings};
use crate::counts::{CountProblem, Shares};
use crate::kernel::{KernelChoice, RecordSizes};

/// The peak memory of a run, in bytes.
///
/// Chains need memory in proportion to the records, and only those that run at the same time. The
/// sum is over the arrays that grow with the problem. It is 10 to 100 per cent above the measured
/// use, which depends on the kernel and the moves that a chain chooses. It excludes the program
/// itself, a few megabytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeed {
    /// One running chain.
    pub chain: u64,
    /// The number of chains that run at the same time.
    pub at_a_time: u64,
    /// The draws: all of them if they are kept in memory; if they are stored, one column of them
    /// and its diagnostics.
    pub draws: u64,
}

/// Bytes per draw of one parameter for its diagnostics, beside the draw itself: ranks, split chains
/// and the Fourier transform of a chain.
const DIAGNOSTICS: u64 = 45;

/// Draws that a store buffers per chain before it writes a file, and as many being written.
const STORED_ROWS: u64 = 2 << 15;

impl MemoryNeed {
    /// The memory of a run of `problem` on `threads` threads, with draws in memory or `stored`.
    pub fn of(problem: &Problem, settings: &Settings, threads: usize, stored: bool) -> Self {
        let outputs = problem.output_count();
        let all = (settings.chains as u64).saturating_mul(settings.draws);
        let row = product(&[8, outputs]);
        let kept = match stored {
            // A growing vector has a capacity of up to twice its length.
            false => all.saturating_mul(row.saturating_add(16 + 2 * size_of::<Draw>() as u64)),
            true => (settings.chains as u64)
                .saturating_mul(settings.draws.min(STORED_ROWS))
                .saturating_mul(row.saturating_add(32)),
        };
        let chain = match problem.counts() {
            Ok(counts) if settings.samples_counts(problem) => {
                of_counts(counts, stored).saturating_add(of_records(problem))
            }
            _ => of_chain(problem, settings, stored),
        };
        MemoryNeed {
            chain,
            at_a_time: threads.clamp(1, settings.chains.max(1)) as u64,
            draws: kept.saturating_add(all.saturating_mul(8 + DIAGNOSTICS)),
        }
    }

    /// The total.
    pub fn bytes(&self) -> u64 {
        self.chain.saturating_mul(self.at_a_time).saturating_add(self.draws)
    }
}

fn of_chain(problem: &Problem, settings: &Settings, stored: bool) -> u64 {
    let (release, model) = (problem.release(), problem.record_model());
    let query = release.query();
    let (n, d, k) = (release.n(), query.record_dim(), query.dim());
    let records = product(&[8, n, d]);
    let statistics = product(&[8, n, k]);
    let is_coded = crate::records::imputed::is_coded(query.as_ref());
    let held = if is_coded { n as u64 } else { statistics };

    let sizes = RecordSizes { n, statistic_dim: k, is_coded };
    let kernel = settings.kernel.memory(sizes);
    let trial = if settings.kernel == KernelChoice::Auto { records } else { 0 };

    // Theta updates keep the current and the proposed noise, and records with their statistics.
    // If n is unknown, so do the records that are present.
    let held = if release.slotted().is_some() { sum(&[held, records, held]) } else { held };
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

    // A chain starts with two copies of its records. A checkpoint is a copy and its encoding, which
    // grows by doubling. Summaries of the records sort one column.
    let start = records;
    let checkpoint = if stored { product(&[3 * 8, n, d]) } else { 0 };
    let column = if problem.fixed().is_some() { product(&[8, n]) } else { 0 };
    let passing = start.max(sum(&[trial.max(checkpoint), column]));
    let all = sum(&[records, held, kernel, moves, matrices, passing]);
    all.saturating_add(all / 10)
}

/// A chain of counts: the counts, their adapted proposals and the published sums, with a few copies
/// of each; matrices of theta.
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

/// Records drawn given the counts, a copy of them to be shown and the rows of a file; nothing, if no
/// records are stored.
fn of_records(problem: &Problem) -> u64 {
    let numbers = product(&[problem.release().n(), problem.record_model().record_dim()]);
    if problem.wants_records() { numbers.saturating_mul(4 * 8) } else { 0 }
}

/// Saturates: sizes come from a user and may overflow.
fn product(factors: &[usize]) -> u64 {
    factors.iter().fold(1, |product: u64, &factor| product.saturating_mul(factor as u64))
}

fn sum(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum: u64, &part| sum.saturating_add(part))
}
