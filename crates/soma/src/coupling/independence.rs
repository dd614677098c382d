//! The coupled update of models whose theta has a density given the records, but no law that can
//! be drawn from.

use nalgebra::DVector;
use rand::RngExt;

use super::laws::StudentLaw;
use super::maximal::{Law, maximal};
use crate::error::Outcome;
use crate::rng::Rng;

/// A density with an approximation that does not depend on the present point.
pub(crate) trait Approximated {
    /// The log density at a point, up to a constant.
    fn log_density(&self, point: &DVector<f64>) -> f64;

    /// The approximation, with heavier tails than the density.
    fn approximation(&self) -> Outcome<StudentLaw>;
}

/// Independent Metropolis steps in an update: with nine of ten accepted, two chains whose
/// approximations are equal miss each other once in thousands of updates.
const STEPS: usize = 4;

/// Degrees of freedom of the proposals: tails heavy enough that no region is hard to leave.
pub(crate) const DEGREES: f64 = 5.0;

/// Moves a point by independent Metropolis steps with proposals q from the approximation, taken
/// with probability min(1, pi(y) q(x) / (pi(x) q(y))). The density pi is left invariant.
pub(crate) fn update_one(
    target: &impl Approximated,
    point: &mut DVector<f64>,
    rng: &mut Rng,
) -> Outcome {
    let law = target.approximation()?;
    let mut current = target.log_density(point) - law.log_density(point);
    for _ in 0..STEPS {
        let offer = law.sample(rng)?;
        let offered = target.log_density(&offer) - law.log_density(&offer);
        if rng.random::<f64>().ln() < offered - current {
            (*point, current) = (offer, offered);
        }
    }
    Ok(())
}

/// The same in two chains: a maximal coupling of the proposals, and a common uniform. Once both
/// take the same proposal they differ only where their densities do.
pub(crate) fn update_pair<T: Approximated>(
    targets: [&T; 2],
    points: [&mut DVector<f64>; 2],
    rng: &mut Rng,
) -> Outcome {
    let laws = [targets[0].approximation()?, targets[1].approximation()?];
    let gain =
        |side: usize, x: &DVector<f64>| targets[side].log_density(x) - laws[side].log_density(x);
    let mut currents = [gain(0, points[0]), gain(1, points[1])];
    for _ in 0..STEPS {
        let (x, y, _) = maximal(&laws[0], &laws[1], rng)?;
        let u = rng.random::<f64>().ln();
        for (side, offer) in [x, y].into_iter().enumerate() {
            let offered = gain(side, &offer);
            if u < offered - currents[side] {
                (*points[side], currents[side]) = (offer, offered);
            }
        }
    }
    Ok(())
}
