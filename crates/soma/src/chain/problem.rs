//! A release and a model that fit each other, and what is wanted of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Invalid, listed};
use crate::kernel::Records;
use crate::model::Model;
use crate::release::Release;

/// A function of all imputed records, for each coordinate of a record.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Summary {
    /// The mean over the records.
    Mean,
    /// The standard deviation over the records.
    Sd,
    /// The quantile at this probability.
    Quantile(f64),
}

impl Summary {
    fn name(self, coordinate: usize) -> String {
        match self {
            Summary::Mean => format!("mean_x{coordinate}"),
            Summary::Sd => format!("sd_x{coordinate}"),
            Summary::Quantile(p) => format!("q{}_x{coordinate}", 100.0 * p),
        }
    }

    /// Of the values, which are sorted.
    fn of(self, sorted: &[f64]) -> f64 {
        let n = sorted.len() as f64;
        let mean = || sorted.iter().sum::<f64>() / n;
        match self {
            Summary::Mean => mean(),
            Summary::Sd => {
                let centre = mean();
                let squares: f64 = sorted.iter().map(|x| (x - centre) * (x - centre)).sum();
                (squares / (n - 1.0).max(1.0)).sqrt()
            }
            Summary::Quantile(p) => {
                let position = p * (n - 1.0);
                let (low, part) = (position.floor() as usize, position.fract());
                let high = (low + 1).min(sorted.len() - 1);
                sorted[low] * (1.0 - part) + sorted[high] * part
            }
        }
    }
}

/// A release with a model: what a chain works on.
#[derive(Debug, Clone)]
pub struct Problem {
    release: Release,
    model: Arc<dyn Model>,
    fixed: Option<Vec<f64>>,
    summaries: Vec<Summary>,
}

impl Problem {
    /// The posterior of the model's theta given the release. Where the model has no parameters,
    /// that of the mean and standard deviation of the records.
    pub fn new(release: Release, model: Arc<dyn Model>) -> Result<Self, Invalid> {
        let (has, needs) = (model.record_dim(), release.query().record_dim());
        if has != needs {
            return Err(Invalid::new(
                "model",
                "the model's records do not fit the query",
                format!("a {} model with records of dimension {has}", model.kind()),
                format!(
                    "records of dimension {needs}, as a {} query of {} values takes them",
                    release.query().kind(),
                    release.query().dim()
                ),
            ));
        }
        model.check_release(&release)?;
        let problem = Problem { release, model, fixed: None, summaries: Vec::new() };
        if problem.model.parameters().is_empty() {
            return problem.with_fixed(Vec::new(), vec![Summary::Mean, Summary::Sd]);
        }
        Ok(problem)
    }

    /// The same with theta held at `theta`; the draws are then `summaries` of the records.
    pub fn with_fixed(mut self, theta: Vec<f64>, summaries: Vec<Summary>) -> Result<Self, Invalid> {
        let names = self.model.parameters();
        if theta.len() != names.len() {
            return Err(Invalid::new(
                "model.fixed",
                "the number of fixed values does not fit the model",
                format!("{} values", theta.len()),
                format!("{} values: {}", names.len(), listed(&names)),
            ));
        }
        self.model.check_theta(&theta).map_err(|invalid| invalid.under("model.fixed"))?;
        self.fixed = Some(theta);
        self.summaries = summaries;
        Ok(self)
    }

    /// The same question of another release.
    pub fn with_release(&self, release: Release) -> Result<Self, Invalid> {
        let other = Problem::new(release, self.model.clone())?;
        match &self.fixed {
            Some(theta) => other.with_fixed(theta.clone(), self.summaries.clone()),
            None => Ok(other),
        }
    }

    /// What was published.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// The model.
    pub fn model(&self) -> &dyn Model {
        self.model.as_ref()
    }

    /// theta, if it is held fixed.
    pub fn fixed(&self) -> Option<&[f64]> {
        self.fixed.as_deref()
    }

    /// The names of what a draw holds.
    pub fn outputs(&self) -> Vec<String> {
        if self.fixed.is_none() {
            return self.model.parameters();
        }
        let coordinates = 1..=self.model.record_dim();
        coordinates.flat_map(|c| self.summaries.iter().map(move |s| s.name(c))).collect()
    }

    /// How many values a draw holds.
    pub fn output_count(&self) -> usize {
        match self.fixed {
            None => self.model.parameters().len(),
            Some(_) => self.model.record_dim() * self.summaries.len(),
        }
    }

    /// What a draw holds of a state.
    pub fn output(&self, theta: &[f64], records: &Records) -> Vec<f64> {
        if self.fixed.is_none() {
            return theta.to_vec();
        }
        let d = self.model.record_dim();
        let mut shown = records.all().to_vec();
        self.model.show(&mut shown);
        let mut out = Vec::with_capacity(d * self.summaries.len());
        for c in 0..d {
            let mut column: Vec<f64> = shown.iter().skip(c).step_by(d).copied().collect();
            column.sort_unstable_by(f64::total_cmp);
            out.extend(self.summaries.iter().map(|summary| summary.of(&column)));
        }
        out
    }

    /// The normalised log density of the released values given the records.
    pub fn log_density(&self, records: &Records) -> f64 {
        let mechanism = self.release.mechanism();
        let mut residual: Vec<f64> =
            records.residual().iter().zip(mechanism.scales()).map(|(r, b)| r * b).collect();
        if mechanism.noise().is_discrete() {
            residual.iter_mut().for_each(|r| *r = r.round());
        }
        mechanism.log_density(&residual)
    }
}
