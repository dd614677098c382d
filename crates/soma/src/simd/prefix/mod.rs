//! Prefix sums of masses, from which an index is drawn with probability proportional to its mass.

pub(crate) mod float;
pub(crate) mod integer;
pub(crate) mod shifted;
