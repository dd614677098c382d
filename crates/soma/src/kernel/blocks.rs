//! SOMA on consecutive blocks of records.

use pulp::Arch;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::exp::exp;
use super::offers::Batches;
use super::shape::{Falloff, log_density_with, log_weight_with};
use super::specialise::{Work, specialised};
use super::vector::Vector;
use super::{Batch, Counts, Offers, Records};
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
    weights: Vec<f64>,
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
        Ok(SomaBlocks { size, weights: vec![0.0; size], batch: Batch::default() })
    }

    pub(super) fn sweep(
        &mut self,
        records: &mut Records,
        offers: &mut dyn Offers,
        shape: Shape,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        let k = records.k();
        self.weights.resize(self.size, 0.0);
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
        let Sweep { kernel: SomaBlocks { size, weights, batch }, records, offers, rng } = self;
        let n = records.n();
        let mut counts = Counts { moves: n as u64, ..Counts::default() };
        let mut current = log_density_with::<S, V, K>(records.residual());
        let mut batches = Batches::new(n, offers, batch);
        while let Some(turns) = batches.next(rng)? {
            for (j, turn) in turns.enumerate() {
                let (y, t) = (batches.batch().record(j), batches.batch().statistic(j));
                let start = turn - turn % *size;
                let weights = &mut weights[..(*size).min(n - start)];
                counts.evaluations += weights.len() as u64;
                let chosen = choose::<S, V, K>(records, start, t, current, weights, rng);
                if let Some((place, weight)) = chosen {
                    records.replace_known::<V, K>(place, y, t);
                    current = weight;
                    counts.accepted += 1;
                }
            }
        }
        Ok(counts)
    }
}

/// The place of the block from `start` that the offer takes, if any, and its log weight.
#[inline(always)]
fn choose<S: Falloff, V: Vector, const K: usize>(
    records: &Records,
    start: usize,
    statistic: &[f64],
    current: f64,
    weights: &mut [f64],
    rng: &mut Rng,
) -> Option<(usize, f64)> {
    let residual = records.residual();
    let mut top = f64::NEG_INFINITY;
    for (i, weight) in weights.iter_mut().enumerate() {
        let old = records.statistic_known::<K>(start + i);
        *weight = log_weight_with::<S, V, K>(residual, old, statistic);
        top = if *weight > top { *weight } else { top };
    }
    // Weights are relative to the largest, so that they neither all vanish nor overflow.
    let mut total = 0.0;
    for weight in weights.iter() {
        total += exp(weight - top);
    }
    let mut left = rng.random::<f64>() * total;
    let mut chosen = 0;
    for (i, weight) in weights.iter().enumerate() {
        let mass = exp(weight - top);
        chosen = if mass > 0.0 { i } else { chosen };
        left -= mass;
        if left < 0.0 {
            break;
        }
    }
    let weight = weights[chosen];
    let taken = weight >= current || {
        let short = exp((current - top).min(600.0)) - exp(weight - top);
        rng.random::<f64>() * (total + short) < total
    };
    taken.then_some((start + chosen, weight))
}
