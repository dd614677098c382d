//! Imputation of the records given theta and the release.
//!
//! A kernel moves the records x at fixed theta and leaves
//!
//! pi(x) = prod_i f(x_i | theta) * eta(s_dp | S(x))
//!
//! invariant. One move draws a proposal y from f, to replace one record. The weight w_i is eta with
//! y in the place of record i, and w_0 is the current eta.
//!
//! A new kernel is a file here and a row of the table below.

mod counts;
mod exchangeable;
mod imwg;
pub(crate) mod select;
mod single_moves;
pub(crate) mod soma;
mod soma_blocks;
mod soma_scan;
mod soma_subset;
mod table;

use serde::{Deserialize, Serialize};

pub use self::counts::Counts;
use self::counts::SweepCost;
pub use self::exchangeable::{Target, TargetChain};
pub use self::imwg::{RanImwg, SysImwg};
pub use self::select::Strategy;
pub use self::single_moves::{SingleKernel, SingleMoves};
pub use self::soma::Soma;
pub use self::soma_blocks::SomaBlocks;
pub use self::soma_scan::SomaScan;
pub use self::soma_subset::{SomaSubset, Subset};
pub(crate) use self::table::RecordSizes;
use self::table::{Context, RecordKernel, kernels};
pub use self::table::{Coupling, KernelOptions};
use crate::error::{Invalid, Outcome};
pub use crate::records::{Batch, ModelProposals, Proposals, Records};
use crate::release::{Potential, Release};
use crate::rng::Rng;
use crate::stored::Check;

kernels! {
    reference {
        /// SOMA by a scan of all weights: the reference.
        SomaScan => SomaScan
    }
    /// SOMA on all records, at a cost that does not grow with n.
    Soma => Soma,
    /// SOMA on `size` records at a time.
    SomaSubset {
        /// The number of records whose weights a move computes.
        size: usize,
        /// How the subset is chosen.
        subset: Subset,
    } => SomaSubset,
    /// SOMA on consecutive blocks of records.
    SomaBlocks {
        /// The number of records of a block; `None` for the default.
        size: Option<usize>,
    } => SomaBlocks,
    /// Independent Metropolis by random scan.
    RanImwg => RanImwg,
    /// Independent Metropolis by systematic scan.
    SysImwg => SysImwg,
}

impl KernelChoice {
    /// This kernel, or SOMA for `auto` if there is no warm-up to choose in.
    pub fn settled(self) -> Self {
        if self == KernelChoice::Auto { KernelChoice::Soma } else { self }
    }

    /// Whether the kernel supports `n` records.
    pub fn check(self, n: usize) -> Result<(), Invalid> {
        if self == KernelChoice::Counts {
            return Ok(());
        }
        self.build(n).map(|_| ())
    }
}

impl Kernel {
    /// n moves.
    pub fn sweep(
        &mut self,
        records: &mut Records,
        proposals: &mut dyn Proposals,
        potential: &Potential,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        records.refresh();
        self.dispatch(Context { records, proposals, potential, rng })
    }

    /// The cost of a sweep with these `counts`, in passes over one record; counted and not timed.
    pub fn work(&self, counts: Counts) -> f64 {
        self.sweep_cost(counts.moves as f64).of(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and options make the round trip through a choice.
    #[test]
    fn choices_are_named_and_built() {
        for name in KernelChoice::NAMES {
            let takes = KernelChoice::options_of(name);
            let options = KernelOptions {
                subset: takes.contains(&"subset").then_some(7),
                order: takes.contains(&"order").then_some(Subset::Cyclic),
            };
            let choice = KernelChoice::named(name, options, 20).unwrap();
            assert_eq!((choice.name(), choice.options()), (name, options));
            assert_eq!(choice.build(20).is_ok(), choice != KernelChoice::Counts);
        }
        assert_eq!(KernelChoice::named("smoa", KernelOptions::default(), 20), None);
        let candidates: Vec<_> =
            KernelChoice::candidates(20).into_iter().map(|c| c.name()).collect();
        assert_eq!(candidates, ["sys-imwg", "soma", "soma-blocks"]);
    }
}
