//! Two chains that meet: how long a chain must run, and estimates without bias.
//!
//! Two chains are run side by side with shared randomness, each of them alone exactly the chain
//! that is to be judged, until they are equal; from then on they are one chain. How long they
//! take bounds the distance of the chain's law to the posterior at every iteration (Biswas, Jacob
//! and Vanetti 2019), and corrects an average of finite length so that its expectation is the
//! posterior mean itself (Jacob, O'Leary and Atchade 2020).

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
