//! A SOMA move by a quantised scan: 16-bit bounds of all weights, and few exact weights.

mod quantiser;
#[cfg(test)]
mod tests;

use std::hint::select_unpredictable;
use std::ops::Range;

use rand::Rng as _;

use self::quantiser::{Quantiser, STEP};
use super::columns::{Scanned, draw_by_cost, is_enough};
use crate::numeric::aligned::Aligned;
use crate::numeric::exp::{LOOSE, exp, exp_above};
use crate::numeric::{least, most};
use crate::records::Records;
use crate::rng::{self, Rng};
use crate::simd::cost::{Cost, cost_with};
use crate::simd::vector::{LANES, Portable, STEPS_OF_ONE, Stepping, Vector};

/// log2 of the mass of w_0, if the range allows.
const STANDING: f64 = 14.0;
/// log2 of the largest mass, for up to 128 records.
const TOP: u32 = 24;
/// The sum of the masses is at least this many per record, to bound the error of rounding up.
const FEWEST: u32 = 64;
/// Exponents are truncated here: weights are only compared.
const MOST: f64 = 600.0;
/// After this many trials all weights are computed. Trials are independent, so stopping after a
/// fixed number does not change the distribution.
const TRIALS: usize = 64;

/// The statistics of consecutive records, quantised to 16 bits, by columns, for the L1 potential.
///
/// The mass of a record is an integer bound of its weight, in units of about w_0 / 2^14. It is
/// computed from lower bounds of the costs, with an error of at most one step per coordinate, with
/// 2^i (1 + f) >= 2^(i + f) for the exponential, and rounded up. A uniform point on the cumulative
/// masses selects a record, which is accepted if the position within its mass is below its weight,
/// in double precision. So record i is selected with probability w_i / W. Integer sums are exact.
/// It takes about 1.07 trials.
#[derive(Debug, Clone, Default)]
pub(crate) struct Quantised {
    places: Range<usize>,
    quantiser: Quantiser,
    columns: Aligned<i16>,
    /// Padding: zeros, and a cost that no record can have.
    none: Aligned<u16>,
    /// Released value minus sum minus the statistic of the proposal.
    apart: Aligned<f64>,
    /// The same plus the origin, clamped to the range, in steps.
    aim: Aligned<i16>,
    /// Eight zeros, then rows of eight cumulative masses; padded so that the number of LANES is a
    /// power of 2.
    sums: Aligned<u32>,
    /// The start of each of the eight columns of sums in the total order, and the end of the last.
    starts: [u32; 9],
    /// The cost of a mass of 1.
    unit: f64,
    /// The largest number of steps by which the smallest cost may be below that, and the smallest
    /// sum of the masses.
    room: f64,
    fewest: u32,
}

impl Quantised {
    /// Begins a sweep of `records` in parts. Returns whether quantisation is adequate.
    #[inline(always)]
    pub(crate) fn suit<S: Cost, V: Vector, const K: usize>(&mut self, records: &Records) -> bool {
        if S::IS_CURVED {
            return false;
        }
        self.quantiser.centre(records);
        self.quantiser.probe::<V, K>(records);
        !self.quantiser.is_wide()
    }

    /// The same for all `records` together, which are loaded.
    #[inline(always)]
    pub(crate) fn suit_all<S: Cost, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
    ) -> bool {
        if S::IS_CURVED {
            return false;
        }
        self.quantiser.centre(records);
        self.load::<V, K>(records, 0..records.n());
        self.quantiser.allow();
        !self.quantiser.is_wide()
    }

    /// Allocates for `count` records with statistics of length k.
    fn make_room(&mut self, count: usize, k: usize) {
        let padded = count.next_multiple_of(LANES);
        self.columns.fill_with(padded * k, 0);
        self.none.fill_with(padded, u16::MAX);
        self.none[..count].fill(0);
        self.apart.fill_with(k.next_multiple_of(4), 0.0);
        self.aim.fill_with(k.next_multiple_of(4), 0);
        let all = padded.next_power_of_two();
        self.sums.fill_with(8 + all, u32::MAX);
        self.sums[..8].fill(0);
        let top = TOP.min(31 - all.trailing_zeros());
        (self.room, self.fewest) = (STEPS_OF_ONE + f64::from(256 * top), FEWEST * padded as u32);
    }

    /// Computes all masses for a proposal.
    #[inline(always)]
    fn weigh<V: Vector, const K: usize>(
        &mut self,
        residual: &[f64],
        proposal: &[f64],
        current: f64,
    ) {
        let Quantised { quantiser, apart, aim, .. } = self;
        let paid = quantiser.aim::<V, K>(residual, proposal, apart, aim);
        let ones = (current - paid) * (1.0 / STEP) + (STEPS_OF_ONE + 256.0 * STANDING);
        let mut ones = least(most(ones, 0.0), 65_535.0);
        // A second time, with the largest mass at its limit, if masses relative to w_0 overflow or
        // underflow.
        for _ in 0..2 {
            let most = f64::from(self.fill::<V, K>(paid, ones as u16)) + self.room;
            if ones <= most && self.starts[8] >= self.fewest {
                break;
            }
            ones = least(most, 65_535.0);
        }
    }

    /// Computes the masses; a cost of `ones` steps beyond `paid` has a mass of about 1. Returns the
    /// smallest cost, in steps.
    #[inline(always)]
    fn fill<V: Vector, const K: usize>(&mut self, paid: f64, ones: u16) -> u16 {
        let k = if K == 0 { self.columns.len() / self.none.len() } else { K };
        let (ends, lightest) = V::weigh_steps::<K>(Stepping {
            columns: &self.columns,
            none: &self.none,
            aim: &self.aim,
            ones,
            sums: &mut self.sums[8..],
        });
        self.starts[1..].copy_from_slice(&ends);
        self.unit = paid + (f64::from(ones) - STEPS_OF_ONE - slack(k)) * STEP;
        lightest
    }

    /// The number of records.
    #[inline(always)]
    fn len(&self) -> usize {
        self.places.len()
    }

    /// The cost if record `i` is replaced.
    #[inline(always)]
    fn cost<S: Cost, V: Vector, const K: usize>(&self, records: &Records, i: usize) -> f64 {
        let old = records.statistic_known::<K>(self.places.start + i);
        cost_with::<S, V, K>(&self.apart[..old.len()], old)
    }

    /// The weight of a cost, in units of the masses.
    #[inline(always)]
    fn parts(&self, cost: f64) -> f64 {
        exp((self.unit - cost).min(MOST))
    }

    /// The record at a point of the cumulative masses, and the position within its mass. It may be
    /// padding.
    #[inline(always)]
    fn find(&self, point: u32) -> (usize, u32) {
        let column: usize =
            self.starts[1..8].iter().map(|&start| usize::from(start <= point)).sum();
        let left = point - self.starts[column & 7];
        let sums = &self.sums[8..];
        let (mut at, mut half) = (column & 7, sums.len() / 2);
        while half >= LANES {
            at += select_unpredictable(sums[at + half - 8] <= left, half, 0);
            half /= 2;
        }
        let row = usize::from(sums[at] <= left);
        // A row holds four records of each of two groups of eight.
        let i = at - column + 8 * (column / 4) + 4 * row + column % 4;
        (i, left - self.sums[at + 8 * row])
    }

    /// A record drawn with probability w_i / W from all weights.
    #[cold]
    #[inline(never)]
    fn select_in_full<S: Cost, const K: usize>(
        &self,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> (usize, f64) {
        *evaluations += self.len() as u64;
        let cost = |i| self.cost::<S, Portable, K>(records, i);
        let costs: Vec<f64> = (0..self.len()).map(cost).collect();
        draw_by_cost(&costs, rng)
    }

    /// The acceptance test, if the squeeze does not decide.
    #[cold]
    #[inline(never)]
    fn is_taken<S: Cost, const K: usize>(
        &self,
        uniform: f64,
        (cost, current): (f64, f64),
        within: [f64; 2],
        records: &Records,
        evaluations: &mut u64,
    ) -> bool {
        let within = if self.quantiser.is_wide() { [0.0, f64::INFINITY] } else { within };
        let short = self.parts(current) - self.parts(cost);
        if cost <= current {
            return true;
        }
        if let Some(decided) = is_enough(uniform, short, within) {
            return decided;
        }
        *evaluations += self.len() as u64;
        let cost = |i| self.cost::<S, Portable, K>(records, i);
        let sum = (0..self.len()).map(|i| self.parts(cost(i))).sum();
        is_enough(uniform, short, [sum; 2]) == Some(true)
    }
}

/// The error bound of a quantised cost, in steps: statistics and target are rounded by half a step
/// each, and one more for the rounding of their inputs.
#[inline(always)]
fn slack(k: usize) -> f64 {
    k as f64 + 1.0
}

impl Scanned for Quantised {
    #[inline(always)]
    fn load<V: Vector, const K: usize>(&mut self, records: &Records, places: Range<usize>) {
        let k = if K == 0 { records.k() } else { K };
        let padded = places.len().next_multiple_of(LANES);
        if self.len() != places.len() || self.columns.len() != padded * k {
            self.make_room(places.len(), k);
        }
        self.quantiser.lay_out::<V, K>(records, places.clone(), &mut self.columns);
        self.places = places;
    }

    #[inline(always)]
    fn replace<V: Vector, const K: usize>(&mut self, i: usize, statistic: &[f64]) {
        let entry = self.quantiser.enter::<V, K>(statistic);
        let k = entry.len();
        let columns = &mut self.columns[i / LANES * LANES * k..][..LANES * k];
        for (column, &t) in columns.chunks_exact_mut(LANES).zip(entry) {
            V::put_step(column, i % LANES, t);
        }
    }

    #[inline(always)]
    fn select<S: Cost, V: Vector, const K: usize>(
        &mut self,
        records: &Records,
        proposal: &[f64],
        current: f64,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> (usize, f64) {
        self.weigh::<V, K>(records.residual(), proposal, current);
        if self.quantiser.is_wide() {
            return self.select_in_full::<S, K>(records, evaluations, rng);
        }
        for _ in 0..TRIALS {
            let product = u128::from(rng.next_u64()) * u128::from(self.starts[8]);
            let (i, into) = self.find((product >> 64) as u32);
            if i >= self.len() {
                continue;
            }
            let cost = self.cost::<S, V, K>(records, i);
            *evaluations += 1;
            let rest = (product as u64 >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            let (into, log) = (f64::from(into) + rest, (self.unit - cost).min(MOST));
            if into * LOOSE < exp_above(log) || into < exp(log) {
                return (i, cost);
            }
        }
        self.select_in_full::<S, K>(records, evaluations, rng)
    }

    #[inline(always)]
    fn accepts<S: Cost, V: Vector, const K: usize>(
        &self,
        records: &Records,
        cost: f64,
        current: f64,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool {
        let k = if K == 0 { records.k() } else { K };
        let uniform = rng::uniform(rng);
        let most = f64::from(self.starts[8]);
        // A lower bound of the ratio of weight to mass before rounding up.
        let surely = (1.0 - 2.0 * slack(k) * STEP) / LOOSE;
        let least = (most - self.none.len() as f64) * surely;
        let standing = exp_above((self.unit - current).min(MOST));
        // Squeeze first: it accepts nearly always, so the branch predicts.
        if !self.quantiser.is_wide() && least * (1.0 - uniform) >= standing * uniform {
            return true;
        }
        let costs = (cost, current);
        self.is_taken::<S, K>(uniform, costs, [least, most], records, evaluations)
    }
}
