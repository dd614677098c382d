//! The report of a run.

use serde::Serialize;
use soma::chain::{Chosen, Draw, MoveReport, Problem, Settings, crossing};
use soma::diagnostics::{Advice, Column, RunFigures, Summary, Verdict, rhat};
use soma::kernel::{Counts, KernelChoice};
use soma::spec::comparisons;
use soma_store::Run;

use crate::exit::Failed;
use crate::session::End;
use crate::{moves, table, trust};

/// One row of the table.
#[derive(Serialize)]
pub struct Row {
    /// The parameter.
    pub name: String,
    /// The summary of its draws.
    #[serde(flatten)]
    pub summary: Summary,
    /// Whether it is a comparison, whose mean is a probability.
    #[serde(skip)]
    pub is_comparison: bool,
}

/// The quantities of a draw.
struct Names {
    all: Vec<String>,
    /// Those that are 0 or 1 in every draw.
    comparisons: Vec<String>,
}

/// A run in figures: the object printed by `--json`.
#[derive(Serialize)]
pub struct Report {
    /// A row for each parameter.
    pub parameters: Vec<Row>,
    /// The verdict whether the draws can be trusted, with all reasons against it.
    pub verdict: Verdict,
    /// Suggested settings if they cannot.
    pub advice: Advice,
    /// The requested kernel.
    pub kernel: &'static str,
    /// The kernel that each chain chose and the reason, if the kernel is `auto`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<Chosen>,
    /// The reports of the sweeps and theta updates after warm-up, by chain.
    pub theta_moves: Vec<Vec<MoveReport>>,
    /// The number of records; `None` if it is unknown, and so a parameter.
    pub n: Option<usize>,
    /// Chains with draws.
    pub chains: usize,
    /// Iterations of warm-up of each chain.
    pub warmup: u64,
    /// Draws of each chain; the smallest number, if the run was stopped.
    pub draws: u64,
    /// The acceptance rate after warm-up.
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
    /// The report of draws in memory.
    pub fn of_draws(
        problem: &Problem,
        settings: &Settings,
        draws: &[Vec<Draw>],
        ends: Vec<End>,
        seconds: (f64, f64),
    ) -> Result<Self, Failed> {
        let lengths: Vec<u64> = draws.iter().map(|chain| chain.len() as u64).collect();
        let mut counts = Counts::default();
        let mut acceptance = Vec::new();
        for chain in draws.iter().filter(|chain| !chain.is_empty()) {
            let mut of_chain = Counts::default();
            chain.iter().for_each(|draw| of_chain += draw.counts);
            acceptance.push(of_chain.acceptance_rate());
            counts += of_chain;
        }
        let n = problem.release().n();
        let names = problem.outputs();
        let log_density =
            draws.iter().map(|chain| chain.iter().map(|draw| draw.log_density).collect());
        let (chosen, moves): (_, Vec<_>) =
            ends.into_iter().map(|end| (end.chosen, end.theta_moves)).unzip();
        let figures = figures(acceptance, &moves, log_density.collect());
        let swept = (counts, figures);
        let names = Names { all: names, comparisons: problem.comparisons() };
        let report = Report::new(settings, n, names, &lengths, swept, seconds, |k, _| {
            let column = |chain: &Vec<Draw>| chain.iter().map(|draw| draw.values[k]).collect();
            Ok(draws.iter().map(column).collect())
        })?;
        Ok(report.with_ends(chosen, moves))
    }

    /// The report of a stored run; reads one parameter at a time.
    pub fn of_run(run: &Run) -> Result<Self, Failed> {
        let manifest = run.manifest();
        let counts =
            Counts { moves: manifest.moves, accepted: manifest.accepted, ..Counts::default() };
        let mean = |chain: &Vec<f64>| chain.iter().sum::<f64>() / chain.len() as f64;
        // Dropped before the next column is read.
        let of_chains = |rates: Vec<Vec<f64>>| {
            rates.iter().filter(|chain| !chain.is_empty()).map(mean).collect()
        };
        let acceptance = of_chains(run.column("acceptance")?);
        let figures = figures(acceptance, &manifest.theta_moves, run.column("log_density")?);
        let swept = (counts, figures);
        let seconds = (manifest.seconds_warmup, manifest.seconds_sampling);
        let all = manifest.parameters.clone();
        let names = Names { comparisons: comparisons(&manifest.spec, &all), all };
        let (settings, n) = (&manifest.settings, manifest.n);
        let report =
            Report::new(settings, n, names, &manifest.draws, swept, seconds, |_, name| {
                Ok(run.column(name)?)
            })?;
        Ok(report.with_ends(manifest.chosen.clone(), manifest.theta_moves.clone()))
    }

    fn with_ends(self, chosen: Vec<Option<Chosen>>, theta_moves: Vec<Vec<MoveReport>>) -> Self {
        Report { chosen: chosen.into_iter().flatten().collect(), theta_moves, ..self }
    }

    fn new(
        settings: &Settings,
        n: usize,
        names: Names,
        lengths: &[u64],
        (counts, figures): (Counts, RunFigures),
        (seconds_warmup, seconds_sampling): (f64, f64),
        column: impl Fn(usize, &str) -> Result<Vec<Vec<f64>>, Failed>,
    ) -> Result<Self, Failed> {
        let begun: Vec<u64> = lengths.iter().copied().filter(|&length| length > 0).collect();
        let Some(&draws) = begun.iter().min() else {
            return Err(Failed::Run("there are no draws yet".into()));
        };
        let Names { all: names, comparisons } = names;
        let is_drawn = names.iter().any(|name| name == "n");
        let n = (!is_drawn).then_some(n);
        let column_of = |(k, name): (usize, String)| {
            let mut chains = column(k, &name)?;
            chains.retain(|chain| !chain.is_empty());
            let is_comparison = comparisons.contains(&name);
            Ok(Column::of(&name, &chains).comparison(is_comparison))
        };
        let columns: Vec<Column> =
            names.into_iter().enumerate().map(column_of).collect::<Result<_, Failed>>()?;
        let verdict = Verdict::of(&columns, &figures);
        let row =
            |Column { name, summary, is_comparison, .. }| Row { name, summary, is_comparison };
        Ok(Report {
            parameters: columns.into_iter().map(row).collect(),
            advice: Advice::of(&verdict, begun.len(), settings.warmup, draws),
            verdict,
            kernel: settings.kernel.name(),
            chosen: Vec::new(),
            theta_moves: Vec::new(),
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

    /// The report as one JSON object. Undefined values, such as R-hat of three draws, are null.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| unreachable!("plain data: {error}"))
    }

    /// The report as a table with a verdict.
    pub fn text(&self) -> String {
        let plural = if self.chains == 1 { "" } else { "s" };
        format!(
            "{}\n\n{} chain{plural} of {} draws after {} iterations of warm-up, kernel {}, n {}, \
             seed {}.\n{}{}Acceptance rate {:.1}% of {} moves. Warm-up took {}, the draws {}.\n\n{}",
            table::of(&self.parameters),
            self.chains,
            self.draws,
            self.warmup,
            self.kernel,
            self.n.map_or_else(|| "unknown".into(), |n| format!("= {n}")),
            self.seed,
            kernels(&self.chosen),
            moves::line(&self.theta_moves),
            100.0 * self.acceptance_rate,
            self.moves,
            table::seconds(self.seconds_warmup),
            table::seconds(self.seconds_sampling),
            trust::sentence(self),
        )
    }
}

/// The figures for the verdict besides the parameters, of the chains with draws.
fn figures(
    acceptance: Vec<f64>,
    moves: &[Vec<MoveReport>],
    mut log_density: Vec<Vec<f64>>,
) -> RunFigures {
    let begun = log_density.iter().zip(moves).filter(|(draws, _)| !draws.is_empty());
    let crossings = begun.map(|(_, moves)| crossing(moves)).collect();
    log_density.retain(|draws| !draws.is_empty());
    RunFigures { acceptance, crossings, log_density_rhat: rhat(&log_density) }
}

/// The kernels that the chains chose, with the mean merits of all candidates; empty if there was no
/// choice.
fn kernels(chosen: &[Chosen]) -> String {
    let Some(first) = chosen.first() else { return String::new() };
    let mut names: Vec<&str> = chosen.iter().map(|one| one.kernel.as_str()).collect();
    names.sort_unstable();
    let counted = names.chunk_by(|a, b| a == b).map(|same| match same.len() {
        all if all == chosen.len() => same[0].to_string(),
        some => format!("{} in {some} chain{}", same[0], if some == 1 { "" } else { "s" }),
    });
    let taken = counted.collect::<Vec<String>>().join(", ");
    if names.iter().all(|name| *name == KernelChoice::Counts.name()) {
        return "Kernel chosen: counts; the release depends on a record only through its cell.\n"
            .into();
    }
    if first.tried.is_empty() {
        return format!("Kernel chosen: {taken}; the warm-up was too short to try others.\n");
    }
    let figures = (0..first.tried.len()).map(|k| {
        let tried = || chosen.iter().filter_map(|one| one.tried.get(k));
        let merit = tried().map(|one| one.merit).sum::<f64>() / chosen.len() as f64;
        format!("{} {merit:.2}", first.tried[k].kernel)
    });
    let figures = figures.collect::<Vec<String>>().join(", ");
    format!("Kernel chosen: {taken} (effective draws per work relative to the best: {figures}).\n")
}
