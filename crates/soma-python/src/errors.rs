//! Errors of the library as Python exceptions, and back.

use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use soma::spec::SpecError;
use soma::{Failure, Invalid};

/// Invalid input is a `ValueError`, with the text of the command line.
pub fn invalid(error: Invalid) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An exception in a user's method is raised unchanged, with its own traceback.
pub fn failed(failure: Failure) -> PyErr {
    let failure = match failure.downcast::<PyErr>() {
        Ok(error) => return *error,
        Err(failure) => failure,
    };
    match failure.downcast::<Invalid>() {
        Ok(error) => invalid(*error),
        Err(failure) => PyRuntimeError::new_err(failure.to_string()),
    }
}

/// An error in a generated spec: its position in the text would not help a user.
pub fn unreadable(error: SpecError) -> PyErr {
    invalid(*error.invalid)
}
