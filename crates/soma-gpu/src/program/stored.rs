//! How the device stores a coordinate of a record.

use soma::model::Recipe;

/// Shares near an end of \[0, 1\] have their logarithms in single precision only if these are what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// As it is.
    Plain,
    /// log x - log(1 - x).
    Logit,
    /// log x.
    Log,
}

/// Logarithms are within this, whatever the share.
const MOST: f64 = 1e4;

impl Stored {
    /// How the records of a model are stored.
    pub(super) fn of(recipe: &Recipe) -> Self {
        match recipe {
            Recipe::Beta { .. } => Stored::Logit,
            Recipe::Dirichlet { .. } => Stored::Log,
            _ => Stored::Plain,
        }
    }

    /// The stored form of x.
    pub(super) fn store(self, x: f64) -> f64 {
        match self {
            Stored::Plain => x,
            Stored::Logit => (x / (1.0 - x)).ln().clamp(-MOST, MOST),
            Stored::Log => x.ln().max(-MOST),
        }
    }

    /// The inverse of [`store`](Stored::store).
    pub(super) fn show(self, x: f64) -> f64 {
        match self {
            Stored::Plain => x,
            Stored::Logit => 1.0 / (1.0 + (-x).exp()),
            Stored::Log => x.exp(),
        }
    }

    /// The function of the text that is the inverse, if there is one.
    pub(super) fn function(self) -> Option<&'static str> {
        match self {
            Stored::Plain => None,
            Stored::Logit => Some("logistic"),
            Stored::Log => Some("expf"),
        }
    }
}
