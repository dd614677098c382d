//! `soma couple`: bounds of the distance to the posterior, and unbiased estimates.

mod certify;
mod folder;
mod function;
mod limit;
mod report;
mod watch;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use soma::chain::Problem;
use soma::coupling::{Meetings, PILOT, PairRun, PairSettings, Window, pilot, run_pairs};

use crate::args::{KernelArgs, ThreadArgs};
use crate::exit::{self, Failed, Outcome};
use crate::gpu::Device;
use crate::{gpu, interrupt, spec_file};
pub use certify::warmup;
use folder::Folder;
use function::Functions;
use report::Report;
use watch::Watch;

/// Runs pairs of chains until they meet. Their meeting times bound the distance of a chain to the
/// posterior at every iteration; with --estimate they also give posterior means without bias.
///
/// The chain is that of `soma fit --moves centred`: sweeps of the kernel and the model's own update
/// of theta.
#[derive(clap::Args)]
pub struct Args {
    /// The spec.
    #[arg(value_name = "SPEC.toml")]
    spec: PathBuf,
    #[command(flatten)]
    kernel: KernelArgs,
    /// The number of pairs.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(2..=10_000_000))]
    pairs: u64,
    /// How many iterations one chain of a pair is ahead of the other; chosen by a pilot if not
    /// given.
    #[arg(long, value_name = "L", value_parser = clap::value_parser!(u64).range(1..))]
    lag: Option<u64>,
    /// The last iteration of a pair that has not met; by default as many as make two million moves,
    /// at most 100,000.
    #[arg(long, value_name = "M")]
    max_iterations: Option<u64>,
    /// Also estimate posterior means, without bias.
    #[arg(long)]
    estimate: bool,
    /// What to estimate the mean of: an output, or an expression of outputs as in `[derived]`, such
    /// as `beta1^2`, `beta1 - beta0` or `beta1 < 0`. All outputs if not given.
    #[arg(long = "function", value_name = "F", requires = "estimate")]
    functions: Vec<String>,
    /// The first iteration that an estimate averages; chosen by the pilot if not given.
    #[arg(long, requires_all = ["estimate", "m"])]
    k: Option<u64>,
    /// The last iteration that an estimate averages.
    #[arg(long, requires_all = ["estimate", "k"])]
    m: Option<u64>,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Where pairs run. On the GPU, meeting times of thousands of pairs; auto is the CPU.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: Device,
    /// Keep finished pairs in this folder; a second run with the same folder continues.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Show no progress and no notes.
    #[arg(long)]
    quiet: bool,
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let text = spec_file::text(&args.spec)?;
    let spec = spec_file::parse(&args.spec, &text)?;
    let problem = &spec.problem;
    let sampler = spec.sampler.overridden_by(args.kernel.sampler());
    let chain =
        sampler.settings(problem.release().n()).map_err(|e| Failed::Input(e.to_string()))?;
    let functions = Functions::new(&args.functions, &problem.outputs())?;
    let wanted = PairSettings {
        kernel: chain.kernel.settled(),
        lag: args.lag.unwrap_or(1),
        max_iterations: args.max_iterations.unwrap_or(limit::usual(problem.release().n())),
        seed: chain.seed,
        window: None,
    };
    interrupt::watch();
    if args.device == Device::Gpu {
        let (settings, runs) = on_gpu(&args, problem, &functions, wanted)?;
        let report = Report::new(problem, &settings, &functions, &runs);
        return exit::print(&if args.json { report.json() } else { report.text() });
    }
    let mut folder = args.out.as_ref().map(|path| Folder::open(path, &text)).transpose()?;
    let settings = match folder.as_ref().and_then(Folder::settings) {
        Some(stored) => same(stored, &args, &wanted)?,
        None => plan(&args, problem, wanted)?,
    };
    if let Some(folder) = &mut folder {
        folder.begin(&settings, &functions)?;
    }
    let runs = all_pairs(&args, problem, &settings, &functions, folder.as_mut())?;
    if interrupt::seen() && !args.quiet {
        let again = if args.out.is_some() { "; the same command continues" } else { "" };
        eprintln!("Stopped: this is of {} of {} pairs{again}.", runs.len(), args.pairs);
    }
    let report = Report::new(problem, &settings, &functions, &runs);
    exit::print(&if args.json { report.json() } else { report.text() })
}

/// The pairs, run on the GPU, with settings that a pilot there chose where they are not given.
fn on_gpu(
    args: &Args,
    problem: &Problem,
    functions: &Functions,
    wanted: PairSettings,
) -> Result<(PairSettings, Vec<PairRun>), Failed> {
    if args.out.is_some() {
        return Err(Failed::Input(
            "--device gpu: --out is not supported on the GPU, which keeps none of the draws. Allowed: no --out, or \
             --device cpu."
                .into(),
        ));
    }
    Device::Gpu.is_gpu_for((0, 0.0), || true)?;
    let (wanted, needs_pilot) = given(args, wanted)?;
    let settings_of = |pilot: &[PairRun]| {
        let pilot = wanted.meetings(pilot);
        limit::check(&pilot, &wanted, problem.release().n())?;
        suggested(args, &wanted, &pilot)
    };
    let pilot = needs_pilot.then_some(&settings_of as &gpu::SettingsOf<'_>);
    let values = |draw: &[f64]| functions.values(draw);
    gpu::couple(problem, &wanted, args.pairs, pilot, &values, args.quiet)
}

/// The settings with the window that is given, and whether a pilot has to choose others.
fn given(args: &Args, wanted: PairSettings) -> Result<(PairSettings, bool), Failed> {
    let window = args.k.zip(args.m).map(|(k, m)| Window::new(k, m));
    let window = window.transpose().map_err(|e| Failed::Input(format!("--{e}")))?;
    limit::check_lag(wanted.lag, &wanted)?;
    let needs_pilot = args.lag.is_none() || args.estimate && window.is_none();
    Ok((PairSettings { window, ..wanted }, needs_pilot))
}

/// The settings; those not given are what the pilot suggests.
fn suggested(args: &Args, wanted: &PairSettings, pilot: &Meetings) -> Result<PairSettings, Failed> {
    let lag = args.lag.unwrap_or_else(|| limit::lag(pilot, wanted));
    let window = match wanted.window {
        None if args.estimate => Some(pilot.suggested_window().map_err(soma::Failure::from)?),
        window => window,
    };
    Ok(PairSettings { lag, window, ..wanted.clone() })
}

/// The settings; those not given are chosen by a pilot.
fn plan(args: &Args, problem: &Problem, wanted: PairSettings) -> Result<PairSettings, Failed> {
    let (wanted, needs_pilot) = given(args, wanted)?;
    if !needs_pilot {
        return Ok(wanted);
    }
    let watch = Watch::new("pilot pairs", PILOT, 0, args.quiet);
    let threads = args.threads.count().get();
    let ended = || watch.ended();
    let pilot = watch.during(|| pilot(problem, &wanted, threads, &ended, interrupt::flag()))?;
    if interrupt::seen() {
        return Err(Failed::Run("stopped before the first pair".to_string()));
    }
    limit::check(&pilot, &wanted, problem.release().n())?;
    suggested(args, &wanted, &pilot)
}

/// The settings of the pairs in the folder, if they agree with those requested.
fn same(stored: &PairSettings, args: &Args, wanted: &PairSettings) -> Result<PairSettings, Failed> {
    let window = args.k.zip(args.m);
    let fits = stored.kernel == wanted.kernel
        && stored.seed == wanted.seed
        && stored.max_iterations == wanted.max_iterations
        && args.lag.is_none_or(|lag| lag == stored.lag)
        && stored.window.is_some() == args.estimate
        && window.is_none_or(|(k, m)| stored.window.is_some_and(|w| (w.k(), w.m()) == (k, m)));
    if fits {
        return Ok(stored.clone());
    }
    Err(Failed::Input(format!(
        "--out: the pairs in the folder were run with other settings (given: {wanted:?}, there: {stored:?}). \
         Allowed: the same options, or another folder."
    )))
}

/// The pairs in the folder, and the others, which are run.
fn all_pairs(
    args: &Args,
    problem: &Problem,
    settings: &PairSettings,
    functions: &Functions,
    folder: Option<&mut Folder>,
) -> Result<Vec<PairRun>, Failed> {
    let mut runs = folder.as_ref().map_or_else(Vec::new, |folder| folder.runs().to_vec());
    runs.retain(|run| run.index < args.pairs);
    let known: HashSet<u64> = runs.iter().map(|run| run.index).collect();
    let missing: Vec<u64> = (0..args.pairs).filter(|index| !known.contains(index)).collect();
    let watch = Watch::new("pairs", args.pairs, runs.len() as u64, args.quiet);
    let results = Mutex::new((folder, runs, None));
    let done = |run: PairRun| {
        let mut results = results.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(error) = results.0.as_mut().and_then(|folder| folder.add(&run).err()) {
            results.2.get_or_insert(error);
            // Pairs that cannot be kept are not run.
            interrupt::flag().store(true, Ordering::Relaxed);
        }
        results.1.push(run);
        watch.ended();
    };
    let values = |draw: &[f64]| functions.values(draw);
    let threads = args.threads.count().get();
    let stop = interrupt::flag();
    watch.during(|| run_pairs(problem, settings, &missing, threads, &values, &done, stop))?;
    let (_, mut runs, error) = results.into_inner().unwrap_or_else(|e| e.into_inner());
    error.map_or(Ok(()), Err)?;
    if runs.len() < 2 {
        return Err(Failed::Run("stopped before two pairs had ended".to_string()));
    }
    runs.sort_by_key(|run| run.index);
    Ok(runs)
}
