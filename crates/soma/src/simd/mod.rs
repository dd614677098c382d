//! Inner loops in vectors: four doubles or sixteen cells at a time, in the instructions of the
//! machine or in plain Rust, with the same results bit for bit.

pub(crate) mod cost;
pub(crate) mod prefetch;
pub(crate) mod prefix;
pub(crate) mod specialise;
pub(crate) mod vector;
