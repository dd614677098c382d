//! What is reported of a run.

use serde::Serialize;
use soma::chain::{Draw, Problem, Settings};
use soma::diagnostics::Summary;
use soma::kernel::Counts;
use soma_store::Run;

use crate::exit::Failed;
use crate::{table, trust};

/// One row of the table.
#[derive(Serialize)]
pub struct Row {
    /// The parameter.
    pub name: String,
    /// What its draws say.
    #[serde(flatten)]
    pub summary: Summary,
}

/// A run in figures: the object that `--json` prints.
#[derive(Serialize)]
pub struct Report {
    /// A row for each parameter.
    pub parameters: Vec<Row>,
    /// The kernel.
    pub kernel: &'static str,
    /// The number of records.
    pub n: usize,
    /// Chains with draws.
    pub chains: usize,
    /// Iterations of warm-up of each chain.
    pub warmup: u64,
    /// Draws of each chain; the fewest, if the run was stopped.
    pub draws: u64,
    /// The share of moves accepted after warm-up.
    pub acceptance_rate: f64,
    /// Moves after warm-up, of all chains.
    pub moves: u64,
    /// Seconds that the warm-up took.
    pub seconds_warmup: f64,
    /// Seconds that the draws took.
    pub seconds_sampling: f64,
    /// The seed.
    pub seed: u64,
    /// The version of the program.
    pub version: &'static str,
}

impl Report {
    /// Of draws in memory.
    pub fn of_draws(
        problem: &Problem,
        settings: &Settings,
        draws: &[Vec<Draw>],
        seconds: (f64, f64),
    ) -> Result<Self, Failed> {
        let lengths: Vec<u64> = draws.iter().map(|chain| chain.len() as u64).collect();
        let mut counts = Counts::default();
        draws.iter().flatten().for_each(|draw| counts += draw.counts);
        let n = problem.release().n();
        Report::new(settings, n, problem.outputs(), &lengths, counts, seconds, |k, _| {
            let column = |chain: &Vec<Draw>| chain.iter().map(|draw| draw.values[k]).collect();
            Ok(draws.iter().map(column).collect())
        })
    }

    /// Of draws on disk, of which one parameter at a time is read.
    pub fn of_run(run: &Run) -> Result<Self, Failed> {
        let manifest = run.manifest();
        let counts =
            Counts { moves: manifest.moves, accepted: manifest.accepted, ..Counts::default() };
        let seconds = (manifest.seconds_warmup, manifest.seconds_sampling);
        let names = manifest.parameters.clone();
        let (settings, n) = (&manifest.settings, manifest.n);
        Report::new(settings, n, names, &manifest.draws, counts, seconds, |_, name| {
            Ok(run.column(name)?)
        })
    }

    fn new(
        settings: &Settings,
        n: usize,
        names: Vec<String>,
        lengths: &[u64],
        counts: Counts,
        (seconds_warmup, seconds_sampling): (f64, f64),
        column: impl Fn(usize, &str) -> Result<Vec<Vec<f64>>, Failed>,
    ) -> Result<Self, Failed> {
        let begun: Vec<u64> = lengths.iter().copied().filter(|&length| length > 0).collect();
        let Some(&draws) = begun.iter().min() else {
            return Err(Failed::Run("nothing has been drawn yet".into()));
        };
        let row = |(k, name): (usize, String)| {
            let mut chains = column(k, &name)?;
            chains.retain(|chain| !chain.is_empty());
            Ok(Row { name, summary: Summary::of(&chains) })
        };
        Ok(Report {
            parameters: names.into_iter().enumerate().map(row).collect::<Result<_, Failed>>()?,
            kernel: settings.kernel.name(),
            n,
            chains: begun.len(),
            warmup: settings.warmup,
            draws,
            acceptance_rate: counts.acceptance_rate(),
            moves: counts.moves,
            seconds_warmup,
            seconds_sampling,
            seed: settings.seed,
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    /// As one JSON object. What cannot be told, such as R-hat of three draws, is null.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| unreachable!("plain data: {error}"))
    }

    /// As a table with a judgement.
    pub fn text(&self) -> String {
        let plural = if self.chains == 1 { "" } else { "s" };
        format!(
            "{}\n\n{} chain{plural} of {} draws after {} iterations of warm-up, kernel {}, n = {}, \
             seed {}.\nAcceptance rate {:.1}% of {} moves. Warm-up took {}, the draws {}.\n\n{}",
            table::of(&self.parameters),
            self.chains,
            self.draws,
            self.warmup,
            self.kernel,
            self.n,
            self.seed,
            100.0 * self.acceptance_rate,
            self.moves,
            table::seconds(self.seconds_warmup),
            table::seconds(self.seconds_sampling),
            trust::sentence(self),
        )
    }
}
