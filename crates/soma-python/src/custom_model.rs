//! A model written in Python, on arrays.

use std::sync::atomic::{AtomicU64, Ordering};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rand::RngExt;
use soma::model::{Carry, Model, Price};
use soma::release::Release;
use soma::rng::{self, Rng};
use soma::{Invalid, Outcome};

use crate::arrays;

/// Records per call: enough that a sweep takes a few calls for any n, and few enough that the
/// memory of a batch is small compared with that of the records.
pub const BATCH: usize = 1 << 20;

/// A subclass of `soma.Model`, as a model of the library.
///
/// Each method that needs randomness gets a NumPy generator, seeded from the chain's own stream, so
/// the draws are determined by the seed, and a stored chain can be resumed.
#[derive(Debug)]
pub struct CustomModel {
    object: Py<PyAny>,
    class: String,
    parameters: Vec<String>,
    record_dim: usize,
    methods: Vec<String>,
    /// How often records were moved to another theta, and how often the result was usable.
    carried: AtomicU64,
    usable: AtomicU64,
}

/// The number of records used to test `transport`.
const TRIED: usize = 8;

/// The tolerance for records transported to their own theta, relative to their size.
const ROUNDING: f64 = 1e-3;

impl CustomModel {
    /// `methods` lists the optional methods that the class has.
    pub fn new(
        object: Py<PyAny>,
        class: String,
        parameters: Vec<String>,
        record_dim: usize,
        methods: Vec<String>,
    ) -> Self {
        let (carried, usable) = (AtomicU64::new(0), AtomicU64::new(0));
        CustomModel { object, class, parameters, record_dim, methods, carried, usable }
    }

    /// Tests `transport` and `log_prior`, if the model has them: at an initial theta of the model
    /// the prior density must not be 0, and records transported to their own theta must be
    /// unchanged.
    pub fn check(&self) -> Outcome {
        if self.carry().is_none() {
            return Ok(());
        }
        let mut rng = rng::stream(0, 0);
        let mut theta = vec![0.0; self.parameters.len()];
        Python::attach(|py| self.theta("initial", (generator(py, &mut rng)?,), &mut theta, py))?;
        let density = self.log_prior(&theta)?;
        if !density.is_finite() {
            return Err(Box::new(Invalid::new(
                self.source("log_prior"),
                "the prior density is 0 where a chain may start",
                format!("{density} at theta = {theta:?}"),
                "a finite log density at each theta that initial or sample_prior returns",
            )));
        }
        let mut records = vec![0.0; TRIED * self.record_dim];
        self.propose(&theta, &mut records, &mut rng)?;
        let mut same = records.clone();
        self.carry_records(&theta, &theta, &records, &mut same)?;
        let size = records.iter().map(|x| x.abs()).sum::<f64>() / records.len() as f64;
        let moved = |(x, y): (&f64, &f64)| (x - y).abs() > ROUNDING * (x.abs() + size);
        // NaN compares neither near nor far.
        let wrong = records.iter().zip(&same).position(|pair| moved(pair) || !pair.1.is_finite());
        match wrong {
            None => Ok(()),
            Some(place) => Err(Box::new(Invalid::new(
                self.source("transport"),
                "does not return the records as they are where new_theta is theta",
                format!("{} for a record of {} at theta = {theta:?}", same[place], records[place]),
                "the same records, since the same noise at the same theta makes them",
            ))),
        }
    }

    /// Whether records were transported to other parameters, and the result was never usable.
    pub fn carries_in_vain(&self) -> bool {
        self.carried.load(Ordering::Relaxed) > 0 && self.usable.load(Ordering::Relaxed) == 0
    }

    fn has(&self, method: &str) -> bool {
        self.methods.iter().any(|name| name == method)
    }

    fn require(&self, method: &str, purpose: &str) -> Result<(), Invalid> {
        if self.has(method) {
            return Ok(());
        }
        Err(Invalid::new(
            format!("model.{method}"),
            format!("{purpose} needs a method that the model does not have"),
            format!("{} without {method}", self.class),
            format!("a model with the method {method}"),
        ))
    }

    fn source(&self, method: &str) -> String {
        format!("{}.{method}", self.class)
    }

    /// Calls a method that returns theta.
    fn theta<'py>(
        &self,
        method: &str,
        arguments: impl PyCallArgs<'py>,
        theta: &mut [f64],
        py: Python<'py>,
    ) -> PyResult<()> {
        let value = self.object.bind(py).call_method1(method, arguments)?;
        arrays::fill_theta(&self.source(method), &value, theta)
    }

    /// Calls a method that returns a log density.
    fn log<'py>(
        &self,
        method: &str,
        arguments: impl PyCallArgs<'py>,
        py: Python<'py>,
    ) -> PyResult<f64> {
        let value = self.object.bind(py).call_method1(method, arguments)?;
        arrays::log_density(&self.source(method), &value)
    }

    fn rows<'py>(&self, py: Python<'py>, records: &[f64]) -> PyResult<Bound<'py, PyAny>> {
        let rows = records.len() / self.record_dim;
        Ok(PyArray1::from_slice(py, records).reshape([rows, self.record_dim])?.into_any())
    }
}

/// A NumPy generator whose seed is drawn from `rng`.
fn generator<'py>(py: Python<'py>, rng: &mut Rng) -> PyResult<Bound<'py, PyAny>> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    MAKE.import(py, "numpy.random", "default_rng")?.call1((rng.random::<u128>(),))
}

impl Model for CustomModel {
    fn kind(&self) -> &'static str {
        "custom"
    }

    fn record_dim(&self) -> usize {
        self.record_dim
    }

    fn parameters(&self) -> Vec<String> {
        self.parameters.clone()
    }

    /// Without a prior sampler, draws an initial theta, from which theta updates get their first
    /// scale. Code that needs the prior itself checks for the method first.
    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        let method = if self.has("sample_prior") { "sample_prior" } else { "initial" };
        Python::attach(|py| self.theta(method, (generator(py, rng)?,), theta, py))?;
        Ok(())
    }

    fn start(&self, _: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        Python::attach(|py| self.theta("initial", (generator(py, rng)?,), theta, py))?;
        Ok(())
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        self.require("log_prior", "a move of theta")?;
        Ok(Python::attach(|py| self.log("log_prior", (PyArray1::from_slice(py, theta),), py))?)
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        let rows = records.len() / self.record_dim;
        Python::attach(|py| {
            let arguments = (PyArray1::from_slice(py, theta), rows, generator(py, rng)?);
            let value = self.object.bind(py).call_method1("propose", arguments)?;
            arrays::fill(&self.source("propose"), &value, self.record_dim, records)
        })?;
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        self.require("log_density", "a coupling")?;
        Ok(Python::attach(|py| {
            let arguments = (PyArray1::from_slice(py, theta), self.rows(py, record)?);
            self.log("log_density", arguments, py)
        })?)
    }

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        Python::attach(|py| {
            let old = PyArray1::from_slice(py, theta);
            let arguments = (old, self.rows(py, records)?, generator(py, rng)?);
            self.theta("update", arguments, theta, py)
        })?;
        Ok(())
    }

    fn batch_size(&self) -> usize {
        BATCH
    }

    /// A call into Python takes about twenty microseconds, for any number of records.
    fn price(&self, n: usize) -> Price {
        Price::by_call(2000.0, 2.0, n)
    }

    fn carry(&self) -> Option<&dyn Carry> {
        (self.has("transport") && self.has("log_prior")).then_some(self)
    }
}

impl Carry for CustomModel {
    fn carry_records(
        &self,
        theta: &[f64],
        new_theta: &[f64],
        records: &[f64],
        carried: &mut [f64],
    ) -> Outcome {
        Python::attach(|py| {
            let old = PyArray1::from_slice(py, theta);
            let new = PyArray1::from_slice(py, new_theta);
            let arguments = (self.rows(py, records)?, old, new);
            let value = self.object.bind(py).call_method1("transport", arguments)?;
            arrays::fill_any(&self.source("transport"), &value, self.record_dim, carried)
        })?;
        if theta != new_theta {
            self.carried.fetch_add(1, Ordering::Relaxed);
            let usable = carried.iter().all(|value| value.is_finite());
            self.usable.fetch_add(usable.into(), Ordering::Relaxed);
        }
        Ok(())
    }
}
