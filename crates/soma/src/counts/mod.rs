//! Counts without records: the posterior of the true counts of a table.
//!
//! If a release depends on a record only through which of B cells it is in, the counts of the cells
//! are sufficient. The state of a [`CountChain`] is these counts, and theta if the cells'
//! probabilities have a model; its target is
//!
//! prior(theta) x Multinomial(c | n, p(theta)) x density of the published numbers given A c,
//!
//! with A the matrix of the published numbers (cells, margins, totals), each with its own noise,
//! and n public or unknown with a prior. The cost of an iteration grows with the cells and the
//! published numbers, and not with n. `docs/counts.md` has the mathematics and the figures.

mod block;
mod chain;
mod check;
mod directions;
mod exact;
mod follow;
mod groups;
mod line;
pub mod models;
mod noisy;
mod null_vector;
mod of_release;
mod partition;
mod pooled;
mod problem;
mod published;
mod ranges;
mod redraw;
mod replicate;
mod reports;
mod reroute;
mod shared;
mod shares;
mod simulate;
mod size;
mod split;
mod start;
mod state;
mod sweep;
mod table;
mod theta;
mod tuning;

#[cfg(test)]
mod tests;

pub use crate::release::{SizePrior, Total};
pub use chain::{CountChain, CountMoves, CountSnapshot, MoveCounts};
pub use partition::Partition;
pub use pooled::{PooledChain, PooledProblem};
pub use problem::CountProblem;
pub use published::{CountLaw, Likelihood, Published};
pub use shared::SharedPrior;
pub use shares::{CellModel, Shares};
pub use simulate::Truth;
pub(crate) use simulate::{draw_size, no_draws};
pub use table::{Margin, Table};
