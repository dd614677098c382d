//! Bayesian inference from differentially private releases.
//!
//! A [`Release`](release::Release) is what was published: a query, the noise mechanism, the number
//! of records and the noisy values. A [`Model`](model::Model) is the distribution of a record given
//! parameters theta, and the prior of theta. A chain imputes the confidential records with a
//! [kernel] and updates theta; its draws are from the posterior of theta, which accounts for the
//! privacy noise.
//!
//! The library is pure: it prints nothing, reads no file and no clock, and all randomness is passed
//! in.

pub mod calibration;
pub mod chain;
pub mod counts;
pub mod coupling;
pub mod diagnostics;
pub mod distribution;
pub mod error;
pub mod grouped;
pub mod interrupt;
pub mod kernel;
pub mod model;
mod numeric;
pub mod plan;
pub mod plug_in;
pub mod predictive;
pub mod records;
pub mod release;
pub mod rng;
pub mod sensitivity;
mod simd;
pub mod spec;
mod stored;
pub mod theory;
mod threads;

pub use error::{Failure, Invalid, Mistake, Outcome};

/// The Rust examples of the book, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/own-model.md")]
struct Book;
