//! Benchmarks of SOMA, separate from what users install.
//!
//! [`mod@bench`] times kernels and chains; [`paper`] reproduces every table and figure of the SOMA
//! paper. The program `soma-bench` runs both; `soma bench` and `soma paper` call it if it is beside
//! the program `soma`.

pub mod bench;
pub mod exit;
pub mod paper;
