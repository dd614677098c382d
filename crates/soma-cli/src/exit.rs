//! Errors and exit codes of the program.

use std::io::ErrorKind;

use miette::{GraphicalReportHandler, GraphicalTheme};
use soma_store::StoreError;

use crate::spec_file::{BadSpec, Fault};

/// An error of a subcommand.
#[derive(Debug)]
pub enum Failed {
    /// Invalid input: a message.
    Input(String),
    /// An invalid spec, with its position.
    Spec(Box<BadSpec>),
    /// The run failed: a message.
    Run(String),
    /// The draws cannot be trusted, and `--strict` was given.
    Untrusted(String),
}

impl Failed {
    /// The message, in a sentence.
    pub fn message(&self) -> String {
        match self {
            Failed::Input(message) | Failed::Run(message) | Failed::Untrusted(message) => {
                message.clone()
            }
            Failed::Spec(bad) => bad.in_full(),
        }
    }
}

/// The outcome of a subcommand.
pub type Outcome = Result<(), Failed>;

impl From<soma::Failure> for Failed {
    fn from(failure: soma::Failure) -> Self {
        Failed::Run(failure.to_string())
    }
}

/// An unsuitable folder or a damaged file is an input error; an I/O error is not.
impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Io { .. } => Failed::Run(error.to_string()),
            StoreError::Damaged { .. } | StoreError::Unfit { .. } => {
                Failed::Input(error.to_string())
            }
        }
    }
}

/// Prints the error to standard error, and returns the exit code: 0, 1, 2 or 3.
pub fn code(outcome: Outcome) -> u8 {
    match outcome {
        Ok(()) => 0,
        Err(Failed::Run(message)) => {
            eprintln!("error: {message}");
            1
        }
        Err(Failed::Input(message)) => {
            eprintln!("error: {message}");
            2
        }
        Err(Failed::Untrusted(message)) => {
            eprintln!("error: {message}");
            3
        }
        Err(Failed::Spec(bad)) => {
            bad.faults().iter().for_each(|fault| eprint!("{}", shown(fault)));
            2
        }
    }
}

/// The error with the lines around its position; plain without a terminal. Very long lines are not
/// shown.
fn shown(fault: &Fault) -> String {
    use std::io::IsTerminal;
    if fault.is_long() {
        return format!("error: {}\n", fault.in_full());
    }
    let theme = if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::none()
    };
    let mut text = String::from("error: ");
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
    match handler.render_report(&mut text, fault) {
        Ok(()) => text,
        Err(_) => format!("error: {fault}\n"),
    }
}

/// Prints `text` to standard output. A closed pipe is not an error.
pub fn print(text: &str) -> Outcome {
    use std::io::Write;
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failed::Run(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
