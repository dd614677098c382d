//! One query with its noise and its published values.

use std::fmt::Debug;
use std::sync::Arc;

use super::law::{RandomisedResponse, SyntheticRecords};
use super::mechanism::{Budget, Mechanism, Neighbours};
use super::potential::{Block, Joint};
use super::{Aggregate, Query};
use crate::error::{Invalid, counted, finite, listed};
use crate::rng::Rng;

/// The distribution of published values that do not correspond to the statistics one by one with
/// independent noise: a ratio of two noisy sums, a sample variance, a quantile.
pub trait JointLaw: Debug + Send + Sync {
    /// The name in a spec.
    fn name(&self) -> &'static str;

    /// A description for users.
    fn describe(&self) -> String {
        self.name().to_string()
    }

    /// The number of published values.
    fn published(&self) -> usize;

    /// Whether `values` can have been published from statistics of `query`.
    fn check(&self, query: &dyn Query, values: &[f64]) -> Result<(), Invalid>;

    /// What stands between the true counts and the values, where it is more than noise. Records are not
    /// imputed then, and [the density given the sums](JointLaw::log_density) is not asked for.
    fn layer(&self) -> Option<Layer> {
        None
    }

    /// The normalised log density of the published values, given the sums of the statistics.
    fn log_density(&self, values: &[f64], sums: &[f64]) -> f64;

    /// Published values for the true sums of the statistics, for simulation only.
    fn sample(&self, sums: &[f64], rng: &mut Rng) -> Vec<f64>;

    /// The budget that the scales imply, at most, where one record changes; `None` where no bound is
    /// known. `n` is the number of records, where it is public.
    fn implied(&self, query: &dyn Query, neighbours: Neighbours, n: Option<i64>) -> Option<Budget> {
        let _ = (query, neighbours, n);
        None
    }

    /// Approximate sums of `n` statistics given the values: the start of chains and the origin of
    /// residuals. Nothing else depends on them.
    fn likely_sums(&self, values: &[f64], n: f64) -> Vec<f64>;

    /// The approximate uncertainty of each sum: the unit of residuals.
    fn scales(&self, values: &[f64], n: f64) -> Vec<f64>;

    /// The potential, if more is known than the density: for one statistic, bounds over intervals.
    fn block(&self, values: &[f64]) -> Option<Block> {
        let _ = values;
        None
    }
}

/// What stands between the true counts of cells and the published ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Layer {
    /// Each record was reported as some cell, by itself.
    Reports(RandomisedResponse),
    /// Records were drawn from noisy counts.
    Synthetic(SyntheticRecords),
}

/// The law of a part.
#[derive(Debug, Clone)]
pub enum PartLaw {
    /// A value for each statistic, with independent noise.
    Independent(Mechanism),
    /// Any other distribution.
    Joint(Arc<dyn JointLaw>),
}

/// The published values of one query.
#[derive(Debug, Clone)]
pub struct Part {
    name: String,
    query: Arc<dyn Query>,
    law: PartLaw,
    aggregate: Aggregate,
    values: Vec<f64>,
}

/// The expected number of values of `query`, with their labels unless there are very many.
fn expected_values(query: &dyn Query) -> String {
    match query.dim() {
        dim if dim > 1_000_000 => counted(dim, "value"),
        dim => format!("{}: {}", counted(dim, "value"), listed(&query.labels())),
    }
}

impl Part {
    /// The answers of `query` with the noise of `mechanism`, whose scales are in the unit of the
    /// values.
    pub fn new(
        query: Arc<dyn Query>,
        mechanism: Mechanism,
        aggregate: Aggregate,
        values: Vec<f64>,
    ) -> Result<Self, Invalid> {
        if values.len() != query.dim() {
            return Err(Invalid::new(
                "values",
                "the number of released values does not fit the query",
                counted(values.len(), "value"),
                expected_values(query.as_ref()),
            ));
        }
        finite_values(&values)?;
        if mechanism.scales().len() != query.dim() {
            return Err(Invalid::new(
                "mechanism.scale",
                "the number of scales does not fit the query",
                format!("{} scales", mechanism.scales().len()),
                format!("one scale, or {} scales", query.dim()),
            ));
        }
        mechanism.check(query.as_ref(), aggregate, &values)?;
        let law = PartLaw::Independent(mechanism);
        Ok(Part { name: String::new(), query, law, aggregate, values })
    }

    /// Values published under a joint distribution given all sums of `query`.
    pub fn joint(
        query: Arc<dyn Query>,
        law: Arc<dyn JointLaw>,
        values: Vec<f64>,
    ) -> Result<Self, Invalid> {
        if values.len() != law.published() {
            return Err(Invalid::new(
                "values",
                format!("the number of released values does not fit the law {}", law.name()),
                format!("{} values", values.len()),
                format!("{} values", law.published()),
            ));
        }
        finite_values(&values)?;
        law.check(query.as_ref(), &values)?;
        let law = PartLaw::Joint(law);
        Ok(Part { name: String::new(), query, law, aggregate: Aggregate::Sum, values })
    }

    /// Sets the name, which prefixes the labels in a release of several parts.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same part with other values: a simulated release.
    pub fn with_values(&self, values: Vec<f64>) -> Result<Self, Invalid> {
        let (query, name) = (self.query.clone(), self.name.clone());
        let part = match &self.law {
            PartLaw::Independent(mechanism) => {
                Part::new(query, mechanism.clone(), self.aggregate, values)
            }
            PartLaw::Joint(law) => Part::joint(query, law.clone(), values),
        };
        Ok(part?.named(name))
    }

    /// Multiplies the noise scales by `factor`, if each value has independent noise.
    pub(super) fn widened(&self, factor: f64) -> Self {
        let law = match &self.law {
            PartLaw::Independent(mechanism) => PartLaw::Independent(mechanism.widened(factor)),
            PartLaw::Joint(law) => PartLaw::Joint(law.clone()),
        };
        Part { law, ..self.clone() }
    }

    /// The same part for another query with the same statistics.
    pub(crate) fn on(&self, query: Arc<dyn Query>) -> Self {
        Part { query, ..self.clone() }
    }

    /// The name; empty if it has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The query.
    pub fn query(&self) -> &Arc<dyn Query> {
        &self.query
    }

    /// The distribution of the published values.
    pub fn law(&self) -> &PartLaw {
        &self.law
    }

    /// The noise of each value, if it is independent.
    pub fn mechanism(&self) -> Option<&Mechanism> {
        match &self.law {
            PartLaw::Independent(mechanism) => Some(mechanism),
            PartLaw::Joint(_) => None,
        }
    }

    /// What stands between the true counts and the values, where it is more than noise.
    pub fn layer(&self) -> Option<Layer> {
        match &self.law {
            PartLaw::Independent(_) => None,
            PartLaw::Joint(law) => law.layer(),
        }
    }

    /// Sum or mean.
    pub fn aggregate(&self) -> Aggregate {
        self.aggregate
    }

    /// The values, as published.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The divisor of the sum that gives the unit of the values.
    pub(super) fn unit(&self, n: usize) -> f64 {
        match self.aggregate {
            Aggregate::Sum => 1.0,
            Aggregate::Mean => n as f64,
        }
    }

    /// The origin of the residual of each statistic: the published value, or an approximate sum.
    pub(super) fn answers(&self, n: usize) -> Vec<f64> {
        match &self.law {
            PartLaw::Independent(_) => self.values.clone(),
            PartLaw::Joint(law) => law.likely_sums(&self.values, n as f64),
        }
    }

    /// The unit of the residual of each statistic, in the unit of the values.
    pub(super) fn scales(&self, n: usize) -> Vec<f64> {
        match &self.law {
            PartLaw::Independent(mechanism) => mechanism.scales().to_vec(),
            PartLaw::Joint(law) => law.scales(&self.values, n as f64),
        }
    }

    /// The approximate noise variance of each statistic, in the unit of the values.
    pub(super) fn variances(&self, n: usize) -> Vec<f64> {
        let scales = self.scales(n);
        match &self.law {
            PartLaw::Independent(mechanism) => {
                scales.into_iter().map(|scale| mechanism.noise().variance(scale)).collect()
            }
            PartLaw::Joint(_) => scales.into_iter().map(|scale| scale * scale).collect(),
        }
    }

    /// The potential, as blocks of coordinates.
    pub(super) fn blocks(&self, n: usize) -> Vec<Block> {
        match &self.law {
            PartLaw::Independent(mechanism) => mechanism.blocks(&self.values),
            PartLaw::Joint(law) => {
                if let Some(block) = law.block(&self.values) {
                    return vec![block];
                }
                let (answers, scales) = (self.answers(n), self.scales(n));
                let dim = answers.len();
                let values = self.values.clone();
                let cost = JointCost { law: law.clone(), values, answers, scales };
                vec![Block::Joint(dim, Arc::new(cost))]
            }
        }
    }

    /// The normalised log density of the values, given the residuals of the statistics in units of
    /// the scales.
    pub(super) fn log_density(&self, n: usize, residual: &[f64]) -> f64 {
        let truth = truth(&self.answers(n), &self.scales(n), residual);
        match &self.law {
            PartLaw::Independent(mechanism) => {
                let is_whole = self.aggregate == Aggregate::Sum && self.query.is_integer();
                let round = |t: f64| if is_whole { t.round() } else { t };
                let truth: Vec<f64> = truth.into_iter().map(round).collect();
                mechanism.log_density(&self.values, &truth)
            }
            PartLaw::Joint(law) => law.log_density(&self.values, &truth),
        }
    }

    /// Published values for true sums of the statistics, for simulation only.
    pub(super) fn publish(&self, n: usize, sums: &[f64], rng: &mut Rng) -> Vec<f64> {
        match &self.law {
            PartLaw::Independent(mechanism) => {
                let unit = self.unit(n);
                let answers: Vec<f64> = sums.iter().map(|sum| sum / unit).collect();
                mechanism.publish(&answers, rng)
            }
            PartLaw::Joint(law) => law.sample(sums, rng),
        }
    }
}

fn finite_values(values: &[f64]) -> Result<(), Invalid> {
    values.iter().enumerate().try_for_each(|(k, &value)| {
        finite(&format!("values[{k}]"), value)?;
        Ok(())
    })
}

/// The true answers at a residual.
fn truth(answers: &[f64], scales: &[f64], residual: &[f64]) -> Vec<f64> {
    let all = answers.iter().zip(scales).zip(residual);
    all.map(|((answer, scale), r)| answer - r * scale).collect()
}

/// Minus the log density of a joint distribution as a function of the residuals.
#[derive(Debug)]
struct JointCost {
    law: Arc<dyn JointLaw>,
    values: Vec<f64>,
    answers: Vec<f64>,
    scales: Vec<f64>,
}

impl Joint for JointCost {
    fn cost(&self, residual: &[f64]) -> f64 {
        -self.law.log_density(&self.values, &truth(&self.answers, &self.scales, residual))
    }
}
