//! Conversion of values returned by a user's function to numbers of the right shape.

use numpy::{
    PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use soma::Invalid;

use crate::errors::invalid;

/// Copies `value`, an array or anything that NumPy can convert to one, into `out`, as `out.len() /
/// columns` rows. Rows of one number may be a plain vector.
///
/// `source` names the function that returned it, for errors.
pub fn fill(source: &str, value: &Bound<PyAny>, columns: usize, out: &mut [f64]) -> PyResult<()> {
    fill_any(source, value, columns, out)?;
    check_finite(source, out)
}

/// As [`fill`], but for numbers that need not be finite.
pub fn fill_any(
    source: &str,
    value: &Bound<PyAny>,
    columns: usize,
    out: &mut [f64],
) -> PyResult<()> {
    let array = as_array(source, value)?;
    let shape = array.shape();
    let rows = out.len() / columns;
    if shape != [rows, columns] && !(columns == 1 && shape == [rows]) {
        let alternative = if columns == 1 { format!(" or ({rows},)") } else { String::new() };
        return Err(invalid(Invalid::new(
            source,
            "returned an array of the wrong shape",
            shown(shape),
            format!("shape ({rows}, {columns}){alternative}"),
        )));
    }
    out.copy_from_slice(array.readonly().as_slice()?);
    Ok(())
}

/// Copies `value`, the vector theta, into `out`.
pub fn fill_theta(source: &str, value: &Bound<PyAny>, out: &mut [f64]) -> PyResult<()> {
    let array = as_array(source, value)?;
    if array.shape() != [out.len()] {
        return Err(invalid(Invalid::new(
            source,
            "returned an array of the wrong shape",
            shown(array.shape()),
            format!("shape ({},), one number for each parameter", out.len()),
        )));
    }
    out.copy_from_slice(array.readonly().as_slice()?);
    check_finite(source, out)
}

/// The one number in `value`, a log density.
pub fn log_density(source: &str, value: &Bound<PyAny>) -> PyResult<f64> {
    let array = as_array(source, value)?.readonly();
    match *array.as_slice()? {
        [density] if density < f64::INFINITY => Ok(density),
        [density] => Err(invalid(Invalid::new(
            source,
            "returned a number that is not a log density",
            density,
            "a finite number, or minus infinity where the density is 0",
        ))),
        _ => Err(invalid(Invalid::new(
            source,
            "returned an array of the wrong shape",
            shown(array.shape()),
            "one number",
        ))),
    }
}

fn check_finite(source: &str, out: &[f64]) -> PyResult<()> {
    match out.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(place) => Err(invalid(Invalid::new(
            source,
            format!("returned a number that cannot be used, at place {place}"),
            out[place],
            "finite numbers only",
        ))),
    }
}

/// `value` as a contiguous array of floats, without a copy if it is one.
fn as_array<'py>(source: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    static CONVERT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    if value.cast::<PyUntypedArray>().is_ok_and(|array| array.dtype().kind() == b'c') {
        let given = "an array of complex numbers";
        let problem = "returned something that is not an array of numbers";
        return Err(invalid(Invalid::new(source, problem, given, "a NumPy array of floats")));
    }
    let array = CONVERT
        .import(py, "numpy", "asarray")?
        .call1((value, numpy::dtype::<f64>(py), "C"))
        .map_err(|error| {
            // Ctrl-C and the end of the program are not errors of the user.
            if !error.is_instance_of::<PyException>(py) {
                return error;
            }
            let wrong = invalid(Invalid::new(
                source,
                "returned something that is not an array of numbers",
                value.get_type(),
                "a NumPy array of floats",
            ));
            wrong.set_cause(py, Some(error));
            wrong
        })?;
    Ok(array.cast_into()?)
}

fn shown(shape: &[usize]) -> String {
    match shape {
        [one] => format!("shape ({one},)"),
        more => {
            let sizes: Vec<String> = more.iter().map(usize::to_string).collect();
            format!("shape ({})", sizes.join(", "))
        }
    }
}
