//! Vectors in plain Rust.

use super::{BITS, LANES, MASS_BITS, ONE, Points, SLACK, SMALLEST, Vector, Weighing};
use crate::kernel::shape::Falloff;

/// Runs anywhere.
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
    fn store(to: &mut [f64], value: [f64; 4]) {
        to[..4].copy_from_slice(&value);
    }

    #[inline(always)]
    fn narrow(to: &mut [f32], value: [f64; 4]) {
        to[..4].copy_from_slice(&value.map(|v| v as f32));
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
    fn min(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        zip(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn max(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        zip(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn cost<S: Falloff>(residuals: [f64; 4]) -> [f64; 4] {
        residuals.map(S::cost)
    }

    #[inline(always)]
    fn total(a: [f64; 4]) -> f64 {
        (a[0] + a[2]) + (a[1] + a[3])
    }

    #[inline(always)]
    fn weigh_points<S: Falloff, const K: usize>(points: Points) -> [f64; 4] {
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
    fn weigh<S: Falloff, const K: usize>(weighing: Weighing) -> [f64; 4] {
        let Weighing { low, high, aim, paid, counts, masses, sums } = weighing;
        let k = if K == 0 { aim.len() } else { K };
        let mut parts = [0.0; 4];
        let masses = masses.chunks_exact_mut(LANES).zip(sums.chunks_exact_mut(LANES));
        for (block, (masses, sums)) in masses.enumerate() {
            let boxes = block * k * LANES;
            let (low, high) = (&low[boxes..][..k * LANES], &high[boxes..][..k * LANES]);
            let counts = &counts[block * LANES..][..LANES];
            let mut costs = [0u16; LANES];
            for c in 0..k {
                for l in 0..LANES {
                    let short = low[c * LANES + l].saturating_sub(aim[c]);
                    let distance = short | aim[c].saturating_sub(high[c * LANES + l]);
                    costs[l] = costs[l].saturating_add(S::units_below(distance, paid[c]));
                }
            }
            for l in 0..LANES {
                let bits = ONE.saturating_sub(costs[l]).max(SMALLEST);
                masses[l] = f32::from_bits((u32::from(bits) << 16) | SLACK) * counts[l];
                parts[l % 4] += f64::from(masses[l]);
                sums[l] = parts[l % 4];
            }
        }
        parts
    }
}
