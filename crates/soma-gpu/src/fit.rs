//! Many chains of one release.

use soma::Outcome;
use soma::chain::{Problem, Settings};

use crate::chains::{Chains, Drawn, SUPERCHAIN, starts};
use crate::device::Device;
use crate::nested::nested_rhat;
use crate::program::Program;

/// One parameter over all chains.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// Quantiles at 5, 50 and 95%.
    pub quantiles: [f64; 3],
    /// Standard error of the mean, from the variance of the chain means (chains are independent).
    pub mcse: f64,
    /// Effective draws: (sd / mcse)^2.
    pub ess: f64,
    /// Nested R-hat, with superchains of [`SUPERCHAIN`] chains.
    pub nested_rhat: f64,
}

/// The summary of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The parameters.
    pub rows: Vec<Row>,
    /// The share of moves accepted after warm-up.
    pub acceptance_rate: f64,
    /// The share of non-centred updates accepted after warm-up.
    pub theta_acceptance_rate: f64,
    /// Device time of the warm-up, in seconds.
    pub seconds_warmup: f64,
    /// Device time of the draws, in seconds.
    pub seconds_sampling: f64,
}

/// A run of many chains of one release.
#[derive(Debug)]
pub struct Fit<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// Its program.
    pub program: &'a Program,
    /// Chains, warm-up, draws, thinning and seed.
    pub settings: &'a Settings,
}

impl Fit<'_> {
    /// Runs the chains. `stop` is called between launches; a stopped run keeps the draws so far.
    pub fn run(&self, device: &mut dyn Device, stop: &dyn Fn() -> bool) -> Outcome<Fitted> {
        let Settings { chains, warmup, thin, seed, .. } = *self.settings;
        let published = self.program.published(self.problem);
        let theta = starts(self.problem, seed, 0, chains)?;
        let mut run =
            Chains::start(device, self.program, seed, 0, warmup, thin, &published, &theta)?;
        let last = self.settings.iterations();
        while run.iteration() < warmup && !stop() {
            run.advance(device, warmup, false)?;
        }
        let seconds_warmup = run.seconds;
        let mut all = Drawn::default();
        while run.iteration() < last && !stop() {
            let some = run.advance(device, last, true)?;
            (all.chains, all.width) = (some.chains, some.width);
            all.values.extend(&some.values);
        }
        if all.draws() == 0 {
            return Err("there are no draws yet".into());
        }
        let (acceptance_rate, theta_acceptance_rate) = run.acceptance(device)?;
        let names = self.program.outputs.iter().cloned().enumerate();
        Ok(Fitted {
            rows: names.map(|(k, name)| row(name, k, &all)).collect(),
            acceptance_rate,
            theta_acceptance_rate,
            seconds_warmup,
            seconds_sampling: run.seconds - seconds_warmup,
        })
    }
}

fn row(name: String, k: usize, all: &Drawn) -> Row {
    let columns: Vec<Vec<f64>> = (0..all.chains).map(|chain| all.column(k, chain)).collect();
    let mut sorted: Vec<f64> = columns.concat();
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let squares: f64 = sorted.iter().map(|x| (x - mean) * (x - mean)).sum();
    let sd = (squares / (count - 1.0).max(1.0)).sqrt();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |p: f64| sorted[(p * (count - 1.0)).round() as usize];
    let centres = columns.iter().map(|c| c.iter().sum::<f64>() / c.len() as f64);
    let spread: f64 = centres.map(|centre| (centre - mean) * (centre - mean)).sum();
    let chains = all.chains as f64;
    let mcse = (spread / (chains - 1.0) / chains).sqrt();
    let groups: Vec<Vec<Vec<f64>>> =
        columns.chunks_exact(SUPERCHAIN).map(<[Vec<f64>]>::to_vec).collect();
    Row {
        name,
        mean,
        sd,
        quantiles: [at(0.05), at(0.5), at(0.95)],
        mcse,
        ess: (sd / mcse) * (sd / mcse),
        nested_rhat: nested_rhat(&groups),
    }
}
