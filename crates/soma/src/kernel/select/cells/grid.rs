//! The integer grid of quantised statistics.

use crate::numeric::{least, most};
use crate::simd::cost::Cost;
use crate::simd::vector::Vector;

/// The last point of the grid.
pub(crate) const LAST: u16 = u16::MAX;

/// The grid point at or below a value, less than one step from it. Values off the grid are clamped
/// to its edge, which only reduces distances.
#[inline(always)]
pub(crate) fn below<S: Cost>(value: f64, origin: f64) -> u16 {
    let at = (value - origin) * (1.0 / S::STEP);
    least(most(at, 0.0), 65_534.0) as u16
}

/// The same for four values.
#[inline(always)]
pub(crate) fn put_on_grid<S: Cost, V: Vector>(value: V::Four, origin: V::Four, to: &mut [u16]) {
    let steps = V::mul(V::sub(value, origin), V::load(&[1.0 / S::STEP; 4]));
    let at = V::max(steps, V::load(&[0.0; 4]));
    V::whole(to, V::min(at, V::load(&[65_534.0; 4])));
}
