//! `soma bench` and `soma paper`: run by the program `soma-bench`, so that users of `soma` do not
//! need its dependencies.

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;
use std::process::Command;

use crate::exit::{Failed, Outcome};

/// The arguments for `soma-bench`.
#[derive(clap::Args)]
pub struct Args {
    /// The options of the command; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Runs the subcommand `name` of `soma-bench`, and exits with its code.
pub fn run(name: &str, args: Args) -> Outcome {
    let mut command = Command::new(program());
    command.arg(name).args(args.rest);
    Err(match replace(command) {
        error if error.kind() == ErrorKind::NotFound => Failed::Input(format!(
            "`soma {name}` is run by the program soma-bench, which is neither beside soma nor on \
             the PATH. In a clone of the repository `cargo build --release -p soma-mcmc-bench` \
             builds it, and `cargo install --path crates/soma-bench` installs it."
        )),
        error => Failed::Run(format!("soma-bench: {error}")),
    })
}

/// `soma-bench` beside this program, or the one on the PATH.
fn program() -> PathBuf {
    let name = format!("soma-bench{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().map(|here| here.with_file_name(&name));
    beside.filter(|path| path.exists()).unwrap_or_else(|| name.into())
}

/// Replaces this process by `command`; returns only if it cannot be started.
#[cfg(unix)]
fn replace(mut command: Command) -> Error {
    std::os::unix::process::CommandExt::exec(&mut command)
}

/// Runs `command` and exits with its code; returns only if it cannot be started.
#[cfg(not(unix))]
fn replace(mut command: Command) -> Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
