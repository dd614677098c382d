//! Numerics that no crate provides in the form that the inner loops need: exp and log with known
//! error bounds, triangular factors, aligned and huge-page arrays, and the
//! workspace of compiled models.

pub(crate) mod accept;
pub(crate) mod aligned;
pub(crate) mod cholesky;
pub(crate) mod dense;
pub(crate) mod exp;
pub(crate) mod ln_gamma_shift;
pub(crate) mod log;
pub(crate) mod normal;
pub(crate) mod pages;
pub(crate) mod workspace;

/// The smaller of two numbers, neither of them NaN: one instruction.
#[inline(always)]
pub(crate) fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger of two numbers, neither of them NaN: one instruction.
#[inline(always)]
pub(crate) fn most(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
