//! `soma calibrate`: simulation-based calibration of a spec.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::value_parser;
use serde::Serialize;
use soma::calibration::{Autocorrelation, Calibration, Observer, Plan, Ranks, calibrate};
use soma::chain::{MovesChoice, Settings};

use crate::args::{KernelArgs, ThreadArgs};
use crate::exit::{self, Failed, Outcome};
use crate::gpu::DeviceArgs;
use crate::{interrupt, spec_file, table};

/// Simulates releases of the spec's model, fits each, and tests the rank of the truth among the
/// draws. The released values of the spec do not matter.
#[derive(clap::Args)]
pub struct Args {
    /// The spec.
    #[arg(value_name = "SPEC.toml")]
    spec: PathBuf,
    /// The number of simulated releases.
    #[arg(long, value_name = "R", default_value = "100", value_parser = value_parser!(u64).range(1..))]
    replications: u64,
    /// The number of records of a simulated release, instead of that of the spec. 5 to 50 find
    /// mistakes fastest.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    n: Option<u64>,
    #[command(flatten)]
    kernel: KernelArgs,
    /// Which theta updates are used; `centred` tests the update of theta given the records alone.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(MovesChoice::NAMES))]
    moves: Option<String>,
    /// Iterations of each chain before its first draw.
    #[arg(long, value_name = "W", default_value = "200")]
    warmup: u64,
    /// Draws of each chain; 15 or 19 give equal bins of ranks.
    #[arg(long, value_name = "D", default_value = "15", value_parser = value_parser!(u64).range(1..))]
    draws: u64,
    /// Iterations from one draw to the next, which should be nearly independent.
    #[arg(long, value_name = "T", default_value = "20", value_parser = value_parser!(u64).range(1..))]
    thin: u64,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
    /// Show no progress and no notes.
    #[arg(long)]
    quiet: bool,
}

/// An autocorrelation of so many standard errors says that draws are not independent, which the test of ranks
/// assumes.
const SLOW: f64 = 6.0;

/// Below this p-value the ranks count as non-uniform: one false alarm in a thousand.
const LEVEL: f64 = 1e-3;

/// The subcommand. Exits with 1 if the ranks are not uniform.
pub fn run(args: Args) -> Outcome {
    let text = spec_file::text(&args.spec)?;
    let mut spec = spec_file::parse(&args.spec, &text)?;
    if let Some(n) = args.n {
        let resized = soma::spec::with_n(&text, n);
        spec = spec_file::parse(&args.spec, &resized)?;
    }
    let sampler = spec.sampler.overridden_by(args.kernel.sampler());
    let settings = sampler.settings(spec.problem.release().n());
    let settings = settings.map_err(|invalid| Failed::Input(invalid.to_string()))?;
    let moves = args.moves.as_deref().and_then(MovesChoice::named);
    let plan = Plan {
        kernel: settings.kernel,
        moves: moves.unwrap_or(settings.moves),
        replications: args.replications,
        warmup: args.warmup,
        draws: args.draws,
        thin: args.thin,
        seed: settings.seed,
    };
    plan.check(&spec.problem).map_err(|invalid| Failed::Input(format!("--{invalid}")))?;
    interrupt::watch();
    let watch = Lines::new(args.replications, args.quiet);
    let chains = plan.replications as usize;
    let as_run = Settings { chains, draws: plan.draws, thin: plan.thin, ..settings };
    let as_run = Settings { warmup: plan.warmup, moves: plan.moves, ..as_run };
    let is_gpu = args.device.device.is_gpu(&spec.problem, &as_run)?;
    let found = match is_gpu {
        #[cfg(feature = "gpu")]
        true => crate::gpu::calibrate(&spec.problem, &plan, args.threads.count(), args.quiet)?,
        _ => calibrate(&spec.problem, None, &plan, args.threads.count(), &watch)?,
    };
    let n = spec.problem.release().total().known();
    let report = Report::new(&found, &plan, n);
    if report.replications == 0 {
        return Err(Failed::Run("stopped before the first replication was done".into()));
    }
    exit::print(&if args.json { report.json() } else { report.text() })?;
    match report.is_uniform {
        true => Ok(()),
        false => Err(Failed::Run(format!("the ranks are not uniform: {}", report.sentence()))),
    }
}

/// Prints progress lines.
struct Lines {
    begun: Instant,
    all: u64,
    quiet: bool,
    next: std::sync::Mutex<Duration>,
}

impl Lines {
    fn new(all: u64, quiet: bool) -> Self {
        let first = Duration::from_secs(10);
        Lines { begun: Instant::now(), all, quiet, next: std::sync::Mutex::new(first) }
    }
}

impl Observer for Lines {
    fn done(&self, replications: u64) {
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
        let passed = self.begun.elapsed();
        if !self.quiet && passed >= *next && replications < self.all {
            eprintln!("{replications} of {} after {:.0} s", self.all, passed.as_secs_f64());
            *next = 2 * passed;
        }
    }

    fn stop(&self) -> bool {
        interrupt::seen()
    }
}

/// The ranks of one quantity in figures.
#[derive(Serialize)]
struct Row {
    name: String,
    /// The mean rank relative to the largest: 0.5 if uniform.
    mean_rank: f64,
    chi_squared: f64,
    location: f64,
    spread: f64,
    /// From one draw of a chain to the next, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    autocorrelation: Option<Autocorrelation>,
    /// The number of replications with each rank.
    counts: Vec<u64>,
}

impl Row {
    fn new(ranks: &Ranks, draws: u64) -> Self {
        let mut counts = vec![0; draws as usize + 1];
        ranks.ranks.iter().for_each(|&rank| counts[rank as usize] += 1);
        let mean = ranks.ranks.iter().sum::<u64>() as f64 / ranks.ranks.len().max(1) as f64;
        let tests = &ranks.uniformity;
        Row {
            name: ranks.name.clone(),
            mean_rank: mean / draws as f64,
            chi_squared: tests.chi_squared,
            location: tests.location,
            spread: tests.spread,
            autocorrelation: ranks.autocorrelation,
            counts,
        }
    }
}

/// A calibration in figures: the object that `--json` prints.
#[derive(Serialize)]
struct Report {
    quantities: Vec<Row>,
    /// The smallest p-value, corrected for their number.
    p_value: f64,
    is_uniform: bool,
    /// The largest autocorrelation and its quantity, where it is known.
    #[serde(skip)]
    slowest: Option<(String, Autocorrelation)>,
    replications: u64,
    /// The number of records, where it is public.
    n: Option<i64>,
    plan: Plan,
}

impl Report {
    fn new(found: &Calibration, plan: &Plan, n: Option<i64>) -> Self {
        let quantities = found.quantities.iter().map(|ranks| Row::new(ranks, found.draws));
        let replications = found.quantities.first().map_or(0, |ranks| ranks.ranks.len() as u64);
        let p_value = found.p_value();
        Report {
            quantities: quantities.collect(),
            p_value,
            is_uniform: p_value >= LEVEL,
            slowest: found.slowest().map(|(name, value)| (name.to_string(), value)),
            replications,
            n,
            plan: plan.clone(),
        }
    }

    fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    fn sentence(&self) -> String {
        let (thin, warmup) = (self.plan.thin, self.plan.warmup);
        match &self.slowest {
            _ if self.is_uniform => "nothing wrong was found".into(),
            Some((name, found)) if found.score() >= SLOW => format!(
                "some chains mix too slowly for --thin {thin}. From one draw of a chain to the next, {name} has an \
                 autocorrelation of {:.3} (standard error {:.4}; 0 if draws are independent), and such draws give \
                 ranks that are not uniform, whatever the sampler. This run says nothing of the model: take \
                 --thin {} --warmup {} or more",
                found.mean,
                found.error,
                10 * thin,
                10 * warmup
            ),
            Some(_) => format!(
                "the model or the program, or a warm-up that is too short for some chains: draws that are kept are \
                 independent, as far as their autocorrelations show. If --warmup {} does not mend it, it is \
                 the model or the program",
                10 * warmup
            ),
            None => format!(
                "the model, or a chain whose draws are not independent. If --thin {} --warmup {} \
                 does not mend it, it is the model or the program",
                2 * thin,
                2 * warmup
            ),
        }
    }

    fn text(&self) -> String {
        let header = ["quantity", "mean rank", "chi-squared", "location", "spread"];
        let cells = self.quantities.iter().map(|row| {
            let p_values = [row.chi_squared, row.location, row.spread].map(p_value);
            let mut cells = vec![row.name.clone(), format!("{:.3}", row.mean_rank)];
            cells.extend(p_values);
            cells
        });
        let table = table::framed(&header, cells);
        let asked = self.plan.replications;
        let made = match self.replications {
            made if made < asked => format!("{made} of {asked} replications (stopped)"),
            made => format!("{made} replications"),
        };
        let of = self.n.map_or("n from its prior".into(), |n| format!("n = {n}"));
        let p = p_value(self.p_value);
        format!("{table}\n{made} of {of}, p-value {p}: {}.", self.sentence())
    }
}

/// A p-value with its significant digits.
fn p_value(p: f64) -> String {
    if p < 1e-3 { format!("{p:.0e}") } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use soma::calibration::{Autocorrelation, Calibration, Plan};

    use super::Report;

    /// Ranks that pile up at one end, of chains with this autocorrelation.
    fn sentence(mean: Option<f64>) -> String {
        let plan = Plan { replications: 400, draws: 7, ..Plan::default() };
        let mut found = Calibration::named(vec!["sd".into()], &plan, &vec![vec![7]; 400]);
        let of = |mean| Autocorrelation { mean, error: 0.01 };
        found.quantities[0].autocorrelation = mean.map(of);
        let report = Report::new(&found, &plan, Some(10));
        assert!(!report.is_uniform);
        report.sentence()
    }

    #[test]
    fn slow_chains_are_not_taken_for_a_wrong_sampler() {
        let slow = sentence(Some(0.6));
        assert!(slow.contains("mix too slowly") && slow.contains("sd") && slow.contains("0.600"));
        assert!(sentence(Some(0.01)).contains("the model or the program"));
        assert!(sentence(None).contains("not independent"));
    }
}
