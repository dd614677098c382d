//! Tests of the couplings: on a problem that can be enumerated, on frozen pairs of states, and of
//! how near the cheap couplings are to the maximal one.

mod enumerated;
mod frozen;
mod near;
