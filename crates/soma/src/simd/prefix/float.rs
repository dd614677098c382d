//! Prefix sums in double precision, in four interleaved parts.

use crate::simd::vector::LANES;

/// Masses, from which an index is drawn with probability proportional to its mass. A mass is a
/// bound of weights times the number of weights. The number of masses is a multiple of [`LANES`].
#[derive(Debug, Clone, Default)]
pub(crate) struct FloatPrefix {
    /// The bounds.
    pub(crate) bounds: Vec<f32>,
    /// Four zeros, then for each j the sum of masses j, j - 4, j - 8, ...: four interleaved prefix
    /// sums.
    sums: Vec<f64>,
    /// The start of each of the four parts in the total order, and the end of the last.
    starts: [f64; 5],
}

impl FloatPrefix {
    /// Resizes to `count` masses.
    pub(crate) fn resize(&mut self, count: usize) {
        self.bounds.resize(count, 0.0);
        self.sums.clear();
        self.sums.resize(count + 4, 0.0);
    }

    /// The bounds and the sums, to be filled.
    #[inline(always)]
    pub(crate) fn parts_mut(&mut self) -> (&mut [f32], &mut [f64]) {
        (&mut self.bounds, &mut self.sums[4..])
    }

    /// Sets the totals of the four parts.
    #[inline(always)]
    pub(crate) fn set_parts(&mut self, parts: [f64; 4]) {
        let half = parts[0] + parts[1];
        self.starts = [0.0, parts[0], half, half + parts[2], half + (parts[2] + parts[3])];
    }

    /// The total mass.
    #[inline(always)]
    pub(crate) fn total(&self) -> f64 {
        self.starts[4]
    }

    /// The index at which the cumulative sum, part by part, passes the fraction `uniform` of the
    /// total. Rounding may, rarely, select a mass of zero.
    #[inline(always)]
    pub(crate) fn draw(&self, uniform: f64) -> usize {
        let left = uniform * self.total();
        let part: usize = self.starts[1..4].iter().map(|&sum| usize::from(sum <= left)).sum();
        let left = left - self.starts[part & 3];
        // First the block of sixteen, then the index in it.
        let mut at = part & 3;
        let sums = &self.sums[4..];
        for sums in sums[..sums.len() - LANES].chunks_exact(LANES) {
            at += if sums[LANES - 4 + (part & 3)] <= left { LANES } else { 0 };
        }
        let sums = &sums[at..][..9];
        at + 4 * [0, 4, 8].map(|v| usize::from(sums[v] <= left)).iter().sum::<usize>()
    }
}
