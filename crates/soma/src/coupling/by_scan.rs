//! SOMA on two chains by the maximal coupling of their choices of a place: the reference.

use rand::RngExt;

use super::index::{Coupled, TOGETHER};
use super::pair::{Offer, Pair};
use super::places::{Places, Taken};
use crate::kernel::exp::exp;
use crate::kernel::shape::{Falloff, log_weight_with};
use crate::kernel::vector::Vector;
use crate::kernel::{Records, Subset};
use crate::rng::Rng;

/// Memory for the weights of both chains.
#[derive(Debug, Clone, Default)]
pub(super) struct Weights {
    weights: [Vec<f64>; 2],
    open: Vec<f64>,
    scratch: Vec<[f64; 2]>,
}

/// All places.
pub(super) struct All<'a>(pub &'a mut Weights);

impl Places for All<'_> {
    fn relabels(&self) -> bool {
        true
    }

    #[inline(always)]
    fn choose<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        currents: [f64; 2],
        _: usize,
        offer: &Offer<'_>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Taken; 2] {
        soma::<S, V, K>(pair, currents, pair.n(), |slot| slot, offer, self.0, evaluations, rng)
    }
}

/// Some of the places: the same ones for both chains.
pub(super) struct Part<'a> {
    pub size: usize,
    pub subset: Subset,
    /// Where the next cyclic subset starts.
    pub next: &'a mut usize,
    /// All places, shuffled from the front.
    pub order: &'a mut [usize],
    pub weights: &'a mut Weights,
}

impl Places for Part<'_> {
    fn relabels(&self) -> bool {
        self.subset == Subset::Random || self.order.len().is_multiple_of(self.size)
    }

    #[inline(always)]
    fn choose<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        currents: [f64; 2],
        _: usize,
        offer: &Offer<'_>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Taken; 2] {
        let Part { size, subset, next, order, weights } = self;
        let (n, size) = (pair.n(), *size);
        if *subset == Subset::Random {
            for i in 0..size {
                order.swap(i, rng.random_range(i..n));
            }
            let place = |slot: usize| order[slot];
            return soma::<S, V, K>(pair, currents, size, place, offer, weights, evaluations, rng);
        }
        let start = std::mem::replace(*next, (**next + size) % n);
        let place = |slot: usize| if start + slot < n { start + slot } else { start + slot - n };
        soma::<S, V, K>(pair, currents, size, place, offer, weights, evaluations, rng)
    }
}

/// One SOMA move of both chains on `size` places: where each takes its offer.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn soma<S: Falloff, V: Vector, const K: usize>(
    pair: &Pair,
    currents: [f64; 2],
    size: usize,
    place: impl Fn(usize) -> usize + Copy,
    offer: &Offer<'_>,
    memory: &mut Weights,
    evaluations: &mut u64,
    rng: &mut Rng,
) -> [Taken; 2] {
    let Weights { weights, open, scratch } = memory;
    let mut totals = [0.0; 2];
    let mut tops = [0.0; 2];
    let both = pair.records();
    for side in 0..2 {
        (totals[side], tops[side]) =
            weigh::<S, V, K>(both[side], size, place, offer.statistics[side], &mut weights[side]);
    }
    *evaluations += 2 * size as u64;
    let coupled = Coupled::new([&weights[0], &weights[1]], totals);
    let slots = match coupled.common(rng.random()) {
        Ok(slot) => [slot; 2],
        Err(rest) => {
            open.clear();
            open.extend((0..size).map(|slot| pair.open_from(place(slot))[0]));
            open.resize(weights[0].len(), 0.0);
            coupled.apart(rest, open, scratch)
        }
    };
    let u: f64 = rng.random();
    let mut taken = [None; 2];
    for side in 0..2 {
        let weight = weights[side][slots[side]];
        // Beyond exp(600) an offer is refused all the same.
        let excess = exp((currents[side] - tops[side]).min(600.0)) - weight;
        if excess <= 0.0 || u * (totals[side] + excess) < totals[side] {
            let at = place(slots[side]);
            let old = both[side].statistic_known::<K>(at);
            let residual = both[side].residual();
            let weight = log_weight_with::<S, V, K>(residual, old, offer.statistics[side]);
            taken[side] = Some((at, weight));
        }
    }
    taken
}

/// The weights of an offer at the first `size` places, relative to the largest of them, filled up
/// with zeros. Returns their sum, and the logarithm of the largest.
#[inline(always)]
fn weigh<S: Falloff, V: Vector, const K: usize>(
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
        *weight = log_weight_with::<S, V, K>(residual, old, statistic);
        top = if *weight > top { *weight } else { top };
    }
    for weight in weights.iter_mut() {
        *weight = exp(*weight - top);
    }
    // Four sums side by side need not wait for each other.
    let mut sums = [0.0; 4];
    for four in weights.chunks_exact(4) {
        for (sum, weight) in sums.iter_mut().zip(four) {
            *sum += weight;
        }
    }
    ((sums[0] + sums[1]) + (sums[2] + sums[3]), top)
}
