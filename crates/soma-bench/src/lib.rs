//! What measures SOMA, apart from what users install.
//!
//! [`mod@bench`] times kernels and chains; [`paper`] computes every table and figure of the SOMA paper
//! again. The program `soma-bench` runs both, as `soma bench` and `soma paper` do where it stands
//! beside the program `soma`.

pub mod bench;
pub mod exit;
pub mod paper;
