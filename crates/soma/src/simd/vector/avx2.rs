//! Vectors in the instructions of x86-64 with AVX2.
//!
//! The type [`Avx2`] cannot be named outside `simd`, and inside it only `specialise` does, with pulp's
//! token for a machine that has these instructions in hand: so no safe code can reach them elsewhere.

use std::arch::x86_64::*;

use super::{BITS, LANES, MASS_BITS, Points, SMALLEST, Spans, Stepping, Vector, Weighing};
use crate::numeric::exp::{HIGH_BITS, HIGH_RANGE};
use crate::simd::cost::Cost;

/// Runs on a machine with AVX2.
#[derive(Clone, Copy)]
pub(in crate::simd) struct Avx2;

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

/// The same of sixteen.
static STEP_LANE: [[u16; 16]; 16] = {
    let mut masks = [[0; 16]; 16];
    let mut lane = 0;
    while lane < 16 {
        masks[lane][lane] = u16::MAX;
        lane += 1;
    }
    masks
};

/// Eight numbers, each with those before it.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn with_those_before(of: __m256i) -> __m256i {
    unsafe {
        let of = _mm256_add_epi32(of, _mm256_slli_si256::<4>(of));
        let of = _mm256_add_epi32(of, _mm256_slli_si256::<8>(of));
        let low = _mm256_permute2x128_si256::<0x08>(of, of);
        _mm256_add_epi32(of, _mm256_shuffle_epi32::<0xff>(low))
    }
}

/// The same, one by one.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn ends(of: __m256i) -> [u32; 8] {
    let mut ends = [0; 8];
    unsafe { _mm256_storeu_si256(ends.as_mut_ptr().cast(), with_those_before(of)) }
    ends
}

/// Spans of masses that have these sums.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn spans(sums: __m256i) -> Spans {
    let mut starts = [0; 8];
    unsafe {
        let ends = with_those_before(sums);
        _mm256_storeu_si256(starts.as_mut_ptr().cast(), _mm256_sub_epi32(ends, sums));
        Spans { starts, total: _mm256_extract_epi32::<7>(ends) as u32 }
    }
}

// SAFETY of all blocks: the machine has AVX2 (see above), and pointers come from slices whose
// length has been checked.
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
            // Rows j and j + 4, then pairs and fours of one column beside each other.
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
        unsafe {
            let starts = _mm256_loadu_si256(starts.as_ptr().cast());
            // Loops and no closures: those may end up where there are no such instructions.
            let mut left = [starts; N];
            for j in 0..N {
                left[j] = _mm256_sub_epi32(_mm256_set1_epi32(points[j] as i32), starts);
            }
            // Less one for each that is above.
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

    #[inline(always)]
    fn find_four(sums: &[u32], spans: Spans, words: [u64; 4]) -> ([u32; 4], __m256d) {
        let rows = sums.len() / 8 - 1;
        assert!(rows.is_power_of_two());
        unsafe {
            let words = _mm256_loadu_si256(words.as_ptr().cast());
            let total = _mm256_set1_epi64x(i64::from(spans.total));
            let low = _mm256_srli_epi64::<32>(_mm256_mul_epu32(words, total));
            let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(words), total);
            // The whole numbers, and then the rests.
            let parts = _mm256_setr_epi32(1, 3, 5, 7, 0, 2, 4, 6);
            let places = _mm256_permutevar8x32_epi32(_mm256_add_epi64(low, high), parts);
            let starts = _mm256_loadu_si256(spans.starts.as_ptr().cast());
            // Loops and no closures: those may end up where there are no such instructions.
            let mut left = [starts; 4];
            for (j, left) in left.iter_mut().enumerate() {
                let point = _mm256_permutevar8x32_epi32(places, _mm256_set1_epi32(j as i32));
                *left = _mm256_sub_epi32(point, starts);
            }
            // Less one for each that is above.
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
            let above = _mm_add_epi32(
                _mm256_castsi256_si128(halves),
                _mm256_extracti128_si256::<1>(halves),
            );
            let passed = _mm_add_epi32(above, _mm_set1_epi32(8 * rows as i32));
            // Whatever the sums are, the place that is looked at is among them.
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

    #[inline(always)]
    fn weigh_points<S: Cost, const K: usize>(points: Points) -> [f64; 4] {
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

    #[inline(always)]
    fn weigh_steps<const K: usize>(stepping: Stepping) -> ([u32; 8], u16) {
        let Stepping { columns, aim, none, ones, sums } = stepping;
        let blocks = none.len() / LANES;
        let k = if K == 0 { columns.len() / none.len() } else { K };
        let aim = &aim[..k];
        let columns = &columns[..blocks * k * LANES];
        let sums = &mut sums[..blocks * LANES];
        unsafe {
            // Held in registers, where their number is known.
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
                    // One more: the sum less -1.
                    sum = _mm256_add_epi32(sum, _mm256_sub_epi32(mass, _mm256_set1_epi32(-1)));
                    let to = sums.as_mut_ptr().add(block * LANES + h * 8);
                    _mm256_storeu_si256(to.cast(), sum);
                }
            }
            let (first, second) =
                (_mm256_castsi256_si128(least), _mm256_extracti128_si256::<1>(least));
            let least = _mm_extract_epi16::<0>(_mm_minpos_epu16(_mm_min_epu16(first, second)));
            (ends(sum), least as u16)
        }
    }

    #[inline(always)]
    fn weigh<S: Cost, const K: usize>(weighing: Weighing) -> (Spans, u32) {
        let Weighing { low, high, aim, paid, ones, counts, shrink, sums } = weighing;
        let k = if K == 0 { aim.len() } else { K };
        let (aim, paid) = (&aim[..k], if S::IS_CURVED { &paid[..k] } else { paid });
        let blocks = sums.len() / LANES;
        let (low, high) = (&low[..blocks * k * LANES], &high[..blocks * k * LANES]);
        let (counts, shrink) = (&counts[..blocks * LANES], &shrink[..blocks * LANES]);
        unsafe {
            // Held in registers, where their number is known.
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
                    // One more: the sum less -1.
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
}
