//! Coupled SOMA by the maximal coupling of the two selections: the reference.

use rand::RngExt;

use super::index::{Coupled, TOGETHER};
use super::places::{Choice, Move, Places};
use crate::kernel::Subset;
use crate::numeric::exp::exp;
use crate::records::Records;
use crate::release::potential::Evaluate;
use crate::rng::Rng;
use crate::simd::vector::Vector;

/// Buffers for the weights of both chains.
#[derive(Debug, Clone, Default)]
pub(crate) struct Weights {
    weights: [Vec<f64>; 2],
    totals: [f64; 2],
    /// The smallest cost; weights are relative to it.
    least: [f64; 2],
    open: Vec<f64>,
}

/// The places that a move selects from: the same in both chains.
pub(crate) enum Among<'a> {
    /// All places.
    All,
    /// A subset of `size` places.
    Subset {
        size: usize,
        subset: Subset,
        /// The start of the next cyclic subset.
        next: &'a mut usize,
        /// A permutation of the places; a random subset is a shuffled prefix.
        order: &'a mut [usize],
    },
    /// The current block of `size` places; the last block may be shorter.
    Block { size: usize },
}

/// Selects `among` places by computing all their weights.
pub(crate) struct Weighed<'a> {
    pub among: Among<'a>,
    pub weights: &'a mut Weights,
}

impl<P: Evaluate> Places<P> for Weighed<'_> {
    fn relabels(&self) -> bool {
        match &self.among {
            Among::All | Among::Block { .. } => true,
            Among::Subset { size, subset, order, .. } => {
                *subset == Subset::Random || order.len().is_multiple_of(*size)
            }
        }
    }

    #[inline(always)]
    fn choose<V: Vector, const K: usize>(
        &mut self,
        at: &Move<'_, P>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Choice; 2] {
        let (n, weights) = (at.pair.n(), &mut *self.weights);
        match &mut self.among {
            Among::All => weights.choose::<P, V, K>(at, n, |slot| slot, evaluations, rng),
            Among::Subset { size, subset: Subset::Random, order, .. } => {
                for i in 0..*size {
                    order.swap(i, rng.random_range(i..n));
                }
                let place = |slot: usize| order[slot];
                weights.choose::<P, V, K>(at, *size, place, evaluations, rng)
            }
            Among::Subset { size, subset: Subset::Cyclic, next, .. } => {
                let start = std::mem::replace(*next, (**next + *size) % n);
                let place = |slot| if start + slot < n { start + slot } else { start + slot - n };
                weights.choose::<P, V, K>(at, *size, place, evaluations, rng)
            }
            Among::Block { size } => {
                let start = at.turn - at.turn % *size;
                let size = (*size).min(n - start);
                weights.choose::<P, V, K>(at, size, |slot| start + slot, evaluations, rng)
            }
        }
    }

    /// The acceptance test with probability min(1, W / (W + w_0 - w_i)).
    #[inline(always)]
    fn takes<V: Vector, const K: usize>(
        &self,
        side: usize,
        (_, cost): Choice,
        uniform: f64,
        at: &Move<'_, P>,
        _: &mut u64,
    ) -> bool {
        let (total, least) = (self.weights.totals[side], self.weights.least[side]);
        // Truncated at exp(600): the proposal is rejected in either case.
        let short = exp((least - at.currents[side]).min(600.0)) - exp(least - cost);
        short <= 0.0 || uniform * (total + short) < total
    }
}

impl Weights {
    /// A place for each chain, out of `size` slots.
    #[inline(always)]
    pub fn choose<P: Evaluate, V: Vector, const K: usize>(
        &mut self,
        at: &Move<'_, P>,
        size: usize,
        place: impl Fn(usize) -> usize + Copy,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Choice; 2] {
        let Weights { weights, totals, least, open } = self;
        let both = at.pair.records();
        for side in 0..2 {
            let (records, new) = (both[side], at.proposal.statistics[side]);
            (totals[side], least[side]) =
                weigh::<P, V, K>(at.potential, records, size, place, new, &mut weights[side]);
        }
        *evaluations += 2 * size as u64;
        let coupled = Coupled::new([&weights[0], &weights[1]], *totals);
        let padded = weights[0].len();
        let slots = coupled.slots::<V, _>(rng.random(), || {
            open.clear();
            open.extend((0..size).map(|slot| at.pair.open_from(place(slot))[0]));
            open.resize(padded, 0.0);
            &*open
        });
        let mut choices = [(0, 0.0); 2];
        for side in 0..2 {
            let chosen = place(slots[side]);
            let (records, new) = (both[side], at.proposal.statistics[side]);
            let old = records.statistic_known::<K>(chosen);
            choices[side] = (chosen, at.potential.cost_after::<V, K>(records.residual(), old, new));
        }
        choices
    }
}

/// The weights of a proposal at the first `size` places, relative to the largest, padded with
/// zeros. Returns their sum and the cost of the largest.
#[inline(always)]
fn weigh<P: Evaluate, V: Vector, const K: usize>(
    potential: &P,
    records: &Records,
    size: usize,
    place: impl Fn(usize) -> usize,
    statistic: &[f64],
    weights: &mut Vec<f64>,
) -> (f64, f64) {
    let residual = records.residual();
    weights.clear();
    weights.resize(size.next_multiple_of(TOGETHER), f64::NEG_INFINITY);
    let mut top = f64::NEG_INFINITY;
    for (slot, weight) in weights[..size].iter_mut().enumerate() {
        let old = records.statistic_known::<K>(place(slot));
        *weight = -potential.cost_after::<V, K>(residual, old, statistic);
        top = if *weight > top { *weight } else { top };
    }
    for weight in weights.iter_mut() {
        *weight = exp(*weight - top);
    }
    // Four partial sums: no dependency chain.
    let mut sums = [0.0; 4];
    for four in weights.chunks_exact(4) {
        for (sum, weight) in sums.iter_mut().zip(four) {
            *sum += weight;
        }
    }
    ((sums[0] + sums[1]) + (sums[2] + sums[3]), -top)
}
