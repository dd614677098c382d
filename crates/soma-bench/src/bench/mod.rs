//! `soma bench`: the measurements that the book cites.

mod auto;
mod cost;
mod coupled;
mod grid;
mod input;
mod interleave;
mod lines;
mod mixing;

use clap::builder::PossibleValuesParser;

use crate::exit::{Failed, Outcome};

/// Measures the program and prints what it finds: what a move of each kernel costs at fixed theta,
/// unless something else is named.
#[derive(clap::Args)]
pub struct Args {
    /// Effective draws per work and per second on the shipped specs, for each kernel that `auto`
    /// tries and for `auto` itself.
    #[arg(long, conflicts_with_all = ["coupled", "mixing", "releases"])]
    auto: bool,
    /// What a move of two coupled chains costs against a move of one.
    #[arg(long, conflicts_with_all = ["mixing", "releases"])]
    coupled: bool,
    /// Effective draws of theta per sweep and per second, for the paper's chain and the default.
    #[arg(long)]
    mixing: bool,
    /// The releases of the grid of --mixing and no measurement, as JSON: for other programs to
    /// compare with.
    #[arg(long)]
    releases: bool,
    /// What is timed: kernels, and `draw`, a proposal with its statistic alone.
    #[arg(long, value_name = "NAME", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(cost::contenders()))]
    kernel: Vec<String>,
    /// Print JSON instead of a table.
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
    if args.auto {
        return auto::run(&args.plan, args.json);
    }
    if args.mixing {
        if !args.kernel.is_empty() {
            return Err(Failed::Input("--kernel: --mixing compares chains of its own".into()));
        }
        return mixing::run(&args.plan, args.json);
    }
    let plan = cost::Plan {
        problem: args.plan.problem.as_deref().unwrap_or("all"),
        epsilon: &args.plan.epsilon,
        n: &args.plan.n,
        kernels: &args.kernel,
        seconds: args.plan.seconds,
        seed: args.plan.first_seed(),
    };
    if args.coupled { coupled::run(&plan, args.json) } else { cost::run(&plan, args.json) }
}
