//! The report of a run of many chains.

use std::time::Duration;

use serde::Serialize;
use soma::chain::Settings;
use soma_gpu::{Fitted, Program};

use crate::table;

#[derive(Serialize)]
struct Row {
    name: String,
    mean: f64,
    sd: f64,
    q5: f64,
    q50: f64,
    q95: f64,
    mcse: f64,
    ess: f64,
    nested_rhat: f64,
}

/// The summary of a run: the object that `--json` prints.
#[derive(Serialize)]
pub struct Report {
    parameters: Vec<Row>,
    /// Whether every nested R-hat is below 1.01.
    is_trusted: bool,
    device: String,
    kernel: String,
    chains: usize,
    warmup: u64,
    draws: u64,
    seed: u64,
    acceptance_rate: f64,
    theta_acceptance_rate: f64,
    seconds_warmup: f64,
    seconds_sampling: f64,
    seconds: f64,
}

/// Chains agree if nested R-hat is below this.
const MOST_RHAT: f64 = 1.01;

impl Report {
    /// The report of a fit.
    pub fn new(
        fitted: Fitted,
        program: &Program,
        settings: &Settings,
        device: String,
        passed: Duration,
    ) -> Self {
        let row = |row: soma_gpu::Row| Row {
            name: row.name,
            mean: row.mean,
            sd: row.sd,
            q5: row.quantiles[0],
            q50: row.quantiles[1],
            q95: row.quantiles[2],
            mcse: row.mcse,
            ess: row.ess,
            nested_rhat: row.nested_rhat,
        };
        let is_trusted = fitted.rows.iter().all(|row| row.nested_rhat < MOST_RHAT);
        Report {
            parameters: fitted.rows.into_iter().map(row).collect(),
            is_trusted,
            device,
            kernel: program.kernel.clone(),
            chains: settings.chains,
            warmup: settings.warmup,
            draws: settings.draws,
            seed: settings.seed,
            acceptance_rate: fitted.acceptance_rate,
            theta_acceptance_rate: fitted.theta_acceptance_rate,
            seconds_warmup: fitted.seconds_warmup,
            seconds_sampling: fitted.seconds_sampling,
            seconds: passed.as_secs_f64(),
        }
    }

    /// As one JSON object.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| unreachable!("plain data: {error}"))
    }

    /// As a table.
    pub fn text(&self) -> String {
        let header = ["parameter", "mean", "sd", "5%", "50%", "95%", "mcse", "ESS", "nested R-hat"];
        let cells = self.parameters.iter().map(|row| {
            let values = [row.mean, row.sd, row.q5, row.q50, row.q95];
            let mut cells = vec![row.name.clone()];
            cells.extend(values.map(|value| format!("{value:.4}")));
            cells.push(format!("{:.6}", row.mcse));
            cells.push(format!("{:.0}", row.ess));
            cells.push(format!("{:.4}", row.nested_rhat));
            cells
        });
        let verdict = match self.is_trusted {
            true => "The chains agree.",
            false => {
                "The chains do not agree: nested R-hat is 1.01 or more, or there are fewer than 32 chains. \
                 Run a longer warm-up, or use --device cpu, which has more kinds of theta updates."
            }
        };
        format!(
            "{}\n\n{} chains of {} draws after {} iterations of warm-up, kernel {}, seed {}, on {}.\n\
             Acceptance rate {:.1}% of moves, {:.1}% of non-centred updates. Warm-up took {}, the draws {}, \
             all {}.\n\n{verdict}",
            table::framed(&header, cells),
            self.chains,
            self.draws,
            self.warmup,
            self.kernel,
            self.seed,
            self.device,
            100.0 * self.acceptance_rate,
            100.0 * self.theta_acceptance_rate,
            table::seconds(self.seconds_warmup),
            table::seconds(self.seconds_sampling),
            table::seconds(self.seconds),
        )
    }
}
