//! SOMA on two chains by bounds of all weights in single precision.

use std::ops::Range;

use rand::RngExt;

use super::by_scan::{self, Weights};
use super::index::Coupled;
use super::pair::{Offer, Pair};
use super::places::{Places, Taken, place};
use super::sharp::sharpen;
use crate::kernel::columns::Columns;
use crate::kernel::exp::exp;
use crate::kernel::shape::Falloff;
use crate::kernel::vector::{LANES, Vector};
use crate::rng::Rng;

/// The bounds of both chains' weights at consecutive places.
///
/// The bounds are those of the plain kernel, see [`Columns`], but with the exponential function to
/// four digits: all but some 3e-4 of a bound is weight. The two choices under the bounds are
/// coupled maximally, and each is kept with probability w_i / bound against one uniform; a chain
/// that does not keep its choice draws again. So each chain chooses with probability w_i / W, and
/// the two agree as often as under the maximal coupling, up to some 3e-4.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounds {
    places: Range<usize>,
    columns: [Columns; 2],
    bounds: [Vec<f64>; 2],
    scratch: Vec<[f64; 2]>,
    /// For where single precision says nothing of the weights.
    weights: Weights,
}

impl Bounds {
    /// Copies the statistics of the records in `places`.
    #[inline(always)]
    pub fn load<V: Vector, const K: usize>(&mut self, pair: &Pair, places: Range<usize>) {
        for (columns, records) in self.columns.iter_mut().zip(pair.records()) {
            columns.load::<V, K>(records, places.clone());
        }
        self.places = places;
    }

    #[inline(always)]
    fn choose<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        currents: [f64; 2],
        offer: &Offer<'_>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Taken; 2] {
        let Bounds { places, columns, bounds, scratch, weights } = self;
        let (start, size) = (places.start, places.len());
        let both = pair.records();
        let mut totals = [0.0; 2];
        for side in 0..2 {
            let (residual, statistic) = (both[side].residual(), offer.statistics[side]);
            columns[side].weigh::<S, V, K>(residual, statistic, -currents[side]);
            totals[side] = sharpen_all(columns[side].masses(), size, &mut bounds[side]);
        }
        if columns.iter().any(Columns::is_too_rough) {
            let at = |slot| start + slot;
            return by_scan::soma::<S, V, K>(
                pair,
                currents,
                size,
                at,
                offer,
                weights,
                evaluations,
                rng,
            );
        }
        let mut chosen: [Option<(usize, f64)>; 2] = [None; 2];
        while chosen[0].is_none() || chosen[1].is_none() {
            let slots = match chosen {
                [None, None] => {
                    let coupled = Coupled::new([&bounds[0], &bounds[1]], totals);
                    match coupled.common(rng.random()) {
                        Ok(slot) => [slot; 2],
                        Err(rest) => coupled.apart(rest, pair.open_from(start), scratch),
                    }
                }
                [Some(_), _] => [draw(&bounds[1][..size], totals[1], rng); 2],
                [_, Some(_)] => [draw(&bounds[0][..size], totals[0], rng); 2],
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
                    chosen[side] = Some((slot, cost));
                }
            }
        }
        let u: f64 = rng.random();
        let mut taken = [None; 2];
        for side in 0..2 {
            let Some((slot, cost)) = chosen[side] else { continue };
            let (records, current) = (both[side], -currents[side]);
            if columns[side].is_taken::<S, V, K>(u, records, cost, current, evaluations) {
                taken[side] = Some((start + slot, -cost));
            }
        }
        taken
    }

    /// The records at the places where something was taken are others now.
    #[inline(always)]
    fn moved<V: Vector, const K: usize>(&mut self, pair: &Pair, taken: [Taken; 2]) {
        let start = self.places.start;
        if let Some((i, _)) = taken[0] {
            let [first, second] = pair.records();
            self.columns[0].replace::<V, K>(i - start, first.statistic_known::<K>(i));
            // Where both have taken, the second chain may have been relabelled.
            if taken[1].is_some() {
                self.columns[1].replace::<V, K>(i - start, second.statistic_known::<K>(i));
            }
        }
        if let Some(j) = place(taken[1]).filter(|_| place(taken[0]) != place(taken[1])) {
            let second = pair.records()[1];
            self.columns[1].replace::<V, K>(j - start, second.statistic_known::<K>(j));
        }
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

/// Puts 2^(i + f) into `bounds` for each mass 2^i (1 + f), and a little more for rounding; zero
/// beyond the first `size`. Returns their sum.
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

/// All places, by bounds of all weights.
pub(super) struct AllByBounds<'a>(pub &'a mut Bounds);

impl Places for AllByBounds<'_> {
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
        self.0.choose::<S, V, K>(pair, currents, offer, evaluations, rng)
    }

    #[inline(always)]
    fn moved<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        taken: [Taken; 2],
        _: &Offer<'_>,
    ) {
        self.0.moved::<V, K>(pair, taken);
    }
}

/// Block after block of so many places, by bounds of all weights in the block.
pub(super) struct Blocks<'a> {
    pub size: usize,
    pub bounds: &'a mut Bounds,
}

impl Places for Blocks<'_> {
    fn relabels(&self) -> bool {
        true
    }

    #[inline(always)]
    fn choose<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        currents: [f64; 2],
        turn: usize,
        offer: &Offer<'_>,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> [Taken; 2] {
        if turn.is_multiple_of(self.size) {
            self.bounds.load::<V, K>(pair, turn..pair.n().min(turn + self.size));
        }
        self.bounds.choose::<S, V, K>(pair, currents, offer, evaluations, rng)
    }

    #[inline(always)]
    fn moved<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        pair: &Pair,
        taken: [Taken; 2],
        _: &Offer<'_>,
    ) {
        self.bounds.moved::<V, K>(pair, taken);
    }
}
