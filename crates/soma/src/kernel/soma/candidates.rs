//! Places that are drawn uniformly ahead of their use, and what decides whether they are kept.

use rand::RngExt;
use rand::distr::{Distribution, Uniform};

use crate::kernel::vector::Vector;
use crate::rng::Rng;

/// How many candidates are drawn at a time.
const DRAWN: usize = 32;
/// When fewer than these, and those that are looked at together, are left, others are drawn.
pub(super) const LEFT: usize = 32;
const ALL: usize = LEFT + DRAWN;
/// Of a uniform number so many bits are drawn at first.
const BITS: u32 = 24;
/// And so many of another.
const OTHERS: u32 = 32 - BITS;
/// By how much the logarithm of a uniform number may be off, where its first bits are known and do
/// not say less than [`FEWEST`]: half a part in so many, and what rounding adds.
const OFF: f64 = 0.5 / FEWEST as f64 + 1e-5;
const FEWEST: u32 = 1024;

/// Places drawn uniformly, each with the first bits of a uniform number, and about minus its
/// logarithm.
///
/// To keep a place with probability w_i / w_up is to keep it if its cost exceeds the least that the
/// bound allows by no more than an exponential variable. Neither the place nor the variable depends
/// on the state, so that both are drawn ahead.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    /// The number of records, and 2^32 modulo that.
    n: u32,
    uneven: u32,
    /// The next candidate.
    next: usize,
    pub(super) places: [u32; ALL],
    bits: [u32; ALL],
    logs: [f32; ALL],
    /// The first bits of another uniform number.
    others: [f32; ALL],
}

impl Default for Candidates {
    fn default() -> Self {
        let (places, bits, logs) = ([0; ALL], [0; ALL], [0.0; ALL]);
        Candidates { n: 1, uneven: 0, next: ALL, places, bits, logs, others: logs }
    }
}

impl Candidates {
    /// Draws candidates among `n` records.
    #[inline(always)]
    pub(super) fn begin(&mut self, n: usize, rng: &mut Rng) {
        self.n = n as u32;
        self.uneven = self.n.wrapping_neg() % self.n;
        self.next = ALL;
        while self.next >= DRAWN {
            self.draw(rng);
        }
    }

    /// The place in the lists of the next candidate, after which there are at least [`LEFT`] others.
    #[inline(always)]
    pub(super) fn next(&self) -> usize {
        self.next % DRAWN
    }

    /// So many candidates have decided something, and are used up.
    #[inline(always)]
    pub(super) fn use_up(&mut self, count: usize, rng: &mut Rng) {
        self.next += count;
        if self.next >= DRAWN {
            self.draw(rng);
        }
    }

    /// The places of the last `COUNT` of the [`LEFT`] next candidates.
    #[inline(always)]
    pub(super) fn coming<const COUNT: usize>(&self) -> &[u32; COUNT] {
        let coming = &self.places[self.next()..][LEFT - COUNT..LEFT];
        coming.try_into().expect("so many were taken")
    }

    /// Which of the four candidates from `at` on are surely kept, and which are perhaps, if their
    /// costs exceed the least that the bound allows by `excess`.
    #[inline(always)]
    pub(super) fn keep<V: Vector>(&self, at: usize, excess: V::Four) -> (u32, u32) {
        let (logs, off) = (V::load_narrow(&self.logs[at..]), V::load(&[OFF; 4]));
        // What is not known is neither above nor below.
        let surely = V::below(excess, V::sub(logs, off));
        (surely, !V::below(V::add(logs, off), excess) & 15)
    }

    /// Which of the four candidates from `at` on come after something else perhaps, which is to
    /// happen with a probability of at most `part` before each of them.
    #[inline(always)]
    pub(super) fn come_later<V: Vector>(&self, at: usize, part: f64) -> u32 {
        let part = part * f64::from(1u32 << OTHERS);
        V::below(V::load_narrow(&self.others[at..]), V::load(&[part; 4]))
    }

    /// Whether candidate `at` does, if it does perhaps and the probability is `part`. To be asked
    /// once.
    pub(super) fn comes_later(&self, at: usize, part: f64, rng: &mut Rng) -> bool {
        f64::from(self.others[at]) + rng.random::<f64>() < part * f64::from(1u32 << OTHERS)
    }

    /// A uniform number that begins with the bits of candidate `at`.
    #[inline(always)]
    pub(super) fn uniform(&self, at: usize, rng: &mut Rng) -> f64 {
        (f64::from(self.bits[at]) + rng.random::<f64>()) / f64::from(1u32 << BITS)
    }

    /// Draws more candidates, to follow those that are left.
    #[inline(always)]
    fn draw(&mut self, rng: &mut Rng) {
        let mut words = [0u32; 2 * DRAWN];
        rng.fill(&mut words);
        let (words, bits) = words.split_at(DRAWN);
        let Candidates { n, uneven, next, places, bits: firsts, logs, others } = self;
        move_up(places);
        move_up(firsts);
        move_up(logs);
        move_up(others);
        *next -= DRAWN;
        let (n, uneven, mut rejected) = (u64::from(*n), *uneven, 0);
        for (place, &word) in places[LEFT..].iter_mut().zip(words) {
            let product = u64::from(word) * n;
            *place = (product >> 32) as u32;
            rejected |= u32::from((product as u32) < uneven);
        }
        let (firsts, logs) = (&mut firsts[LEFT..], &mut logs[LEFT..]);
        let others = &mut others[LEFT..];
        for j in 0..DRAWN {
            others[j] = (bits[j] % (1 << OTHERS)) as i32 as f32;
            let bits = bits[j] >> OTHERS;
            let log = exponential(bits);
            logs[j] = if bits >= FEWEST { log } else { f32::NAN };
            firsts[j] = bits;
        }
        if rejected != 0 {
            self.redraw(words, rng);
        }
    }

    /// Draws those places anew that do not divide evenly (Lemire 2019).
    #[cold]
    #[inline(never)]
    fn redraw(&mut self, words: &[u32], rng: &mut Rng) {
        let places = Uniform::new(0, self.n).expect("there is a record");
        for (place, &word) in self.places[LEFT..].iter_mut().zip(words) {
            if word.wrapping_mul(self.n) < self.uneven {
                *place = places.sample(rng);
            }
        }
    }
}

/// Those that are left become the first.
#[inline(always)]
fn move_up<T: Copy>(all: &mut [T; ALL]) {
    let (first, left) = all.split_at_mut(DRAWN);
    first.copy_from_slice(&left[..LEFT]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    /// A sweep begins with candidates of its own, whatever was before; each is seen once, however
    /// many are used up at a time, and places are uniform.
    #[test]
    fn candidates_are_drawn_once() {
        const N: usize = 10;
        let seen = |candidates: &mut Candidates, step: usize| {
            let mut rng = rng::stream(3, 1);
            candidates.begin(N, &mut rng);
            let mut all = Vec::new();
            while all.len() < 28_000 {
                let at = candidates.next();
                all.extend((at..at + step).map(|j| (candidates.places[j], candidates.bits[j])));
                candidates.use_up(step, &mut rng);
            }
            all
        };
        let mut candidates = Candidates::default();
        let all = seen(&mut candidates, 1);
        assert_eq!(all, seen(&mut candidates, 4));
        assert_eq!(all, seen(&mut Candidates::default(), 7));
        for place in 0..N as u32 {
            let count = all.iter().filter(|one| one.0 == place).count() as f64;
            let expected = all.len() as f64 / N as f64;
            assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{count} times {place}");
        }
        let mut bits: Vec<u32> = all.iter().map(|one| one.1).collect();
        bits.sort_unstable();
        bits.dedup();
        assert!(bits.len() > all.len() - 60, "of 24 bits few pairs are alike: {}", bits.len());
    }

    /// The logarithm is as near as it has to be, for whatever follows the first bits.
    #[test]
    fn logarithms_are_near() {
        let all = (FEWEST..1 << BITS).step_by(97).chain((1 << BITS) - 100..1 << BITS);
        for bits in all {
            let near = f64::from(exponential(bits));
            for uniform in [f64::from(bits), f64::from(bits) + 1.0] {
                let right = -(uniform / f64::from(1u32 << BITS)).ln();
                assert!((near - right).abs() < OFF * 0.999, "{bits}: {near} {right}");
            }
        }
    }
}
