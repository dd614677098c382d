//! The program `soma`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(soma_cli::run(std::env::args_os()))
}
