//! `soma-bench`: benchmarks, and the reproduction of the paper.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use soma_bench::{bench, exit, paper};

/// Benchmarks of SOMA, and the tables and figures of the paper.
#[derive(Parser)]
#[command(name = "soma-bench", version, about)]
struct SomaBench {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure the program itself.
    Bench(bench::Args),
    /// Compute the tables and figures of the SOMA paper again, beside its numbers.
    Paper(paper::Args),
}

fn main() -> ExitCode {
    exit::code(match SomaBench::parse().command {
        Command::Bench(args) => bench::run(args),
        Command::Paper(args) => paper::run(args),
    })
}
