//! Coupled chains: bounds on the distance to the posterior, and unbiased estimates.
//!
//! Two chains share their randomness until they are equal, and stay equal. Marginally each is the
//! chain under study. The meeting times bound the total variation distance to the posterior at
//! every iteration (Biswas, Jacob and Vanetti 2019). They also give corrections that make an
//! average of finite length unbiased for the posterior mean (Jacob, O'Leary and Atchade 2020).

mod align;
mod chains;
mod kernel;
mod meetings;
mod pair;
mod proposals;
mod run;
mod select;
mod single;
#[cfg(test)]
mod tests;
mod unbiased;
mod update;

pub use crate::distribution::{DirichletLaw, Law, StudentLaw, maximal};
pub use crate::model::CoupledUpdate;
pub use chains::CoupledChains;
pub use kernel::{Choice, CoupledKernel};
pub use meetings::{Bound, Meetings, Rate};
pub use pair::Pair;
pub use run::{Functions, PILOT, PairRun, PairSettings, pilot, run_pair, run_pairs};
pub use single::SinglePair;
pub use unbiased::{Accumulator, Estimate, PosteriorMean, Window, posterior_means};
