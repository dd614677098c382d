//! Convergence diagnostics.
//!
//! They are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding,
//! and localization: an improved R-hat" (Bayesian Analysis 2021). They take the chains of one
//! parameter, and agree with ArviZ.
//!
//! Chains are truncated to the length of the shortest. A diagnostic is NaN if it is undefined: a
//! draw is NaN, a chain has fewer than [`MIN_DRAWS`] draws, there is no chain (for [`rhat`], fewer
//! than two), or all draws are equal, so that there is no variance to compare (ArviZ then counts
//! all draws as effective). NaN never means that the draws are good.

mod advice;
mod autocovariance;
mod chains;
mod column;
mod ess;
mod figures;
mod mcse;
mod quantile;
mod rank;
mod reason;
mod rhat;
mod settled;
mod summary;
mod verdict;

pub use advice::Advice;
pub use chains::MIN_DRAWS;
pub use column::Column;
pub use ess::{ess_bulk, ess_mean, ess_quantile, ess_tail};
pub use figures::{Crossing, RunFigures};
pub use mcse::{mcse_mean, mcse_quantile};
pub use quantile::quantile;
pub use reason::Reason;
pub use rhat::rhat;
pub use settled::Settled;
pub use summary::Summary;
pub use verdict::{APART, ESS_PER_CHAIN, MIN_ACCEPTANCE, MIN_CHANGES, MIN_SWAPS, RHAT, Verdict};
