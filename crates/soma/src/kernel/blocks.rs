//! SOMA on consecutive blocks of records.

use pulp::Arch;
use serde::{Deserialize, Serialize};

use super::columns::{Columns, Scanned};
use super::offers::Batches;
use super::shape::{Falloff, log_density_with};
use super::specialise::{Work, specialised};
use super::steps::Steps;
use super::vector::Vector;
use super::{Batch, Counts, Offers, Records};
use crate::chain::check::Check;
use crate::error::{Invalid, Outcome};
use crate::release::mechanism::Shape;
use crate::rng::Rng;

/// Goes through the records in blocks of m, and makes m SOMA moves within each; the last block is
/// shorter, and gets as many moves as it has records, where m does not divide n.
///
/// Each move is reversible with respect to pi (the paper's Lemma on m components, the subset being
/// the block); the sweep leaves pi invariant. A move costs m weights of records that lie side by
/// side, whatever n is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SomaBlocks {
    size: usize,
    #[serde(skip)]
    columns: Columns,
    #[serde(skip)]
    steps: Steps,
    #[serde(skip)]
    batch: Batch,
}

/// How many records a block holds unless it is said: about as many as weigh as much as a draw.
const SIZE: usize = 16;

impl SomaBlocks {
    /// How many of `n` records a block holds unless it is said.
    pub(crate) fn usual_size(n: usize) -> usize {
        SIZE.min(n)
    }

    /// The kernel on blocks of `size` of the `n` records, or of a size that suits.
    pub fn new(n: usize, size: Option<usize>) -> Result<Self, Invalid> {
        let size = size.unwrap_or(SomaBlocks::usual_size(n));
        if size < 1 || size > n {
            return Err(Invalid::new(
                "subset",
                "a block must hold some of the records",
                size,
                format!("a whole number from 1 to n = {n}"),
            ));
        }
        let (columns, steps, batch) = Default::default();
        Ok(SomaBlocks { size, columns, steps, batch })
    }

    /// Whether a block of `n` records can be of this size.
    pub(super) fn check_state(&self, n: usize) -> Check {
        SomaBlocks::new(n, Some(self.size)).map(|_| ()).map_err(|invalid| invalid.to_string())
    }

    pub(super) fn is_of(&self, size: Option<usize>) -> bool {
        size.is_none_or(|size| size == self.size)
    }

    pub(super) fn sweep(
        &mut self,
        records: &mut Records,
        offers: &mut dyn Offers,
        shape: Shape,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let k = records.k();
        specialised(Sweep { kernel: self, records, offers, rng }, shape, k, Arch::new())
    }
}

struct Sweep<'a> {
    kernel: &'a mut SomaBlocks,
    records: &'a mut Records,
    offers: &'a mut dyn Offers,
    rng: &'a mut Rng,
}

impl Work for Sweep<'_> {
    type Output = Outcome<Counts>;

    #[inline(always)]
    fn run<S: Falloff, V: Vector, const K: usize>(self) -> Outcome<Counts> {
        let Sweep { kernel: SomaBlocks { size, columns, steps, batch }, records, offers, rng } =
            self;
        let batches = Batches::new(records.n(), offers, batch);
        if steps.suit::<S, V, K>(records) {
            make_moves::<S, V, K, _>(*size, steps, records, batches, rng)
        } else {
            make_moves::<S, V, K, _>(*size, columns, records, batches, rng)
        }
    }
}

#[inline(always)]
fn make_moves<S: Falloff, V: Vector, const K: usize, T: Scanned>(
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
