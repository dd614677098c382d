//! `soma`: from a private release to a posterior.
//!
//! One file for each subcommand. Results go to standard output, everything else to standard
//! error. Exit codes: 0 good, 1 the run failed, 2 the input was wrong.

mod args;
mod calibrate;
mod check;
mod couple;
mod diagnose;
mod examples;
mod exit;
mod fit;
mod interrupt;
mod measure;
mod memory;
mod moves;
mod progress;
mod report;
mod session;
mod spec_file;
mod table;
mod trust;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Bayesian inference from differentially private releases.
#[derive(Parser)]
#[command(name = "soma", version, about)]
struct Soma {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Draw from the posterior of a spec and print a table of it.
    Fit(fit::Args),
    /// Run pairs of coupled chains until they meet, to bound the distance to the posterior.
    Couple(couple::Args),
    /// Print the table of a stored run.
    Diagnose(diagnose::Args),
    /// Simulate releases of a spec's model and test whether their fits are right.
    Calibrate(calibrate::Args),
    /// Check a spec, or a release alone, and print what it says.
    Check(check::Args),
    /// List the shipped specs, or print one to start your own from.
    Examples(examples::Args),
    /// Measure the program itself (by the program soma-bench).
    #[command(disable_help_flag = true)]
    Bench(measure::Args),
    /// Compute the tables and figures of the SOMA paper again, beside its numbers (by soma-bench).
    #[command(disable_help_flag = true)]
    Paper(measure::Args),
}

fn main() -> ExitCode {
    let outcome = match Soma::parse().command {
        Command::Fit(args) => fit::run(args),
        Command::Couple(args) => couple::run(args),
        Command::Diagnose(args) => diagnose::run(args),
        Command::Calibrate(args) => calibrate::run(args),
        Command::Check(args) => check::run(args),
        Command::Examples(args) => examples::run(args),
        Command::Bench(args) => measure::run("bench", args),
        Command::Paper(args) => measure::run("paper", args),
    };
    exit::code(outcome)
}
