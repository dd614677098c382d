//! `soma diagnose`: the table of a stored run.

use std::path::PathBuf;

use soma_store::{Run, Status};

use crate::exit::{self, Outcome};
use crate::report::Report;

/// Reads a stored run and prints its table.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `soma fit --out` wrote.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print one JSON object instead.
    #[arg(long)]
    json: bool,
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    let run = Run::open(&args.folder)?;
    let report = Report::of_run(&run)?;
    let note = match run.manifest().status {
        Status::Complete => None,
        Status::Running => Some("is still running, or was killed"),
        Status::Stopped => Some("was stopped before its end"),
        Status::Failed => Some("ended with an error"),
    };
    if let Some(note) = note {
        eprintln!("note: this run {note}; `soma fit --resume` continues it");
    }
    exit::print(&if args.json { report.json() } else { report.text() })
}
