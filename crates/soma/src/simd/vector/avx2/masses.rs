//! The masses of records and of cells.
//!
//! SAFETY of all blocks: the CPU has AVX2, as the callers guarantee, and pointers come from slices
//! whose length was checked.

use std::arch::x86_64::*;

use super::prefix::{ends, spans};
use crate::simd::cost::Cost;
use crate::simd::vector::{BITS, LANES, MASS_BITS, Points, SMALLEST, Spans, Stepping, Weighing};

/// See [`Vector::weigh_points`](crate::simd::vector::Vector::weigh_points).
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn weigh_points<S: Cost, const K: usize>(points: Points) -> [f64; 4] {
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
            // Two independent sums each, to hide latency.
            let (mut these, mut others) = ([_mm256_setzero_ps(); 2], [_mm256_setzero_ps(); 2]);
            for c in 0..k {
                let apart = _mm256_set1_ps(apart[c]);
                for (h, sum) in these.iter_mut().enumerate() {
                    let column = _mm256_loadu_ps(columns.add(c * LANES + h * 8));
                    let distance = _mm256_add_ps(column, apart);
                    let cost = if S::IS_CURVED {
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

/// See [`Vector::weigh_steps`](crate::simd::vector::Vector::weigh_steps).
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn weigh_steps<const K: usize>(stepping: Stepping) -> ([u32; 8], u16) {
    let Stepping { columns, aim, none, ones, sums } = stepping;
    let blocks = none.len() / LANES;
    let k = if K == 0 { columns.len() / none.len() } else { K };
    let aim = &aim[..k];
    let columns = &columns[..blocks * k * LANES];
    let sums = &mut sums[..blocks * LANES];
    unsafe {
        // In registers, if their number is known.
        let mut aims = [_mm256_setzero_si256(); K];
        for c in 0..K {
            aims[c] = _mm256_set1_epi16(aim[c]);
        }
        let (zero, ones) = (_mm256_setzero_si256(), _mm256_set1_epi16(ones as i16));
        let (mut least, mut sum) = (_mm256_set1_epi16(-1), zero);
        for block in 0..blocks {
            let columns = columns.as_ptr().add(block * k * LANES);
            let mut cost = _mm256_loadu_si256(none.as_ptr().add(block * LANES).cast());
            for c in 0..k {
                let column = _mm256_loadu_si256(columns.add(c * LANES).cast());
                let aim = if K == 0 { _mm256_set1_epi16(aim[c]) } else { aims[c] };
                let distance = _mm256_abs_epi16(_mm256_adds_epi16(column, aim));
                cost = _mm256_adds_epu16(cost, distance);
            }
            least = _mm256_min_epu16(least, cost);
            let bits = _mm256_subs_epu16(ones, cost);
            let halves = [_mm256_unpacklo_epi16(zero, bits), _mm256_unpackhi_epi16(zero, bits)];
            for (h, half) in halves.into_iter().enumerate() {
                let mass = _mm256_castsi256_ps(_mm256_srli_epi32::<1>(half));
                let mass = _mm256_cvttps_epi32(mass);
                // Plus one: subtracts -1.
                sum = _mm256_add_epi32(sum, _mm256_sub_epi32(mass, _mm256_set1_epi32(-1)));
                let to = sums.as_mut_ptr().add(block * LANES + h * 8);
                _mm256_storeu_si256(to.cast(), sum);
            }
        }
        let (first, second) = (_mm256_castsi256_si128(least), _mm256_extracti128_si256::<1>(least));
        let least = _mm_extract_epi16::<0>(_mm_minpos_epu16(_mm_min_epu16(first, second)));
        (ends(sum), least as u16)
    }
}

/// See [`Vector::weigh`](crate::simd::vector::Vector::weigh).
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn weigh<S: Cost, const K: usize>(weighing: Weighing) -> (Spans, u32) {
    let Weighing { low, high, aim, paid, ones, counts, shrink, sums } = weighing;
    let k = if K == 0 { aim.len() } else { K };
    let (aim, paid) = (&aim[..k], if S::IS_CURVED { &paid[..k] } else { paid });
    let blocks = sums.len() / LANES;
    let (low, high) = (&low[..blocks * k * LANES], &high[..blocks * k * LANES]);
    let (counts, shrink) = (&counts[..blocks * LANES], &shrink[..blocks * LANES]);
    unsafe {
        // In registers, if their number is known.
        let mut aims = [_mm256_setzero_si256(); K];
        for c in 0..K {
            aims[c] = _mm256_set1_epi16(aim[c] as i16);
        }
        let (ones, zero) = (_mm256_set1_epi16(ones as i16), _mm256_setzero_si256());
        let (mut sum, mut second) = (zero, zero);
        for block in 0..blocks {
            let boxes = block * k * LANES;
            let mut costs = zero;
            for c in 0..k {
                let at = boxes + c * LANES;
                let aim = if K == 0 { _mm256_set1_epi16(aim[c] as i16) } else { aims[c] };
                let low = _mm256_loadu_si256(low.as_ptr().add(at).cast());
                let high = _mm256_loadu_si256(high.as_ptr().add(at).cast());
                let short = _mm256_subs_epu16(low, aim);
                let distance = _mm256_or_si256(short, _mm256_subs_epu16(aim, high));
                let cost = if S::IS_CURVED {
                    let paid = _mm256_set1_epi16(paid[c] as i16);
                    _mm256_mulhi_epu16(distance, _mm256_adds_epu16(distance, paid))
                } else {
                    distance
                };
                costs = _mm256_adds_epu16(costs, cost);
            }
            let bits = _mm256_subs_epu16(ones, costs);
            let bits = _mm256_max_epu16(bits, _mm256_set1_epi16(SMALLEST as i16));
            let halves = [_mm256_unpacklo_epi16(zero, bits), _mm256_unpackhi_epi16(zero, bits)];
            for (h, half) in halves.into_iter().enumerate() {
                let at = block * LANES + h * 8;
                let counts = _mm256_loadu_ps(counts.as_ptr().add(at));
                let mass = _mm256_mul_ps(_mm256_castsi256_ps(half), counts);
                let mass = _mm256_cvttps_epi32(mass);
                let shrink = _mm256_loadu_ps(shrink.as_ptr().add(at));
                let shrunk = _mm256_mul_ps(_mm256_cvtepi32_ps(mass), shrink);
                second = _mm256_add_epi32(second, _mm256_cvttps_epi32(shrunk));
                // Plus one: subtracts -1.
                let above = _mm256_sub_epi32(mass, _mm256_set1_epi32(-1));
                sum = _mm256_add_epi32(sum, above);
                _mm256_storeu_si256(sums.as_mut_ptr().add(at).cast(), sum);
            }
        }
        let halves = (_mm256_castsi256_si128(second), _mm256_extracti128_si256::<1>(second));
        let four = _mm_add_epi32(halves.0, halves.1);
        let two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
        let one = _mm_add_epi32(two, _mm_shuffle_epi32::<1>(two));
        (spans(sum), _mm_cvtsi128_si32(one) as u32)
    }
}
