//! How records are imputed given theta and the release.
//!
//! A kernel moves the records x at fixed theta so that
//!
//! pi(x) = prod_i f(x_i | theta) * eta(s_dp | S(x))
//!
//! stays invariant. One move offers one record y, drawn from f, in the place of another. The
//! weight w_i is eta after y has replaced record i, and w_0 is eta as things stand.

mod aligned;
mod blocks;
mod codes;
pub(crate) mod columns;
pub(crate) mod exp;
pub(crate) mod line;
pub(crate) mod log;
pub(crate) mod masses;
mod offers;
pub(crate) mod pages;
mod ran_imwg;
pub(crate) mod records;
mod rough;
mod scan;
pub(crate) mod shape;
mod single;
pub(crate) mod soma;
pub(crate) mod specialise;
mod steps;
mod subset;
mod sys_imwg;
mod target;
pub(crate) mod vector;
mod work;

use serde::{Deserialize, Serialize};

pub use self::soma::{Soma, Strategy};
pub use blocks::SomaBlocks;
pub(crate) use offers::BATCH;
pub use offers::{Batch, ModelOffers, Offers};
pub use ran_imwg::RanImwg;
pub use records::Records;
pub use scan::SomaScan;
pub use single::{SingleKernel, SingleMoves};
pub use subset::{SomaSubset, Subset};
pub use sys_imwg::SysImwg;
pub use target::{Target, TargetChain};

use crate::chain::check::Check;
use crate::error::{Invalid, Outcome};
use crate::release::Release;
use crate::release::mechanism::Shape;
use crate::rng::Rng;

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Records offered.
    pub moves: u64,
    /// Records taken.
    pub accepted: u64,
    /// Weights computed from a record's statistic.
    pub evaluations: u64,
}

impl Counts {
    /// The share of offers taken.
    pub fn acceptance_rate(&self) -> f64 {
        self.accepted as f64 / self.moves.max(1) as f64
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.moves += other.moves;
        self.accepted += other.accepted;
        self.evaluations += other.evaluations;
    }
}

impl std::ops::Sub for Counts {
    type Output = Counts;

    fn sub(self, other: Counts) -> Counts {
        Counts {
            moves: self.moves - other.moves,
            accepted: self.accepted - other.accepted,
            evaluations: self.evaluations - other.evaluations,
        }
    }
}

/// A choice of kernel, as a user makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelChoice {
    /// The one of sys-imwg, soma and soma-blocks that warm-up finds to be worth most.
    Auto,
    /// SOMA on all records.
    Soma,
    /// SOMA on `size` records at a time.
    SomaSubset {
        /// How many records an offer is weighed against.
        size: usize,
        /// Which ones.
        subset: Subset,
    },
    /// SOMA on consecutive blocks of records.
    SomaBlocks {
        /// How many records a block holds, if that is said.
        size: Option<usize>,
    },
    /// One record, chosen at random, at a time.
    RanImwg,
    /// One record at a time, in order.
    SysImwg,
}

impl KernelChoice {
    /// The names of all kernels, as a user writes them.
    pub const NAMES: [&'static str; 6] =
        ["auto", "soma", "soma-subset", "soma-blocks", "ran-imwg", "sys-imwg"];

    /// This kernel; `soma` in the place of `auto`, where there is no warm-up to choose in.
    pub fn settled(self) -> Self {
        if self == KernelChoice::Auto { KernelChoice::Soma } else { self }
    }

    /// The name, as a user writes it.
    pub fn name(self) -> &'static str {
        match self {
            KernelChoice::Auto => "auto",
            KernelChoice::Soma => "soma",
            KernelChoice::SomaSubset { .. } => "soma-subset",
            KernelChoice::SomaBlocks { .. } => "soma-blocks",
            KernelChoice::RanImwg => "ran-imwg",
            KernelChoice::SysImwg => "sys-imwg",
        }
    }

    /// Whether the kernel can work on `n` records.
    pub fn check(self, n: usize) -> Result<(), Invalid> {
        match self {
            KernelChoice::SomaSubset { size, .. } => SomaSubset::check(n, size),
            KernelChoice::SomaBlocks { size } => SomaBlocks::new(n, size).map(|_| ()),
            KernelChoice::Auto
            | KernelChoice::Soma
            | KernelChoice::RanImwg
            | KernelChoice::SysImwg => Ok(()),
        }
    }

    /// The kernel at work on `n` records; [settled](KernelChoice::settled), since a kernel alone
    /// has no warm-up.
    pub fn build(self, n: usize) -> Result<Kernel, Invalid> {
        Ok(match self {
            KernelChoice::Auto | KernelChoice::Soma => Kernel::Soma(Soma::new()),
            KernelChoice::SomaSubset { size, subset } => {
                Kernel::SomaSubset(SomaSubset::new(n, size, subset)?)
            }
            KernelChoice::SomaBlocks { size } => Kernel::SomaBlocks(SomaBlocks::new(n, size)?),
            KernelChoice::RanImwg => Kernel::RanImwg(RanImwg::default()),
            KernelChoice::SysImwg => Kernel::SysImwg(SysImwg::default()),
        })
    }
}

/// A kernel at work, with whatever it keeps from one sweep to the next.
///
/// One of them belongs to a whole chain, so that its size does not matter.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)]
pub enum Kernel {
    /// SOMA, at a cost that does not grow with n.
    Soma(Soma),
    /// SOMA by a scan of all weights: the reference.
    SomaScan(SomaScan),
    /// SOMA on a subset of the records.
    SomaSubset(SomaSubset),
    /// SOMA on consecutive blocks of the records.
    SomaBlocks(SomaBlocks),
    /// Random-scan independent Metropolis within Gibbs.
    RanImwg(RanImwg),
    /// Systematic-scan independent Metropolis within Gibbs.
    SysImwg(SysImwg),
}

impl Kernel {
    /// Whether what the kernel keeps fits `release`.
    pub(crate) fn check(&self, release: &Release) -> Check {
        let n = release.n();
        match self {
            Kernel::Soma(kernel) => kernel.check(release),
            Kernel::SomaSubset(kernel) => kernel.check_state(n),
            Kernel::SomaBlocks(kernel) => kernel.check_state(n),
            Kernel::SomaScan(_) | Kernel::RanImwg(_) | Kernel::SysImwg(_) => Ok(()),
        }
    }

    /// Whether a chain with this choice of a kernel may be at work with this one.
    pub(crate) fn is_of(&self, choice: KernelChoice) -> bool {
        match (self, choice) {
            (Kernel::Soma(_), KernelChoice::Soma | KernelChoice::Auto)
            | (Kernel::SomaBlocks(_), KernelChoice::Auto)
            | (Kernel::SysImwg(_), KernelChoice::SysImwg | KernelChoice::Auto)
            | (Kernel::RanImwg(_), KernelChoice::RanImwg) => true,
            (Kernel::SomaSubset(kernel), KernelChoice::SomaSubset { size, subset }) => {
                kernel.is_of(size, subset)
            }
            (Kernel::SomaBlocks(kernel), KernelChoice::SomaBlocks { size }) => kernel.is_of(size),
            _ => false,
        }
    }

    /// n moves.
    pub fn sweep(
        &mut self,
        records: &mut Records,
        offers: &mut dyn Offers,
        shape: Shape,
        rng: &mut Rng,
    ) -> Outcome<Counts> {
        records.refresh();
        match self {
            Kernel::SomaBlocks(kernel) => kernel.sweep(records, offers, shape, rng),
            Kernel::RanImwg(kernel) => kernel.sweep(records, offers, shape, rng),
            Kernel::SysImwg(kernel) => kernel.sweep(records, offers, shape, rng),
            Kernel::Soma(kernel) => kernel.sweep(records, offers, shape, rng),
            Kernel::SomaScan(kernel) => match shape {
                Shape::Absolute => kernel.sweep::<shape::Absolute>(records, offers, rng),
                Shape::Square => kernel.sweep::<shape::Square>(records, offers, rng),
            },
            Kernel::SomaSubset(kernel) => match shape {
                Shape::Absolute => kernel.sweep::<shape::Absolute>(records, offers, rng),
                Shape::Square => kernel.sweep::<shape::Square>(records, offers, rng),
            },
        }
    }
}
