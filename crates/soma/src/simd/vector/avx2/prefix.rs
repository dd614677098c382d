//! Integer prefix sums: their totals, and the masses at given points.
//!
//! SAFETY of all blocks: the CPU has AVX2, as the callers guarantee, and pointers come from slices
//! whose length was checked.

use std::arch::x86_64::*;

use crate::simd::vector::Spans;

/// The inclusive prefix sums of eight numbers.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn with_those_before(of: __m256i) -> __m256i {
    unsafe {
        let of = _mm256_add_epi32(of, _mm256_slli_si256::<4>(of));
        let of = _mm256_add_epi32(of, _mm256_slli_si256::<8>(of));
        let low = _mm256_permute2x128_si256::<0x08>(of, of);
        _mm256_add_epi32(of, _mm256_shuffle_epi32::<0xff>(low))
    }
}

/// The same as an array.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn ends(of: __m256i) -> [u32; 8] {
    let mut ends = [0; 8];
    unsafe { _mm256_storeu_si256(ends.as_mut_ptr().cast(), with_those_before(of)) }
    ends
}

/// The spans of columns with these sums.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn spans(sums: __m256i) -> Spans {
    let mut starts = [0; 8];
    unsafe {
        let ends = with_those_before(sums);
        _mm256_storeu_si256(starts.as_mut_ptr().cast(), _mm256_sub_epi32(ends, sums));
        Spans { starts, total: _mm256_extract_epi32::<7>(ends) as u32 }
    }
}

/// See [`Vector::count_up_to`](crate::simd::vector::Vector::count_up_to).
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn count_up_to<const N: usize>(
    sums: &[u32],
    starts: &[u32; 8],
    points: [u32; N],
) -> [usize; N] {
    unsafe {
        let starts = _mm256_loadu_si256(starts.as_ptr().cast());
        // Loops instead of closures: a closure may be compiled without AVX2.
        let mut left = [starts; N];
        for j in 0..N {
            left[j] = _mm256_sub_epi32(_mm256_set1_epi32(points[j] as i32), starts);
        }
        // Compare masks are -1: subtract one for each sum above.
        let mut counts = [_mm256_setzero_si256(); N];
        for row in sums.chunks_exact(8) {
            let row = _mm256_loadu_si256(row.as_ptr().cast());
            for j in 0..N {
                counts[j] = _mm256_add_epi32(counts[j], _mm256_cmpgt_epi32(row, left[j]));
            }
        }
        let mut passed = [sums.len(); N];
        for j in 0..N {
            let high = _mm256_extracti128_si256::<1>(counts[j]);
            let four = _mm_add_epi32(_mm256_castsi256_si128(counts[j]), high);
            let two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
            let one = _mm_add_epi32(two, _mm_shuffle_epi32::<1>(two));
            passed[j] -= (-_mm_cvtsi128_si32(one)) as usize;
        }
        passed
    }
}

/// See [`Vector::find_four`](crate::simd::vector::Vector::find_four).
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn find_four(sums: &[u32], spans: Spans, words: [u64; 4]) -> ([u32; 4], __m256d) {
    let rows = sums.len() / 8 - 1;
    assert!(rows.is_power_of_two());
    unsafe {
        let words = _mm256_loadu_si256(words.as_ptr().cast());
        let total = _mm256_set1_epi64x(i64::from(spans.total));
        let low = _mm256_srli_epi64::<32>(_mm256_mul_epu32(words, total));
        let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(words), total);
        // The integer parts, then the remainders.
        let parts = _mm256_setr_epi32(1, 3, 5, 7, 0, 2, 4, 6);
        let places = _mm256_permutevar8x32_epi32(_mm256_add_epi64(low, high), parts);
        let starts = _mm256_loadu_si256(spans.starts.as_ptr().cast());
        // Loops instead of closures: a closure may be compiled without AVX2.
        let mut left = [starts; 4];
        for (j, left) in left.iter_mut().enumerate() {
            let point = _mm256_permutevar8x32_epi32(places, _mm256_set1_epi32(j as i32));
            *left = _mm256_sub_epi32(point, starts);
        }
        // Compare masks are -1: subtract one for each sum above.
        let mut counts = [_mm256_setzero_si256(); 4];
        for row in sums.chunks_exact(8).skip(1) {
            let row = _mm256_loadu_si256(row.as_ptr().cast());
            for j in 0..4 {
                counts[j] = _mm256_add_epi32(counts[j], _mm256_cmpgt_epi32(row, left[j]));
            }
        }
        let two =
            [_mm256_hadd_epi32(counts[0], counts[1]), _mm256_hadd_epi32(counts[2], counts[3])];
        let halves = _mm256_hadd_epi32(two[0], two[1]);
        let above =
            _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves));
        let passed = _mm_add_epi32(above, _mm_set1_epi32(8 * rows as i32));
        // The index is in range for any values of the sums.
        let shift = _mm_cvtsi32_si128(rows.trailing_zeros() as i32);
        let column = _mm_and_si128(_mm_srl_epi32(passed, shift), _mm_set1_epi32(7));
        let row = _mm_and_si128(passed, _mm_set1_epi32(rows as i32 - 1));
        let index = _mm_or_si128(_mm_slli_epi32::<3>(row), column);
        let before = _mm_i32gather_epi32::<4>(sums.as_ptr().cast(), index);
        let start = _mm256_permutevar8x32_epi32(starts, _mm256_castsi128_si256(column));
        let whole = _mm_sub_epi32(_mm256_castsi256_si128(places), before);
        let whole = _mm_sub_epi32(whole, _mm256_castsi256_si128(start));
        let rest = _mm_srli_epi32::<1>(_mm256_extracti128_si256::<1>(places));
        let rest =
            _mm256_mul_pd(_mm256_cvtepi32_pd(rest), _mm256_set1_pd(1.0 / (1u64 << 31) as f64));
        let mut indices = [0; 4];
        _mm_storeu_si128(indices.as_mut_ptr().cast(), index);
        (indices, _mm256_add_pd(_mm256_cvtepi32_pd(whole), rest))
    }
}
