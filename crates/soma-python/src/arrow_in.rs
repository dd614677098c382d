//! Arrow tables of other programs.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatchReader};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use soma::Invalid;

use crate::errors::{failed, invalid};

/// The columns of an Arrow table, of anything with the method `__arrow_c_stream__`, as floats.
#[pyfunction]
pub fn read_arrow<'py>(
    table: &Bound<'py, PyAny>,
) -> PyResult<Vec<(String, Bound<'py, PyArray1<f64>>)>> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| {
        PyTypeError::new_err("__arrow_c_stream__ returned something that is not a capsule")
    })?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by the Arrow PyCapsule interface a capsule of this name points to a stream, which
    // its reader takes over.
    let stream = unsafe {
        RecordBatchStreamReader::from_raw(pointer.cast::<FFI_ArrowArrayStream>().as_ptr())
    };
    let reader = stream.map_err(|error| failed(error.into()))?;
    let names: Vec<String> =
        reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut columns = vec![Vec::new(); names.len()];
    for batch in reader {
        let batch = batch.map_err(|error| failed(error.into()))?;
        for ((name, column), array) in names.iter().zip(&mut columns).zip(batch.columns()) {
            append(name, array.as_ref(), column).map_err(invalid)?;
        }
    }
    let arrays = columns.into_iter().map(|column| PyArray1::from_vec(table.py(), column));
    Ok(names.into_iter().zip(arrays).collect())
}

fn append(name: &str, array: &dyn Array, out: &mut Vec<f64>) -> Result<(), Invalid> {
    macro_rules! numbers {
        ($($kind:ty),*) => {
            $(if let Some(numbers) = array.as_primitive_opt::<$kind>() {
                out.extend(numbers.values().iter().map(|&value| value as f64));
                return Ok(());
            })*
        };
    }
    if array.null_count() > 0 {
        let allowed = "a number in each row";
        return Err(Invalid::new(name, "the column has missing values", "null", allowed));
    }
    numbers!(Float64Type, UInt64Type, Int64Type, Float32Type, Int32Type, UInt32Type);
    let given = array.data_type();
    Err(Invalid::new(name, "the column does not hold numbers", given, "floats or whole numbers"))
}
