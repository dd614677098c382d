//! Coupled updates of theta in two chains, as provided by a model.

use super::Model;
use crate::error::Outcome;
use crate::rng::Rng;

/// A model with a coupled update of theta, under which two chains can meet.
pub trait CoupledUpdate: Model {
    /// Updates theta in both chains, each given its own records.
    ///
    /// Marginally each chain must move as [`Model::update`] does, and two chains with equal theta
    /// and records must stay equal.
    fn update_pair(&self, theta: [&mut [f64]; 2], records: [&[f64]; 2], rng: &mut Rng) -> Outcome;
}
