//! A query whose statistic is a function written in Python.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use soma::error::interval;
use soma::release::query::{Query, Sensitivity, box_sensitivity};
use soma::{Invalid, Outcome};

use crate::arrays;
use crate::custom_model::BATCH;

/// The statistics of many records at a time, by a function from a (size, d) array to a (size, k)
/// array.
#[derive(Debug)]
pub struct CustomQuery {
    function: Py<PyAny>,
    record_dim: usize,
    bounds: Vec<(f64, f64)>,
    integer: bool,
}

impl CustomQuery {
    pub fn new(
        function: Py<PyAny>,
        record_dim: usize,
        bounds: Vec<(f64, f64)>,
        integer: bool,
    ) -> Result<Self, Invalid> {
        if bounds.is_empty() {
            let allowed = "(low, high) for each coordinate of the statistic";
            return Err(Invalid::new("bounds", "there is no statistic", "[]", allowed));
        }
        for (k, &range) in bounds.iter().enumerate() {
            interval(&format!("bounds[{k}]"), range)?;
        }
        if record_dim < 1 {
            let allowed = "a whole number from 1 up";
            return Err(Invalid::new("record_dim", "must be positive", record_dim, allowed));
        }
        Ok(CustomQuery { function, record_dim, bounds, integer })
    }

    fn check(&self, statistics: &[f64]) -> Result<(), Invalid> {
        for row in statistics.chunks_exact(self.bounds.len()) {
            for (k, (value, (low, high))) in row.iter().zip(&self.bounds).enumerate() {
                let slack = 1e-9 * (high - low);
                if !(low - slack..=high + slack).contains(value) {
                    return Err(Invalid::new(
                        "query.function",
                        format!("returned a statistic outside its bounds, in column {k}"),
                        value,
                        format!("from {low} to {high}; clamp it, or give wider bounds"),
                    ));
                }
                if self.integer && value.fract() != 0.0 {
                    return Err(Invalid::new(
                        "query.function",
                        format!("returned a statistic that is not whole, in column {k}"),
                        value,
                        "whole numbers, since integer=True",
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Query for CustomQuery {
    fn kind(&self) -> &'static str {
        "custom"
    }

    fn record_dim(&self) -> usize {
        self.record_dim
    }

    fn dim(&self) -> usize {
        self.bounds.len()
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        Python::attach(|py| {
            let rows = records.len() / self.record_dim;
            let array = PyArray1::from_slice(py, records).reshape([rows, self.record_dim])?;
            let value = self.function.bind(py).call1((array,))?;
            arrays::fill("query.function", &value, self.bounds.len(), out)
        })?;
        Ok(self.check(out)?)
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        self.bounds.clone()
    }

    fn sensitivity(&self) -> Sensitivity {
        box_sensitivity(&self.bounds)
    }

    fn labels(&self) -> Vec<String> {
        (1..=self.bounds.len()).map(|k| format!("t{k}")).collect()
    }

    fn is_integer(&self) -> bool {
        self.integer
    }

    fn batch_size(&self) -> usize {
        BATCH
    }
}
