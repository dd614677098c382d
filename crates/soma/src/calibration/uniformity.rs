//! Tests of uniform ranks.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::erf::erfc;

/// Tests of whether ranks are uniform on 0, ..., L: p-values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Uniformity {
    /// Pearson's chi-squared test over equal bins of ranks: any departure.
    pub chi_squared: f64,
    /// The mean rank: draws that lie too high or too low.
    pub location: f64,
    /// The mean squared distance of the ranks from their middle: draws that are over- or
    /// underdispersed.
    pub spread: f64,
}

impl Uniformity {
    /// The tests on `ranks` from 0 to `draws`. Without ranks all p-values are 1.
    pub fn of(ranks: &[u64], draws: u64) -> Self {
        let size = draws as f64 + 1.0;
        let centred: Vec<f64> =
            ranks.iter().map(|&rank| rank as f64 - 0.5 * draws as f64).collect();
        // The second and fourth central moments of the discrete uniform distribution on `size`
        // points.
        let second = (size * size - 1.0) / 12.0;
        let fourth = (size * size - 1.0) * (3.0 * size * size - 7.0) / 240.0;
        let squares: Vec<f64> = centred.iter().map(|x| x * x).collect();
        Uniformity {
            chi_squared: chi_squared(ranks, draws),
            location: two_sided(&centred, 0.0, second),
            spread: two_sided(&squares, second, fourth - second * second),
        }
    }

    /// The smallest of the three p-values, times three (Bonferroni), at most 1.
    pub fn p_value(&self) -> f64 {
        (3.0 * self.chi_squared.min(self.location).min(self.spread)).min(1.0)
    }
}

/// The two-sided p-value of the mean of `values`, with this mean and variance under the null.
fn two_sided(values: &[f64], mean: f64, variance: f64) -> f64 {
    if values.is_empty() || variance <= 0.0 {
        return 1.0;
    }
    let count = values.len() as f64;
    let z = (values.iter().sum::<f64>() / count - mean) / (variance / count).sqrt();
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// Bins of equally many ranks, with at least 8 expected in each, and at most 20 bins.
fn chi_squared(ranks: &[u64], draws: u64) -> f64 {
    let fits =
        |bins: &u64| (draws + 1).is_multiple_of(*bins) && ranks.len() as f64 >= 8.0 * *bins as f64;
    let Some(bins) = (2..=20).rev().find(fits) else { return 1.0 };
    let mut counts = vec![0.0; bins as usize];
    ranks.iter().for_each(|rank| counts[(rank * bins / (draws + 1)) as usize] += 1.0);
    let expected = ranks.len() as f64 / bins as f64;
    let statistic: f64 = counts.iter().map(|c| (c - expected) * (c - expected) / expected).sum();
    ChiSquared::new(bins as f64 - 1.0).map_or(1.0, |law| law.sf(statistic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use rand::RngExt;

    /// Under the null the p-values are uniform: at level 5% each test rejects 5%, and the combined
    /// test at most that.
    #[test]
    fn levels_are_kept() {
        let mut rng = stream(41, 0);
        let trials = 4000;
        let mut rejected = [0; 4];
        for _ in 0..trials {
            let ranks: Vec<u64> = (0..300).map(|_| rng.random_range(0..=15)).collect();
            let found = Uniformity::of(&ranks, 15);
            let all = [found.chi_squared, found.location, found.spread, found.p_value()];
            all.iter().zip(&mut rejected).for_each(|(p, count)| *count += u32::from(*p < 0.05));
        }
        let share = rejected.map(|count| f64::from(count) / f64::from(trials));
        let error = (0.05_f64 * 0.95 / f64::from(trials)).sqrt();
        for share in &share[..3] {
            assert!((share - 0.05).abs() < 5.0 * error, "{share}");
        }
        assert!(share[3] < 0.05 + 5.0 * error && share[3] > 0.02, "{}", share[3]);
    }

    #[test]
    fn each_departure_is_seen() {
        let high: Vec<u64> = (0..400).map(|i| (i % 16).max(6)).collect();
        assert!(Uniformity::of(&high, 15).location < 1e-6);
        let ends: Vec<u64> =
            (0..400).map(|i| if i % 2 == 0 { i % 3 } else { 15 - i % 3 }).collect();
        let found = Uniformity::of(&ends, 15);
        assert!(found.spread < 1e-6 && found.chi_squared < 1e-6 && found.location > 0.1);
        assert_eq!(Uniformity::of(&[], 15).p_value(), 1.0);
    }
}
