//! Prefix sums that are updated in place.

use crate::simd::vector::Vector;

/// Rebuild the prefix sums when the total falls below 1/1024 of its peak: the rounding errors of the
/// large masses are still in them.
const FALL: f64 = 1.0 / 1024.0;

/// Prefix sums of masses of which two change at a time. An update adds to all later sums,
/// vectorised and without branches: O(count / 4). An index is drawn by counting the sums that are
/// not above a uniform point.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShiftedPrefix {
    /// 0, then the prefix sums, padded with the total to full vectors.
    rungs: Vec<f64>,
    /// Zeros, then ones, as many as sums: a window of it is the mask of an update.
    steps: Vec<f64>,
    /// The largest total since the sums were rebuilt.
    peak: f64,
}

impl ShiftedPrefix {
    /// Rebuilds the sums of `count` masses.
    #[inline(always)]
    pub(crate) fn fit(&mut self, count: usize, masses: impl Iterator<Item = f64>) {
        let padded = count.next_multiple_of(4);
        if self.steps.len() != 2 * padded {
            self.rungs = vec![0.0; padded + 1];
            self.steps = [vec![0.0; padded], vec![1.0; padded]].concat();
        }
        let mut sum = 0.0;
        let mut rungs = self.rungs[1..].iter_mut();
        for (mass, rung) in masses.zip(&mut rungs) {
            sum += mass;
            *rung = sum;
        }
        rungs.for_each(|rung| *rung = sum);
        self.peak = sum;
    }

    /// The total mass.
    #[inline(always)]
    pub(crate) fn height(&self) -> f64 {
        self.rungs[self.rungs.len() - 1]
    }

    /// The index at position `left`, which is below the total, and the position within its mass.
    /// Rounding may, rarely, select a mass of zero.
    #[inline(always)]
    pub(crate) fn at<V: Vector>(&self, left: f64) -> (usize, f64) {
        let lefts = V::join([left; 4]);
        let mut index = 0;
        for four in self.rungs[1..].chunks_exact(4) {
            index += (!V::below(lefts, V::load(four)) & 15).count_ones();
        }
        let index = index as usize;
        (index, left - self.rungs[index])
    }

    /// Changes two masses. Returns whether the sums must be rebuilt.
    #[inline(always)]
    pub(crate) fn shift<V: Vector>(&mut self, first: (usize, f64), second: (usize, f64)) -> bool {
        let rungs = &mut self.rungs[1..];
        let padded = rungs.len();
        let above = |(index, change): (usize, f64)| {
            (&self.steps[padded - index..][..padded], V::join([change; 4]))
        };
        let ((first, by_first), (second, by_second)) = (above(first), above(second));
        for (four, rungs) in rungs.chunks_exact_mut(4).enumerate() {
            let (first, second) = (V::load(&first[4 * four..]), V::load(&second[4 * four..]));
            let shifted = V::add(V::load(rungs), V::mul(first, by_first));
            V::store(rungs, V::add(shifted, V::mul(second, by_second)));
        }
        let height = self.height();
        self.peak = self.peak.max(height);
        height < FALL * self.peak
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::rng;
    use crate::simd::vector::Portable;

    /// After many updates the sums agree with the masses, and a position selects its mass.
    #[test]
    fn the_ladder_follows_its_masses() {
        let mut rng = rng::stream(3, 0);
        for count in [1, 3, 4, 11, 40] {
            let mut masses: Vec<f64> = (0..count).map(|_| rng.random::<f64>()).collect();
            let mut prefix = ShiftedPrefix::default();
            prefix.fit(count, masses.iter().copied());
            for _ in 0..500 {
                let [a, b] = [(); 2].map(|()| rng.random_range(0..count));
                let changes = [masses[a] * (rng.random::<f64>() - 0.5), rng.random::<f64>()];
                masses[a] += changes[0];
                masses[b] += changes[1];
                assert!(!prefix.shift::<Portable>((a, changes[0]), (b, changes[1])));
            }
            assert!((prefix.height() / masses.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let mut below = 0.0;
            for (index, mass) in masses.iter().enumerate() {
                let (found, into) = prefix.at::<Portable>(below + 0.25 * mass);
                assert_eq!(found, index);
                assert!((into / mass - 0.25).abs() < 1e-6);
                below += mass;
            }
            let most = masses.iter().copied().fold(0.0, f64::max);
            let index = masses.iter().position(|&mass| mass == most).unwrap();
            let fall = (index, -most);
            assert_eq!(prefix.shift::<Portable>(fall, (0, 0.0)), count == 1);
        }
    }
}
