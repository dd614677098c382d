//! The cells of a cross-table, with main effects and interactions.

use rand::RngExt;
use rand_distr::Exp1;

use super::Model;
use crate::counts::models::LogLinear as LogLinearCells;
use crate::counts::{CellModel, Shares, Table};
use crate::error::{Invalid, Outcome};
use crate::interrupt;
use crate::release::Release;
use crate::release::query::Axis;
use crate::rng::Rng;

/// A record is the index of a cell of a cross-table, and the log probability of a cell is a sum of
/// effects of its levels; theta is these effects, with normal priors (see
/// [`counts::models::LogLinear`](crate::counts::models::LogLinear)).
#[derive(Debug, Clone)]
pub struct LogLinear {
    cells: LogLinearCells,
    axes: Vec<Axis>,
}

/// Passes over all effects per update.
const PASSES: usize = 2;

impl LogLinear {
    /// The model of a table with these axes and `terms`: sets of axes, each with the standard
    /// deviation of its effects.
    pub fn new(axes: Vec<Axis>, terms: &[(Vec<usize>, f64)]) -> Result<Self, Invalid> {
        let table = Table::cross(axes.iter().map(|axis| axis.labels.clone()).collect())?;
        Ok(LogLinear { cells: LogLinearCells::new(&table, terms)?, axes })
    }

    fn log_shares(&self, theta: &[f64]) -> Vec<f64> {
        let mut logs = vec![0.0; self.cells.cells()];
        self.cells.log_shares(theta, &mut logs);
        logs
    }

    /// The unnormalised log density of theta given counts of cells.
    fn log_posterior(&self, theta: &[f64], counts: &[f64]) -> f64 {
        let logs = self.log_shares(theta);
        let likelihood: f64 = counts.iter().zip(&logs).map(|(count, log)| count * log).sum();
        likelihood + self.cells.log_prior(theta)
    }
}

impl Model for LogLinear {
    fn kind(&self) -> &'static str {
        "log-linear"
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn parameters(&self) -> Vec<String> {
        self.cells.parameters()
    }

    fn check_release(&self, release: &Release) -> Result<(), Invalid> {
        match release.record_query().cells() {
            Some(cells) if cells.is_of_levels() && cells.axes == self.axes => Ok(()),
            _ => Err(Invalid::new(
                "model",
                "the model is of another table than the query",
                release.record_query().kind(),
                "a query of kind \"table\" or \"categories\" with the same axes",
            )),
        }
    }

    fn supports(&self, record: &[f64]) -> bool {
        let cells = 0.0..self.cells.cells() as f64;
        record.iter().all(|x| cells.contains(x) && x.fract() == 0.0)
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        self.cells.sample_prior(theta, rng);
        Ok(())
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        Ok(self.cells.log_prior(theta))
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        let mut total = 0.0;
        let add = |log: f64| {
            total += log.exp();
            total
        };
        let cumulative: Vec<f64> = self.log_shares(theta).into_iter().map(add).collect();
        let last = cumulative.len() - 1;
        for x in records {
            let level = rng.random::<f64>() * total;
            *x = cumulative.partition_point(|&sum| sum <= level).min(last) as f64;
        }
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        let is_cell = self.supports(record);
        Ok(if is_cell { self.log_shares(theta)[record[0] as usize] } else { f64::NEG_INFINITY })
    }

    fn log_ratios(&self, from: &[f64], to: &[f64], records: &[f64], ratios: &mut [f64]) -> Outcome {
        let (from, to) = (self.log_shares(from), self.log_shares(to));
        for (ratio, x) in ratios.iter_mut().zip(records) {
            *ratio = to[*x as usize] - from[*x as usize];
        }
        Ok(())
    }

    fn cell_shares(&self, axes: &[Axis]) -> Option<Shares> {
        (axes == self.axes).then(|| Shares::of(self.cells.clone()))
    }

    /// Slice moves (Neal 2003) of one effect after the other. Their widths depend on the records
    /// only: the standard deviation of an effect given the number of records with it.
    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        let mut counts = vec![0.0; self.cells.cells()];
        records.iter().for_each(|x| counts[*x as usize] += 1.0);
        let widths = self.cells.spreads(&counts);
        for _ in 0..PASSES {
            for (j, &spread) in widths.iter().enumerate() {
                interrupt::check()?;
                let (at, width) = (theta[j], 3.0 * spread);
                let drop: f64 = rng.sample(Exp1);
                let level = self.log_posterior(theta, &counts) - drop;
                let mut inside = |x: f64| {
                    theta[j] = x;
                    self.log_posterior(theta, &counts) >= level
                };
                let mut low = at - width * rng.random::<f64>();
                let mut high = low + width;
                while inside(low) {
                    low -= width;
                }
                while inside(high) {
                    high += width;
                }
                loop {
                    let x = low + (high - low) * rng.random::<f64>();
                    if inside(x) || high - low < 1e-14 * (1.0 + at.abs()) {
                        break;
                    }
                    if x < at { low = x } else { high = x }
                }
            }
        }
        Ok(())
    }
}
