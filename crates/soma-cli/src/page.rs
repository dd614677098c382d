//! `soma report`: a run on one HTML page.

use std::path::{Path, PathBuf};

use soma::chain::{Draw, Problem, Settings};
use soma::error::listed;
use soma::spec::Spec;
use soma_report::svg::fixed;
use soma_report::{Content, Source, Trust, gather};
use soma_store::{Manifest, Run, Status, write_whole};

use crate::args::{SamplerArgs, ThreadArgs};
use crate::exit::{self, Failed, Outcome};
use crate::progress::{Progress, Shown};
use crate::report::Report;
use crate::session::{InMemory, Session, Sink};
use crate::{fit, interrupt, memory, spec_file, table, trust};

/// Writes a report of a run: one HTML page that needs no network.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `soma fit --out` wrote; or a spec, which is fitted first.
    #[arg(value_name = "RUN|SPEC.toml")]
    source: PathBuf,
    /// The page.
    #[arg(long, value_name = "FILE.html", default_value = "report.html")]
    out: PathBuf,
    /// The title; the first comment of the spec, or the name of the file or folder, if not given.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Show these quantities alone, in this order: names with commas between them; may be given
    /// several times.
    #[arg(long, value_name = "NAME,...")]
    only: Vec<String>,
    #[command(flatten)]
    sampler: SamplerArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Show no progress.
    #[arg(long)]
    quiet: bool,
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let mut content = match args.source.is_dir() {
        true => of_run(&args.source, true)?,
        false => of_spec(&args)?,
    };
    if let Some(title) = args.title {
        content.title = title;
    }
    if !args.only.is_empty() {
        let names: Vec<String> =
            content.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        content.keep(&chosen(&args.only, &names)).map_err(|unknown| {
            Failed::Input(format!(
                "--only: there is no such quantity (given: {unknown:?}). Allowed: {}.",
                listed(&names)
            ))
        })?;
    }
    write(&args.out, soma_report::page(&content).as_bytes())
}

/// The names in `given`: each a name, or several with commas between them. Commas in brackets are
/// part of a name, as in `count[men,65+]`.
fn chosen(given: &[String], names: &[String]) -> Vec<String> {
    let split = |text: &String| {
        if names.contains(text) {
            return vec![text.clone()];
        }
        let mut depth = 0;
        let parts = text.split(|c: char| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            c == ',' && depth == 0
        });
        parts.map(|name| name.trim().to_string()).collect()
    };
    given.iter().flat_map(split).collect()
}

/// Writes a file that is there as a whole or not at all, and says so.
pub fn write(path: &Path, bytes: &[u8]) -> Outcome {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let folder = folder.display();
        return Err(Failed::Input(format!(
            "--out: there is no folder {folder} (given: {}). Allowed: a file in a folder that is there.",
            path.display()
        )));
    }
    write_whole(path, bytes)?;
    exit::print(&format!("wrote {}", path.display()))
}

/// What a report shows of the run in `folder`; with replicated releases, where they are asked for.
pub fn of_run(folder: &Path, replicates: bool) -> Result<Content, Failed> {
    let run = Run::open(folder)?;
    let manifest = run.manifest();
    // A model of the user's own in Python is not in the text of the spec.
    let spec = Spec::parse(&manifest.spec).ok();
    let report = Report::of_run(&run)?;
    let names = manifest.parameters.clone();
    let problem = spec.as_ref().map(|spec| &spec.problem);
    let problem = problem.filter(|problem| problem.outputs() == names);
    let column = |k: usize| Ok::<_, Failed>(run.column(&names[k])?);
    let log_density = run.column("log_density")?;
    let made_of = (&report, problem, &manifest.settings);
    let mut content = made(made_of, log_density, &column, replicates)?;
    content.title = titled(&manifest.spec, folder);
    content.spec = Some(manifest.spec.clone());
    content.version = manifest.version.clone();
    content.notes = notes(manifest, problem.is_none());
    Ok(content)
}

fn notes(manifest: &Manifest, is_alone: bool) -> Vec<String> {
    let status = match manifest.status {
        Status::Complete => None,
        Status::Running => {
            Some("The run is still running, or was killed: these are its draws so far.")
        }
        Status::Stopped => Some("The run was stopped before its end: these are its draws so far."),
        Status::Failed => Some("The run ended with an error: these are its draws so far."),
    };
    let alone = is_alone.then_some(
        "The model or the query of this run is one of Python's, which its folder cannot hold: what \
         needs them is left out. `posterior.report()` in Python has it.",
    );
    status.into_iter().chain(alone).map(String::from).collect()
}

/// What a report shows of a spec that is fitted for it.
fn of_spec(args: &Args) -> Result<Content, Failed> {
    let end = args.source.extension().map(|end| end.to_string_lossy().to_lowercase());
    if let Some("csv" | "parquet") = end.as_deref() {
        return Err(Failed::Input(format!(
            "{}: this is a table of results; reports are of runs and specs. Allowed: the folder that \
             `soma fit SPEC.toml --out DIR` wrote, or a spec. The table itself can be read by any \
             program that reads CSV or Parquet.",
            args.source.display()
        )));
    }
    let text = spec_file::text(&args.source)?;
    let spec = spec_file::parse(&args.source, &text)?;
    if args.sampler.is_certified() {
        return Err(Failed::Input(
            "--warmup: a report does not compute a certified warm-up (given: certified). Allowed: a \
             number; or `soma fit --warmup certified --out DIR`, and a report of the folder."
                .into(),
        ));
    }
    let problem = &spec.problem;
    let settings = fit::settings(&spec, args.sampler.sampler())?;
    memory::check(problem, &settings, args.threads.count(), false)?;
    interrupt::watch();
    let progress = Progress::new(&settings, args.quiet);
    let shown = progress.as_ref().map(|bar| bar as &dyn Shown);
    let session = Session::new(Sink::memory(&settings), shown);
    Progress::during(progress.as_ref(), || {
        session.run(problem, &settings, 0..settings.chains, args.threads.count())
    })?;
    let InMemory { draws, ends, seconds } = session.sink.into_memory();
    let report = Report::of_draws(problem, &settings, &draws, ends, seconds)?;
    let of = |value: &dyn Fn(&Draw) -> f64| -> Vec<Vec<f64>> {
        draws.iter().map(|chain| chain.iter().map(value).collect()).collect()
    };
    let column = |k: usize| Ok::<_, Failed>(of(&|draw| draw.values[k]));
    let log_density = of(&|draw| draw.log_density);
    let made_of = (&report, Some(problem), &settings);
    let mut content = made(made_of, log_density, &column, true)?;
    content.title = titled(&text, &args.source);
    content.spec = Some(text);
    if interrupt::seen() {
        content
            .notes
            .push("The run was stopped before its end: these are its draws so far.".into());
    }
    Ok(content)
}

/// What the report is about: the first comment of the spec, or the name of the file or folder.
fn titled(spec: &str, path: &Path) -> String {
    let first = spec.lines().next().and_then(|line| line.strip_prefix('#')).map(str::trim);
    let name = || {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        path.file_stem().map_or("a run".into(), |name| name.to_string_lossy().into_owned())
    };
    first.filter(|line| !line.is_empty()).map_or_else(name, String::from)
}

/// The content of a report on draws, and how they were made.
fn made(
    (report, problem, settings): (&Report, Option<&Problem>, &Settings),
    mut log_density: Vec<Vec<f64>>,
    column: &dyn Fn(usize) -> Result<Vec<Vec<f64>>, Failed>,
    replicates: bool,
) -> Result<Content, Failed> {
    log_density.retain(|chain| !chain.is_empty());
    let rows = report.parameters.iter().map(|row| (row.name.clone(), row.summary)).collect();
    let seed = settings.seed;
    let source = Source { problem, rows, column, log_density, seed, replicates };
    let mut content = gather(source)?;
    content.trust = Trust::of(&report.verdict);
    content.settled = report.verdict.settled.clone();
    content.verdict = trust::sentence(report);
    content.settings = settings_of(report, settings);
    Ok(content)
}

fn settings_of(report: &Report, settings: &Settings) -> Vec<(String, String)> {
    let n = report.n.map_or("unknown: one of the quantities".into(), |n| n.to_string());
    let mut kernels: Vec<&str> = report.chosen.iter().map(|one| one.kernel.as_str()).collect();
    kernels.sort_unstable();
    kernels.dedup();
    let kernel = match kernels.is_empty() {
        true => report.kernel.to_string(),
        false => format!("{} (took {})", report.kernel, kernels.join(", ")),
    };
    let rate = 100.0 * report.acceptance_rate;
    [
        ("chains", report.chains.to_string()),
        ("draws of each chain", report.draws.to_string()),
        ("iterations of warm-up", report.warmup.to_string()),
        ("one iteration kept in", settings.thin.to_string()),
        ("kernel", kernel),
        ("theta updates", settings.moves.name().to_string()),
        ("acceptance rate", format!("{rate:.1}% of {} moves", fixed(report.moves as f64, 0))),
        ("number of records n", n),
        ("seed", report.seed.to_string()),
        ("time of warm-up", table::seconds(report.seconds_warmup)),
        ("time of draws", table::seconds(report.seconds_sampling)),
        ("version of soma", report.version.to_string()),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .to_vec()
}
