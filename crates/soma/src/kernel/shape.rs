//! The fall of the noise's log density with the distance, as a type, so that a kernel's loop is
//! compiled once for each.

/// Minus the log density of one coordinate, up to a constant, in units of the noise scale.
/// Even, and increasing in the distance.
pub trait Falloff: Copy + 'static {
    /// The cost of a residual.
    fn cost(residual: f64) -> f64;
}

/// Laplace, continuous or discrete.
#[derive(Clone, Copy)]
pub struct Absolute;

/// Gaussian, continuous or discrete.
#[derive(Clone, Copy)]
pub struct Square;

impl Falloff for Absolute {
    #[inline(always)]
    fn cost(residual: f64) -> f64 {
        residual.abs()
    }
}

impl Falloff for Square {
    #[inline(always)]
    fn cost(residual: f64) -> f64 {
        0.5 * residual * residual
    }
}

/// The log weight of the residual as it stands: log w_0, up to the same constant as
/// [`log_weight`].
#[inline(always)]
pub fn log_density<S: Falloff>(residual: &[f64]) -> f64 {
    -residual.iter().map(|&r| S::cost(r)).sum::<f64>()
}

/// The log weight of replacing a record with statistic `old` by one with statistic `new`.
#[inline(always)]
pub fn log_weight<S: Falloff>(residual: &[f64], old: &[f64], new: &[f64]) -> f64 {
    let mut cost = 0.0;
    for ((r, o), y) in residual.iter().zip(old).zip(new) {
        cost += S::cost(r + o - y);
    }
    -cost
}
