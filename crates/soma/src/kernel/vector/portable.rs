//! Vectors in plain Rust.

use super::{LANES, ONE, SLACK, SMALLEST, Sums, Vector, Weighing};
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
    fn add(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        zip(a, b, |a, b| a - b)
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
    fn weigh<S: Falloff, const K: usize>(weighing: Weighing) -> Sums {
        let Weighing { low, high, aim, paid, counts, shrink, masses } = weighing;
        let k = if K == 0 { aim.len() } else { K };
        let mut sums = Sums { parts: [0.0; LANES], surely: [0.0; LANES] };
        for (block, masses) in masses.chunks_exact_mut(LANES).enumerate() {
            let boxes = block * k * LANES;
            let (low, high) = (&low[boxes..][..k * LANES], &high[boxes..][..k * LANES]);
            let counts = &counts[block * LANES..][..LANES];
            let shrink = &shrink[block * LANES..][..LANES];
            let mut costs = [0u16; LANES];
            for c in 0..k {
                for l in 0..LANES {
                    let short = low[c * LANES + l].saturating_sub(aim[c] + 1);
                    let distance = short | aim[c].saturating_sub(high[c * LANES + l]);
                    costs[l] = costs[l].saturating_add(S::units_below(distance, paid[c]));
                }
            }
            for l in 0..LANES {
                let bits = ONE.saturating_sub(costs[l]).max(SMALLEST);
                masses[l] = f32::from_bits((u32::from(bits) << 16) | SLACK) * counts[l];
                sums.parts[l] += f64::from(masses[l]);
                sums.surely[l] += masses[l] * shrink[l];
            }
        }
        sums
    }
}
