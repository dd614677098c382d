//! Updates of theta in two chains at once, as a model proposals them.

use super::Model;
use crate::error::Outcome;
use crate::rng::Rng;

/// A model whose theta can be updated in two chains at once so that they can become equal.
pub trait CoupledUpdate: Model {
    /// Updates theta in both chains, each given its own records.
    ///
    /// Each chain alone must move by the law of [`Model::update`], and two chains with equal theta
    /// and records must stay equal.
    fn update_pair(&self, theta: [&mut [f64]; 2], records: [&[f64]; 2], rng: &mut Rng) -> Outcome;
}
