//! Models of the cells' probabilities.

mod beta;
mod dirichlet;
mod exponential;
mod intervals;
mod log_linear;
mod normal;
mod text;

pub use beta::BetaCells;
pub use dirichlet::DirichletCells;
pub use exponential::ExponentialCells;
pub use log_linear::LogLinear;
pub use normal::NormalCells;
pub use text::TextCells;
