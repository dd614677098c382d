//! What theta updates learn in warm-up, and which of them a chain keeps.

pub(in crate::chain) mod moments;
pub(in crate::chain) mod pilot;
pub(in crate::chain) mod prices;
pub(in crate::chain) mod schedule;
