//! How the program ends.

use std::io::ErrorKind;
use std::process::ExitCode;

use miette::{GraphicalReportHandler, GraphicalTheme};
use soma_store::StoreError;

use crate::spec_file::BadSpec;

/// Why the program could not do what it was asked to.
pub enum Failed {
    /// The input was wrong: a message.
    Input(String),
    /// The spec was wrong, at a place that can be shown.
    Spec(Box<BadSpec>),
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

/// A folder that does not fit, or a damaged file, is an input; a disk that fails is not.
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

/// Says on standard error what went wrong, and gives the exit code: 0, 1 or 2.
pub fn code(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Run(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(1)
        }
        Err(Failed::Input(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
        Err(Failed::Spec(bad)) => {
            eprint!("{}", shown(&bad));
            ExitCode::from(2)
        }
    }
}

/// The error with the lines around its place; plain where nobody looks at a terminal. Lines that
/// would fill the screen are not shown.
fn shown(bad: &BadSpec) -> String {
    use std::io::IsTerminal;
    if bad.is_long() {
        return format!("error: {}\n", bad.in_full());
    }
    let theme = if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::none()
    };
    let mut text = String::from("error: ");
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
    match handler.render_report(&mut text, bad) {
        Ok(()) => text,
        Err(_) => format!("error: {bad}\n"),
    }
}

/// Prints `text` on standard output. A reader that has gone away is no failure of ours.
pub fn print(text: &str) -> Outcome {
    use std::io::Write;
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failed::Run(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
