//! Vectors in portable Rust.

use super::{BITS, LANES, MASS_BITS, Points, SMALLEST, Spans, Stepping, Vector, Weighing, lane};
use crate::numeric::exp::exp_above;
use crate::simd::cost::Cost;

/// For any CPU.
#[derive(Clone, Copy)]
pub struct Portable;

#[inline(always)]
fn zip(a: [f64; 4], b: [f64; 4], f: impl Fn(f64, f64) -> f64) -> [f64; 4] {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])]
}

impl Vector for Portable {
    type Four = [f64; 4];

    #[inline(always)]
    fn load(from: &[f64]) -> [f64; 4] {
        [from[0], from[1], from[2], from[3]]
    }

    #[inline(always)]
    fn load_narrow(from: &[f32]) -> [f64; 4] {
        [from[0], from[1], from[2], from[3]].map(f64::from)
    }

    #[inline(always)]
    fn store(to: &mut [f64], value: [f64; 4]) {
        to[..4].copy_from_slice(&value);
    }

    #[inline(always)]
    fn narrow(to: &mut [f32], value: [f64; 4]) {
        to[..4].copy_from_slice(&value.map(|v| v as f32));
    }

    #[inline(always)]
    fn load_some(from: &[f64]) -> [f64; 4] {
        std::array::from_fn(|j| from.get(j).copied().unwrap_or(0.0))
    }

    #[inline(always)]
    fn store_some(to: &mut [f64], value: [f64; 4]) {
        to.iter_mut().zip(value).for_each(|(to, value)| *to = value);
    }

    #[inline(always)]
    fn narrow_both(to: &mut [f32], value: [[f64; 4]; 2]) {
        to.iter_mut().zip(value.as_flattened()).for_each(|(to, &value)| *to = value as f32);
    }

    #[inline(always)]
    fn whole(to: &mut [u16], value: [f64; 4]) {
        to[..4].copy_from_slice(&value.map(|v| v as u16));
    }

    #[inline(always)]
    fn put(to: &mut [f32], lane: usize, value: f32) {
        to[..8][lane] = value;
    }

    #[inline(always)]
    fn steps(to: &mut [i16], value: [f64; 4]) {
        to[..4].copy_from_slice(&value.map(|v| v.round_ties_even() as i16));
    }

    #[inline(always)]
    fn turn_steps(to: &mut [i16], count: usize, rows: [[f64; 4]; 8]) {
        for c in 0..count {
            for (to, row) in to[c * LANES..][..8].iter_mut().zip(&rows) {
                *to = row[c].round_ties_even() as i16;
            }
        }
    }

    #[inline(always)]
    fn put_step(to: &mut [i16], lane: usize, value: i16) {
        to[..LANES][lane] = value;
    }

    #[inline(always)]
    fn add(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        zip(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        zip(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn div(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        zip(a, b, |a, b| a / b)
    }

    #[inline(always)]
    fn min(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        zip(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn max(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        zip(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn below(a: [f64; 4], b: [f64; 4]) -> u32 {
        (0..4).map(|j| u32::from(a[j] < b[j]) << j).sum()
    }

    #[inline(always)]
    fn cost<S: Cost>(residuals: [f64; 4]) -> [f64; 4] {
        residuals.map(S::cost)
    }

    #[inline(always)]
    fn total(a: [f64; 4]) -> f64 {
        (a[0] + a[2]) + (a[1] + a[3])
    }

    #[inline(always)]
    fn totals(of: [[f64; 4]; 4]) -> [f64; 4] {
        of.map(Self::total)
    }

    #[inline(always)]
    fn join(of: [f64; 4]) -> [f64; 4] {
        of
    }

    #[inline(always)]
    fn exp_above(of: [f64; 4]) -> [f64; 4] {
        of.map(exp_above)
    }

    #[inline(always)]
    fn count_up_to<const N: usize>(
        sums: &[u32],
        starts: &[u32; 8],
        points: [u32; N],
    ) -> [usize; N] {
        let past = |j: usize| starts[j % 8] + sums[j];
        points.map(|point| (0..sums.len()).filter(|&j| past(j) <= point).count())
    }

    #[inline(always)]
    fn find_four(sums: &[u32], spans: Spans, words: [u64; 4]) -> ([u32; 4], [f64; 4]) {
        let rows = sums.len() / 8 - 1;
        let Spans { starts, total } = spans;
        let total = u64::from(total);
        let places =
            words.map(|word| (word >> 32) * total + (((word & 0xffff_ffff) * total) >> 32));
        let passed =
            Self::count_up_to(&sums[8..], &starts, places.map(|place| (place >> 32) as u32));
        let (mut indices, mut into) = ([0; 4], [0.0; 4]);
        for j in 0..4 {
            let (column, row) = (passed[j] / rows, passed[j] % rows);
            let index = 8 * row + column;
            let whole = (places[j] >> 32) as u32 - starts[column] - sums[index];
            let rest = places[j] as u32 >> 1;
            indices[j] = index as u32;
            into[j] = f64::from(whole) + f64::from(rest) * (1.0 / (1u64 << 31) as f64);
        }
        (indices, into)
    }

    #[inline(always)]
    fn weigh_points<S: Cost, const K: usize>(points: Points) -> [f64; 4] {
        let Points { columns, apart, beyond, unit, masses, sums } = points;
        let k = if K == 0 { apart.len() } else { K };
        let mut parts = [0.0; 4];
        let masses = masses.chunks_exact_mut(LANES).zip(sums.chunks_exact_mut(LANES));
        for ((masses, sums), columns) in masses.zip(columns.chunks_exact(k * LANES)) {
            let mut costs = [[0.0f32; LANES]; 2];
            for c in 0..k {
                for l in 0..LANES {
                    let distance = columns[c * LANES + l] + apart[c];
                    costs[0][l] += S::cost_beyond(distance, beyond[c]);
                }
                costs.swap(0, 1);
            }
            for l in 0..LANES {
                let cost = costs[0][l] + costs[1][l];
                let bits = (unit - cost * BITS).clamp(MASS_BITS[0], MASS_BITS[1]);
                masses[l] = f32::from_bits(bits as u32);
                parts[l % 4] += f64::from(masses[l]);
                sums[l] = parts[l % 4];
            }
        }
        parts
    }

    #[inline(always)]
    fn weigh_steps<const K: usize>(stepping: Stepping) -> ([u32; 8], u16) {
        let Stepping { columns, aim, none, ones, sums } = stepping;
        let k = columns.len() / none.len();
        let (mut ends, mut least) = ([0; 8], u16::MAX);
        let blocks = columns.chunks_exact(k * LANES).zip(none.chunks_exact(LANES));
        for ((columns, none), sums) in blocks.zip(sums.chunks_exact_mut(LANES)) {
            let mut masses = [0; LANES];
            for (l, mass) in masses.iter_mut().enumerate() {
                let distance = |c: usize| columns[c * LANES + l].saturating_add(aim[c]);
                let cost =
                    (0..k).fold(none[l], |cost, c| cost.saturating_add(distance(c).unsigned_abs()));
                least = least.min(cost);
                let bound = f32::from_bits(u32::from(ones.saturating_sub(cost)) << 15);
                *mass = (bound as u32).saturating_add(1);
            }
            for (at, sum) in sums.iter_mut().enumerate() {
                let (row, lane) = (at / 8, at % 8);
                ends[lane] += masses[row * 4 + lane / 4 * 8 + lane % 4];
                *sum = ends[lane];
            }
        }
        for lane in 1..8 {
            ends[lane] += ends[lane - 1];
        }
        (ends, least)
    }

    #[inline(always)]
    fn weigh<S: Cost, const K: usize>(weighing: Weighing) -> (Spans, u32) {
        let Weighing { low, high, aim, paid, ones, counts, shrink, sums } = weighing;
        let k = if K == 0 { aim.len() } else { K };
        let (mut columns, mut second) = ([0u32; 8], 0);
        for (block, sums) in sums.chunks_exact_mut(LANES).enumerate() {
            let boxes = block * k * LANES;
            let (low, high) = (&low[boxes..][..k * LANES], &high[boxes..][..k * LANES]);
            let mut costs = [0u16; LANES];
            for c in 0..k {
                for l in 0..LANES {
                    let short = low[c * LANES + l].saturating_sub(aim[c]);
                    let distance = short | aim[c].saturating_sub(high[c * LANES + l]);
                    costs[l] = costs[l].saturating_add(S::units_below(distance, paid[c]));
                }
            }
            for j in 0..LANES {
                let (cell, column) = (block * LANES + j, j % 8);
                let bits = ones.saturating_sub(costs[lane(j)]).max(SMALLEST);
                let mass = (f32::from_bits(u32::from(bits) << 16) * counts[cell]) as u32;
                second += (mass as f32 * shrink[cell]) as u32;
                columns[column] += mass + 1;
                sums[j] = columns[column];
            }
        }
        let mut spans = Spans::default();
        for (start, sum) in spans.starts.iter_mut().zip(columns) {
            *start = spans.total;
            spans.total += sum;
        }
        (spans, second)
    }
}
