//! Uniform candidates drawn in advance, with the exponential variables that decide on them.

use rand::{Rng as _, RngExt};

use crate::rng::Rng;
use crate::simd::vector::Vector;

/// Candidates drawn at a time.
const DRAWN: usize = 32;
/// Candidates are drawn again when fewer than this are left.
pub(crate) const LEFT: usize = 32;
const ALL: usize = LEFT + DRAWN;
/// Up to this number of records, one 32-bit word gives the place and the leading digits of the
/// uniform number, unless a second uniform number is needed (for outliers).
const FEW: u32 = 1 << 14;
/// Otherwise a second word gives the leading digits, less this many bits, which are the leading
/// digits of the second uniform number.
const OTHERS: u32 = 8;
/// Error bound of the logarithm of a uniform number that is known to one part in [`FINE`] or
/// better: the truncation, and single-precision rounding.
const OFF: f64 = 1.0 / (FINE - 1) as f64 + 5e-5;
const FINE: u32 = 1024;
/// A smaller remainder has too few digits.
const LEAST: u32 = 1 << 16;

/// Places drawn uniformly, each with the leading digits of a uniform number and approximately minus
/// its logarithm.
///
/// To accept a place with probability w_i / w_up, compare the excess of its cost over the lower
/// bound with an exponential variable. Neither the place nor the variable depends on the state, so
/// both are drawn in advance.
///
/// A 32-bit word w becomes a place by w n = 2^32 place + rest, and is redrawn if the rest is below
/// 2^32 modulo n (Lemire 2019). Every place then has the same number of equally likely rests, n
/// apart, and for small n these are the leading digits of a uniform number.
#[derive(Debug, Clone)]
pub(crate) struct Candidates {
    /// The number of records, and 2^32 modulo that.
    n: u32,
    uneven: u32,
    /// Whether one word determines a candidate.
    is_one_word: bool,
    /// The next candidate.
    next: usize,
    pub(crate) places: [u32; ALL],
    /// The leading digits of uniform numbers, in units of about 2^-32, and their spacing.
    rests: [u32; ALL],
    grain: u32,
    /// The number of units.
    of: f64,
    logs: [f32; ALL],
    /// The leading bits of another uniform number.
    others: [f32; ALL],
}

impl Default for Candidates {
    fn default() -> Self {
        let (places, rests, logs) = ([0; ALL], [0; ALL], [0.0; ALL]);
        Candidates {
            n: 1,
            uneven: 0,
            is_one_word: true,
            next: ALL,
            places,
            rests,
            grain: 1,
            of: 1.0,
            logs,
            others: logs,
        }
    }
}

impl Candidates {
    /// Draws candidates among `n` records, each with another uniform number if `others`.
    #[inline(always)]
    pub(crate) fn begin(&mut self, n: usize, others: bool, rng: &mut Rng) {
        self.n = n as u32;
        self.uneven = self.n.wrapping_neg() % self.n;
        self.is_one_word = self.n <= FEW && !others;
        self.others.fill(f32::INFINITY);
        let word = (1u64 << 32) as f64;
        (self.grain, self.of) = if self.is_one_word {
            (self.n, word - f64::from(self.uneven))
        } else {
            (1 << OTHERS, word)
        };
        self.next = ALL;
        while self.next >= DRAWN {
            self.draw(rng);
        }
    }

    /// The index of the next candidate, which is followed by at least [`LEFT`] others.
    #[inline(always)]
    pub(crate) fn next(&self) -> usize {
        self.next % DRAWN
    }

    /// Consumes `count` candidates, each of which has decided something.
    #[inline(always)]
    pub(crate) fn use_up(&mut self, count: usize, rng: &mut Rng) {
        self.next += count;
        if self.next >= DRAWN {
            self.draw(rng);
        }
    }

    /// The places of the last `COUNT` of the [`LEFT`] next candidates.
    #[inline(always)]
    pub(crate) fn coming<const COUNT: usize>(&self) -> &[u32; COUNT] {
        let coming = &self.places[self.next()..][LEFT - COUNT..LEFT];
        coming.try_into().expect("so many were taken")
    }

    /// Bitmasks of the four candidates from `at` on that are accepted, and that may be, if their
    /// costs exceed the lower bound by `excess`.
    #[inline(always)]
    pub(crate) fn keep<V: Vector>(&self, at: usize, excess: V::Four) -> (u32, u32) {
        let (logs, off) = (V::load_narrow(&self.logs[at..]), V::load(&[OFF; 4]));
        // NaN (too few digits) compares neither above nor below.
        let surely = V::below(excess, V::sub(logs, off));
        (surely, !V::below(V::add(logs, off), excess) & 15)
    }

    /// Bitmask of the four candidates from `at` on that an outlier trial may precede; the
    /// probability is at most `part` for each.
    #[inline(always)]
    pub(crate) fn come_later<V: Vector>(&self, at: usize, part: f64) -> u32 {
        let part = part * f64::from(1u32 << OTHERS);
        V::below(V::load_narrow(&self.others[at..]), V::load(&[part; 4]))
    }

    /// Whether an outlier trial precedes candidate `at`, given that its leading digits allow it;
    /// the probability is `part`. Call it once per candidate.
    pub(crate) fn comes_later(&self, at: usize, part: f64, rng: &mut Rng) -> bool {
        f64::from(self.others[at]) + rng.random::<f64>() < part * f64::from(1u32 << OTHERS)
    }

    /// The uniform number of candidate `at`; draws its further digits.
    #[inline(always)]
    pub(crate) fn uniform(&self, at: usize, rng: &mut Rng) -> f64 {
        let start = f64::from(self.rests[at] / self.grain);
        (start + rng.random::<f64>()) * f64::from(self.grain) / self.of
    }

    /// Draws more candidates, after those that are left.
    #[inline(always)]
    fn draw(&mut self, rng: &mut Rng) {
        let mut words = [0u32; DRAWN];
        rng.fill(&mut words);
        move_up(&mut self.places);
        move_up(&mut self.rests);
        move_up(&mut self.logs);
        move_up(&mut self.others);
        self.next -= DRAWN;
        let (places, rests) = (&mut self.places[LEFT..], &mut self.rests[LEFT..]);
        let (n, uneven) = (u64::from(self.n), self.uneven);
        let mut rejected = 0;
        for j in 0..DRAWN {
            let product = u64::from(words[j]) * n;
            (places[j], rests[j]) = ((product >> 32) as u32, (product as u32).wrapping_sub(uneven));
            rejected |= u32::from((product as u32) < uneven);
        }
        if rejected != 0 {
            self.redraw(&words, rng);
        }
        let (rests, logs) = (&mut self.rests[LEFT..], &mut self.logs[LEFT..]);
        if !self.is_one_word {
            rng.fill(rests);
            let others = &mut self.others[LEFT..];
            for j in 0..DRAWN {
                others[j] = (rests[j] % (1 << OTHERS)) as i32 as f32;
            }
        }
        let known = (FINE * self.grain).max(LEAST);
        for j in 0..DRAWN {
            let log = exponential(rests[j]);
            logs[j] = if rests[j] >= known { log } else { f32::NAN };
        }
    }

    /// Redraws the words that Lemire's method rejects.
    #[cold]
    #[inline(never)]
    fn redraw(&mut self, words: &[u32], rng: &mut Rng) {
        for (j, &word) in words.iter().enumerate() {
            let mut product = u64::from(word) * u64::from(self.n);
            while (product as u32) < self.uneven {
                product = u64::from(rng.next_u32()) * u64::from(self.n);
            }
            self.places[LEFT + j] = (product >> 32) as u32;
            self.rests[LEFT + j] = product as u32 - self.uneven;
        }
    }
}

/// Moves the remaining candidates to the front.
#[inline(always)]
fn move_up<T: Copy>(all: &mut [T; ALL]) {
    let (first, left) = all.split_at_mut(DRAWN);
    first.copy_from_slice(&left[..LEFT]);
}

/// Approximately minus the logarithm of rest / 2^32.
///
/// log m for m from 1 to 2 is log sqrt 2 + 2 artanh(t), t = (m - sqrt 2) / (m + sqrt 2); the series
/// of artanh up to t^7 has an error of 3e-8.
#[inline(always)]
fn exponential(rest: u32) -> f32 {
    use std::f32::consts::{LN_2, SQRT_2};
    // Signed, since vector instructions convert signed integers.
    let x = (rest >> 1) as i32 as f32;
    let power = (x.to_bits() >> 23) as i32 - 127 - 31;
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

    /// A sweep begins with new candidates; each is used once, in any batch size, and places are
    /// uniform.
    #[test]
    fn candidates_are_drawn_once() {
        for (n, others) in [(10, false), (10, true), (FEW + 1, false)] {
            let seen = |candidates: &mut Candidates, step: usize| {
                let mut rng = rng::stream(3, 1);
                candidates.begin(n as usize, others, &mut rng);
                let mut all = Vec::new();
                while all.len() < 28_000 {
                    let at = candidates.next();
                    all.extend(
                        (at..at + step).map(|j| (candidates.places[j], candidates.rests[j])),
                    );
                    candidates.use_up(step, &mut rng);
                }
                all
            };
            let mut candidates = Candidates::default();
            let all = seen(&mut candidates, 1);
            assert_eq!(all, seen(&mut candidates, 4));
            assert_eq!(all, seen(&mut Candidates::default(), 7));
            for tenth in 0..10 {
                let is_in = |place: u32| u64::from(place) * 10 / u64::from(n) == tenth;
                let count = all.iter().filter(|one| is_in(one.0)).count() as f64;
                let expected = all.len() as f64 / 10.0;
                assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{count} in {tenth}");
            }
            let mut rests: Vec<u32> = all.iter().map(|one| one.1).collect();
            rests.sort_unstable();
            rests.dedup();
            assert!(
                rests.len() > all.len() - 60,
                "of 24 bits few pairs are alike: {}",
                rests.len()
            );
        }
    }

    /// Uniform numbers are uniform given the place, and their logarithms are within the error
    /// bound, for all further digits.
    #[test]
    fn uniform_numbers_are_uniform_and_their_logarithms_near() {
        for (n, others) in [
            (1, false),
            (7, false),
            (1_000, false),
            (1_000, true),
            (FEW, false),
            (FEW + 1, false),
            (3_000_000_000, false),
        ] {
            let mut rng = rng::stream(4, u64::from(n));
            let mut candidates = Candidates::default();
            candidates.begin(n as usize, others, &mut rng);
            let (mut counts, mut unknown) = ([0.0; 64], 0);
            const ALL_DRAWN: usize = 640_000;
            for _ in 0..ALL_DRAWN {
                let at = candidates.next();
                let (log, uniform) =
                    (f64::from(candidates.logs[at]), candidates.uniform(at, &mut rng));
                assert!((0.0..1.0).contains(&uniform));
                assert!(log.is_nan() || (log + uniform.ln()).abs() < OFF, "{n}: {log} {uniform}");
                unknown += usize::from(log.is_nan());
                // Eight intervals of the uniform number for each eighth of the places.
                let eighth = u64::from(candidates.places[at]) * 8 / u64::from(n);
                counts[(8.0 * uniform) as usize + 8 * eighth as usize] += 1.0;
                candidates.use_up(1, &mut rng);
            }
            let mut off: f64 = 0.0;
            for eighth in 0..8u64 {
                let places = (0..if n < 64 { n } else { 0 })
                    .filter(|&p| u64::from(p) * 8 / u64::from(n) == eighth);
                let share = if n < 64 { places.count() as f64 / f64::from(n) } else { 0.125 };
                for count in &counts[8 * eighth as usize..][..8] {
                    let expected = ALL_DRAWN as f64 * share / 8.0;
                    off = off.max((count - expected).abs() / expected.max(1.0).sqrt());
                }
            }
            assert!(off < 4.5, "{n}: {off} standard deviations off");
            assert!(unknown < ALL_DRAWN / 100, "{n}: {unknown} are not known");
        }
    }
}
