//! Shared by the tests of discrete noise.

use crate::model::testing::assert_mean;
use crate::rng::Rng;

/// Fails if the probabilities of the whole numbers up to `reach` scales do not sum to one.
pub fn assert_sums_to_one(scale: f64, reach: f64, log_probability: impl Fn(f64, f64) -> f64) {
    let last = (reach * scale).ceil() as i64 + 3;
    let sum: f64 = (-last..=last).map(|r| log_probability(scale, r as f64).exp()).sum();
    assert!((sum - 1.0).abs() < 1e-12, "scale {scale}: {sum}");
}

/// Fails if draws do not have the probabilities of small numbers, or the second moment.
pub fn assert_frequencies(
    scale: f64,
    sample: impl Fn(f64, &mut Rng) -> f64,
    log_probability: impl Fn(f64, f64) -> f64,
    rng: &mut Rng,
) {
    let draws: Vec<f64> = (0..50_000).map(|_| sample(scale, rng)).collect();
    assert!(draws.iter().all(|r| r.fract() == 0.0));
    for r in -3..=3 {
        let hits: Vec<f64> = draws.iter().map(|&y| (y == r as f64) as u8 as f64).collect();
        let expected = log_probability(scale, r as f64).exp();
        // A rarer number may have no hit in any batch.
        if expected > 1e-3 {
            assert_mean(&format!("scale {scale}, number {r}"), &hits, expected);
        }
    }
    let last = (40.0 * scale).ceil() as i64 + 3;
    let second: f64 =
        (-last..=last).map(|r| (r as f64).powi(2) * log_probability(scale, r as f64).exp()).sum();
    if second > 1e-2 {
        let squares: Vec<f64> = draws.iter().map(|y| y * y).collect();
        assert_mean(&format!("scale {scale}, second moment"), &squares, second);
    }
}
