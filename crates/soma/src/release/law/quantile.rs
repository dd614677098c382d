//! A quantile chosen among candidates, by the exponential mechanism or by permute and flip, as
//! OpenDP publishes them.

use std::sync::Arc;

use rand::RngExt;

use crate::error::{Invalid, positive};
use crate::release::mechanism::{Budget, Neighbours};
use crate::release::part::JointLaw;
use crate::release::query::{Below, Query};
use crate::rng::Rng;

/// The mechanism that selects a candidate by its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// With probability proportional to exp(-score / scale).
    Exponential,
    /// Candidates are visited in a random order, and each is accepted with probability
    /// exp(-(score - smallest score) / scale) (McKenna and Sheldon 2020).
    PermuteAndFlip,
}

impl Choice {
    /// Both, in the order in which they are listed to a user.
    pub const ALL: [Choice; 2] = [Choice::PermuteAndFlip, Choice::Exponential];

    /// The name in a spec.
    pub fn name(self) -> &'static str {
        match self {
            Choice::PermuteAndFlip => "permute-and-flip",
            Choice::Exponential => "exponential",
        }
    }
}

/// The distribution of the selected candidate. The statistics are, for each candidate c, whether
/// the record is below it and whether it is above; the score is |(1 - alpha) #(x < c) - alpha #(x >
/// c)|.
#[derive(Debug)]
pub struct Quantile {
    candidates: Vec<f64>,
    alpha: f64,
    choice: Choice,
    scale: f64,
    /// Gauss-Legendre nodes and weights on (0, 1), exact for polynomials of the degree of the
    /// number of candidates.
    rule: Vec<(f64, f64)>,
}

/// The largest number of nodes: enough for a smooth polynomial.
const MOST_NODES: usize = 64;

impl Quantile {
    /// The quantile at `alpha` among `candidates`, in increasing order.
    pub fn new(
        candidates: Vec<f64>,
        alpha: f64,
        choice: Choice,
        scale: f64,
    ) -> Result<Self, Invalid> {
        positive("scale", scale)?;
        if !(alpha > 0.0 && alpha < 1.0) {
            let allowed = "a number between 0 and 1, such as 0.5 for the median";
            return Err(Invalid::new("alpha", "must be a probability", alpha, allowed));
        }
        let rule = gauss_legendre(candidates.len().div_ceil(2).clamp(1, MOST_NODES));
        Ok(Quantile { candidates, alpha, choice, scale, rule })
    }

    /// The scale that epsilon determines.
    pub fn scale(alpha: f64, neighbours: Neighbours, epsilon: f64) -> f64 {
        moved(alpha, neighbours) / epsilon
    }

    /// The query of its statistics.
    pub fn query(&self) -> Result<Arc<dyn Query>, Invalid> {
        Ok(Arc::new(Below::new(self.candidates.clone())?))
    }

    /// exp(-(score - smallest score) / scale) of each candidate.
    fn chances(&self, sums: &[f64]) -> Vec<f64> {
        let scores: Vec<f64> = sums
            .chunks_exact(2)
            .map(|pair| ((1.0 - self.alpha) * pair[0] - self.alpha * pair[1]).abs())
            .collect();
        let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
        scores.iter().map(|score| (-(score - least) / self.scale).exp()).collect()
    }

    /// The index of a published candidate.
    fn place(&self, value: f64) -> Option<usize> {
        self.candidates.iter().position(|candidate| *candidate == value)
    }
}

impl JointLaw for Quantile {
    fn name(&self) -> &'static str {
        match self.choice {
            Choice::Exponential => "exponential mechanism over candidates",
            Choice::PermuteAndFlip => "permute and flip over candidates",
        }
    }

    fn describe(&self) -> String {
        let (alpha, count, scale) = (self.alpha, self.candidates.len(), self.scale);
        format!("the quantile at {alpha} among {count} candidates: {}, scale {scale}", self.name())
    }

    fn published(&self) -> usize {
        1
    }

    fn check(&self, _: &dyn Query, values: &[f64]) -> Result<(), Invalid> {
        match self.place(values[0]) {
            Some(_) => Ok(()),
            None => Err(Invalid::new(
                "values[0]",
                "the published quantile is not among the candidates",
                values[0],
                "one of query.candidates",
            )),
        }
    }

    fn log_density(&self, values: &[f64], sums: &[f64]) -> f64 {
        let Some(chosen) = self.place(values[0]) else { return f64::NEG_INFINITY };
        let chances = self.chances(sums);
        let given = match self.choice {
            Choice::Exponential => 1.0 / chances.iter().sum::<f64>(),
            Choice::PermuteAndFlip => {
                let others = |u: f64| {
                    let all = chances.iter().enumerate().filter(|(i, _)| *i != chosen);
                    all.map(|(_, p)| 1.0 - p * u).product::<f64>()
                };
                self.rule.iter().map(|(u, weight)| weight * others(*u)).sum()
            }
        };
        chances[chosen].ln() + given.ln()
    }

    fn sample(&self, sums: &[f64], rng: &mut Rng) -> Vec<f64> {
        let chances = self.chances(sums);
        let mut left: Vec<usize> = (0..chances.len()).collect();
        match self.choice {
            Choice::Exponential => {
                let mut point = rng.random::<f64>() * chances.iter().sum::<f64>();
                for (candidate, p) in self.candidates.iter().zip(&chances) {
                    point -= p;
                    if point < 0.0 {
                        return vec![*candidate];
                    }
                }
            }
            Choice::PermuteAndFlip => {
                while !left.is_empty() {
                    let i = left.swap_remove(rng.random_range(0..left.len()));
                    if rng.random_bool(chances[i]) {
                        return vec![self.candidates[i]];
                    }
                }
            }
        }
        self.candidates.last().copied().into_iter().collect()
    }

    /// A score moves by at most 1 where a record is replaced, and by the larger of alpha and 1 - alpha
    /// where one is added; the best score may move as far the other way.
    fn implied(&self, _: &dyn Query, neighbours: Neighbours, _: Option<i64>) -> Option<Budget> {
        Some(Budget::Epsilon(moved(self.alpha, neighbours) / self.scale))
    }

    fn likely_sums(&self, values: &[f64], n: f64) -> Vec<f64> {
        let share = |c: f64| if c < values[0] { 0.5 * self.alpha } else { 0.5 + 0.5 * self.alpha };
        let pair = |c: &f64| [n * share(*c), n * (1.0 - share(*c))];
        self.candidates.iter().flat_map(pair).collect()
    }

    fn scales(&self, _: &[f64], _: f64) -> Vec<f64> {
        vec![self.scale; 2 * self.candidates.len()]
    }
}

/// By how much one record can move the difference of two scores: epsilon is this over the scale.
fn moved(alpha: f64, neighbours: Neighbours) -> f64 {
    match neighbours {
        Neighbours::Replace => 2.0,
        Neighbours::AddRemove => 2.0 * alpha.max(1.0 - alpha),
    }
}

/// Gauss-Legendre nodes and weights on (0, 1), by Newton's method.
fn gauss_legendre(count: usize) -> Vec<(f64, f64)> {
    let node = |i: usize| {
        let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (count as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..100 {
            let (mut before, mut value) = (1.0, x);
            for k in 2..=count {
                let k = k as f64;
                (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
            }
            if count == 1 {
                (before, value) = (1.0, x);
            }
            slope = count as f64 * (x * value - before) / (x * x - 1.0);
            let step = value / slope;
            x -= step;
            if step.abs() < 1e-15 {
                break;
            }
        }
        (0.5 * (x + 1.0), 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..count).map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    #[test]
    fn polynomials_are_integrated_exactly() {
        for count in [1, 2, 3, 8, 33, 64] {
            let rule = gauss_legendre(count);
            for degree in [0, 1, 2 * count - 1] {
                let integral: f64 = rule.iter().map(|(u, w)| w * u.powi(degree as i32)).sum();
                let expected = 1.0 / (degree as f64 + 1.0);
                assert!((integral - expected).abs() < 1e-13, "{count} {degree}: {integral}");
            }
        }
    }

    /// Probabilities sum to one, and agree with frequencies.
    #[test]
    fn candidates_are_chosen_with_their_probabilities() {
        const DRAWS: usize = 20_000;
        let sums = [1.0, 9.0, 4.0, 6.0, 6.0, 3.0, 10.0, 0.0];
        let candidates = vec![0.0, 1.0, 2.0, 3.0];
        for choice in [Choice::Exponential, Choice::PermuteAndFlip] {
            let law = Quantile::new(candidates.clone(), 0.5, choice, 1.3).unwrap();
            let probability = |c: f64| law.log_density(&[c], &sums).exp();
            let total: f64 = candidates.iter().map(|c| probability(*c)).sum();
            assert!((total - 1.0).abs() < 1e-12, "{choice:?}: {total}");
            let mut rng = stream(2, 0);
            let drawn: Vec<f64> = (0..DRAWS).map(|_| law.sample(&sums, &mut rng)[0]).collect();
            for c in &candidates {
                let p = probability(*c);
                let hits = drawn.iter().filter(|d| *d == c).count() as f64;
                let sd = (p * (1.0 - p) * DRAWS as f64).sqrt();
                assert!((hits - p * DRAWS as f64).abs() < 4.5 * sd.max(1.0), "{choice:?} {c}");
            }
        }
    }
}
