//! Randomised response (Warner 1965), and its form with k categories: every person reports a
//! category, the true one with a known probability and each other one equally often. What is published
//! is how many reported each category.

use crate::error::Invalid;
use crate::release::part::{JointLaw, Layer};
use crate::release::query::Query;
use crate::rng::Rng;
use rand::RngExt;

/// The law of the numbers of reports: a record of category i is reported as i with probability
/// `prob`, and as each other of the k categories with probability (1 - prob) / (k - 1).
///
/// A report depends on its record alone, so that given shares p the reports are multinomial with
/// probabilities q_j = prob p_j + (1 - p_j) (1 - prob) / (k - 1): there is nothing to impute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomisedResponse {
    categories: usize,
    prob: f64,
}

impl RandomisedResponse {
    /// Reports of one of so many categories, the true one with probability `prob`.
    pub fn new(categories: usize, prob: f64) -> Result<Self, Invalid> {
        if categories < 2 {
            let allowed = "at least two categories";
            return Err(Invalid::new("values", "nothing is hidden", categories, allowed));
        }
        if !(prob > 0.0 && prob < 1.0) {
            return Err(Invalid::new(
                "prob",
                "must be the probability that a report is true",
                prob,
                "a number above 0 and below 1; or epsilon = ... in its place",
            ));
        }
        Ok(RandomisedResponse { categories, prob })
    }

    /// The same with the probability that follows from `epsilon`, the local privacy of a person:
    /// e^epsilon / (e^epsilon + k - 1).
    pub fn with_epsilon(categories: usize, epsilon: f64) -> Result<Self, Invalid> {
        if !(epsilon > 0.0 && epsilon < 700.0) {
            let allowed = "a positive number up to 700";
            return Err(Invalid::new("epsilon", "must be positive", epsilon, allowed));
        }
        let others = categories as f64 - 1.0;
        RandomisedResponse::new(categories, 1.0 / (1.0 + others * (-epsilon).exp()))
    }

    /// The probability that a report is true.
    pub fn prob(&self) -> f64 {
        self.prob
    }

    /// The probability that a record of a category is reported as some one other category.
    pub fn other(&self) -> f64 {
        (1.0 - self.prob) / (self.categories as f64 - 1.0)
    }

    /// The epsilon of a person: the largest log ratio of the probabilities of a report.
    pub fn epsilon(&self) -> f64 {
        (self.prob / self.other()).ln().abs()
    }
}

impl JointLaw for RandomisedResponse {
    fn name(&self) -> &'static str {
        "randomised-response"
    }

    fn describe(&self) -> String {
        format!(
            "the numbers of reports by randomised response: each person's own category with \
             probability {:.6}, each other with {:.6} (epsilon {:.4} for each person)",
            self.prob,
            self.other(),
            self.epsilon()
        )
    }

    fn published(&self) -> usize {
        self.categories
    }

    fn check(&self, query: &dyn Query, values: &[f64]) -> Result<(), Invalid> {
        if query.dim() != self.categories || query.cells().is_none() {
            return Err(Invalid::new(
                "query",
                "reports are of categories",
                format!("a {} query of {} values", query.kind(), query.dim()),
                "a categories, histogram or table query with a value for each category",
            ));
        }
        let is_count = |value: f64| value >= 0.0 && value.fract() == 0.0 && value < 9e15;
        match values.iter().position(|&value| !is_count(value)) {
            None => Ok(()),
            Some(at) => Err(Invalid::new(
                format!("values[{at}]"),
                "is not a number of reports",
                values[at],
                "how many people reported each category: whole numbers from 0 up",
            )),
        }
    }

    fn layer(&self) -> Option<Layer> {
        Some(Layer::Reports(*self))
    }

    /// Not known but through the shares: records are never imputed under this law.
    fn log_density(&self, _: &[f64], _: &[f64]) -> f64 {
        f64::NAN
    }

    fn sample(&self, sums: &[f64], rng: &mut Rng) -> Vec<f64> {
        let mut reports = vec![0.0; self.categories];
        for (category, &count) in sums.iter().enumerate() {
            for _ in 0..count as u64 {
                let other = rng.random_range(0..self.categories - 1);
                let other = other + usize::from(other >= category);
                let is_true = rng.random::<f64>() < self.prob;
                reports[if is_true { category } else { other }] += 1.0;
            }
        }
        reports
    }

    fn likely_sums(&self, values: &[f64], n: f64) -> Vec<f64> {
        let gain = self.prob - self.other();
        let estimate = |value: &f64| match gain.abs() > 1e-9 {
            true => ((value - n * self.other()) / gain).clamp(0.0, n),
            false => n / self.categories as f64,
        };
        values.iter().map(estimate).collect()
    }

    fn scales(&self, _: &[f64], n: f64) -> Vec<f64> {
        vec![(n * self.prob * (1.0 - self.prob)).sqrt().max(1.0); self.categories]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    /// Reports are as frequent as the definition says, and epsilon and prob agree.
    #[test]
    fn reports_have_their_probabilities() {
        let law = RandomisedResponse::with_epsilon(4, 1.2).unwrap();
        assert!((law.epsilon() - 1.2).abs() < 1e-12);
        assert!((law.prob() + 3.0 * law.other() - 1.0).abs() < 1e-12);
        let mut rng = stream(4, 0);
        let counts = [30_000.0, 0.0, 10_000.0, 60_000.0];
        let reports = law.sample(&counts, &mut rng);
        for (category, found) in reports.iter().enumerate() {
            let own = counts[category];
            let expected = own * law.prob() + (100_000.0 - own) * law.other();
            let variance = own * law.prob() * (1.0 - law.prob())
                + (100_000.0 - own) * law.other() * (1.0 - law.other());
            assert!((found - expected).abs() < 4.5 * variance.sqrt(), "{category}: {found}");
        }
        assert_eq!(reports.iter().sum::<f64>(), 100_000.0);
    }

    #[test]
    fn bad_probabilities_are_refused() {
        assert_eq!(RandomisedResponse::new(2, 1.0).unwrap_err().field, "prob");
        assert_eq!(RandomisedResponse::new(1, 0.5).unwrap_err().field, "values");
        assert_eq!(RandomisedResponse::with_epsilon(3, -1.0).unwrap_err().field, "epsilon");
    }
}
