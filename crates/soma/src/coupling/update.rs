//! Updates of theta in two chains at once.

use rand::RngExt;

use super::maximal::{Law, maximal};
use crate::error::Outcome;
use crate::model::Model;
use crate::rng::{self, Rng};

/// A model whose theta can be updated in two chains at once so that they can become equal.
pub trait CoupledUpdate: Model {
    /// Updates theta in both chains, each given its own records.
    ///
    /// Each chain alone must move by the law of [`Model::update`], and two chains with equal theta
    /// and records must stay equal.
    fn update_pair(&self, theta: [&mut [f64]; 2], records: [&[f64]; 2], rng: &mut Rng) -> Outcome;
}

/// Draws theta in two chains from their laws given the records, by a maximal coupling of all
/// coordinates together.
pub(crate) fn draw_pair<L: Law<Point = Vec<f64>>>(
    laws: [L; 2],
    [first, second]: [&mut [f64]; 2],
    rng: &mut Rng,
) -> Outcome {
    let (x, y, _) = maximal(&laws[0], &laws[1], rng)?;
    first.copy_from_slice(&x);
    second.copy_from_slice(&y);
    Ok(())
}

/// Updates theta in both chains of a pair.
///
/// A model without a coupling of its own is given the same random numbers in both chains. Where
/// its update is an exact draw, equal records then give equal thetas; where it is not, the two
/// may come near each other without ever being equal, and the pair is reported as unmet.
pub fn update_pair(
    model: &dyn Model,
    [first, second]: [&mut [f64]; 2],
    records: [&[f64]; 2],
    rng: &mut Rng,
) -> Outcome {
    if let Some(coupled) = model.coupled() {
        return coupled.update_pair([first, second], records, rng);
    }
    // A stream for this update alone: numbers that only one of the chains has used must not be
    // drawn again by both.
    let seed = rng.random();
    model.update(first, records[0], &mut rng::stream(seed, 0))?;
    model.update(second, records[1], &mut rng::stream(seed, 0))
}
