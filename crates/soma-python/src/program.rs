//! The program `soma`, which the package installs beside the Python interface.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with these arguments, of which the first is its name. Returns its exit code.
#[pyfunction]
pub fn run_program(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| soma_cli::run(args))
}
