//! The curator's side, all but the noise, which Python's OpenDP adds.

use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyFileExistsError, PyOSError, PyValueError};
use pyo3::prelude::*;
use soma_cli::release::data::{Cell, Data};
use soma_cli::release::last::{Unpublished, count_and_publish};
use soma_cli::release::ledger::{self, Terms};
use soma_cli::release::prepare::{self, Refused};
use soma_cli::release::publish::{Guarantee, Total};
use soma_cli::release::{out, spent};

/// A cell of a frame.
#[derive(FromPyObject)]
enum Given {
    Number(f64),
    Text(String),
}

/// How a user asks for a second release.
const AGAIN: &str = "again=True";

/// Refuses a file that must not be written over.
#[pyfunction]
pub fn check_published(path: PathBuf, inputs: Vec<PathBuf>, again: bool) -> PyResult<()> {
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    out::check(&path, &inputs, again, AGAIN).map_err(PyFileExistsError::new_err)
}

/// A release that lacks its noise.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Preparation(prepare::Preparation);

/// Of a part: its name, its noise and scale, the width of its lattice, the sensitivity, and the exact
/// answers, which are confidential.
type Part = (String, &'static str, f64, Option<f64>, f64, Vec<f64>);

#[pymethods]
impl Preparation {
    /// Evaluates the text of a spec on columns by name, in which None is a missing value.
    #[new]
    fn new(text: &str, columns: Vec<(String, Vec<Option<Given>>)>) -> PyResult<Preparation> {
        let cell = |given: Option<Given>| match given {
            Some(Given::Number(x)) if x.is_finite() => Cell::Number(x),
            Some(Given::Text(text)) => Cell::of_text(&text),
            _ => Cell::Missing,
        };
        let (names, columns) = columns
            .into_iter()
            .map(|(name, column)| (name, column.into_iter().map(cell).collect::<Vec<Cell>>()))
            .unzip();
        let data = Data::new(names, columns).map_err(PyValueError::new_err)?;
        let made = prepare::prepare(text, &data, false);
        made.map(Preparation).map_err(|refused| {
            PyValueError::new_err(match refused {
                Refused::Spec(error, _) => error.to_string(),
                Refused::Input(message) => message,
            })
        })
    }

    /// The parts.
    fn parts(&self) -> Vec<Part> {
        let part = |part: &prepare::Prepared| {
            let (name, noise) = (part.name.clone(), part.noise.name());
            let answers = part.answers.clone();
            (name, noise, part.scale, part.granularity, part.sensitivity, answers)
        };
        self.0.parts.iter().map(part).collect()
    }

    /// The variables of a record, where the model names them, and the column of each.
    fn places(&self) -> Vec<(Option<String>, Option<String>)> {
        let places = self.0.places.iter();
        places.map(|place| (place.variable.clone(), place.column.clone())).collect()
    }

    /// Refuses a second release of these data, unless it is asked for.
    fn check_first(&self, path: PathBuf, again: bool) -> PyResult<()> {
        let before = ledger::before(&path, &self.0.digest).map_err(PyValueError::new_err)?;
        spent::check_first(&before, again, AGAIN).map_err(PyValueError::new_err)
    }

    /// Counts the release in a ledger and writes its text to a file, where there are such; says what was
    /// spent before.
    fn finish(
        &self,
        text: &str,
        out: Option<PathBuf>,
        ledger: Option<PathBuf>,
        again: bool,
        epsilon: f64,
        rho: f64,
    ) -> PyResult<Option<String>> {
        let entry = self.0.entry(out.as_deref().unwrap_or(Path::new("")), Total { epsilon, rho });
        let terms = Terms { again, option: AGAIN, budget: self.0.budget };
        let done = count_and_publish(text, &entry, out.as_deref(), ledger.as_deref(), terms);
        match done {
            Ok(before) => Ok(spent::warning(&before, &entry)),
            Err(Unpublished::Refused(message)) => Err(PyValueError::new_err(message)),
            Err(Unpublished::Unwritten(message)) => Err(PyOSError::new_err(message)),
        }
    }

    /// Which data sets are neighbours.
    #[getter]
    fn neighbours(&self) -> &'static str {
        self.0.neighbours.name()
    }

    /// The text to publish and the total of epsilon and of rho, from the noisy answers of each part
    /// with their guarantee, named `epsilon` or `rho`.
    fn publish(&self, noisy: Vec<(Vec<f64>, String, f64)>) -> PyResult<(String, f64, f64)> {
        let guaranteed = |(values, name, amount): (Vec<f64>, String, f64)| match name.as_str() {
            "epsilon" => (values, Guarantee::Epsilon(amount)),
            _ => (values, Guarantee::Rho(amount)),
        };
        let made = self.0.publish(noisy.into_iter().map(guaranteed).collect());
        let (text, total) = made.map_err(PyValueError::new_err)?;
        Ok((text, total.epsilon, total.rho))
    }
}
