//! Integer prefix sums: exact, and searched by comparing eight at a time.

use rand::Rng as _;

use crate::numeric::aligned::Aligned;
use crate::rng::Rng;
use crate::simd::vector::{Spans, Vector};

/// Integer masses, from which an index is drawn. Integer sums are exact, and a mass of zero is
/// never drawn. The number of masses is eight times a power of 2.
///
/// They are stored in rows of eight. The total order is column by column.
#[derive(Debug, Clone, Default)]
pub(crate) struct IntegerPrefix {
    /// Eight zeros, then the cumulative masses of each column.
    sums: Aligned<u32>,
    spans: Spans,
}

/// The mass at a point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The index of the mass.
    pub(crate) index: usize,
    /// The position of the point within the mass.
    pub(crate) into: u32,
    /// The mass.
    pub(crate) mass: u32,
}

impl IntegerPrefix {
    /// Resizes to `count` masses.
    pub(crate) fn resize(&mut self, count: usize) {
        self.sums.fill_with(8 + count, 0);
    }

    /// The cumulative masses, to be filled.
    #[inline(always)]
    pub(crate) fn sums_mut(&mut self) -> &mut [u32] {
        &mut self.sums[8..]
    }

    /// Sets the spans of the columns.
    #[inline(always)]
    pub(crate) fn set_spans(&mut self, spans: Spans) {
        self.spans = spans;
    }

    /// The total mass.
    #[inline(always)]
    pub(crate) fn total(&self) -> u32 {
        self.spans.total
    }

    /// The mass at an index.
    #[inline(always)]
    pub(crate) fn mass(&self, index: usize) -> u32 {
        self.sums[8 + index] - self.sums[index]
    }

    /// The mass at a point below the total.
    #[inline(always)]
    pub(crate) fn find<V: Vector>(&self, point: u32) -> Hit {
        let sums = &self.sums[8..];
        let rows = sums.len() / 8;
        // All sums of earlier columns are passed, and none of later ones.
        let [passed] = V::count_up_to(sums, &self.spans.starts, [point]);
        let (column, row) = (passed >> rows.trailing_zeros() & 7, passed & (rows - 1));
        let index = 8 * row + column;
        let before = self.sums[index];
        Hit { index, into: point - self.spans.starts[column] - before, mass: sums[index] - before }
    }

    /// The mass at a uniform point, and the position within it.
    #[inline(always)]
    pub(crate) fn draw<V: Vector>(&self, rng: &mut Rng) -> (Hit, f64) {
        let product = u128::from(rng.next_u64()) * u128::from(self.total());
        let hit = self.find::<V>((product >> 64) as u32);
        let rest = (product as u64 >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        (hit, f64::from(hit.into) + rest)
    }

    /// The masses at four uniform points, and the positions within them.
    #[inline(always)]
    pub(crate) fn draw_four<V: Vector>(&self, rng: &mut Rng) -> ([u32; 4], V::Four) {
        let words = [rng.next_u64(), rng.next_u64(), rng.next_u64(), rng.next_u64()];
        V::find_four(&self.sums, self.spans, words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::vector::Portable;

    /// Every point selects its mass.
    #[test]
    fn points_fall_to_their_masses() {
        for count in [16, 32, 128] {
            let masses: Vec<u32> = (0..count as u32).map(|j| j * j % 7).collect();
            let mut line = IntegerPrefix::default();
            line.resize(count);
            let mut spans = Spans::default();
            for column in 0..8 {
                spans.starts[column] = spans.total;
                let mut sum = 0;
                for index in (column..count).step_by(8) {
                    sum += masses[index];
                    line.sums_mut()[index] = sum;
                }
                spans.total += sum;
            }
            line.set_spans(spans);
            let mut found = vec![0; count];
            for point in 0..line.total() {
                let Hit { index, into, mass } = line.find::<Portable>(point);
                assert_eq!((mass, line.mass(index)), (masses[index], masses[index]));
                assert_eq!(into, found[index]);
                found[index] += 1;
            }
            assert_eq!(found, masses);
            for j in 0..1_000u64 {
                let words: [u64; 4] =
                    std::array::from_fn(|i| (4 * j + i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let (indices, into) = Portable::find_four(&line.sums, line.spans, words);
                for i in 0..4 {
                    let product = u128::from(words[i]) * u128::from(line.total());
                    let hit = line.find::<Portable>((product >> 64) as u32);
                    assert_eq!(indices[i] as usize, hit.index);
                    let rest = product as u64 as f64 / 2f64.powi(64);
                    assert!((into[i] - f64::from(hit.into) - rest).abs() < 1e-9);
                }
            }
        }
    }
}
