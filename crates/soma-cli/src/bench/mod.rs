//! `soma bench`: the figures that the book rests on.

mod grid;
mod mixing;

use crate::exit::{Failed, Outcome};

/// Measures the program and prints what it finds.
#[derive(clap::Args)]
pub struct Args {
    /// Effective draws of theta per sweep and per second, for the paper's chain and the default.
    #[arg(long)]
    mixing: bool,
    /// The releases of the grid and no measurement, as JSON: for other programs to compare with.
    #[arg(long)]
    releases: bool,
    /// JSON in the place of a table.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plan: mixing::Plan,
}

/// The subcommand.
pub fn run(args: Args) -> Outcome {
    if args.releases {
        return mixing::releases(&args.plan);
    }
    if !args.mixing {
        return Err(Failed::Input("name what to measure: soma bench --mixing".into()));
    }
    mixing::run(&args.plan, args.json)
}
