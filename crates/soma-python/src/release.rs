//! Releases.

use std::sync::Arc;

use pyo3::prelude::*;
use soma::error::Invalid;
use soma::release::{self, Aggregate, Part, PartLaw};

use crate::custom_query::CustomQuery;
use crate::errors::{invalid, unreadable};

/// A release.
#[pyclass(frozen, module = "soma._soma")]
#[derive(Debug)]
pub struct Release(pub release::Release);

#[pymethods]
impl Release {
    /// Reads the table `[release]` of a spec.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Release> {
        release::Release::parse(text).map(Release).map_err(unreadable)
    }

    /// Reads the table `[release]` of a spec without the query, which is a function.
    #[staticmethod]
    fn custom(
        text: &str,
        function: Py<PyAny>,
        record_dim: usize,
        bounds: Vec<(f64, f64)>,
        integer: bool,
    ) -> PyResult<Release> {
        let query = CustomQuery::new(function, record_dim, bounds, integer);
        let query = query.map_err(|error| invalid(error.under("release.query")))?;
        let release = release::Release::parse_for(text, Arc::new(query));
        release.map(Release).map_err(|mut error| {
            if !integer && error.invalid.field == "release.mechanism.kind" {
                let remedy = "; or integer=True in the query, if its statistics are whole numbers";
                error.invalid.allowed.push_str(remedy);
            }
            unreadable(error)
        })
    }

    /// A name for each released value.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.0.published_labels()
    }

    /// The released values, concatenated over parts; the threshold for a suppressed one.
    #[getter]
    fn values(&self) -> Vec<f64> {
        self.0.published_values()
    }

    /// The noise scale of each released value; NaN if it has no noise of its own.
    #[getter]
    fn scales(&self) -> Vec<f64> {
        let scales = |part: &Part| match part.law() {
            PartLaw::Independent(mechanism) => mechanism.scales().to_vec(),
            PartLaw::Joint(law) => vec![f64::NAN; law.published()],
        };
        self.0.published_parts().iter().flat_map(scales).collect()
    }

    /// The normalised log density of `values`, given the sums of the statistics.
    fn log_density(&self, values: Vec<f64>, sums: Vec<f64>) -> PyResult<f64> {
        let parts = self.0.published_parts();
        let published = parts.iter().map(|part| part.values().len()).sum();
        let statistics = parts.iter().map(|part| part.query().dim()).sum();
        as_many("values", &values, published)?;
        as_many("sums", &sums, statistics)?;
        let (mut values, mut sums) = (&values[..], &sums[..]);
        let density = |part: &Part| {
            let (own, others) = values.split_at(part.values().len());
            let (behind, rest) = sums.split_at(part.query().dim());
            (values, sums) = (others, rest);
            match part.law() {
                PartLaw::Joint(law) => law.log_density(own, behind),
                PartLaw::Independent(mechanism) => {
                    let unit = match part.aggregate() {
                        Aggregate::Sum => 1.0,
                        Aggregate::Mean => self.0.n() as f64,
                    };
                    let answers: Vec<f64> = behind.iter().map(|sum| sum / unit).collect();
                    mechanism.log_density(own, &answers)
                }
            }
        };
        Ok(parts.iter().map(density).sum())
    }
}

fn as_many(field: &str, given: &[f64], expected: usize) -> PyResult<()> {
    if given.len() == expected {
        return Ok(());
    }
    let allowed = format!("{expected} numbers");
    let given = format!("{} numbers", given.len());
    Err(invalid(Invalid::new(field, "their number does not fit the release", given, allowed)))
}
