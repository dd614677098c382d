//! Places drawn uniformly, and sifted eight at a time.

use rand::RngExt;
use rand::distr::{Distribution, Uniform};

use super::accept::{Choice, OneBox, most_trials};
use super::{Envelope, Selector};
use crate::kernel::Records;
use crate::kernel::records::prefetch_row;
use crate::kernel::rough::Rough;
use crate::kernel::shape::{Falloff, outlasts};
use crate::kernel::vector::{EIGHT, Sifting, Vector};
use crate::rng::Rng;

/// How many candidates are drawn ahead.
const AHEAD: usize = 64;
/// Of a uniform number so many bits are drawn at first.
const BITS: u32 = 24;
/// By how much the logarithm of a uniform number may be off, where its first bits are known and do
/// not say less than [`FEWEST`]: half a part in so many, and what rounding adds.
const OFF: f32 = 0.5 / FEWEST as f32 + 1e-5;
const FEWEST: u32 = 1024;
/// Statistics of fewer bytes than this are near enough not to be asked for ahead.
const NEAR: usize = 1 << 18;

/// Statistics in single precision, one record after the other, and candidates drawn ahead.
///
/// As [`UniformSelector`](super::UniformSelector), with one bound of all weights, places are drawn
/// uniformly and kept with probability w_i / w_up: that is, if the cost exceeds the least that the
/// box allows by no more than an exponential variable. Neither the place nor the variable depends on
/// the state, so that both are drawn ahead, and eight candidates are looked at together, in single
/// precision. Where that does not decide, full precision does.
#[derive(Debug, Clone, Default)]
pub(super) struct Sieve {
    rough: Rough,
    rows: Vec<f32>,
    stride: usize,
    /// The number of records, and 2^32 modulo that.
    n: u32,
    uneven: u32,
    candidates: Candidates,
    /// The next candidate.
    next: usize,
}

/// Places, each with the first bits of a uniform number, and with less and with more than its
/// logarithm can be.
#[derive(Debug, Clone)]
struct Candidates {
    places: [u32; AHEAD],
    bits: [u32; AHEAD],
    low: [f32; AHEAD],
    high: [f32; AHEAD],
}

impl Default for Candidates {
    fn default() -> Self {
        let (whole, rounded) = ([0; AHEAD], [0.0; AHEAD]);
        Candidates { places: whole, bits: whole, low: rounded, high: rounded }
    }
}

impl Sieve {
    #[inline(always)]
    fn load<V: Vector, const K: usize>(&mut self, records: &Records) {
        let k = if K == 0 { records.k() } else { K };
        self.stride = k.next_multiple_of(EIGHT);
        self.rough.begin::<K>(records);
        self.rows.clear();
        self.rows.resize(records.n() * self.stride, 0.0);
        let rows = records.statistics().chunks_exact(k);
        for (row, to) in rows.zip(self.rows.chunks_exact_mut(self.stride)) {
            self.rough.round::<V, K>(row, to);
        }
        self.n = records.n() as u32;
        self.uneven = self.n.wrapping_neg() % self.n;
        self.next = AHEAD;
    }

    /// Draws candidates anew. Those that are left are given up: what they would have been decided
    /// nothing.
    #[inline(always)]
    fn refill(&mut self, near: bool, rng: &mut Rng) {
        let mut words = [0u32; 2 * AHEAD];
        rng.fill(&mut words);
        let (words, bits) = words.split_at(AHEAD);
        let n = self.n;
        let mut rejected = 0;
        let Candidates { places, bits: firsts, low, high } = &mut self.candidates;
        for (place, &word) in places.iter_mut().zip(words) {
            let product = u64::from(word) * u64::from(n);
            *place = (product >> 32) as u32;
            rejected |= u32::from((product as u32) < self.uneven);
        }
        for j in 0..AHEAD {
            let bits = bits[j] >> (32 - BITS);
            let log = exponential(bits);
            let is_known = bits >= FEWEST;
            low[j] = if is_known { log - OFF } else { f32::NEG_INFINITY };
            high[j] = if is_known { log + OFF } else { f32::INFINITY };
            firsts[j] = bits;
        }
        if rejected != 0 {
            self.redraw(words, rng);
        }
        if !near {
            for &place in &self.candidates.places {
                let row = self.rows.as_ptr().wrapping_add(place as usize * self.stride);
                prefetch_row(row.cast(), self.stride / 2);
            }
        }
        self.next = 0;
    }

    /// Draws those places anew that do not divide evenly (Lemire 2019).
    #[cold]
    #[inline(never)]
    fn redraw(&mut self, words: &[u32], rng: &mut Rng) {
        let places = Uniform::new(0, self.n).expect("there is a record");
        for (place, &word) in self.candidates.places.iter_mut().zip(words) {
            if word.wrapping_mul(self.n) < self.uneven {
                *place = places.sample(rng);
            }
        }
    }
}

/// Minus the logarithm of (bits + 1/2) / 2^24.
///
/// log m for m from 1 to 2 is log sqrt 2 + 2 artanh(t), t = (m - sqrt 2) / (m + sqrt 2); the series
/// of the latter to t^7 is exact to 3e-8.
#[inline(always)]
fn exponential(bits: u32) -> f32 {
    use std::f32::consts::{LN_2, SQRT_2};
    let x = bits as i32 as f32 + 0.5;
    let power = (x.to_bits() >> 23) as i32 - 127 - BITS as i32;
    let m = f32::from_bits((x.to_bits() & 0x7f_ffff) | 0x3f80_0000);
    let t = (m - SQRT_2) / (m + SQRT_2);
    let square = t * t;
    let series = 1.0 + square * (1.0 / 3.0 + square * (0.2 + square * (1.0 / 7.0)));
    -((power as f32 + 0.5) * LN_2 + 2.0 * t * series)
}

/// A sweep of the [`Sieve`].
pub(super) struct SieveSelector<'a> {
    sieve: &'a mut Sieve,
    near: bool,
    one: OneBox,
}

impl<'a> SieveSelector<'a> {
    #[inline(always)]
    pub(super) fn begin<V: Vector, const K: usize>(
        sieve: &'a mut Sieve,
        records: &Records,
    ) -> Self {
        sieve.load::<V, K>(records);
        let near = size_of_val(sieve.rows.as_slice()) < NEAR;
        SieveSelector { sieve, near, one: OneBox::default() }
    }
}

impl Selector for SieveSelector<'_> {
    #[inline(always)]
    fn prepare<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        statistics: &[f64],
        envelope: &mut Envelope,
        records: &Records,
    ) {
        self.one.prepare::<S, V, K>(statistics, envelope, records);
    }

    #[inline(always)]
    fn select<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        offer: &[f64],
        _: f64,
        envelope: &mut Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> Choice {
        envelope.offer::<V, K>(records.residual(), offer);
        let least = envelope.least_cost::<S, V, K>();
        self.one.least = least;
        let sieve = &mut *self.sieve;
        let paid = sieve.rough.aim::<S, V, K>(records.residual(), offer);
        let slack = sieve.rough.slack;
        let shift = [(least - paid - slack) as f32, (least - paid + slack) as f32];
        for _ in 0..most_trials(records.n()) / EIGHT {
            if sieve.next + EIGHT > AHEAD {
                sieve.refill(self.near, rng);
            }
            let at = sieve.next.min(AHEAD - EIGHT);
            let Candidates { places, bits, low, high } = &sieve.candidates;
            let (surely, mut perhaps) = V::sift::<S, K>(Sifting {
                rows: &sieve.rows,
                stride: sieve.stride,
                places: &places[at..at + EIGHT],
                apart: &sieve.rough.within,
                beyond: &sieve.rough.beyond,
                low: &low[at..at + EIGHT],
                high: &high[at..at + EIGHT],
                shift,
            });
            while perhaps != 0 {
                let j = perhaps.trailing_zeros() as usize % EIGHT;
                let place = places[at + j] as usize;
                let cost = envelope.cost::<S, V, K>(records.statistic_known::<K>(place));
                let is_kept = (surely >> j) & 1 == 1 || {
                    let first = f64::from(bits[at + j]);
                    let uniform = (first + rng.random::<f64>()) / f64::from(1u32 << BITS);
                    outlasts(cost - least, uniform)
                };
                if is_kept {
                    sieve.next = at + j + 1;
                    *evaluations += j as u64 + 1;
                    return Choice::at(place, cost);
                }
                perhaps &= perhaps - 1;
            }
            sieve.next = at + EIGHT;
            *evaluations += EIGHT as u64;
        }
        Choice::by_weighing_all::<S, K>(envelope, records, evaluations, rng)
    }

    #[inline(always)]
    fn accepts<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        current: f64,
        envelope: &Envelope,
        records: &Records,
        evaluations: &mut u64,
        rng: &mut Rng,
    ) -> bool {
        self.one.accepts::<S, V, K>(choice, current, envelope, records, evaluations, rng)
    }

    #[inline(always)]
    fn replaced<S: Falloff, V: Vector, const K: usize>(
        &mut self,
        choice: &Choice,
        _: usize,
        new: &[f64],
        _: &mut Envelope,
        _: &mut Rng,
    ) {
        let Sieve { rough, rows, stride, .. } = &mut *self.sieve;
        rough.round::<V, K>(new, &mut rows[choice.place * *stride..][..*stride]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The logarithm is as near as it has to be, for whatever follows the first bits.
    #[test]
    fn logarithms_are_near() {
        let all = (FEWEST..1 << BITS).step_by(97).chain((1 << BITS) - 100..1 << BITS);
        for bits in all {
            let near = f64::from(exponential(bits));
            for uniform in [f64::from(bits), f64::from(bits) + 1.0] {
                let right = -(uniform / f64::from(1u32 << BITS)).ln();
                assert!((near - right).abs() < f64::from(OFF) * 0.999, "{bits}: {near} {right}");
            }
        }
    }
}
