//! Cells that people report by randomised response.
//!
//! A report depends on its record alone. Given the shares p(theta) the reports are multinomial with
//! probabilities q = M p, M_ij the probability that a record of cell j is reported as i: the records,
//! and their counts, need not be imputed, and theta moves given the reports. For the output the true
//! counts are drawn given theta and the reports: those reported as i come from the cells j with
//! probabilities proportional to M_ij p_j.

use std::sync::Arc;

use super::models::DirichletCells;
use super::problem::{CountProblem, share_name};
use super::redraw::add_multinomial;
use super::shares::{CellModel, Shares};
use super::table::Table;
use crate::error::Invalid;
use crate::numeric::ln_gamma_shift::ln_gamma_shift;
use crate::release::Total;
use crate::release::law::RandomisedResponse;
use crate::rng::Rng;

/// How many reported each cell, and what lies behind.
#[derive(Debug, Clone)]
pub struct Reports {
    counts: Vec<i64>,
    law: RandomisedResponse,
    /// The model of the true cells.
    truth: Arc<dyn CellModel>,
    /// ln of the multinomial coefficient.
    constant: f64,
}

impl CountProblem {
    /// The posterior of `shares` given reports of the cells of `table`.
    pub fn of_reports(
        table: Table,
        counts: Vec<i64>,
        law: RandomisedResponse,
        shares: Shares,
    ) -> Result<Self, Invalid> {
        let truth: Arc<dyn CellModel> = match shares {
            Shares::Dirichlet(alpha) => {
                let names = table.labels().iter().enumerate();
                let names = names.map(|(cell, label)| share_name(cell, label)).collect();
                Arc::new(DirichletCells::new(alpha, names))
            }
            Shares::Model(model) => model,
        };
        let n: i64 = counts.iter().sum();
        let own: f64 = counts.iter().map(|&count| ln_gamma_shift(1.0, count as f64)).sum();
        let constant = ln_gamma_shift(1.0, n as f64) - own;
        let reports = Reports { counts, law, truth: truth.clone(), constant };
        let shares = Shares::of(Reported { law, truth });
        let problem = CountProblem::new(table, Vec::new(), Total::Known(n), shares)?;
        Ok(problem.with_reports(reports))
    }
}

impl Reports {
    /// How many reported each cell.
    pub(super) fn counts(&self) -> &[i64] {
        &self.counts
    }

    /// The model of the true cells.
    pub(super) fn truth(&self) -> &dyn CellModel {
        self.truth.as_ref()
    }

    /// The log probability of the reports, given the log probabilities of a report.
    pub(super) fn log_density(&self, log_shares: &[f64]) -> f64 {
        let each = self.counts.iter().zip(log_shares).filter(|(count, _)| **count > 0);
        self.constant + each.map(|(&count, log)| count as f64 * log).sum::<f64>()
    }

    /// The true counts, drawn given theta and the reports.
    pub(super) fn draw(&self, theta: &[f64], counts: &mut [i64], rng: &mut Rng) {
        let mut shares = vec![0.0; counts.len()];
        self.truth.log_shares(theta, &mut shares);
        shares.iter_mut().for_each(|share| *share = share.exp());
        counts.fill(0);
        let (own, other) = (self.law.prob(), self.law.other());
        let mut weights = vec![0.0; counts.len()];
        for (reported, &count) in self.counts.iter().enumerate() {
            for (cell, weight) in weights.iter_mut().enumerate() {
                *weight = shares[cell] * if cell == reported { own } else { other };
            }
            add_multinomial(count, &weights, counts, rng);
        }
    }
}

/// The probabilities of reports: those of a model of the true cells, mixed.
#[derive(Debug)]
struct Reported {
    law: RandomisedResponse,
    truth: Arc<dyn CellModel>,
}

impl CellModel for Reported {
    fn parameters(&self) -> Vec<String> {
        self.truth.parameters()
    }

    fn output(&self, theta: &[f64]) -> Vec<f64> {
        self.truth.output(theta)
    }

    fn dim(&self) -> usize {
        self.truth.dim()
    }

    fn cells(&self) -> usize {
        self.truth.cells()
    }

    fn log_prior(&self, theta: &[f64]) -> f64 {
        self.truth.log_prior(theta)
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) {
        self.truth.sample_prior(theta, rng);
    }

    fn log_shares(&self, theta: &[f64], out: &mut [f64]) {
        self.truth.log_shares(theta, out);
        let (own, other) = (self.law.prob(), self.law.other());
        out.iter_mut().for_each(|log| *log = (other + (own - other) * log.exp()).ln());
    }

    fn record_dim(&self) -> usize {
        self.truth.record_dim()
    }

    fn records(&self, theta: &[f64], counts: &[i64], rng: &mut Rng) -> Vec<f64> {
        self.truth.records(theta, counts, rng)
    }

    fn shows_shares(&self) -> bool {
        self.truth.shows_shares()
    }

    fn start(&self, shares: &[f64], theta: &mut [f64], rng: &mut Rng) {
        let (own, other) = (self.law.prob(), self.law.other());
        let gain = own - other;
        let guess = |&share: &f64| match gain.abs() > 1e-6 {
            true => ((share - other) / gain).clamp(0.02 / shares.len() as f64, 1.0),
            false => 1.0 / shares.len() as f64,
        };
        let guess: Vec<f64> = shares.iter().map(guess).collect();
        let sum: f64 = guess.iter().sum();
        let guess: Vec<f64> = guess.iter().map(|guess| guess / sum).collect();
        self.truth.start(&guess, theta, rng);
    }
}
