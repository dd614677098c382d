//! Tests of the couplings: on a problem that can be enumerated, on fixed pairs of states, and of
//! the distance between the cheap couplings and the maximal one.

mod enumerated;
mod frozen;
mod near;
