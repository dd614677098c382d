//! `soma fit`: draws from the posterior.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use soma::chain::{Collected, MovesChoice, Problem, Settings};
use soma::spec::Spec;
use soma_store::{Options, Run, Store, Watch};

use crate::args::{SamplerArgs, ThreadArgs};
use crate::exit::{self, Failed, Outcome};
use crate::progress::Progress;
use crate::report::Report;
use crate::session::{End, Session, Sink};
use crate::{couple, interrupt, memory, spec_file};

/// Draws from the posterior of a spec. Options override the spec.
#[derive(clap::Args)]
pub struct Args {
    /// The spec.
    #[arg(value_name = "SPEC.toml")]
    spec: PathBuf,
    #[command(flatten)]
    sampler: SamplerArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Write the draws to this folder as they are made.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the run in the folder from its last checkpoints.
    #[arg(long, requires = "out")]
    resume: bool,
    /// The longest time between two checkpoints of a chain: a kill loses at most this much.
    #[arg(long, value_name = "SECONDS", requires = "out", default_value = "10", value_parser = pause)]
    checkpoint: Duration,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
    /// Show no progress and no notes.
    #[arg(long)]
    quiet: bool,
}

fn pause(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds".to_string())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let text = spec_file::text(&args.spec)?;
    let spec = spec_file::parse(&args.spec, &text)?;
    interrupt::watch();
    let (sink, settings) = open(&args, &spec, &text)?;
    let session = Session { sink, progress: Progress::new(&settings, args.quiet) };
    let outcome = session.run(&spec.problem, &settings, args.threads.count());
    let report = close(session.sink, &args, &spec.problem, &settings, outcome)?;
    if interrupt::seen() && !args.quiet {
        let resume = " The same command with --resume continues the run.";
        let resume = if args.out.is_some() { resume } else { "" };
        eprintln!("Stopped: the table has the draws so far.{resume}");
    }
    exit::print(&if args.json { report.json() } else { report.text() })
}

/// Where the draws go, and the settings of the run: those of the spec and the command line, or
/// those of the run that is resumed.
fn open(args: &Args, spec: &Spec, text: &str) -> Result<(Sink, Settings), Failed> {
    let given = args.sampler.sampler();
    let problem = &spec.problem;
    let sampler = spec.sampler.overridden_by(given);
    let settings = sampler.settings(problem.release().n());
    let settings = settings.and_then(|s| s.check(problem).map(|()| s)).map_err(|invalid| {
        let option = invalid.field.trim_start_matches("sampler.").to_string();
        Failed::Input(format!("--{}", soma::Invalid { field: option, ..invalid }))
    })?;
    memory::check(problem, &settings, args.threads.count(), args.out.is_some())?;
    if let Some(folder) = args.out.as_ref().filter(|_| args.resume) {
        if folder.join("manifest.json").exists() {
            let store = Store::resume(folder, problem, text, given, args.checkpoint)?;
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
        None => Sink::Memory {
            collected: Collected::new(settings.chains),
            ends: Mutex::new(vec![End::default(); settings.chains]),
            watch: Watch::start(settings.chains, settings.warmup),
        },
        Some(folder) => {
            let options = Options {
                spec: text.to_string(),
                records_thin: spec.output.records_thin,
                checkpoint_every: args.checkpoint,
            };
            Sink::Disk(Box::new(Store::create(folder, problem, &settings, options)?))
        }
    };
    if args.out.is_none() && spec.output.records_thin.is_some() && !args.quiet {
        eprintln!("note: the imputed records are stored only with --out DIR");
    }
    Ok((sink, settings))
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
    // The kernel is the one that the pairs were run with.
    Ok(Settings { warmup, kernel: settings.kernel.settled(), ..settings })
}

/// Ends the run and reports on it.
fn close(
    sink: Sink,
    args: &Args,
    problem: &Problem,
    settings: &Settings,
    outcome: soma::Outcome,
) -> Result<Report, Failed> {
    match sink {
        Sink::Memory { collected, ends, watch } => {
            outcome?;
            let ends = ends.into_inner().unwrap_or_else(|e| e.into_inner());
            let draws = collected.into_draws();
            Report::of_draws(problem, settings, &draws, ends, watch.seconds())
        }
        Sink::Disk(store) => {
            let finished = store.finish(outcome.is_err());
            outcome?;
            finished?;
            let folder = args.out.as_ref().expect("a disk sink has a folder");
            Report::of_run(&Run::open(folder)?)
        }
    }
}
