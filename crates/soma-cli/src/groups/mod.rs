//! `soma groups`: many tables of noisy counts of one kind, one table in and one table out.

mod progress;
mod read;
mod summary;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::value_parser;
use soma::counts::SharedPrior;
use soma::grouped::{self, Fitted, GroupTable, Plan, Watch};
use soma_store::{DoesNotFit, check_memory, in_words, write_named};

use crate::args::ThreadArgs;
use crate::exit::{self, Failed, Outcome};
use crate::import::frame::Frame;
use crate::interrupt;
use progress::Progress;
pub use read::{Noisy, Relation};
pub use summary::rows;

/// Names that people give to the sum of all cells.
const TOTALS: [&str; 6] = ["total", "all", "n", "sum", "totals", "overall"];

/// Fits a table of noisy counts of many groups, such as regions: columns group, cell and value, and
/// scale (or variance) unless all have the same. A column n has the size of each group, where it is
/// public; a count that is not shown is "suppressed", with --threshold or a column threshold.
#[derive(clap::Args)]
pub struct Args {
    /// The table, as CSV or Parquet.
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    #[command(flatten)]
    noisy: Noisy,
    /// Learn a common prior of the shares from all groups: a Dirichlet distribution whose
    /// concentration and mean shares are drawn with the rest.
    #[arg(long)]
    pool: bool,
    /// The Dirichlet parameter of each cell, of groups that are not pooled.
    #[arg(long, value_name = "A", default_value = "1", conflicts_with = "pool")]
    alpha: f64,
    /// With --pool: the median of the concentration, whose prior is log-normal.
    #[arg(long, value_name = "K", default_value = "30", requires = "pool")]
    concentration: f64,
    /// With --pool: the standard deviation of the logarithm of the concentration.
    #[arg(long, value_name = "S", default_value = "2", requires = "pool")]
    concentration_sd: f64,
    /// The number of chains of each group.
    #[arg(long, value_name = "C", default_value = "4", value_parser = value_parser!(u64).range(1..=1000))]
    chains: u64,
    /// Iterations of each chain before the first draw that is kept.
    #[arg(long, value_name = "W", default_value = "1000")]
    warmup: u64,
    /// Draws kept of each chain.
    #[arg(long, value_name = "D", default_value = "1000", value_parser = value_parser!(u64).range(1..))]
    draws: u64,
    /// Keep one iteration in T.
    #[arg(long, value_name = "T", default_value = "1", value_parser = value_parser!(u64).range(1..))]
    thin: u64,
    /// The same seed gives the same draws.
    #[arg(long, value_name = "S", default_value = "1")]
    seed: u64,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Write the results here, as CSV or as Parquet by the end of the name; may be given twice.
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
    /// Go on with a run that was stopped: groups that had ended are taken from FILE.progress, beside
    /// the first --out. Pooled groups cannot be gone on with.
    #[arg(long, requires = "out", conflicts_with = "pool")]
    resume: bool,
    /// End with exit code 3 if the draws of a group are not to be trusted.
    #[arg(long)]
    strict: bool,
    /// Show no progress and no notes.
    #[arg(long)]
    quiet: bool,
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let ends = |path: &PathBuf, end: &str| path.extension().is_some_and(|own| own == end);
    if let Some(odd) = args.out.iter().find(|path| !ends(path, "csv") && !ends(path, "parquet")) {
        return Err(Failed::Input(format!(
            "--out: the name says which kind of file (given: {}). Allowed: a name that ends in .csv \
             or .parquet.",
            odd.display()
        )));
    }
    let plan = Plan {
        chains: args.chains as usize,
        warmup: args.warmup,
        draws: args.draws,
        thin: args.thin,
        seed: args.seed,
    };
    let frame = Frame::read(&args.table)?;
    let table = args.noisy.table(&frame, args.alpha).map_err(Failed::Input)?;
    if let (Some(cell), false) = (total_cell(&table), args.quiet) {
        eprintln!(
            "note: the cell {cell:?} is taken for a cell like the others. Totals are not margins here: \
             leave such rows out; or, to use a noisy total, write a spec for each group, with a part \
             of query = {{ kind = \"count\" }}."
        );
    }
    let prior = SharedPrior { median: args.concentration, sd: args.concentration_sd, shares: 1.0 };
    // Before there is a journal.
    check(&table, args.pool, &plan, args.threads.count())
        .map_err(|invalid| Failed::Input(format!("--{invalid}")))?;
    interrupt::watch();
    let fingerprint = progress::fingerprint_of(&frame, &args.noisy, args.alpha, &plan);
    let journal = args.out.first().filter(|_| !args.pool);
    let journal =
        journal.map(|out| progress::journal(out, &fingerprint, args.resume)).transpose()?;
    let progress = Progress::new(&table, &plan, args.pool, journal);
    let work = || fit(&table, args.pool.then_some(prior), &plan, &args.threads, &progress);
    let state = || progress.state();
    let fitted = if args.quiet { work() } else { progress.display.during(state, work) }?;
    if interrupt::seen() && !args.quiet {
        let resumes = !args.pool && !args.out.is_empty();
        let resume = if resumes { "; --resume goes on with the others" } else { "" };
        eprintln!("Stopped: the table has the groups that had ended{resume}.");
    }
    let rows = rows(&fitted);
    for path in &args.out {
        match ends(path, "csv") {
            true => summary::write_csv(path, &rows)?,
            false => write_named(path, "group", &rows)?,
        }
    }
    progress.finish(fitted.len() >= table.names().len())?;
    exit::print(&summary::text(&fitted, table.names().len(), &args.out))?;
    let bad = fitted.iter().filter(|group| !group.verdict.is_trusted()).count();
    if args.strict && (bad > 0 || fitted.is_empty()) {
        return Err(Failed::Untrusted(format!(
            "--strict: {bad} of {} groups are not to be trusted",
            fitted.len()
        )));
    }
    Ok(())
}

/// A cell whose name is that of a total.
fn total_cell(table: &GroupTable) -> Option<&String> {
    let labels = table.problems().first()?.table().labels();
    labels.iter().find(|label| TOTALS.contains(&label.trim().to_lowercase().as_str()))
}

/// The groups of a table: of the CSV `text`, which errors call `name`, or of the file of that name.
pub fn table(
    name: &str,
    text: Option<&str>,
    noisy: &Noisy,
    alpha: f64,
) -> Result<GroupTable, String> {
    let frame = match text {
        Some(text) => Frame::parse(name, text)?,
        None => Frame::read(Path::new(name)).map_err(|failed| failed.message())?,
    };
    noisy.table(&frame, alpha)
}

/// What came of the common prior, if there is one, and of the groups.
fn fit(
    table: &GroupTable,
    prior: Option<SharedPrior>,
    plan: &Plan,
    threads: &ThreadArgs,
    watch: &dyn Watch,
) -> Result<Vec<Fitted>, Failed> {
    fit_on(table, prior, plan, threads.count(), watch).map_err(|failure| {
        match failure.is::<soma::Invalid>() {
            true => Failed::Input(failure.to_string()),
            false => Failed::Run(failure.to_string()),
        }
    })
}

/// An error if there can be no such run, or if its draws cannot fit.
fn check(
    table: &GroupTable,
    pools: bool,
    plan: &Plan,
    threads: NonZeroUsize,
) -> Result<(), soma::Invalid> {
    plan.check()?;
    let need = grouped::memory(table, plan, threads.get(), pools);
    check_memory(need).map_err(|DoesNotFit { need, available }| {
        let given = format!("about {}", in_words(need.bytes()));
        let allowed = format!(
            "at most {}, which there is {}; so fewer draws or chains, or fewer threads",
            in_words(available.bytes),
            available.limit
        );
        soma::Invalid::new("draws", "do not fit in memory", given, allowed)
    })
}

/// The same on so many threads.
pub fn fit_on(
    table: &GroupTable,
    prior: Option<SharedPrior>,
    plan: &Plan,
    threads: NonZeroUsize,
    watch: &dyn Watch,
) -> soma::Outcome<Vec<Fitted>> {
    check(table, prior.is_some(), plan, threads)?;
    let Some(prior) = prior else { return grouped::fit(table, plan, threads, watch) };
    let found = grouped::pool(table, prior, plan, threads, watch)?;
    let joined =
        |(shared, groups): (Fitted, Vec<Fitted>)| std::iter::once(shared).chain(groups).collect();
    Ok(found.map_or_else(Vec::new, joined))
}
