//! Candidates for the noise of a record: the points of a shifted lattice.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use statrs::function::erf::{erfc, erfc_inv};

/// Generators a of Korobov lattices of 2, 4, ..., 256 points: point j has the coordinates
/// j a^c / M mod 1. Those with the smallest sum of P_2 over 2, 3, 4 and 6 dimensions, by search.
const GENERATORS: [usize; 8] = [1, 1, 3, 3, 13, 29, 61, 69];

/// The number of points for the first record, and at most.
const FIRST: f64 = 2.0;
const MOST: usize = 1 << GENERATORS.len();

/// The number of candidates for a record after which `left` of n records are left to choose, a
/// power of two.
///
/// The log of a factor has a variance of about 1 / (left M^a), with a = 1 for independent
/// candidates. For a given total the sum of these is smallest if M is proportional to
/// (n / left)^(1/2).
pub(super) fn candidates(n: usize, left: usize) -> usize {
    let wanted = FIRST * (n as f64 / (left + 1) as f64).sqrt();
    (wanted as usize).next_power_of_two().min(MOST)
}

/// The number of candidates for all records.
pub(in crate::chain) fn all_candidates(n: usize) -> usize {
    (0..n).map(|left| candidates(n, left)).sum()
}

/// Fills `noise` with `count` points of dimension `d`, row by row: the lattice in the unit cube,
/// shifted modulo 1 such that `first` is one of its points, in normal scores.
///
/// The lattice is a group. So the points are the same whichever of them is `first`, and if `first`
/// is standard normal, so is each of them.
pub(super) fn fill(noise: &mut [f64], first: &[f64], count: usize) {
    let d = first.len();
    noise[..d].copy_from_slice(first);
    if count == 1 {
        return;
    }
    let a = GENERATORS[count.ilog2() as usize - 1];
    let mut generator = 1;
    for (c, e) in first.iter().enumerate() {
        let shift = 0.5 * erfc(-e * FRAC_1_SQRT_2);
        for j in 1..count {
            let u = shift + (j * generator % count) as f64 / count as f64;
            let u = if u >= 1.0 { u - 1.0 } else { u };
            noise[j * d + c] = -SQRT_2 * erfc_inv(2.0 * u.clamp(f64::MIN_POSITIVE, LAST));
        }
        generator = generator * a % count;
    }
}

/// The largest number below 1.
const LAST: f64 = 1.0 - f64::EPSILON / 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// The same points from each of them, for every number of candidates.
    #[test]
    fn points_do_not_depend_on_the_first() {
        for count in (0..=GENERATORS.len()).map(|m| 1 << m) {
            let mut noise = vec![0.0; count * 3];
            fill(&mut noise, &[0.3, -1.2, 2.1], count);
            let mut sorted: Vec<Vec<f64>> = noise.chunks_exact(3).map(<[f64]>::to_vec).collect();
            sorted.sort_by(|a, b| a[0].total_cmp(&b[0]));
            for first in noise.chunks_exact(3) {
                let mut again = vec![0.0; count * 3];
                fill(&mut again, first, count);
                let mut rows: Vec<&[f64]> = again.chunks_exact(3).collect();
                rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
                for (x, y) in rows.iter().zip(&sorted) {
                    let distance = x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
                    assert!(distance < 1e-6, "{count}: {x:?} {y:?}");
                }
            }
        }
    }

    /// Fewer candidates first, more at the end, and about six a record in all.
    #[test]
    fn most_candidates_come_last() {
        for n in [1, 10, 2000] {
            let counts: Vec<usize> = (0..n).rev().map(|left| candidates(n, left)).collect();
            assert!(counts.is_sorted() && counts[0] == 2, "{counts:?}");
            assert!(counts.iter().sum::<usize>() <= 7 * n, "{n}");
        }
        assert_eq!(candidates(1_000_000, 0), MOST);
    }
}
