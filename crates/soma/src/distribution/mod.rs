//! Distributions that can be drawn from and whose density is known, and maximal couplings of them:
//! what models and coupled chains share.

pub(crate) mod independence;
mod laws;
mod maximal;

pub use laws::{DirichletLaw, StudentLaw};
pub(crate) use maximal::draw_pair;
pub use maximal::{Law, maximal};
