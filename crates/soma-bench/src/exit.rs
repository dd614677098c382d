//! Errors, exit codes and output of the program.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// An error of a subcommand.
#[derive(Debug)]
pub enum Failed {
    /// Invalid input: a message.
    Input(String),
    /// The run failed: a message.
    Run(String),
}

/// The outcome of a subcommand.
pub type Outcome = Result<(), Failed>;

impl From<soma::Failure> for Failed {
    fn from(failure: soma::Failure) -> Self {
        Failed::Run(failure.to_string())
    }
}

/// Prints the error to standard error, and returns the exit code: 0, 1 or 2.
pub fn code(outcome: Outcome) -> ExitCode {
    let (code, message) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failed::Run(message)) => (1, message),
        Err(Failed::Input(message)) => (2, message),
    };
    eprintln!("error: {message}");
    ExitCode::from(code)
}

/// Plain data as JSON.
pub fn json(data: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(data).unwrap_or_else(|error| unreachable!("plain data: {error}"))
}

/// Prints `text` to standard output. A closed pipe is not an error.
pub fn print(text: &str) -> Outcome {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failed::Run(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
