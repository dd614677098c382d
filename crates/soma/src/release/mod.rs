//! A release: noisy answers of queries on confidential records.

mod budget;
mod guarantee;
pub mod law;
pub mod mechanism;
mod part;
pub mod potential;
pub mod query;
mod reach;
mod size;
mod total;
mod units;
mod words;

use std::sync::Arc;

use crate::error::Invalid;
use crate::rng::Rng;
pub use mechanism::Mechanism;
pub use part::{JointLaw, Layer, Part, PartLaw};
pub use potential::Potential;
pub use query::Query;
pub use size::Slotted;
pub use total::{SizePrior, Total};
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

/// A private release: one part or several, about the same n records.
#[derive(Debug, Clone)]
pub struct Release {
    parts: Vec<Part>,
    n: usize,
    /// The statistics of all parts, concatenated.
    query: Arc<dyn Query>,
    potential: Arc<Potential>,
    /// The slots, if the number of records is unknown: then n is the number of slots.
    slotted: Option<Arc<Slotted>>,
}

impl Release {
    /// A release of one part: `values` are the answers of `query` on `n` records with the noise of
    /// `mechanism`, whose scales are in the unit of the values.
    pub fn new(
        query: Arc<dyn Query>,
        mechanism: Mechanism,
        aggregate: Aggregate,
        n: usize,
        values: Vec<f64>,
    ) -> Result<Self, Invalid> {
        Release::of_parts(n, vec![Part::new(query, mechanism, aggregate, values)?])
    }

    /// A release of several parts about the same `n` records.
    pub fn of_parts(n: usize, parts: Vec<Part>) -> Result<Self, Invalid> {
        if n < 1 {
            return Err(Invalid::new("n", "must be positive", n, "a whole number from 1 up"));
        }
        let query = match &parts[..] {
            [] => {
                return Err(Invalid::new("parts", "must not be empty", "none", "one or more"));
            }
            [part] => part.query().clone(),
            several => {
                let name = |(i, part): (usize, &Part)| match part.name() {
                    "" => format!("part {}", i + 1),
                    name => name.to_string(),
                };
                let queries = several.iter().map(|part| part.query().clone()).collect();
                let names = several.iter().enumerate().map(name).collect();
                Arc::new(query::Combined::new(queries, names)?)
            }
        };
        let blocks = parts.iter().flat_map(|part| part.blocks(n)).collect();
        let potential = Arc::new(Potential::new(blocks));
        Ok(Release { parts, n, query, potential, slotted: None })
    }

    /// The same release with other values, concatenated over parts: a simulated release.
    pub fn with_values(&self, values: &[f64]) -> Result<Self, Invalid> {
        let mut rest = values;
        let parts = self.parts.iter().map(|part| {
            let (own, others) = rest.split_at(part.values().len().min(rest.len()));
            rest = others;
            part.with_values(own.to_vec())
        });
        let parts = parts.collect::<Result<_, _>>()?;
        let slotted = match &self.slotted {
            None => None,
            Some(slotted) => Some(Arc::new(slotted.with_values(values)?)),
        };
        Ok(Release { slotted, ..Release::of_parts(self.n, parts)? })
    }

    /// The same release with all noise scales multiplied by `factor`.
    pub(crate) fn widened(&self, factor: f64) -> Result<Self, Invalid> {
        let parts = self.parts.iter().map(|part| part.widened(factor)).collect();
        Ok(Release { slotted: self.slotted.clone(), ..Release::of_parts(self.n, parts)? })
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The same release with another potential, for noise that no [`Mechanism`] has.
    #[cfg(test)]
    pub(crate) fn with_potential(self, potential: Potential) -> Self {
        Release { potential: Arc::new(potential), ..self }
    }

    /// The statistics of all parts, concatenated.
    pub fn query(&self) -> &Arc<dyn Query> {
        &self.query
    }

    /// Minus the log density of the release as a function of the residual: all that a kernel needs.
    pub fn potential(&self) -> &Arc<Potential> {
        &self.potential
    }

    /// The published parts, on records and not on slots.
    pub fn published_parts(&self) -> &[Part] {
        self.slotted().map_or(&self.parts, |slotted| slotted.likely().parts())
    }

    /// The query that determines most about a record: one that sorts records into cells, or that of
    /// the first part.
    pub fn record_query(&self) -> &Arc<dyn Query> {
        let queries = || self.published_parts().iter().map(Part::query);
        queries().find(|query| query.cells().is_some()).unwrap_or(self.published_parts()[0].query())
    }

    /// The number of records, or its prior.
    pub fn total(&self) -> Total {
        match &self.slotted {
            Some(slotted) => Total::Unknown(slotted.prior()),
            None => Total::Known(self.n as i64),
        }
    }

    /// The slots, if the number of records is unknown.
    pub fn slotted(&self) -> Option<&Slotted> {
        self.slotted.as_deref()
    }

    /// The number of records; of slots if it is unknown.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The noisy values as published, concatenated over parts.
    pub fn values(&self) -> Vec<f64> {
        self.parts.iter().flat_map(|part| part.values().iter().copied()).collect()
    }

    /// The origin of the residual of each statistic, in the unit of its part: the published value
    /// if each statistic has one.
    pub(crate) fn answers(&self) -> Vec<f64> {
        self.parts.iter().flat_map(|part| part.answers(self.n)).collect()
    }

    /// The divisor of the sum of each statistic that gives the unit of its part.
    pub fn sum_units(&self) -> Vec<f64> {
        let unit = |part: &Part| vec![part.unit(self.n); part.query().dim()];
        self.parts.iter().flat_map(unit).collect()
    }

    /// The noise scales, each in the unit of its part.
    pub fn scales(&self) -> Vec<f64> {
        self.parts.iter().flat_map(|part| part.scales(self.n)).collect()
    }

    /// The released values converted to sums.
    pub fn sums(&self) -> Vec<f64> {
        self.answers().iter().zip(self.sum_units()).map(|(value, unit)| value * unit).collect()
    }

    /// The noise scales converted to sums.
    pub fn sum_scales(&self) -> Vec<f64> {
        self.scales().iter().zip(self.sum_units()).map(|(scale, unit)| scale * unit).collect()
    }

    /// The means that the release states, noise and all: a mean may lie where no mean can.
    pub fn stated_means(&self) -> Vec<f64> {
        let n = self.n as f64;
        let means = self.answers().into_iter().zip(self.sum_units());
        means.map(|(value, unit)| value * unit / n).collect()
    }

    /// The approximate variance of the noise of each of these means.
    pub(crate) fn mean_variances(&self) -> Vec<f64> {
        let own = |part: &Part| {
            let unit = part.unit(self.n) / self.n as f64;
            let variances = part.variances(self.n).into_iter();
            variances.map(|variance| variance * unit * unit).collect::<Vec<f64>>()
        };
        self.parts.iter().flat_map(own).collect()
    }

    /// The released means, clamped to the range of a mean without noise.
    pub fn plausible_means(&self) -> Vec<f64> {
        let units = self.sum_units();
        let per_record = units.iter().map(|unit| unit / self.n as f64);
        let means = self.answers().into_iter().zip(per_record).map(|(value, unit)| value * unit);
        let bounds = self.query.bounds();
        means.zip(bounds).map(|(mean, (low, high))| mean.clamp(low, high)).collect()
    }

    /// The number of records without noise that would be about as informative: n if the noise is
    /// small compared with the standard deviation of a mean of n statistics, and less otherwise.
    pub fn worth(&self) -> f64 {
        let n = self.n as f64;
        let bounds = self.query.bounds();
        let variances = self.parts.iter().flat_map(|part| {
            let unit = part.unit(self.n);
            part.variances(self.n).into_iter().map(move |variance| variance * unit * unit)
        });
        let ratios = variances.zip(&bounds).map(|(noise, (low, high))| {
            let spread = ((high - low) / 4.0).powi(2);
            noise / (n * spread)
        });
        n / (1.0 + ratios.sum::<f64>() / bounds.len() as f64)
    }

    /// The normalised log density of the released values, given the residuals of all statistics in
    /// units of the noise.
    pub fn log_density(&self, residual: &[f64]) -> f64 {
        // The prior of the number of records is not part of the published density.
        let published = &self.parts[..self.published_parts().len()];
        let mut rest = residual;
        let densities = published.iter().map(|part| {
            let (own, others) = rest.split_at(part.query().dim());
            rest = others;
            part.log_density(self.n, own)
        });
        densities.sum()
    }

    /// The same for the published parts only.
    pub(crate) fn publish_sums(&self, sums: &[f64], rng: &mut Rng) -> Vec<f64> {
        self.slotted().map_or(self, Slotted::likely).publish(sums, rng)
    }

    /// Values published under this release for records with these sums, as
    /// [`with_values`](Release::with_values) takes them. For simulation only.
    pub fn publish(&self, sums: &[f64], rng: &mut Rng) -> Vec<f64> {
        let mut rest = sums;
        let values = self.parts.iter().flat_map(|part| {
            let (own, others) = rest.split_at(part.query().dim());
            rest = others;
            part.publish(self.n, own, rng)
        });
        values.collect()
    }
}
