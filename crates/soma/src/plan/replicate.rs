//! One simulated data set: released at a setting and fitted, or known as it is.

use serde::{Deserialize, Serialize};

use super::{LEVEL, Plan, Setting};
use crate::chain::{Engine, Problem, Settings};
use crate::diagnostics::{quantile, rhat};
use crate::error::Outcome;
use crate::interrupt;
use crate::kernel::Records;
use crate::plug_in::plug_in;
use crate::rng::{Rng, stream};

/// What one fit says of one output, beside the truth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The value that the data were simulated with.
    pub truth: f64,
    /// The posterior mean.
    pub mean: f64,
    /// The posterior standard deviation.
    pub sd: f64,
    /// The 5% quantile.
    pub low: f64,
    /// The 95% quantile.
    pub high: f64,
    /// What the plug-in says, where it has an answer: estimate, low and high.
    pub plug_in: Option<[f64; 3]>,
}

/// One fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// Each output.
    pub quantities: Vec<Quantity>,
    /// Whether the two halves of the chain agree: R-hat of each output is below 1.05.
    pub is_settled: bool,
}

/// R-hat of the halves of a chain from which on it is not taken for settled.
const SETTLED: f64 = 1.05;

/// The chain of the floor needs no warm-up of its own: it starts at the truth.
const FLOOR_WARMUP: u64 = 50;

/// theta and records of a data set, and the random numbers that its release is drawn with.
fn data(plan: &Plan, setting: &Setting, replication: u64) -> Outcome<(Vec<f64>, Vec<f64>, Rng)> {
    let problem = &setting.problem;
    let mut rng = stream(plan.seed, 3 * replication);
    let theta = match (&plan.truth, problem.fixed()) {
        (Some(truth), None) => truth.clone(),
        _ => problem.draw_theta(&mut rng)?,
    };
    let records = problem.simulate_records(&theta, &mut rng)?;
    Ok((theta, records, rng))
}

/// A release that was simulated at a setting.
#[derive(Debug, Clone)]
pub struct Released {
    /// The release, with the model.
    pub problem: Problem,
    /// The values of the outputs that the data were simulated with.
    pub truth: Vec<f64>,
}

impl Released {
    /// What the draws of each output say, beside the truth and the plug-in.
    pub fn fitted(&self, columns: &[Vec<f64>]) -> Fitted {
        let said = plug_in(&self.problem, LEVEL).unwrap_or_default();
        let names = self.problem.outputs();
        let mut fitted = summarised(columns, &self.truth);
        for (quantity, name) in fitted.quantities.iter_mut().zip(&names) {
            // Published counts have no interval that could miss.
            let own = said.iter().find(|one| one.name == *name && one.low < one.high);
            quantity.plug_in = own.map(|one| [one.estimate, one.low, one.high]);
        }
        fitted
    }
}

/// The release of replication `replication` of a setting. It is to be fitted by a chain that starts from the
/// random numbers of `stream(plan.seed, 3 * replication + 1)`.
pub fn released(plan: &Plan, setting: &Setting, replication: u64) -> Outcome<Released> {
    let (theta, records, mut rng) = data(plan, setting, replication)?;
    let template = &setting.problem;
    let problem = template.released(&records, template.release(), &mut rng)?;
    let truth = problem.output(&theta, &Records::new(problem.release(), records)?);
    Ok(Released { problem, truth })
}

/// Replication `replication` of a setting: its data are released and fitted.
pub fn replicate(plan: &Plan, setting: &Setting, replication: u64) -> Outcome<Fitted> {
    let released = released(plan, setting, replication)?;
    let settings = Settings {
        chains: 1,
        warmup: plan.warmup,
        draws: plan.draws,
        seed: plan.seed,
        ..Settings::default()
    };
    let mut chain = Engine::new(&released.problem, &settings, 3 * replication + 1)?;
    for _ in 0..plan.warmup {
        interrupt::check()?;
        chain.step()?;
    }
    let mut columns = vec![Vec::with_capacity(plan.draws as usize); released.truth.len()];
    for _ in 0..plan.draws {
        interrupt::check()?;
        chain.step()?;
        columns.iter_mut().zip(chain.draw()).for_each(|(column, x)| column.push(x));
    }
    Ok(released.fitted(&columns))
}

/// What somebody knows who has the data of replication `replication` themselves: the posterior of
/// theta given the records, without privacy.
pub fn floor(plan: &Plan, setting: &Setting, replication: u64) -> Outcome<Fitted> {
    let (mut theta, records, _) = data(plan, setting, replication)?;
    let problem = &setting.problem;
    let held = Records::new(problem.release(), records.clone())?;
    let truth = problem.output(&theta, &held);
    let mut rng = stream(plan.seed, 3 * replication + 2);
    let mut columns = vec![Vec::with_capacity(plan.draws as usize); truth.len()];
    for step in 0..FLOOR_WARMUP + plan.draws {
        interrupt::check()?;
        if problem.fixed().is_none() {
            problem.model().update(&mut theta, &records, &mut rng)?;
        }
        if step >= FLOOR_WARMUP {
            let draw = problem.output(&theta, &held);
            columns.iter_mut().zip(draw).for_each(|(column, x)| column.push(x));
        }
    }
    Ok(summarised(&columns, &truth))
}

/// The draws of each output, in figures.
fn summarised(columns: &[Vec<f64>], truth: &[f64]) -> Fitted {
    let mut is_settled = true;
    let quantity = |(column, truth): (&Vec<f64>, &f64)| {
        let n = column.len() as f64;
        let mean = column.iter().sum::<f64>() / n;
        let squares: f64 = column.iter().map(|x| (x - mean) * (x - mean)).sum();
        let (first, second) = column.split_at(column.len() / 2);
        // NaN where all draws are equal: there is nothing to settle.
        let apart = rhat(&[first, second]);
        is_settled &= apart.is_nan() || apart < SETTLED;
        let mut sorted = column.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let tail = 0.5 * (1.0 - LEVEL);
        let [low, high] = [tail, 1.0 - tail].map(|p| quantile(&sorted, p));
        let sd = (squares / (n - 1.0)).sqrt();
        Quantity { truth: *truth, mean, sd, low, high, plug_in: None }
    };
    let quantities = columns.iter().zip(truth).map(quantity).collect();
    Fitted { quantities, is_settled }
}
