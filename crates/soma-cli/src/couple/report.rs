//! The report of pairs.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use soma::chain::Problem;
use soma::coupling::{
    Bound, CoupledKernel, Estimate, Meetings, PairRun, PairSettings, PosteriorMean, Rate, Window,
    posterior_means,
};
use soma::kernel::Counts;

use super::function::Functions;

/// Pairs in figures: the object printed by `--json`.
#[derive(Serialize)]
pub struct Report {
    kernel: &'static str,
    /// The number of records, where it is public.
    n: Option<i64>,
    /// The coupling of the selected places: maximal, near-maximal, or the same place.
    places: &'static str,
    moves: &'static str,
    /// The command whose chain the bounds are for.
    chain: String,
    lag: u64,
    pairs: usize,
    met: usize,
    max_iterations: u64,
    /// Whether all pairs met, so that the bounds are valid.
    complete: bool,
    meeting_times: Vec<Option<u64>>,
    /// The mean of tau - lag and its standard error.
    mean_delay: (f64, f64),
    delay_quartiles: [Option<u64>; 3],
    acceptance_rate: f64,
    rate: Option<Rate>,
    survival: Vec<(u64, f64)>,
    tv_bound: Vec<Bound>,
    t_001: Option<u64>,
    /// The same with two standard errors added to the bound.
    t_001_upper: Option<u64>,
    window: Option<Window>,
    estimates: Vec<PosteriorMean>,
    seed: u64,
    version: &'static str,
}

/// A bound that rests on fewer pairs than this gets a warning.
const FEW: usize = 5;

/// The number of iterations at which the bound is given.
const POINTS: u64 = 100;

impl Report {
    /// The report of pairs run with `settings`.
    pub fn new(
        problem: &Problem,
        settings: &PairSettings,
        functions: &Functions,
        runs: &[PairRun],
    ) -> Self {
        let (n, meetings) = (problem.release().n(), settings.meetings(runs));
        let mut counts = Counts::default();
        runs.iter().for_each(|run| counts += run.counts);
        Report {
            kernel: settings.kernel.name(),
            n: problem.release().total().known(),
            places: CoupledKernel::new(settings.kernel, n).map_or("", |kernel| kernel.places()),
            moves: "centred",
            chain: format!("soma fit --kernel {} --moves centred", settings.kernel.name()),
            lag: settings.lag,
            pairs: runs.len(),
            met: meetings.met(),
            max_iterations: settings.max_iterations,
            complete: meetings.all_met(),
            meeting_times: meetings.times().to_vec(),
            mean_delay: meetings.mean_delay(),
            delay_quartiles: [0.25, 0.5, 0.75].map(|p| meetings.delay_quantile(p)),
            acceptance_rate: counts.acceptance_rate(),
            rate: meetings.rate(settings.seed),
            survival: meetings.survival(),
            tv_bound: meetings.bounds(POINTS),
            t_001: meetings.first_under(0.01, 0.0),
            t_001_upper: meetings.first_under(0.01, 2.0),
            window: settings.window,
            estimates: estimates(settings, functions, runs, &meetings),
            seed: settings.seed,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// As JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data")
    }

    /// As text.
    pub fn text(&self) -> String {
        let n = self.n.map_or("unknown".into(), |n| format!("= {n}"));
        let mut text = format!(
            "{} of {} pairs met by iteration {}; n {}, lag {}.\nThe bounds are for the chain of `{}`. \
             Other theta updates, the default ones included, are not coupled.\n",
            self.met, self.pairs, self.max_iterations, n, self.lag, self.chain
        );
        if !self.complete {
            text += "Pairs that have not met count as met right after that: the figures below are \
                     lower estimates, and no bound follows.\n";
        }
        let (mean, error) = self.mean_delay;
        let [low, middle, high] =
            self.delay_quartiles.map(|q| q.map_or_else(|| "-".to_string(), |q| q.to_string()));
        text += &format!(
            "Iterations to meet: mean {}{mean:.1} +- {error:.1}, quartiles {low}, {middle}, \
             {high}.\n",
            if self.complete { "" } else { "at least " }
        );
        if let Some(Rate { estimate, low, high }) = self.rate {
            text += &format!(
                "P(not met) falls by a factor of {estimate:.4} ({low:.4} to {high:.4}) per \
                 iteration.\n"
            );
        }
        text += &match (self.t_001, self.t_001_upper) {
            (Some(t), Some(upper)) => format!(
                "The chain is within 0.01 of the posterior in total variation from iteration {t} \
                 on ({upper} with two standard errors added).\n{}",
                self.few(t)
            ),
            _ => "It is not known from which iteration on the chain is within 0.01 of the posterior: \
                  raise --max-iterations."
                .to_string(),
        };
        if self.complete {
            text += &self.bounds_table();
        }
        if let Some(window) = self.window.filter(|_| self.complete) {
            text += &format!(
                "\n\nPosterior means without bias, over iterations {} to {} of each pair; \
                 efficiency is against plain averages at equal cost:\n{}",
                window.k(),
                window.m(),
                self.estimates_table()
            );
        }
        text
    }

    /// A warning if the bound just before iteration `t` rests on too few pairs for its standard
    /// error to be reliable.
    fn few(&self, t: u64) -> String {
        let apart = |tau: &&u64| **tau + 1 > t + self.lag;
        let slow = self.meeting_times.iter().flatten().filter(apart).count();
        if slow >= FEW {
            return String::new();
        }
        let pairs = if slow == 1 { "the slowest pair".into() } else { format!("{slow} pairs") };
        format!("That rests on {pairs} of {}: raise --pairs.\n", self.pairs)
    }

    fn bounds_table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(["iteration", "distance at most", "error"]);
        let step = self.tv_bound.len().div_ceil(10).max(1);
        for Bound { t, bound, se } in self.tv_bound.iter().step_by(step) {
            table.add_row([t.to_string(), format!("{bound:.4}"), format!("{se:.4}")]);
        }
        right_aligned(table, 0)
    }

    fn estimates_table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(["function", "mean", "error", "2.5%", "97.5%", "efficiency"]);
        for mean in &self.estimates {
            let value = |x: f64| format!("{x:.5}");
            table.add_row([
                mean.name.clone(),
                value(mean.mean),
                value(mean.se),
                value(mean.low),
                value(mean.high),
                format!("{:.2}", mean.efficiency),
            ]);
        }
        right_aligned(table, 1)
    }
}

fn right_aligned(mut table: Table, from: usize) -> String {
    table.column_iter_mut().skip(from).for_each(|column| {
        column.set_cell_alignment(CellAlignment::Right);
    });
    table.to_string()
}

/// The means; empty if a pair has not met, since leaving it out would bias them.
fn estimates(
    settings: &PairSettings,
    functions: &Functions,
    runs: &[PairRun],
    meetings: &Meetings,
) -> Vec<PosteriorMean> {
    let Some(window) = settings.window.filter(|_| meetings.all_met()) else {
        return Vec::new();
    };
    let estimates: Vec<Estimate> = runs.iter().filter_map(|run| run.estimate.clone()).collect();
    let costs: Vec<u64> = runs.iter().map(|run| run.cost).collect();
    posterior_means(functions.names(), &estimates, &costs, window)
}
