//! Vectorised inner loops: four doubles or sixteen cells at a time, with intrinsics or in portable
//! Rust, with the same results bit for bit.

pub(crate) mod cost;
pub(crate) mod prefetch;
pub(crate) mod prefix;
pub(crate) mod specialise;
pub(crate) mod vector;
