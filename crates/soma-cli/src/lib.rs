//! `soma`: from a private release to a posterior.
//!
//! One file for each subcommand. Results go to standard output, everything else to standard error.
//! Exit codes: 0 success, 1 the run failed, 2 invalid input, 3 the draws cannot be trusted and
//! `--strict` was given.

mod args;
mod batch;
mod calibrate;
mod check;
mod couple;
mod diagnose;
mod display;
mod examples;
mod exit;
mod fit;
mod gpu;
pub mod groups;
pub mod import;
mod interrupt;
mod measure;
mod memory;
mod merge;
mod moves;
mod page;
mod plan;
mod plot;
mod progress;
pub mod release;
mod report;
mod session;
mod shell;
mod spec_file;
mod table;
mod trust;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

/// Bayesian inference from differentially private releases.
#[derive(Parser)]
#[command(name = "soma", version, about)]
struct Soma {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Draw from the posterior of a spec, or of many, and print a table.
    Fit(fit::Args),
    /// Run pairs of coupled chains until they meet, to bound the distance to the posterior.
    Couple(couple::Args),
    /// Fit many tables of noisy counts, such as those of regions, one by one or with a common prior.
    Groups(groups::Args),
    /// Print the table of a stored run.
    Diagnose(diagnose::Args),
    /// Write a report of a stored run, or of a spec that is fitted for it, as one HTML page.
    Report(page::Args),
    /// Draw one figure of a stored run as SVG.
    Plot(plot::Args),
    /// Simulate releases of a spec's model and test whether their fits are right.
    Calibrate(calibrate::Args),
    /// Many chains on a GPU: the text that runs there, checks and measurements.
    Gpu(gpu::Args),
    /// Say what analysts will know from a release that has not been made yet.
    Plan(plan::Args),
    /// Make a release of a table of data, with noise from OpenDP.
    Release(release::Args),
    /// Join folders that hold different chains of one run.
    Merge(merge::Args),
    /// Check a spec, or a release alone, and print what it says.
    Check(check::Args),
    /// Turn what another tool printed into the release of a spec.
    Import(import::Args),
    /// List the shipped specs, or print one to start your own from.
    Examples(examples::Args),
    /// Print a script that completes the options of soma in a shell.
    Completions(shell::CompletionsArgs),
    /// Print the manual page of soma or of a command.
    Man(shell::ManArgs),
    /// Measure the program itself (by the program soma-bench).
    #[command(disable_help_flag = true)]
    Bench(measure::Args),
    /// Compute the tables and figures of the SOMA paper again, beside its numbers (by soma-bench).
    #[command(disable_help_flag = true)]
    Paper(measure::Args),
}

/// The command line parser.
fn command() -> clap::Command {
    Soma::command()
}

/// Runs the program with these arguments, of which the first is its name. Returns the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let command = match Soma::try_parse_from(args) {
        Ok(soma) => soma.command,
        Err(error) => {
            // If this cannot be printed, nothing can.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    exit::code(match command {
        Command::Fit(args) => fit::run(args),
        Command::Couple(args) => couple::run(args),
        Command::Groups(args) => groups::run(args),
        Command::Diagnose(args) => diagnose::run(args),
        Command::Report(args) => page::run(args),
        Command::Plot(args) => plot::run(args),
        Command::Calibrate(args) => calibrate::run(args),
        Command::Gpu(args) => gpu::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Release(args) => release::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Check(args) => check::run(args),
        Command::Import(args) => import::run(args),
        Command::Examples(args) => examples::run(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
        Command::Bench(args) => measure::run("bench", args),
        Command::Paper(args) => measure::run("paper", args),
    })
}
