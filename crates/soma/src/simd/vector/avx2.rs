//! Vectors with the intrinsics of x86-64 with AVX2.
//!
//! The type [`Avx2`] cannot be named outside `simd`, and inside it only `specialise` names it, with
//! pulp's token for a CPU with AVX2. So safe code cannot reach the intrinsics without the feature.

mod masses;
mod prefix;

use std::arch::x86_64::*;

use super::{LANES, Points, Spans, Stepping, Vector, Weighing};
use crate::numeric::exp::{HIGH_BITS, HIGH_RANGE};
use crate::simd::cost::Cost;

/// For a CPU with AVX2.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Avx2;

/// Masks of one of eight lanes. Loaded from memory, since a mask known at compile time becomes a
/// masked store, which is slow.
static LANE: [[u32; 8]; 8] = {
    let mut masks = [[0; 8]; 8];
    let mut lane = 0;
    while lane < 8 {
        masks[lane][lane] = u32::MAX;
        lane += 1;
    }
    masks
};

/// The same for sixteen lanes.
static STEP_LANE: [[u16; 16]; 16] = {
    let mut masks = [[0; 16]; 16];
    let mut lane = 0;
    while lane < 16 {
        masks[lane][lane] = u16::MAX;
        lane += 1;
    }
    masks
};

// SAFETY of all blocks: the CPU has AVX2 (see above), and pointers come from slices whose length
// was checked.
impl Vector for Avx2 {
    type Four = __m256d;

    #[inline(always)]
    fn load(from: &[f64]) -> __m256d {
        unsafe { _mm256_loadu_pd(from[..4].as_ptr()) }
    }

    #[inline(always)]
    fn load_narrow(from: &[f32]) -> __m256d {
        unsafe { _mm256_cvtps_pd(_mm_loadu_ps(from[..4].as_ptr())) }
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
    fn load_some(from: &[f64]) -> __m256d {
        match *from {
            [] => unsafe { _mm256_setzero_pd() },
            [a] => unsafe { _mm256_setr_pd(a, 0.0, 0.0, 0.0) },
            [a, b] => unsafe { _mm256_setr_pd(a, b, 0.0, 0.0) },
            [a, b, c] => unsafe { _mm256_setr_pd(a, b, c, 0.0) },
            _ => Self::load(from),
        }
    }

    #[inline(always)]
    fn store_some(to: &mut [f64], value: __m256d) {
        if to.len() >= 4 {
            return Self::store(to, value);
        }
        let mut all = [0.0; 4];
        Self::store(&mut all, value);
        to.iter_mut().zip(all).for_each(|(to, value)| *to = value);
    }

    #[inline(always)]
    fn narrow_both(to: &mut [f32], value: [__m256d; 2]) {
        unsafe {
            let (low, high) = (_mm256_cvtpd_ps(value[0]), _mm256_cvtpd_ps(value[1]));
            _mm256_storeu_ps(to[..8].as_mut_ptr(), _mm256_set_m128(high, low));
        }
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
    fn steps(to: &mut [i16], value: __m256d) {
        unsafe {
            let whole = _mm256_cvtpd_epi32(value);
            _mm_storel_epi64(to[..4].as_mut_ptr().cast(), _mm_packs_epi32(whole, whole));
        }
    }

    #[inline(always)]
    fn turn_steps(to: &mut [i16], count: usize, rows: [__m256d; 8]) {
        unsafe {
            let mut whole = [_mm_setzero_si128(); 8];
            for j in 0..8 {
                whole[j] = _mm256_cvtpd_epi32(rows[j]);
            }
            // Transposes: rows j and j + 4, then pairs and fours of one column side by side.
            let mut two = [_mm_setzero_si128(); 4];
            for j in 0..4 {
                two[j] = _mm_packs_epi32(whole[j], whole[j + 4]);
            }
            let low = [_mm_unpacklo_epi16(two[0], two[1]), _mm_unpacklo_epi16(two[2], two[3])];
            let high = [_mm_unpackhi_epi16(two[0], two[1]), _mm_unpackhi_epi16(two[2], two[3])];
            let first = [_mm_unpacklo_epi32(low[0], low[1]), _mm_unpacklo_epi32(high[0], high[1])];
            let last = [_mm_unpackhi_epi32(low[0], low[1]), _mm_unpackhi_epi32(high[0], high[1])];
            let columns = [
                _mm_unpacklo_epi64(first[0], first[1]),
                _mm_unpackhi_epi64(first[0], first[1]),
                _mm_unpacklo_epi64(last[0], last[1]),
                _mm_unpackhi_epi64(last[0], last[1]),
            ];
            for c in 0..count {
                _mm_storeu_si128(to[c * LANES..][..8].as_mut_ptr().cast(), columns[c]);
            }
        }
    }

    #[inline(always)]
    fn put_step(to: &mut [i16], lane: usize, value: i16) {
        let to = &mut to[..LANES];
        unsafe {
            let here = _mm256_loadu_si256(STEP_LANE[lane].as_ptr().cast());
            let before = _mm256_loadu_si256(to.as_ptr().cast());
            let after = _mm256_blendv_epi8(before, _mm256_set1_epi16(value), here);
            _mm256_storeu_si256(to.as_mut_ptr().cast(), after);
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
    fn div(a: __m256d, b: __m256d) -> __m256d {
        unsafe { _mm256_div_pd(a, b) }
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
    fn below(a: __m256d, b: __m256d) -> u32 {
        unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(a, b)) as u32 }
    }

    #[inline(always)]
    fn cost<S: Cost>(residuals: __m256d) -> __m256d {
        unsafe {
            if S::IS_CURVED {
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
    fn totals(of: [__m256d; 4]) -> __m256d {
        let [a, b, c, d] = of;
        unsafe {
            let (low, high) =
                (_mm256_permute2f128_pd::<0x20>(a, c), _mm256_permute2f128_pd::<0x31>(a, c));
            let first = _mm256_add_pd(low, high);
            let (low, high) =
                (_mm256_permute2f128_pd::<0x20>(b, d), _mm256_permute2f128_pd::<0x31>(b, d));
            _mm256_hadd_pd(first, _mm256_add_pd(low, high))
        }
    }

    #[inline(always)]
    fn join(of: [f64; 4]) -> __m256d {
        unsafe { _mm256_setr_pd(of[0], of[1], of[2], of[3]) }
    }

    #[inline(always)]
    fn exp_above(of: __m256d) -> __m256d {
        unsafe {
            let bits = _mm256_mul_pd(of, _mm256_set1_pd(HIGH_BITS[0]));
            let bits = _mm256_add_pd(bits, _mm256_set1_pd(HIGH_BITS[1]));
            let bits = _mm256_max_pd(bits, _mm256_set1_pd(HIGH_RANGE[0]));
            let bits = _mm256_min_pd(bits, _mm256_set1_pd(HIGH_RANGE[1]));
            let wide = _mm256_cvtepu32_epi64(_mm256_cvttpd_epi32(bits));
            _mm256_castsi256_pd(_mm256_slli_epi64::<32>(wide))
        }
    }

    #[inline(always)]
    fn count_up_to<const N: usize>(
        sums: &[u32],
        starts: &[u32; 8],
        points: [u32; N],
    ) -> [usize; N] {
        unsafe { prefix::count_up_to(sums, starts, points) }
    }

    #[inline(always)]
    fn find_four(sums: &[u32], spans: Spans, words: [u64; 4]) -> ([u32; 4], __m256d) {
        unsafe { prefix::find_four(sums, spans, words) }
    }

    #[inline(always)]
    fn weigh_points<S: Cost, const K: usize>(points: Points) -> [f64; 4] {
        unsafe { masses::weigh_points::<S, K>(points) }
    }

    #[inline(always)]
    fn weigh_steps<const K: usize>(stepping: Stepping) -> ([u32; 8], u16) {
        unsafe { masses::weigh_steps::<K>(stepping) }
    }

    #[inline(always)]
    fn weigh<S: Cost, const K: usize>(weighing: Weighing) -> (Spans, u32) {
        unsafe { masses::weigh::<S, K>(weighing) }
    }
}
