//! What was published: answers of queries on confidential records, with noise.

mod budget;
pub mod law;
pub mod mechanism;
mod part;
pub mod potential;
pub mod query;
mod reach;
mod size;
mod total;
mod units;

use std::sync::Arc;

use crate::error::Invalid;
use crate::rng::Rng;
pub use mechanism::Mechanism;
pub use part::{JointLaw, Part, PartLaw};
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
    /// The statistics of all parts, one after the other.
    query: Arc<dyn Query>,
    potential: Arc<Potential>,
    /// Where the number of records is not public: then n is the number of slots.
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
            return Err(Invalid::new("n", "there must be a record", n, "a whole number from 1 up"));
        }
        let query = match &parts[..] {
            [] => {
                return Err(Invalid::new("parts", "there must be a part", "none", "one or more"));
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

    /// The same with other values, those of all parts one after the other: a simulated release.
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

    /// The same with noise that is `factor` times as wide.
    pub(crate) fn widened(&self, factor: f64) -> Result<Self, Invalid> {
        let parts = self.parts.iter().map(|part| part.widened(factor)).collect();
        Ok(Release { slotted: self.slotted.clone(), ..Release::of_parts(self.n, parts)? })
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The same release with another potential, as noise that no [`Mechanism`] has would give it.
    #[cfg(test)]
    pub(crate) fn with_potential(self, potential: Potential) -> Self {
        Release { potential: Arc::new(potential), ..self }
    }

    /// What the curator computed: the statistics of all parts, one after the other.
    pub fn query(&self) -> &Arc<dyn Query> {
        &self.query
    }

    /// Minus the log density of the release as a function of the residual: all that a kernel sees.
    pub fn potential(&self) -> &Arc<Potential> {
        &self.potential
    }

    /// The parts that were published, about records and not about slots for them.
    pub fn published_parts(&self) -> &[Part] {
        self.slotted().map_or(&self.parts, |slotted| slotted.likely().parts())
    }

    /// The query that says most of what a record is: one that sorts records into cells, or that of
    /// the first part.
    pub fn record_query(&self) -> &Arc<dyn Query> {
        let queries = || self.published_parts().iter().map(Part::query);
        queries().find(|query| query.cells().is_some()).unwrap_or(self.published_parts()[0].query())
    }

    /// What is known of the number of records: all of it, or a prior.
    pub fn total(&self) -> Total {
        match &self.slotted {
            Some(slotted) => Total::Unknown(slotted.prior()),
            None => Total::Known(self.n as i64),
        }
    }

    /// The slots for records, where their number is not public.
    pub fn slotted(&self) -> Option<&Slotted> {
        self.slotted.as_deref()
    }

    /// The number of records; of slots for them, where it is not public.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The noisy values, as published, those of all parts one after the other.
    pub fn values(&self) -> Vec<f64> {
        self.parts.iter().flat_map(|part| part.values().iter().copied()).collect()
    }

    /// For each statistic what residuals are relative to, in the unit of its part: the published
    /// value where each statistic has one.
    pub(crate) fn answers(&self) -> Vec<f64> {
        self.parts.iter().flat_map(|part| part.answers(self.n)).collect()
    }

    /// For each statistic what its sum has to be divided by to come in the unit of its part.
    pub fn sum_units(&self) -> Vec<f64> {
        let unit = |part: &Part| vec![part.unit(self.n); part.query().dim()];
        self.parts.iter().flat_map(unit).collect()
    }

    /// The noise scales, each in the unit of its part.
    pub fn scales(&self) -> Vec<f64> {
        self.parts.iter().flat_map(|part| part.scales(self.n)).collect()
    }

    /// The released values as if sums had been released.
    pub fn sums(&self) -> Vec<f64> {
        self.answers().iter().zip(self.sum_units()).map(|(value, unit)| value * unit).collect()
    }

    /// The noise scales as if sums had been released.
    pub fn sum_scales(&self) -> Vec<f64> {
        self.scales().iter().zip(self.sum_units()).map(|(scale, unit)| scale * unit).collect()
    }

    /// The released means, each put into the range that a mean without noise has.
    pub fn plausible_means(&self) -> Vec<f64> {
        let units = self.sum_units();
        let per_record = units.iter().map(|unit| unit / self.n as f64);
        let means = self.answers().into_iter().zip(per_record).map(|(value, unit)| value * unit);
        let bounds = self.query.bounds();
        means.zip(bounds).map(|(mean, (low, high))| mean.clamp(low, high)).collect()
    }

    /// About how many records without noise would say as much as the release does: n where the
    /// noise is small against the spread of a mean of n statistics, and less where it is not.
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
        // The prior of the number of records stands behind the parts that were published.
        let published = &self.parts[..self.published_parts().len()];
        let mut rest = residual;
        let densities = published.iter().map(|part| {
            let (own, others) = rest.split_at(part.query().dim());
            rest = others;
            part.log_density(self.n, own)
        });
        densities.sum()
    }

    /// The same of the sums of the published parts alone.
    pub(crate) fn publish_sums(&self, sums: &[f64], rng: &mut Rng) -> Vec<f64> {
        self.slotted().map_or(self, Slotted::likely).publish(sums, rng)
    }

    /// Values that this release's laws publish of records whose statistics have these sums: what
    /// [`with_values`](Release::with_values) takes. For simulation only.
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
