//! Vectors in the instructions of x86-64 with AVX2.
//!
//! Whoever names the type [`Avx2`] promises that the machine has these instructions: only
//! [`specialised`](crate::kernel::specialise) does, after it has looked.

use std::arch::x86_64::*;

use super::{BITS, LANES, MASS_BITS, ONE, Points, SLACK, SMALLEST, Vector, Weighing};
use crate::kernel::shape::Falloff;

/// Runs on a machine with AVX2.
#[derive(Clone, Copy)]
pub struct Avx2;

/// All bits of one of eight lanes. From memory, since a mask that the compiler sees through becomes
/// a masked store, which is slow.
static LANE: [[u32; 8]; 8] = {
    let mut masks = [[0; 8]; 8];
    let mut lane = 0;
    while lane < 8 {
        masks[lane][lane] = u32::MAX;
        lane += 1;
    }
    masks
};

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
    fn narrow(to: &mut [f32], value: __m256d) {
        unsafe { _mm_storeu_ps(to[..4].as_mut_ptr(), _mm256_cvtpd_ps(value)) }
    }

    #[inline(always)]
    fn whole(to: &mut [u16], value: __m256d) {
        unsafe {
            let whole = _mm256_cvttpd_epi32(value);
            _mm_storel_epi64(to[..4].as_mut_ptr().cast(), _mm_packus_epi32(whole, whole));
        }
    }

    #[inline(always)]
    fn put(to: &mut [f32], lane: usize, value: f32) {
        let to = &mut to[..8];
        unsafe {
            let here = _mm256_loadu_ps(LANE[lane].as_ptr().cast());
            let others = _mm256_andnot_ps(here, _mm256_loadu_ps(to.as_ptr()));
            let this = _mm256_and_ps(here, _mm256_set1_ps(value));
            _mm256_storeu_ps(to.as_mut_ptr(), _mm256_or_ps(others, this));
        }
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
    fn mul(a: __m256d, b: __m256d) -> __m256d {
        unsafe { _mm256_mul_pd(a, b) }
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
    fn weigh_points<S: Falloff, const K: usize>(points: Points) -> [f64; 4] {
        let Points { columns, apart, beyond, unit, masses, sums } = points;
        let k = if K == 0 { apart.len() } else { K };
        let (apart, beyond) = (&apart[..k], &beyond[..k]);
        let blocks = masses.len() / LANES;
        let columns = &columns[..blocks * k * LANES];
        let sums = &mut sums[..blocks * LANES];
        unsafe {
            let mut part = _mm256_setzero_pd();
            for block in 0..blocks {
                let columns = columns.as_ptr().add(block * k * LANES);
                // Two sums each, which need not wait for each other.
                let (mut these, mut others) = ([_mm256_setzero_ps(); 2], [_mm256_setzero_ps(); 2]);
                for c in 0..k {
                    let apart = _mm256_set1_ps(apart[c]);
                    for (h, sum) in these.iter_mut().enumerate() {
                        let column = _mm256_loadu_ps(columns.add(c * LANES + h * 8));
                        let distance = _mm256_add_ps(column, apart);
                        let cost = if S::BENDS {
                            let half = _mm256_mul_ps(_mm256_set1_ps(0.5), distance);
                            let slope = _mm256_add_ps(half, _mm256_set1_ps(beyond[c]));
                            _mm256_mul_ps(distance, slope)
                        } else {
                            _mm256_andnot_ps(_mm256_set1_ps(-0.0), distance)
                        };
                        *sum = _mm256_add_ps(*sum, cost);
                    }
                    (these, others) = (others, these);
                }
                for h in 0..2 {
                    let cost = _mm256_add_ps(these[h], others[h]);
                    let bits = _mm256_mul_ps(cost, _mm256_set1_ps(BITS));
                    let bits = _mm256_sub_ps(_mm256_set1_ps(unit), bits);
                    let bits = _mm256_max_ps(bits, _mm256_set1_ps(MASS_BITS[0]));
                    let bits = _mm256_min_ps(bits, _mm256_set1_ps(MASS_BITS[1]));
                    let mass = _mm256_castsi256_ps(_mm256_cvttps_epi32(bits));
                    let at = block * LANES + h * 8;
                    _mm256_storeu_ps(masses.as_mut_ptr().add(at), mass);
                    part = _mm256_add_pd(part, _mm256_cvtps_pd(_mm256_castps256_ps128(mass)));
                    _mm256_storeu_pd(sums.as_mut_ptr().add(at), part);
                    part = _mm256_add_pd(part, _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(mass)));
                    _mm256_storeu_pd(sums.as_mut_ptr().add(at + 4), part);
                }
            }
            let mut parts = [0.0; 4];
            _mm256_storeu_pd(parts.as_mut_ptr(), part);
            parts
        }
    }

    #[inline(always)]
    fn weigh<S: Falloff, const K: usize>(weighing: Weighing) -> [f64; 4] {
        let Weighing { low, high, aim, paid, counts, masses, sums } = weighing;
        let k = if K == 0 { aim.len() } else { K };
        let (aim, paid) = (&aim[..k], &paid[..k]);
        let blocks = masses.len() / LANES;
        let (low, high) = (&low[..blocks * k * LANES], &high[..blocks * k * LANES]);
        let (counts, sums) = (&counts[..blocks * LANES], &mut sums[..blocks * LANES]);
        unsafe {
            let mut part = _mm256_setzero_pd();
            for block in 0..blocks {
                let boxes = block * k * LANES;
                let mut costs = _mm256_setzero_si256();
                for c in 0..k {
                    let at = boxes + c * LANES;
                    let aim = _mm256_set1_epi16(aim[c] as i16);
                    let low = _mm256_loadu_si256(low.as_ptr().add(at).cast());
                    let high = _mm256_loadu_si256(high.as_ptr().add(at).cast());
                    let short = _mm256_subs_epu16(low, aim);
                    let distance = _mm256_or_si256(short, _mm256_subs_epu16(aim, high));
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
                for (h, half) in halves.into_iter().enumerate() {
                    let wide = _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(half));
                    let wide = _mm256_or_si256(wide, _mm256_set1_epi32(SLACK as i32));
                    let at = block * LANES + h * 8;
                    let counts = _mm256_loadu_ps(counts.as_ptr().add(at));
                    let mass = _mm256_mul_ps(_mm256_castsi256_ps(wide), counts);
                    _mm256_storeu_ps(masses.as_mut_ptr().add(at), mass);
                    part = _mm256_add_pd(part, _mm256_cvtps_pd(_mm256_castps256_ps128(mass)));
                    _mm256_storeu_pd(sums.as_mut_ptr().add(at), part);
                    part = _mm256_add_pd(part, _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(mass)));
                    _mm256_storeu_pd(sums.as_mut_ptr().add(at + 4), part);
                }
            }
            let mut parts = [0.0; 4];
            _mm256_storeu_pd(parts.as_mut_ptr(), part);
            parts
        }
    }
}
