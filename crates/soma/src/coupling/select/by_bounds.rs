//! Coupled SOMA by single-precision bounds of all weights.

use std::ops::Range;

use rand::RngExt;

use super::by_scan::Weights;
use super::index::Coupled;
use super::places::{Choice, Move, Places, Taken, place};
use super::sharp::sharpen;
use crate::coupling::pair::{Pair, Proposal};
use crate::kernel::select::scan::columns::{Columns, Scanned};
use crate::numeric::exp::exp;
use crate::rng::Rng;
use crate::simd::cost::Cost;
use crate::simd::vector::{LANES, Vector};

/// After this many rejections all weights are computed. Nearly every selection is accepted.
const TRIES: usize = 256;

/// Bounds of both chains' weights at consecutive places.
///
/// These are the bounds of the plain kernel, see [`Columns`], but with exp to a relative error of
/// 3e-4. The selections under the bounds are coupled maximally, and each is accepted with
/// probability w_i / bound against one uniform; a chain that rejects draws again. So each chain
/// selects with probability w_i / W, and the two agree as often as under the maximal coupling, up
/// to about 3e-4.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds {
    places: Range<usize>,
    columns: [Columns; 2],
    bounds: [Vec<f64>; 2],
    /// The fallback if the weights are out of the range of single precision.
    weights: Weights,
}

impl Bounds {
    /// Copies the statistics of the records in `places`.
    #[inline(always)]
    fn load<V: Vector, const K: usize>(&mut self, pair: &Pair, places: Range<usize>) {
        for (columns, records) in self.columns.iter_mut().zip(pair.records()) {
            columns.load::<V, K>(records, places.clone());
        }
        self.places = places;
    }

    /// A place for each chain, drawn with probability w_i / W.
    #[inline(always)]
    fn choose<S: Cost, V: Vector, const K: usize>(
        &mut self,
        at: &Move<'_, S>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Choice; 2] {
        let Bounds { places, columns, bounds, weights } = self;
        let (start, size) = (places.start, places.len());
        let both = at.pair.records();
        let mut totals = [0.0; 2];
        for side in 0..2 {
            let (residual, statistic) = (both[side].residual(), at.proposal.statistics[side]);
            columns[side].weigh::<S, V, K>(residual, statistic, at.currents[side]);
            totals[side] = sharpen_all(columns[side].masses(), size, &mut bounds[side]);
        }
        if columns.iter().any(Columns::is_too_rough) {
            return weights.choose::<S, V, K>(at, size, |slot| start + slot, evaluations, rng);
        }
        let mut chosen: [Option<Choice>; 2] = [None; 2];
        for _ in 0..TRIES {
            let slots = match chosen {
                [None, None] => Coupled::new([&bounds[0], &bounds[1]], totals)
                    .slots::<V, _>(rng.random(), || at.pair.open_from(start)),
                [None, _] => [draw(&bounds[0][..size], totals[0], rng); 2],
                [_, None] => [draw(&bounds[1][..size], totals[1], rng); 2],
                [Some(first), Some(second)] => return [first, second],
            };
            let u: f64 = rng.random();
            for side in 0..2 {
                if chosen[side].is_some() {
                    continue;
                }
                *evaluations += 1;
                let slot = slots[side].min(size - 1);
                let cost = columns[side].cost::<S, V, K>(both[side], slot);
                let weight = || exp((columns[side].unit() - cost).min(600.0));
                if u < columns[side].surely_sharp() || u * bounds[side][slot] < weight() {
                    chosen[side] = Some((start + slot, cost));
                }
            }
        }
        // Draws are independent, so any exact draw may follow a rejection.
        let exact = weights.choose::<S, V, K>(at, size, |slot| start + slot, evaluations, rng);
        [0, 1].map(|side| chosen[side].unwrap_or(exact[side]))
    }
}

/// A slot drawn with probability proportional to its bound.
#[cold]
fn draw(bounds: &[f64], total: f64, rng: &mut Rng) -> usize {
    let mut left = rng.random::<f64>() * total;
    let mut slot = 0;
    for (at, &bound) in bounds.iter().enumerate() {
        slot = at;
        left -= bound;
        if left < 0.0 {
            break;
        }
    }
    slot
}

/// Converts each mass 2^i (1 + f) to 2^(i + f), rounded up, and writes zeros beyond the first
/// `size`. Returns the sum.
#[inline(always)]
fn sharpen_all(masses: &[f32], size: usize, bounds: &mut Vec<f64>) -> f64 {
    bounds.resize(masses.len(), 0.0);
    for (bounds, masses) in bounds.chunks_exact_mut(LANES).zip(masses.chunks_exact(LANES)) {
        let mut sharp = [0.0; LANES];
        for l in 0..LANES {
            sharp[l] = sharpen(masses[l].to_bits());
        }
        for l in 0..LANES {
            bounds[l] = f64::from(sharp[l]);
        }
    }
    bounds[size..].fill(0.0);
    let mut sums = [0.0; 8];
    for eight in bounds.chunks_exact(8) {
        for l in 0..8 {
            sums[l] += eight[l];
        }
    }
    sums.iter().sum()
}

/// All places by bounds of all weights, or blocks in turn by the bounds within the block.
pub(crate) struct Bounded<'a> {
    /// The size of a block.
    pub size: Option<usize>,
    pub bounds: &'a mut Bounds,
}

impl<S: Cost> Places<S> for Bounded<'_> {
    #[inline(always)]
    fn choose<V: Vector, const K: usize>(
        &mut self,
        at: &Move<'_, S>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Choice; 2] {
        let n = at.pair.n();
        match self.size {
            None if at.turn == 0 => self.bounds.load::<V, K>(at.pair, 0..n),
            Some(size) if at.turn.is_multiple_of(size) => {
                self.bounds.load::<V, K>(at.pair, at.turn..n.min(at.turn + size));
            }
            _ => {}
        }
        self.bounds.choose::<S, V, K>(at, evaluations, rng)
    }

    #[inline(always)]
    fn takes<V: Vector, const K: usize>(
        &self,
        side: usize,
        (_, cost): Choice,
        uniform: f64,
        at: &Move<'_, S>,
        evaluations: &mut u64,
    ) -> bool {
        let (records, current) = (at.pair.records()[side], at.currents[side]);
        let columns = &self.bounds.columns[side];
        columns.is_taken::<S, V, K>(uniform, records, cost, current, evaluations)
    }

    #[inline(always)]
    fn moved<V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        taken: [Taken; 2],
        _: &Proposal<'_>,
    ) {
        let Bounds { columns, places, .. } = &mut *self.bounds;
        let (start, [first, second]) = (places.start, pair.records());
        if let Some((i, _)) = taken[0] {
            columns[0].replace::<V, K>(i - start, first.statistic_known::<K>(i));
            // On a joint acceptance the second chain may have been relabelled.
            if taken[1].is_some() {
                columns[1].replace::<V, K>(i - start, second.statistic_known::<K>(i));
            }
        }
        if let Some(j) = place(taken[1]).filter(|_| place(taken[0]) != place(taken[1])) {
            columns[1].replace::<V, K>(j - start, second.statistic_known::<K>(j));
        }
    }
}
