//! SOMA on consecutive blocks of records.

use pulp::Arch;
use serde::{Deserialize, Serialize};

use super::KernelChoice;
use super::counts::{Counts, SweepCost};
use super::select::scan::columns::{Columns, Scanned};
use super::select::scan::quantised::Quantised;
use super::soma_scan::soma_move;
use super::table::{Context, Coupling, KernelOptions, RecordKernel, some_of};
use crate::error::{Invalid, Outcome};
use crate::records::proposals::{Batches, for_each_proposal};
use crate::records::{Batch, Proposals, Records};
use crate::release::Release;
use crate::release::potential::{Norm, Potential};
use crate::rng::Rng;
use crate::simd::cost::{Cost, L1, L2, log_density_with};
use crate::simd::specialise::{Work, specialised};
use crate::simd::vector::Vector;
use crate::stored::{Check, ensure};

/// Makes m SOMA moves within each block of m consecutive records. If m does not divide n, the last
/// block is shorter and gets one move per record.
///
/// Each move is reversible with respect to pi (the paper's Lemma on m components, with the block as
/// the subset); the sweep leaves pi invariant. A move costs m weights of adjacent records,
/// independently of n.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SomaBlocks {
    size: usize,
    #[serde(skip)]
    columns: Columns,
    #[serde(skip)]
    quantised: Quantised,
    #[serde(skip)]
    batch: Batch,
    #[serde(skip)]
    weights: Vec<f64>,
}

/// The default block size: at 16, weighing a block costs about as much as drawing a record.
const SIZE: usize = 16;

impl SomaBlocks {
    /// The kernel on blocks of `size` of the `n` records; `None` for the default size.
    pub fn new(n: usize, size: Option<usize>) -> Result<Self, Invalid> {
        let size = size.unwrap_or(SIZE.min(n));
        let size = some_of(n, size, "the size of the block is out of range")?;
        let (columns, quantised, batch, weights) = Default::default();
        Ok(SomaBlocks { size, columns, quantised, batch, weights })
    }

    /// The moves of a sweep for any potential: each computes the weights of the whole block.
    fn make_plain_moves(
        &mut self,
        records: &mut Records,
        proposals: &mut dyn Proposals,
        potential: &Potential,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let (n, size) = (records.n(), self.size);
        let mut counts = Counts { moves: n as u64, ..Counts::default() };
        for_each_proposal(n, proposals, &mut self.batch, rng, |turn, y, t, rng| {
            let start = turn - turn % size;
            let block = start..n.min(start + size);
            counts.evaluations += block.len() as u64;
            if let Some(i) = soma_move(potential, records, block, t, &mut self.weights, rng) {
                records.replace(i, y, t);
                counts.accepted += 1;
            }
        })?;
        Ok(counts)
    }
}

impl RecordKernel for SomaBlocks {
    const NAME: &'static str = "soma-blocks";
    const OPTIONS: &'static [&'static str] = &["subset"];
    const AUTO_RANK: Option<usize> = Some(2);

    fn choice(options: KernelOptions, _: usize) -> KernelChoice {
        KernelChoice::SomaBlocks { size: options.subset }
    }

    fn options(choice: KernelChoice) -> KernelOptions {
        match choice {
            KernelChoice::SomaBlocks { size } => KernelOptions { subset: size, order: None },
            _ => KernelOptions::default(),
        }
    }

    fn build(choice: KernelChoice, n: usize) -> Result<Self, Invalid> {
        SomaBlocks::new(n, Self::options(choice).subset)
    }

    fn cost(&self, _: f64) -> SweepCost {
        SweepCost { per_sweep: 5.0, per_move: 8.2, per_weight: 1.0 }
    }

    fn coupling(&self) -> Coupling {
        Coupling::Blocks { size: self.size }
    }

    fn check(&self, release: &Release) -> Check {
        ensure((1..=release.n()).contains(&self.size), "the size of the block is out of range")
    }

    fn is_chosen_by(&self, options: KernelOptions) -> bool {
        options.subset.is_none_or(|size| size == self.size)
    }

    fn sweep(&mut self, at: Context<'_>) -> Outcome<Counts> {
        let Context { records, proposals, potential, rng } = at;
        let k = records.k();
        let Some(norm) = potential.norm() else {
            return self.make_plain_moves(records, proposals, potential, rng);
        };
        let sweep = Sweep { kernel: self, records, proposals, rng };
        match norm {
            Norm::L1 => specialised::<_, L1>(sweep, k, Arch::new()),
            Norm::L2 => specialised::<_, L2>(sweep, k, Arch::new()),
        }
    }
}

struct Sweep<'a> {
    kernel: &'a mut SomaBlocks,
    records: &'a mut Records,
    proposals: &'a mut dyn Proposals,
    rng: &'a mut Rng,
}

impl Work for Sweep<'_> {
    type Output = Outcome<Counts>;

    #[inline(always)]
    fn run<S: Cost, V: Vector, const K: usize>(self) -> Outcome<Counts> {
        let Sweep {
            kernel: SomaBlocks { size, columns, quantised, batch, .. },
            records,
            proposals,
            rng,
        } = self;
        let batches = Batches::new(records.n(), proposals, batch);
        if quantised.suit::<S, V, K>(records) {
            make_moves::<S, V, K, _>(*size, quantised, records, batches, rng)
        } else {
            make_moves::<S, V, K, _>(*size, columns, records, batches, rng)
        }
    }
}

#[inline(always)]
fn make_moves<S: Cost, V: Vector, const K: usize, T: Scanned>(
    size: usize,
    block: &mut T,
    records: &mut Records,
    mut batches: Batches,
    rng: &mut Rng,
) -> Outcome<Counts> {
    let n = records.n();
    let mut counts = Counts { moves: n as u64, ..Counts::default() };
    let mut current = -log_density_with::<S, V, K>(records.residual());
    let (mut start, mut end) = (0, 0);
    while let Some(turns) = batches.next(rng)? {
        for (j, turn) in turns.enumerate() {
            if turn == end {
                (start, end) = (turn, n.min(turn + size));
                block.load::<V, K>(records, start..end);
            }
            let (y, t) = (batches.batch().record(j), batches.batch().statistic(j));
            let count = &mut counts.evaluations;
            let (i, cost) = block.select::<S, V, K>(records, t, current, count, rng);
            if block.accepts::<S, V, K>(records, cost, current, count, rng) {
                records.replace_known::<V, K>(start + i, y, t);
                block.replace::<V, K>(i, t);
                current = cost;
                counts.accepted += 1;
            }
        }
    }
    Ok(counts)
}
