//! Draws as Arrow data, and the verdict on them.

use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, UInt64Array};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use numpy::{PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use soma::chain::MoveReport;
use soma::diagnostics::{Advice, Column, Crossing, RunFigures, Summary, Verdict, rhat};

/// Whether draws can be trusted, the verdict in words, the reasons, and the settings to try
/// otherwise. The arguments are arrays of shape (chain, draw), one for each name, the acceptance
/// rates and the log densities; how each chain crosses between separate modes, see [`crossing`];
/// the iterations of warm-up, if known: without them there is no advice; and a spec, as far as text
/// can say it, for the comparisons among the names.
#[pyfunction]
#[pyo3(signature = (names, columns, acceptance, log_density, crossings, warmup=None, spec=""))]
pub fn judge(
    names: Vec<String>,
    columns: Vec<PyReadonlyArray2<f64>>,
    acceptance: PyReadonlyArray2<f64>,
    log_density: PyReadonlyArray2<f64>,
    crossings: Vec<Option<f64>>,
    warmup: Option<u64>,
    spec: &str,
) -> (bool, String, Vec<String>, Vec<(&'static str, u64)>) {
    let [count, draws] = columns.first().map_or([0, 0], |all| [all.shape()[0], all.shape()[1]]);
    let comparisons = soma::spec::comparisons(spec, &names);
    let verdict = verdict((&names, &comparisons), &columns, &acceptance, &log_density, &crossings);
    let reasons = verdict.reasons.iter().map(ToString::to_string).collect();
    let advice =
        warmup.map_or_else(Advice::default, |w| Advice::of(&verdict, count, w, draws as u64));
    (verdict.is_trusted(), verdict.to_string(), reasons, advice.given().collect())
}

/// The verdict on draws: the names, and those of comparisons among them; arrays as [`judge`] takes
/// them.
pub fn verdict(
    (names, comparisons): (&[String], &[String]),
    columns: &[PyReadonlyArray2<f64>],
    acceptance: &PyReadonlyArray2<f64>,
    log_density: &PyReadonlyArray2<f64>,
    crossings: &[Option<f64>],
) -> Verdict {
    let named = names.iter().zip(columns);
    let column = |(name, all): (&String, &PyReadonlyArray2<f64>)| {
        Column::of(name, &chains(all)).comparison(comparisons.contains(name))
    };
    let columns: Vec<Column> = named.map(column).collect();
    let mean = |chain: Vec<f64>| chain.iter().sum::<f64>() / chain.len() as f64;
    let crossed = |swaps: &Option<f64>| match swaps {
        None => Crossing::NotNeeded,
        Some(rate) if rate.is_nan() => Crossing::None,
        Some(rate) => Crossing::Swaps(*rate),
    };
    let figures = RunFigures {
        acceptance: chains(acceptance).into_iter().map(mean).collect(),
        crossings: crossings.iter().map(crossed).collect(),
        log_density_rhat: rhat(&chains(log_density)),
    };
    Verdict::of(&columns, &figures)
}

/// How a chain with these moves crosses between separate modes of its posterior: the acceptance
/// rate of swaps at the weakest link of its ladder, NaN if it needs a ladder and has none, and
/// `None` if it needs none.
pub fn crossing(moves: &[MoveReport]) -> Option<f64> {
    match soma::chain::crossing(moves) {
        Crossing::NotNeeded => None,
        Crossing::None => Some(f64::NAN),
        Crossing::Swaps(rate) => Some(rate),
    }
}

/// The chains of an array of shape (chain, draw).
pub fn chains(draws: &PyReadonlyArray2<f64>) -> Vec<Vec<f64>> {
    draws.as_array().outer_iter().map(|chain| chain.to_vec()).collect()
}

/// The summary of the draws of one parameter, an array of shape (chain, draw).
#[pyfunction]
pub fn summarise<'py>(
    py: Python<'py>,
    draws: PyReadonlyArray2<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let summary = Summary::of(&chains(&draws));
    let row = PyDict::new(py);
    for (name, value) in [
        ("mean", summary.mean),
        ("sd", summary.sd),
        ("q5", summary.q5),
        ("q50", summary.q50),
        ("q95", summary.q95),
        ("mcse_mean", summary.mcse_mean),
        ("rhat", summary.rhat),
        ("ess_bulk", summary.ess_bulk),
        ("ess_tail", summary.ess_tail),
    ] {
        row.set_item(name, value)?;
    }
    Ok(row)
}

/// An Arrow stream of draws, one batch per chain: `columns` has the shape (parameter, chain, draw),
/// the other arrays (chain, draw). Arrow reads the memory of the arrays without a copy.
#[pyfunction]
pub fn arrow_stream<'py>(
    py: Python<'py>,
    columns: &Bound<'py, PyArray3<f64>>,
    acceptance: &Bound<'py, PyArray2<f64>>,
    log_density: &Bound<'py, PyArray2<f64>>,
    parameters: Vec<String>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let (count, chains, draws) = (columns.shape()[0], columns.shape()[1], columns.shape()[2]);
    let mut fields = vec![
        Field::new("chain", DataType::UInt64, false),
        Field::new("draw", DataType::UInt64, false),
    ];
    let numbers = parameters.into_iter().chain(["acceptance".into(), "log_density".into()]);
    fields.extend(numbers.map(|name| Field::new(name, DataType::Float64, false)));
    let schema = Arc::new(Schema::new(fields));
    let columns = shared(columns.as_any(), columns.readonly().as_slice()?);
    let acceptance = shared(acceptance.as_any(), acceptance.readonly().as_slice()?);
    let log_density = shared(log_density.as_any(), log_density.readonly().as_slice()?);
    let batch = |chain: usize| -> Result<RecordBatch, ArrowError> {
        let part = |all: &ScalarBuffer<f64>, place: usize| -> ArrayRef {
            Arc::new(Float64Array::new(all.slice(place * draws, draws), None))
        };
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(vec![chain as u64; draws])),
            Arc::new(UInt64Array::from_iter_values(0..draws as u64)),
        ];
        arrays.extend((0..count).map(|parameter| part(&columns, parameter * chains + chain)));
        arrays.extend([part(&acceptance, chain), part(&log_density, chain)]);
        RecordBatch::try_new(schema.clone(), arrays)
    };
    let batches: Vec<_> = (0..chains).map(batch).collect();
    let stream =
        FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, schema.clone())));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// The memory `slice` of a NumPy array, which is kept alive while Arrow reads it.
fn shared(array: &Bound<PyAny>, slice: &[f64]) -> ScalarBuffer<f64> {
    let owner: Arc<AssertUnwindSafe<Py<PyAny>>> =
        Arc::new(AssertUnwindSafe(array.clone().unbind()));
    let start = NonNull::from(slice).cast::<u8>();
    // SAFETY: the memory is that of the array, which `owner` keeps alive, and which does not
    // change: the package makes its arrays of draws read-only.
    let buffer = unsafe { Buffer::from_custom_allocation(start, size_of_val(slice), owner) };
    ScalarBuffer::from(buffer)
}
