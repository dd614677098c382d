//! Models and statistics of a record, written as text.
//!
//! A text is parsed with spans, checked (names, shapes, supports), converted to a graph of scalar
//! operations and compiled to flat programs over columns of a batch of records, with derivatives.
//! The manual of the language is `docs/language.md`.

// `!(x > 0.0)` is also true for NaN, as intended.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

mod cells;
mod check;
mod data;
pub mod distribution;
mod error;
mod foreign;
pub mod graph;
mod model;
pub mod program;
pub mod special;
mod statistics;
mod syntax;

pub use cells::RecordCells;
pub use check::Shape;
pub use check::function::{FUNCTIONS, Function};
pub use data::{Data, Datum};
pub use error::{Mistake, Mistakes, Span};
pub use model::{Given, Model, Nanoseconds, Noise, OutOfSupport, Values};
pub use program::Workspace;
pub use statistics::{ClampedMoments, MomentTerm, Neighbours, Sensitivity, Statistics, TooTight};
