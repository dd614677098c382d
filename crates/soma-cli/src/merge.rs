//! `soma merge`: merges folders with different chains of one run.

use std::path::PathBuf;

use soma_store::Run;

use crate::exit::{self, Failed, Outcome};
use crate::report::Report;
use crate::trust;

/// Joins folders that hold different chains of one run, as the tasks of an array job write them
/// with --chains-from, into the folder that one call with all chains would have written.
#[derive(clap::Args)]
pub struct Args {
    /// The folders to join.
    #[arg(value_name = "DIR", required = true)]
    parts: Vec<PathBuf>,
    /// The new folder.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    json: bool,
    /// End with exit code 3 if the draws are not to be trusted.
    #[arg(long)]
    strict: bool,
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    if args.parts.contains(&args.out) {
        return Err(Failed::Input(format!(
            "--out: {} is one of the folders to join. Allowed: a new folder.",
            args.out.display()
        )));
    }
    soma_store::merge(&args.parts, &args.out)?;
    let report = Report::of_run(&Run::open(&args.out)?)?;
    exit::print(&if args.json { report.json() } else { report.text() })?;
    trust::strict(args.strict, &report)
}
