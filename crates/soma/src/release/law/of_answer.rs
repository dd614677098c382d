//! Noise added to a function of several sums: a mean over an unknown number of records, a sample
//! variance.

use std::fmt::Debug;

use super::Noise;
use crate::error::Invalid;
use crate::release::mechanism::{Budget, Mechanism, Neighbours};
use crate::release::part::JointLaw;
use crate::release::query::{Query, Sensitivity};
use crate::rng::Rng;

/// The answer as a function of the sums of the statistics.
pub trait Answer: Debug + Send + Sync {
    /// The name in a message.
    fn name(&self) -> &'static str;

    /// The answers as a function of the sums.
    fn answers(&self, sums: &[f64]) -> Vec<f64>;

    /// How far one record moves an answer, where that is known. `n` is the number of records, where it
    /// is public.
    fn sensitivity(
        &self,
        query: &dyn Query,
        neighbours: Neighbours,
        n: Option<i64>,
    ) -> Option<f64> {
        let _ = (query, neighbours, n);
        None
    }

    /// Sums of `n` statistics with approximately these answers.
    fn likely_sums(&self, answers: &[f64], n: f64) -> Vec<f64>;

    /// The approximate change of each of these sums for a change `scales` of the answers.
    fn sum_scales(&self, scales: &[f64], n: f64) -> Vec<f64>;
}

/// The distribution of noisy answers.
#[derive(Debug)]
pub struct OfAnswer<A> {
    /// The answer.
    pub answer: A,
    /// Its noise.
    pub mechanism: Mechanism,
}

impl<A: Answer> JointLaw for OfAnswer<A> {
    fn name(&self) -> &'static str {
        self.answer.name()
    }

    fn describe(&self) -> String {
        format!("{} with {}", self.name(), self.mechanism.describe())
    }

    fn published(&self) -> usize {
        self.mechanism.scales().len()
    }

    fn check(&self, _: &dyn Query, values: &[f64]) -> Result<(), Invalid> {
        if self.mechanism.noise().is_discrete() && self.mechanism.publishing().granularity.is_none()
        {
            return Err(Invalid::new(
                "mechanism.kind",
                format!("{} noise is added to whole numbers only", self.mechanism.noise().name()),
                self.answer.name(),
                format!(
                    "{} noise; or granularity = ..., the width of the lattice that the noise is on",
                    Noise::any_continuous()
                ),
            ));
        }
        self.mechanism.check_values(values)
    }

    fn log_density(&self, values: &[f64], sums: &[f64]) -> f64 {
        self.mechanism.log_density(values, &self.answer.answers(sums))
    }

    fn sample(&self, sums: &[f64], rng: &mut Rng) -> Vec<f64> {
        self.mechanism.publish(&self.answer.answers(sums), rng)
    }

    fn implied(&self, query: &dyn Query, neighbours: Neighbours, n: Option<i64>) -> Option<Budget> {
        let moved = self.answer.sensitivity(query, neighbours, n)?;
        let moved = Sensitivity { l1: moved, l2: moved };
        self.mechanism.implied(|weights| moved.times(weights[0]))
    }

    fn likely_sums(&self, values: &[f64], n: f64) -> Vec<f64> {
        self.answer.likely_sums(values, n)
    }

    fn scales(&self, _: &[f64], n: f64) -> Vec<f64> {
        self.answer.sum_scales(self.mechanism.scales(), n)
    }
}

/// Means: the last sum is the number of records.
#[derive(Debug)]
pub struct Means;

impl Answer for Means {
    fn name(&self) -> &'static str {
        "a mean over an unknown number of records"
    }

    fn answers(&self, sums: &[f64]) -> Vec<f64> {
        let (n, sums) = sums.split_last().unwrap_or((&1.0, &[]));
        // The mean of no records is defined as zero.
        sums.iter().map(|sum| sum / n.max(1.0)).collect()
    }

    fn likely_sums(&self, answers: &[f64], n: f64) -> Vec<f64> {
        answers.iter().map(|mean| mean * n).chain([n]).collect()
    }

    fn sum_scales(&self, scales: &[f64], n: f64) -> Vec<f64> {
        scales.iter().map(|scale| scale * n).chain([n.sqrt()]).collect()
    }
}

/// The sample variance, (Q - S^2 / n) / (n - ddof), of the sums S of u, Q of u^2 and n of 1, with u
/// the clamped value minus the middle of its range.
#[derive(Debug)]
pub struct Variance {
    /// The correction of the divisor n: 1, or 0.
    pub ddof: f64,
}

impl Answer for Variance {
    fn name(&self) -> &'static str {
        "the variance of a sample"
    }

    fn answers(&self, sums: &[f64]) -> Vec<f64> {
        let [sum, squares, n] = sums[..] else { return vec![0.0] };
        let divisor = (n - self.ddof).max(1.0);
        vec![((squares - sum * sum / n.max(1.0)) / divisor).max(0.0)]
    }

    /// The square of the range times (n - 1) / n / (n - ddof): where all records are at one end, and one
    /// of them moves to the other.
    fn sensitivity(
        &self,
        query: &dyn Query,
        neighbours: Neighbours,
        n: Option<i64>,
    ) -> Option<f64> {
        let (n, (low, high)) = (n? as f64, *query.bounds().first()?);
        let is_defined = neighbours == Neighbours::Replace && n > 1.0;
        is_defined.then(|| (high - low).powi(2) * (n - 1.0) / (n * (n - self.ddof)))
    }

    fn likely_sums(&self, answers: &[f64], n: f64) -> Vec<f64> {
        vec![0.0, answers[0].max(0.0) * n, n]
    }

    fn sum_scales(&self, scales: &[f64], n: f64) -> Vec<f64> {
        vec![scales[0].sqrt() * n, scales[0] * n, n.sqrt()]
    }
}
