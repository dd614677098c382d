//! Distributions that can be sampled and whose density is known, and their maximal couplings:
//! shared by models and coupled chains.

pub(crate) mod independence;
mod laws;
mod maximal;
mod truncated;

pub use laws::{DirichletLaw, StudentLaw};
pub(crate) use maximal::draw_pair;
pub use maximal::{Law, maximal};
pub(crate) use truncated::{normal_above, normal_between};
