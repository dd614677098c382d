//! Coordinates in which theta and all records move together: theta, the Bartlett factors of the
//! records' standard normal noise, and the standardised noise.

pub(in crate::chain) mod affine;
pub(in crate::chain) mod bartlett;
mod built;
pub(in crate::chain) mod held;
mod jumps;
pub(in crate::chain) mod local;
pub(in crate::chain) mod passes;
mod prior;
pub(in crate::chain) mod standardised;
pub(in crate::chain) mod sums;
pub(in crate::chain) mod surrogate;
pub(in crate::chain) mod synthetic;
