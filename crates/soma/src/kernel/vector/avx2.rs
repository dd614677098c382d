//! Vectors in the instructions of x86-64 with AVX2.
//!
//! Whoever names the type [`Avx2`] promises that the machine has these instructions: only
//! [`specialised`](crate::kernel::specialise) does, after it has looked.

use std::arch::x86_64::*;

use super::{LANES, ONE, SLACK, SMALLEST, Sums, Vector, Weighing};
use crate::kernel::shape::Falloff;

/// Runs on a machine with AVX2.
#[derive(Clone, Copy)]
pub struct Avx2;

// SAFETY of all blocks: the machine has AVX2 (see above), and pointers come from slices whose
// length has been checked.
impl Vector for Avx2 {
    type Four = __m256d;

    #[inline(always)]
    fn load(from: &[f64]) -> __m256d {
        unsafe { _mm256_loadu_pd(from[..4].as_ptr()) }
    }

    #[inline(always)]
    fn store(to: &mut [f64], value: __m256d) {
        unsafe { _mm256_storeu_pd(to[..4].as_mut_ptr(), value) }
    }

    #[inline(always)]
    fn add(a: __m256d, b: __m256d) -> __m256d {
        unsafe { _mm256_add_pd(a, b) }
    }

    #[inline(always)]
    fn sub(a: __m256d, b: __m256d) -> __m256d {
        unsafe { _mm256_sub_pd(a, b) }
    }

    #[inline(always)]
    fn min(a: __m256d, b: __m256d) -> __m256d {
        unsafe { _mm256_min_pd(a, b) }
    }

    #[inline(always)]
    fn max(a: __m256d, b: __m256d) -> __m256d {
        unsafe { _mm256_max_pd(a, b) }
    }

    #[inline(always)]
    fn cost<S: Falloff>(residuals: __m256d) -> __m256d {
        unsafe {
            if S::BENDS {
                let half = _mm256_mul_pd(_mm256_set1_pd(0.5), residuals);
                _mm256_mul_pd(half, residuals)
            } else {
                _mm256_andnot_pd(_mm256_set1_pd(-0.0), residuals)
            }
        }
    }

    #[inline(always)]
    fn total(a: __m256d) -> f64 {
        unsafe {
            let pair = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd::<1>(a));
            _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
        }
    }

    #[inline(always)]
    fn weigh<S: Falloff, const K: usize>(weighing: Weighing) -> Sums {
        let Weighing { low, high, aim, paid, counts, shrink, masses } = weighing;
        let k = if K == 0 { aim.len() } else { K };
        let (aim, paid) = (&aim[..k], &paid[..k]);
        let blocks = masses.len() / LANES;
        let (low, high) = (&low[..blocks * k * LANES], &high[..blocks * k * LANES]);
        let (counts, shrink) = (&counts[..blocks * LANES], &shrink[..blocks * LANES]);
        unsafe {
            let mut parts = [_mm256_setzero_pd(); 4];
            let mut surely = [_mm256_setzero_ps(); 2];
            for block in 0..blocks {
                let boxes = block * k * LANES;
                let mut costs = _mm256_setzero_si256();
                for c in 0..k {
                    let at = boxes + c * LANES;
                    let aim_below = _mm256_set1_epi16(aim[c] as i16);
                    let aim_above = _mm256_set1_epi16((aim[c] + 1) as i16);
                    let low = _mm256_loadu_si256(low.as_ptr().add(at).cast());
                    let high = _mm256_loadu_si256(high.as_ptr().add(at).cast());
                    let short = _mm256_subs_epu16(low, aim_above);
                    let distance = _mm256_or_si256(short, _mm256_subs_epu16(aim_below, high));
                    let cost = if S::BENDS {
                        let paid = _mm256_set1_epi16(paid[c] as i16);
                        _mm256_mulhi_epu16(distance, _mm256_adds_epu16(distance, paid))
                    } else {
                        distance
                    };
                    costs = _mm256_adds_epu16(costs, cost);
                }
                let bits = _mm256_subs_epu16(_mm256_set1_epi16(ONE as i16), costs);
                let bits = _mm256_max_epu16(bits, _mm256_set1_epi16(SMALLEST as i16));
                let halves = [_mm256_castsi256_si128(bits), _mm256_extracti128_si256::<1>(bits)];
                for h in 0..2 {
                    let wide = _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves[h]));
                    let wide = _mm256_or_si256(wide, _mm256_set1_epi32(SLACK as i32));
                    let at = block * LANES + h * 8;
                    let counts = _mm256_loadu_ps(counts.as_ptr().add(at));
                    let mass = _mm256_mul_ps(_mm256_castsi256_ps(wide), counts);
                    _mm256_storeu_ps(masses.as_mut_ptr().add(at), mass);
                    let shrink = _mm256_loadu_ps(shrink.as_ptr().add(at));
                    surely[h] = _mm256_add_ps(surely[h], _mm256_mul_ps(mass, shrink));
                    let first = _mm256_cvtps_pd(_mm256_castps256_ps128(mass));
                    let last = _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(mass));
                    parts[2 * h] = _mm256_add_pd(parts[2 * h], first);
                    parts[2 * h + 1] = _mm256_add_pd(parts[2 * h + 1], last);
                }
            }
            let mut sums = Sums { parts: [0.0; LANES], surely: [0.0; LANES] };
            for (part, sum) in parts.iter().zip(sums.parts.chunks_exact_mut(4)) {
                _mm256_storeu_pd(sum.as_mut_ptr(), *part);
            }
            for (part, sum) in surely.iter().zip(sums.surely.chunks_exact_mut(8)) {
                _mm256_storeu_ps(sum.as_mut_ptr(), *part);
            }
            sums
        }
    }
}
