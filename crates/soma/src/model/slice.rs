//! Slice sampling along a line.

use rand::RngExt;
use rand_distr::Exp1;

use crate::error::Outcome;
use crate::rng::Rng;

/// One slice move along a line on which the present point is at 0: how far to go, and the log
/// density there. `log_density` is known up to a constant and is `current` at 0; `width` is about
/// the width of the bulk of the density, and affects the cost only.
///
/// Leaves the density invariant: the interval around 0 is stepped out from a random place until
/// both ends are below the level, and shrunk towards 0 by the points that are refused (Neal 2003,
/// sections 4.1 and 4.2).
pub(super) fn slice_move(
    current: f64,
    width: f64,
    log_density: impl Fn(f64) -> f64,
    rng: &mut Rng,
) -> Outcome<(f64, f64)> {
    if !current.is_finite() {
        return Err(format!("the log density of the parameters is {current}").into());
    }
    let drop: f64 = rng.sample(Exp1);
    let level = current - drop;
    let mut low = -width * rng.random::<f64>();
    let mut high = low + width;
    while log_density(low) > level {
        low -= width;
    }
    while log_density(high) > level {
        high += width;
    }
    loop {
        let step = low + (high - low) * rng.random::<f64>();
        let there = log_density(step);
        if there > level || step == 0.0 {
            return Ok((step, there));
        }
        if step < 0.0 {
            low = step;
        } else {
            high = step;
        }
    }
}
