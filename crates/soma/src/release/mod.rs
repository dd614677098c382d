//! What was published: a query's answer on confidential records, with noise.

pub mod law;
pub mod mechanism;
pub mod potential;
pub mod query;
mod reach;
mod size;
mod units;

use std::sync::Arc;

use crate::error::{Invalid, finite, listed};
pub use mechanism::Mechanism;
pub use potential::Potential;
pub use query::Query;
pub use size::{SizePrior, Total};
pub(crate) use units::NoiseUnits;

/// Whether the released values are sums or means over the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// The sum of the statistic over the records.
    Sum,
    /// The sum divided by the number of records.
    Mean,
}

/// A private release: query, mechanism, number of records and the noisy values.
#[derive(Debug, Clone)]
pub struct Release {
    query: Arc<dyn Query>,
    mechanism: Mechanism,
    aggregate: Aggregate,
    n: usize,
    /// The prior of n, where n is not public.
    size_prior: Option<SizePrior>,
    values: Vec<f64>,
    potential: Arc<Potential>,
}

/// How many values a release of `query` has, and of what. The labels of a query with very many are
/// not made for a message.
fn expected_values(query: &dyn Query) -> String {
    match query.dim() {
        dim if dim > 1_000_000 => format!("{dim} values"),
        dim => format!("{dim} values: {}", listed(&query.labels())),
    }
}

impl Release {
    /// A release of `values`, the answers of `query` on `n` records with the noise of
    /// `mechanism`, whose scales are in the unit of the values.
    pub fn new(
        query: Arc<dyn Query>,
        mechanism: Mechanism,
        aggregate: Aggregate,
        n: usize,
        values: Vec<f64>,
    ) -> Result<Self, Invalid> {
        if n < 1 {
            return Err(Invalid::new("n", "there must be a record", n, "a whole number from 1 up"));
        }
        if values.len() != query.dim() {
            return Err(Invalid::new(
                "values",
                "the number of released values does not fit the query",
                format!("{} values", values.len()),
                expected_values(query.as_ref()),
            ));
        }
        for (k, &value) in values.iter().enumerate() {
            finite(&format!("values[{k}]"), value)?;
        }
        if mechanism.scales().len() != query.dim() {
            return Err(Invalid::new(
                "mechanism.scale",
                "the number of scales does not fit the query",
                format!("{} scales", mechanism.scales().len()),
                format!("one scale, or {} scales", query.dim()),
            ));
        }
        mechanism.check(query.as_ref(), aggregate, &values)?;
        let potential = Arc::new(mechanism.potential(&values));
        Ok(Release { query, mechanism, aggregate, n, size_prior: None, values, potential })
    }

    /// The same with n confidential, and `n` no more than a guess at it. Counts can be sampled so;
    /// a mean is a number of records that nobody knows.
    pub fn with_unknown_n(mut self, prior: SizePrior) -> Result<Self, Invalid> {
        Total::Unknown(prior).check()?;
        if self.aggregate == Aggregate::Mean {
            return Err(Invalid::new(
                "n",
                "a mean needs the number of records",
                "unknown",
                "statistic = \"sum\", or the number",
            ));
        }
        self.size_prior = Some(prior);
        Ok(self)
    }

    /// What is known of the number of records: all of it, or a prior.
    pub fn total(&self) -> Total {
        match self.size_prior {
            Some(prior) => Total::Unknown(prior),
            None => Total::Known(self.n as i64),
        }
    }

    /// What the curator computed.
    pub fn query(&self) -> &Arc<dyn Query> {
        &self.query
    }

    /// The noise.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// Minus the log density of the release as a function of the residual: all that a kernel sees.
    pub fn potential(&self) -> &Arc<Potential> {
        &self.potential
    }

    /// Sum or mean.
    pub fn aggregate(&self) -> Aggregate {
        self.aggregate
    }

    /// The number of records; a guess at it, where it is [not public](Release::total).
    pub fn n(&self) -> usize {
        self.n
    }

    /// The noisy values, as published.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The released values as if sums had been released.
    pub fn sums(&self) -> Vec<f64> {
        self.values.iter().map(|value| value * self.unit()).collect()
    }

    /// The noise scales as if sums had been released.
    pub fn sum_scales(&self) -> Vec<f64> {
        self.mechanism.scales().iter().map(|scale| scale * self.unit()).collect()
    }

    /// The released means, each put into the range that a mean without noise has.
    pub fn plausible_means(&self) -> Vec<f64> {
        let per_record = self.unit() / self.n as f64;
        let bounds = self.query.bounds();
        let means = self.values.iter().map(|value| value * per_record);
        means.zip(bounds).map(|(mean, (low, high))| mean.clamp(low, high)).collect()
    }

    /// About how many records without noise would say as much as the release does: n where the
    /// noise is small against the spread of a mean of n statistics, and less where it is not.
    pub fn worth(&self) -> f64 {
        let n = self.n as f64;
        let bounds = self.query.bounds();
        let ratios = self.sum_scales().into_iter().zip(&bounds).map(|(scale, (low, high))| {
            let noise = self.mechanism.noise().variance(scale);
            let spread = ((high - low) / 4.0).powi(2);
            noise / (n * spread)
        });
        n / (1.0 + ratios.sum::<f64>() / bounds.len() as f64)
    }

    /// What the sum has to be divided by to come in the unit of the release.
    pub fn unit(&self) -> f64 {
        match self.aggregate {
            Aggregate::Sum => 1.0,
            Aggregate::Mean => self.n as f64,
        }
    }
}
