//! Masses to draw from.

use super::vector::LANES;

/// Bounds of weights, and their sums, from which one is drawn with probability proportional to its
/// mass. The number of masses is a multiple of [`LANES`].
#[derive(Debug, Clone, Default)]
pub(super) struct Masses {
    /// The masses.
    pub(super) masses: Vec<f32>,
    /// Mass j with masses j - 4, j - 8 and so on: those before it in the same of four parts.
    pub(super) sums: Vec<f64>,
    /// The sums of the parts, summed up.
    parts: [f64; 4],
}

impl Masses {
    /// Room for `count` masses.
    pub(super) fn resize(&mut self, count: usize) {
        self.masses.resize(count, 0.0);
        self.sums.resize(count, 0.0);
    }

    /// Takes the sums of the four parts.
    #[inline(always)]
    pub(super) fn set_parts(&mut self, parts: [f64; 4]) {
        let half = parts[0] + parts[1];
        self.parts = [parts[0], half, half + parts[2], half + (parts[2] + parts[3])];
    }

    /// All masses together.
    #[inline(always)]
    pub(super) fn total(&self) -> f64 {
        self.parts[3]
    }

    /// The mass at which the sum, part after part, passes a part `uniform` of the total. Rounding
    /// may lead to one that is zero, though hardly ever.
    #[inline(always)]
    pub(super) fn draw(&self, uniform: f64) -> usize {
        let left = uniform * self.total();
        let part: usize = self.parts[..3].iter().map(|&sum| usize::from(sum <= left)).sum();
        let left = left - if part == 0 { 0.0 } else { self.parts[part - 1] };
        // First which sixteen, and then which of them.
        let mut at = part;
        for sums in self.sums.chunks_exact(LANES) {
            at += if sums[LANES - 4 + part] <= left { LANES } else { 0 };
        }
        let at = at.min(self.sums.len() - LANES + part);
        let sums = &self.sums[at..][..9];
        at + 4 * [0, 4, 8].map(|v| usize::from(sums[v] <= left)).iter().sum::<usize>()
    }
}
