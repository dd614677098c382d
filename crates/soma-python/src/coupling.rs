//! Pairs of coupled chains.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use soma::Invalid;
use soma::coupling::{self, PairRun, PairSettings};

use crate::control::Control;
use crate::errors::{failed, invalid};
use crate::problem::{Problem, Settings};

/// The iterations k to m that unbiased estimates average.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug, Clone, Copy)]
pub struct Window(coupling::Window);

#[pymethods]
impl Window {
    #[new]
    fn new(k: u64, m: u64) -> PyResult<Window> {
        coupling::Window::new(k, m).map(Window).map_err(invalid)
    }
}

/// The result of one pair.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Pair(PairRun);

#[pymethods]
impl Pair {
    /// Runs pair number `index`, without the GIL; `None` if it was stopped.
    #[staticmethod]
    #[pyo3(signature = (problem, settings, lag, max_iterations, window, index, control))]
    #[expect(clippy::too_many_arguments, reason = "each is one word of the call in Python")]
    fn run(
        py: Python<'_>,
        problem: &Problem,
        settings: &Settings,
        lag: u64,
        max_iterations: u64,
        window: Option<&Window>,
        index: u64,
        control: &Control,
    ) -> PyResult<Option<Pair>> {
        if lag < 1 {
            let allowed = "a whole number from 1 up";
            return Err(invalid(Invalid::new("lag", "must be positive", lag, allowed)));
        }
        let settings = PairSettings {
            kernel: settings.0.kernel.settled(),
            lag,
            max_iterations,
            seed: settings.0.seed,
            window: window.map(|window| window.0),
        };
        let values = |draw: &[f64]| draw.to_vec();
        py.detach(|| coupling::run_pair(&problem.0, &settings, index, &values, control.flag()))
            .map(|run| run.map(Pair))
            .map_err(failed)
    }

    /// Serialises the pair, to send it from a worker.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Vec<u8>,))> {
        let bytes = postcard::to_stdvec(&slf.get().0).map_err(|error| failed(error.into()))?;
        Ok((slf.get_type().getattr("_of_bytes")?, (bytes,)))
    }

    #[staticmethod]
    fn _of_bytes(bytes: Vec<u8>) -> PyResult<Pair> {
        postcard::from_bytes(&bytes).map(Pair).map_err(|error| failed(error.into()))
    }

    /// The meeting time, if the pair met.
    #[getter]
    fn met(&self) -> Option<u64> {
        self.0.met
    }

    /// The cost of the pair, in iterations of one chain.
    #[getter]
    fn cost(&self) -> u64 {
        self.0.cost
    }
}

/// The meeting times of pairs, and estimates from them.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Meetings(coupling::Meetings);

#[pymethods]
impl Meetings {
    #[new]
    fn new(lag: u64, limit: u64, pairs: Vec<PyRef<Pair>>) -> Meetings {
        let times = pairs.iter().map(|pair| pair.0.met).collect();
        Meetings(coupling::Meetings::new(lag, limit, times))
    }

    /// The mean of the meeting time less the lag, with its standard error.
    #[getter]
    fn mean_delay(&self) -> (f64, f64) {
        self.0.mean_delay()
    }

    /// The bound of the distance to the posterior after `t` iterations, with its standard error.
    fn bound(&self, t: u64) -> (f64, f64) {
        let bound = self.0.bound(t);
        (bound.bound, bound.se)
    }

    /// Bounds at up to `points` iterations: t, the bound, its standard error.
    fn bounds(&self, points: u64) -> Vec<(u64, f64, f64)> {
        self.0.bounds(points).into_iter().map(|bound| (bound.t, bound.bound, bound.se)).collect()
    }

    /// The first iteration from which the bound plus `errors` standard errors is below `level`;
    /// `None` if some pairs have not met.
    fn first_under(&self, level: f64, errors: f64) -> Option<u64> {
        self.0.first_under(level, errors)
    }

    /// The factor by which P(tau > t) falls in one iteration: the estimate and the ends of a 95%
    /// interval; `None` if there are too few pairs.
    fn rate(&self, seed: u64) -> Option<(f64, f64, f64)> {
        self.0.rate(seed).map(|rate| (rate.estimate, rate.low, rate.high))
    }
}

/// Unbiased estimates of posterior means from pairs that met: a row for each name.
#[pyfunction]
pub fn posterior_means<'py>(
    py: Python<'py>,
    names: Vec<String>,
    pairs: Vec<PyRef<Pair>>,
    window: &Window,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let met = pairs.iter().filter_map(|pair| Some((pair.0.estimate.clone()?, pair.0.cost)));
    let (estimates, costs): (Vec<_>, Vec<_>) = met.unzip();
    let rows = coupling::posterior_means(&names, &estimates, &costs, window.0);
    let row = |mean: coupling::PosteriorMean| {
        let row = PyDict::new(py);
        for (name, value) in [
            ("mean", mean.mean),
            ("se", mean.se),
            ("low", mean.low),
            ("high", mean.high),
            ("efficiency", mean.efficiency),
        ] {
            row.set_item(name, value)?;
        }
        Ok(row)
    };
    rows.into_iter().map(row).collect()
}
