//! Two chains that meet: how long a chain must run, and estimates without bias.
//!
//! Two chains are run side by side with shared randomness, each of them alone exactly the chain
//! that is to be judged, until they are equal; from then on they are one chain. How long they
//! take bounds the distance of the chain's law to the posterior at every iteration (Biswas, Jacob
//! and Vanetti 2019), and corrects an average of finite length so that its expectation is the
//! posterior mean itself (Jacob, O'Leary and Atchade 2020).

mod align;
mod by_bounds;
mod by_cells;
mod by_darts;
mod by_scan;
mod chains;
mod ensemble;
#[cfg(test)]
mod frozen;
pub(crate) mod independence;
mod index;
mod kernel;
mod laws;
mod maximal;
mod meetings;
mod metropolis;
#[cfg(test)]
mod near;
mod offers;
mod pair;
mod places;
mod run;
mod sharp;
mod single;
#[cfg(test)]
mod testing;
mod unbiased;
mod update;

pub use chains::CoupledChains;
pub use kernel::{Choice, CoupledKernel};
pub use laws::{DirichletLaw, StudentLaw};
pub use maximal::{Law, maximal};
pub use meetings::{Bound, Meetings, Rate};
pub use pair::Pair;
pub use run::{Functions, PILOT, PairRun, PairSettings, pilot, run_pair, run_pairs};
pub use single::SinglePair;
pub use unbiased::{Accumulator, Estimate, PosteriorMean, Window, posterior_means};
pub use update::CoupledUpdate;
pub(crate) use update::draw_pair;
