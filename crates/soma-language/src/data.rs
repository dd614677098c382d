//! Constants, vectors and matrices that a text may use.

use std::collections::BTreeMap;

/// A value given beside a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// One number.
    Scalar(f64),
    /// A vector.
    Vector(Vec<f64>),
    /// A matrix with this many rows, row by row.
    Matrix(usize, Vec<f64>),
}

/// Values by name.
///
/// ```
/// let data = soma_language::Data::new().scalar("d", 2.0).vector("centre", vec![0.9, -1.17]);
/// assert!(data.get("d").is_some());
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Data(BTreeMap<String, Datum>);

impl Data {
    /// No data.
    pub fn new() -> Self {
        Data::default()
    }

    /// With the value `datum` under `name`.
    pub fn with(mut self, name: &str, datum: Datum) -> Self {
        self.0.insert(name.to_string(), datum);
        self
    }

    /// With one number.
    pub fn scalar(self, name: &str, value: f64) -> Self {
        self.with(name, Datum::Scalar(value))
    }

    /// With a vector.
    pub fn vector(self, name: &str, values: Vec<f64>) -> Self {
        self.with(name, Datum::Vector(values))
    }

    /// With a matrix of `rows` rows, row by row.
    pub fn matrix(self, name: &str, rows: usize, values: Vec<f64>) -> Self {
        self.with(name, Datum::Matrix(rows, values))
    }

    /// The value under `name`.
    pub fn get(&self, name: &str) -> Option<&Datum> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Datum)> {
        self.0.iter()
    }
}
