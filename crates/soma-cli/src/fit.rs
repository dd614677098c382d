//! `soma fit`: draws from the posterior.

use std::path::{Path, PathBuf};
use std::time::Duration;

use soma::chain::{MovesChoice, Problem, Settings};
use soma::spec::{MOST_CHAINS, Sampler, Spec};
use soma_store::{Batch, Manifest, Options, Store};

use crate::args::{SamplerArgs, ThreadArgs};
use crate::exit::{self, Failed, Outcome};
use crate::gpu::{Device, DeviceArgs};
use crate::progress::{Progress, Shown};
use crate::session::{Session, Sink};
use crate::{batch, couple, interrupt, memory, spec_file, trust};

/// Draws from the posterior of a spec, or of many. Options override the specs.
#[derive(clap::Args)]
pub struct Args {
    /// The spec. Several of them, or a folder of them, are fitted as a batch: all chains share one
    /// pool of threads. None is needed to resume what is in a folder.
    #[arg(value_name = "SPEC.toml", required_unless_present = "resume")]
    pub specs: Vec<PathBuf>,
    /// A table of releases, as CSV or Parquet: each row is fitted as the spec with the row's cells in
    /// the place of the keys that the columns name (`release.n`, `release.values.0`, ...), under the
    /// name in the column `name`.
    #[arg(long, value_name = "TABLE", conflicts_with = "chains_from")]
    pub releases: Option<PathBuf>,
    #[command(flatten)]
    pub sampler: SamplerArgs,
    /// The number of the first chain: for array jobs, of which each runs some of the chains into a
    /// folder of its own. `soma merge` joins the folders.
    #[arg(long, value_name = "I", requires = "out", value_parser = clap::value_parser!(u64).range(0..MOST_CHAINS))]
    pub chains_from: Option<u64>,
    #[command(flatten)]
    pub threads: ThreadArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Write the draws to this folder as they are made; of a batch, to a folder in it for each fit.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the run in the folder from its last checkpoints; of a batch, do what is missing.
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// The longest time between two checkpoints of a chain: a kill loses at most this much.
    #[arg(long, value_name = "SECONDS", requires = "out", default_value = "10", value_parser = pause)]
    pub checkpoint: Duration,
    /// End with exit code 3 if draws are not to be trusted.
    #[arg(long)]
    pub strict: bool,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Show no progress and no notes.
    #[arg(long)]
    pub quiet: bool,
}

fn pause(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds".to_string())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    interrupt::watch();
    match &args.specs[..] {
        [] if holds(&args, Batch::FILE) => batch::run(&args),
        [] if holds(&args, Manifest::FILE) => {
            let folder = args.out.as_deref().unwrap_or(Path::new(""));
            let text = Manifest::read(folder)?.spec;
            one(&args, &folder.join(Manifest::FILE), &text)
        }
        [] => Err(Failed::Input(format!(
            "--resume: {} holds neither a run nor a batch. Allowed: the folder of one, or a spec to \
             start from.",
            args.out.as_deref().unwrap_or(Path::new("")).display()
        ))),
        [path] if args.releases.is_none() && !path.is_dir() => one(&args, path, &spec_file::text(path)?),
        _ if args.device.device == Device::Gpu => Err(Failed::Input(
            "--device gpu: a batch runs on the CPU (given: several specs, or a table). Allowed: one spec, or \
             --device cpu."
                .into(),
        )),
        _ => batch::run(&args),
    }
}

fn holds(args: &Args, file: &str) -> bool {
    args.out.as_ref().is_some_and(|folder| folder.join(file).exists())
}

/// Fits the spec `text` of the file at `path`.
fn one(args: &Args, path: &Path, text: &str) -> Outcome {
    let spec = spec_file::parse(path, text)?;
    #[cfg(feature = "gpu")]
    if let Some(settings) = on_gpu(args, &spec)? {
        return crate::gpu::fit(&spec.problem, &settings, args.json, args.quiet);
    }
    #[cfg(not(feature = "gpu"))]
    on_gpu(args, &spec)?;
    let (sink, settings) = open(args, &spec, text)?;
    let progress = Progress::new(&settings, args.quiet);
    let session = Session::new(sink, progress.as_ref().map(|bar| bar as &dyn Shown));
    let chains = session.first..session.first + settings.chains;
    let outcome = Progress::during(progress.as_ref(), || {
        session.run(&spec.problem, &settings, chains, args.threads.count())
    });
    let report = session.sink.close(args.out.as_deref(), &spec.problem, &settings, outcome)?;
    if interrupt::seen() && !args.quiet {
        let resume = " The same command with --resume continues the run.";
        let resume = if args.out.is_some() { resume } else { "" };
        eprintln!("Stopped: the table has the draws so far.{resume}");
    }
    exit::print(&if args.json { report.json() } else { report.text() })?;
    trust::strict(args.strict, &report)
}

/// The settings of a run on the GPU, if that is where it is to be.
fn on_gpu(args: &Args, spec: &Spec) -> Result<Option<Settings>, Failed> {
    let settings = settings(spec, args.sampler.sampler())?;
    let device = args.device.device;
    let is_stored = args.out.is_some() || args.sampler.is_certified();
    if device == Device::Gpu && is_stored {
        return Err(Failed::Input(
            "--device gpu: draws are summarised and not stored there (given: --out, or --warmup certified). \
             Allowed: no --out, or --device cpu."
                .into(),
        ));
    }
    let is_gpu = !is_stored && device.is_gpu(&spec.problem, &settings)?;
    Ok(is_gpu.then_some(settings))
}

/// The settings of a spec, overridden by the command line.
pub fn settings(spec: &Spec, given: Sampler) -> Result<Settings, Failed> {
    let problem = &spec.problem;
    let settings = spec.sampler.overridden_by(given).settings(problem.release().n());
    settings.and_then(|s| s.check(problem).map(|()| s)).map_err(|invalid| {
        let option = invalid.field.trim_start_matches("sampler.").to_string();
        Failed::Input(format!("--{}", soma::Invalid { field: option, ..invalid }))
    })
}

/// The destination of the draws, and the settings of the run: those of the spec and the command
/// line, or those of the resumed run.
fn open(args: &Args, spec: &Spec, text: &str) -> Result<(Sink, Settings), Failed> {
    let given = args.sampler.sampler();
    let problem = &spec.problem;
    let settings = settings(spec, given)?;
    memory::check(problem, &settings, args.threads.count(), args.out.is_some())?;
    if let Some(folder) = args.out.as_ref().filter(|_| args.resume) {
        if folder.join(Manifest::FILE).exists() {
            let store = Store::resume(folder, problem, text, given, args.checkpoint)?;
            check_first(args, store.chains().start)?;
            let settings = store.settings().clone();
            return Ok((Sink::Disk(Box::new(store)), settings));
        }
        if !args.quiet {
            eprintln!("note: there is no run in {} yet: starting one", folder.display());
        }
    }
    let settings =
        if args.sampler.is_certified() { certified(args, problem, settings)? } else { settings };
    let sink = match &args.out {
        None => Sink::memory(&settings),
        Some(folder) => {
            let options = Options {
                spec: text.to_string(),
                records_thin: spec.output.records_thin,
                checkpoint_every: args.checkpoint,
                first_chain: args.chains_from.unwrap_or(0) as usize,
            };
            Sink::Disk(Box::new(Store::create(folder, problem, &settings, options)?))
        }
    };
    if args.out.is_none() && spec.output.records_thin.is_some() && !args.quiet {
        eprintln!("note: the imputed records are stored only with --out DIR");
    }
    Ok((sink, settings))
}

/// An error if a resumed run has other chains than the command line.
fn check_first(args: &Args, first: usize) -> Outcome {
    match args.chains_from {
        Some(given) if given as usize != first => Err(Failed::Input(format!(
            "--chains-from: the run in the folder has chains from {first} on (given: {given}). \
             Allowed: {first}, or another folder."
        ))),
        _ => Ok(()),
    }
}

/// The settings with a warm-up computed from meeting times.
fn certified(args: &Args, problem: &Problem, settings: Settings) -> Result<Settings, Failed> {
    if settings.moves != MovesChoice::Centred {
        return Err(Failed::Input(format!(
            "--warmup: `certified` is for centred updates of theta only (given: --moves {}). Allowed: \
             --moves centred, or a number of iterations.",
            settings.moves.name()
        )));
    }
    let warmup = couple::warmup(problem, &settings, args.threads.count().get(), args.quiet)?;
    if !args.quiet {
        eprintln!("note: the chain is within 0.01 of the posterior from iteration {warmup} on");
    }
    // The kernel of the pairs.
    Ok(Settings { warmup, kernel: settings.kernel.settled(), ..settings })
}
