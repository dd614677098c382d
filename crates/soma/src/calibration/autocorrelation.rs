//! How far the draws of the chains of a calibration depend on each other.

use serde::{Deserialize, Serialize};

/// The draws of one quantity of one chain, as sums.
#[derive(Debug, Clone, Copy, Default)]
pub struct Series {
    first: f64,
    last: f64,
    count: f64,
    sum: f64,
    squares: f64,
    steps: f64,
}

impl Series {
    /// Adds the next draw.
    pub fn push(&mut self, value: f64) {
        if self.count == 0.0 {
            (self.first, self.last) = (value, value);
        }
        // Relative to the first draw, against cancellation.
        let gap = value - self.first;
        self.count += 1.0;
        self.sum += gap;
        self.squares += gap * gap;
        self.steps += (value - self.last).powi(2);
        self.last = value;
    }

    /// von Neumann's ratio: half the mean square of the steps over the variance. Its expectation is 1
    /// for exchangeable draws, however few. None for draws that do not vary.
    fn ratio(&self) -> Option<f64> {
        let intervals = self.count - 1.0;
        let variance = (self.squares - self.sum * self.sum / self.count) / intervals;
        let ratio = 0.5 * self.steps / intervals / variance;
        (variance > 0.0 && ratio.is_finite()).then_some(ratio)
    }
}

/// The autocorrelation from one draw to the next, over many chains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Autocorrelation {
    /// The mean over the chains of 1 less von Neumann's ratio (1941). Each chain counts alike, whatever
    /// the width of its posterior, so that heavy tails do no harm.
    pub mean: f64,
    /// The standard error of the mean.
    pub error: f64,
}

impl Autocorrelation {
    /// Of chains with two draws or more. A chain whose draws do not vary has an autocorrelation of 1;
    /// all are 0 without any chain.
    pub fn of<'a>(chains: impl Iterator<Item = &'a Series>) -> Self {
        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0_f64);
        for series in chains.filter(|series| series.count >= 2.0) {
            let one = 1.0 - series.ratio().unwrap_or(0.0);
            sum += one;
            squares += one * one;
            count += 1.0;
        }
        let mean = sum / count.max(1.0);
        let variance = (squares / count.max(1.0) - mean * mean).max(0.0);
        Autocorrelation { mean, error: (variance / count.max(1.0)).sqrt() }
    }

    /// How many standard errors it is above 0, where it is for independent draws.
    pub fn score(&self) -> f64 {
        match (self.mean, self.error) {
            (mean, _) if mean <= 0.0 => 0.0,
            (mean, error) => mean / error.max(1e-9),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::{Autocorrelation, Series};
    use crate::rng::stream;

    /// Chains of an autoregression with this coefficient, in scales that differ widely.
    fn chains(coefficient: f64, draws: usize) -> Vec<Series> {
        let mut rng = stream(4, 0);
        let mut one = |number: usize| {
            let mut series = Series::default();
            let scale = 10_f64.powi(number as i32 % 9 - 4);
            let mut x: f64 = rng.sample(StandardNormal);
            for _ in 0..draws {
                series.push(1e3 * scale + scale * x);
                let noise: f64 = rng.sample(StandardNormal);
                x = coefficient * x + (1.0 - coefficient * coefficient).sqrt() * noise;
            }
            series
        };
        (0..4_000).map(&mut one).collect()
    }

    #[test]
    fn independent_draws_have_none_and_slow_chains_much() {
        for draws in [2, 7, 15] {
            let found = Autocorrelation::of(chains(0.0, draws).iter());
            // The error is that of the chains; two draws have a ratio of exactly 1.
            assert!(found.mean.abs() <= 4.5 * found.error + 1e-9, "{draws} draws: {found:?}");
            assert!(draws == 2 || found.error > 1e-3 && found.error < 0.01, "{found:?}");
        }
        let slow = Autocorrelation::of(chains(0.9, 15).iter());
        assert!(slow.mean > 0.5 && slow.mean < 0.9 && slow.score() > 6.0, "{slow:?}");
        assert!(Autocorrelation::of(chains(0.5, 60).iter()).mean > 0.4);
        let mut still = Series::default();
        (0..5).for_each(|_| still.push(2.0));
        assert_eq!(Autocorrelation::of([still].iter()).mean, 1.0);
        // One slow chain of ten is seen.
        let mut mixed = chains(0.0, 15);
        mixed.iter_mut().step_by(10).zip(chains(0.95, 15)).for_each(|(a, b)| *a = b);
        let found = Autocorrelation::of(mixed.iter());
        assert!(found.mean < 0.1 && found.score() > 6.0, "{found:?}");
    }
}
