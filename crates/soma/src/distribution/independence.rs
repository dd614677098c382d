//! Coupled independent Metropolis updates, for models whose theta has a density given the records
//! but cannot be sampled directly.

use nalgebra::DVector;
use rand::RngExt;

use super::laws::StudentLaw;
use super::maximal::{Law, maximal};
use crate::error::Outcome;
use crate::numeric::accept::{accepts, is_accepted};
use crate::rng::Rng;

/// An unnormalised density.
pub(crate) trait Target {
    /// The log density at a point, up to a constant.
    fn log_density(&self, point: &DVector<f64>) -> f64;
}

/// Independent Metropolis steps per update: at an acceptance rate of nine in ten, two chains with
/// the same proposals fail to meet once in thousands of updates.
const STEPS: usize = 4;

/// Degrees of freedom of the proposals: the tails are heavy enough that no region is hard to leave.
pub(crate) const DEGREES: f64 = 5.0;

/// Independent Metropolis steps with proposals from `law`, of density q: y is accepted with
/// probability min(1, pi(y) q(x) / (pi(x) q(y))), which leaves the density pi of `target`
/// invariant.
pub(crate) fn update_one(
    target: &impl Target,
    law: &StudentLaw,
    point: &mut DVector<f64>,
    rng: &mut Rng,
) -> Outcome {
    let gain = |x: &DVector<f64>| target.log_density(x) - law.log_density(x);
    let mut current = gain(point);
    for _ in 0..STEPS {
        let proposal = law.sample(rng)?;
        let proposed = gain(&proposal);
        if accepts(proposed - current, rng) {
            (*point, current) = (proposal, proposed);
        }
    }
    Ok(())
}

/// The same in two chains: a maximal coupling of the proposals, and a common uniform.
pub(crate) fn update_pair<T: Target>(
    targets: [&T; 2],
    laws: &[StudentLaw; 2],
    points: [&mut DVector<f64>; 2],
    rng: &mut Rng,
) -> Outcome {
    let gain =
        |side: usize, x: &DVector<f64>| targets[side].log_density(x) - laws[side].log_density(x);
    let mut currents = [gain(0, points[0]), gain(1, points[1])];
    for _ in 0..STEPS {
        let (x, y, _) = maximal(&laws[0], &laws[1], rng)?;
        let u = rng.random::<f64>().ln();
        for (side, proposal) in [x, y].into_iter().enumerate() {
            let proposed = gain(side, &proposal);
            if is_accepted(u, proposed - currents[side]) {
                (*points[side], currents[side]) = (proposal, proposed);
            }
        }
    }
    Ok(())
}
