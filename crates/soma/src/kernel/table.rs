//! The interface of a kernel, and the table of all kernels.

use super::counts::{Counts, SweepCost};
use super::{KernelChoice, Subset};
use crate::error::{Invalid, Outcome};
use crate::records::{Proposals, Records};
use crate::release::{Potential, Release};
use crate::rng::Rng;
use crate::stored::Check;

/// The arguments of a sweep.
pub(crate) struct Context<'a> {
    /// The records, with an up-to-date residual.
    pub(crate) records: &'a mut Records,
    /// The source of proposals.
    pub(crate) proposals: &'a mut dyn Proposals,
    /// Minus the log density of the release.
    pub(crate) potential: &'a Potential,
    /// The random stream.
    pub(crate) rng: &'a mut Rng,
}

/// A kernel: a file with an implementation of this, and a row of the table in `kernel/mod.rs`.
pub(crate) trait RecordKernel: Sized {
    /// The name, as a user writes it.
    const NAME: &'static str;

    /// The options that it accepts, by the names of [`KernelOptions`].
    const OPTIONS: &'static [&'static str] = &[];

    /// Its rank among the candidates of `auto`, if it is one.
    const AUTO_RANK: Option<usize> = None;

    /// The choice of this kernel with these options on `n` records.
    fn choice(options: KernelOptions, n: usize) -> KernelChoice;

    /// The options of a choice of this kernel.
    fn options(choice: KernelChoice) -> KernelOptions {
        let _ = choice;
        KernelOptions::default()
    }

    /// Builds the kernel of a choice for `n` records.
    fn build(choice: KernelChoice, n: usize) -> Result<Self, Invalid>;

    /// n moves.
    fn sweep(&mut self, at: Context<'_>) -> Outcome<Counts>;

    /// The cost of a sweep of `n` moves.
    fn cost(&self, n: f64) -> SweepCost;

    /// About how many bytes it keeps beside the records; 0 if that does not grow with n.
    fn memory(records: RecordSizes) -> u64 {
        let _ = records;
        0
    }

    /// How it is coupled.
    fn coupling(&self) -> Coupling;

    /// Whether the state kept between sweeps, when read from disk, is valid for `release`.
    fn check(&self, release: &Release) -> Check {
        let _ = release;
        Ok(())
    }

    /// Whether a choice of this kernel with `options` matches this instance.
    fn is_chosen_by(&self, options: KernelOptions) -> bool {
        let _ = options;
        true
    }
}

/// The number and the dimensions of the records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordSizes {
    /// The number of records.
    pub(crate) n: usize,
    /// The length of the statistic of a record.
    pub(crate) statistic_dim: usize,
    /// Whether a record in bins is stored as its bin only.
    pub(crate) is_coded: bool,
}

/// The options of kernels, as given by a user. A kernel accepts some of them or none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelOptions {
    /// The size of a subset or of a block.
    pub subset: Option<usize>,
    /// Which records are in the subset.
    pub order: Option<Subset>,
}

impl KernelOptions {
    /// The names of the options that are given.
    pub fn given(self) -> impl Iterator<Item = &'static str> {
        let subset = self.subset.map(|_| "subset");
        subset.into_iter().chain(self.order.map(|_| "order"))
    }
}

/// The places that a move selects from: all that a coupling needs to know of a kernel that accepts
/// as SOMA does on these places (on one place, as independent Metropolis does).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coupling {
    /// All places.
    AllPlaces,
    /// A subset of the places, random or cyclic.
    Subset {
        /// The number of places.
        size: usize,
        /// How the subset is chosen.
        subset: Subset,
    },
    /// The places of the current block.
    Blocks {
        /// The number of records of a block.
        size: usize,
    },
    /// One place, by random or systematic scan.
    OnePlace {
        /// Whether the scan is random.
        at_random: bool,
    },
}

/// The name of `auto`.
pub(super) const AUTO: &str = "auto";

/// The name of the sampler of counts, which has no records.
pub(super) const COUNTS: &str = "counts";

/// The error if records are requested from the sampler of counts.
pub(super) fn no_records() -> Invalid {
    let problem = "the sampler of counts imputes no records";
    Invalid::new("kernel", problem, COUNTS, "a kernel of records, such as soma")
}

/// Makes the table of kernels from rows `Variant { fields } => Type`: the choices, the kernels and
/// their names, from each [`RecordKernel`]. The reference kernel has no choice, since users do not
/// run it.
macro_rules! kernels {
    (
        reference { $(#[$reference_doc:meta])* $reference:ident => $reference_kernel:ty }
        $($(#[$doc:meta])* $variant:ident $({ $($(#[$of:meta])* $field:ident: $type:ty,)* })?
            => $kernel:ty,)*
    ) => {
        /// A choice of kernel, as a user makes it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum KernelChoice {
            /// The sampler of counts if the problem allows it, and otherwise the candidate with the
            /// best efficiency in warm-up.
            Auto,
            /// No records: the counts of cells are sampled directly.
            Counts,
            $($(#[$doc])* $variant $({ $($(#[$of])* $field: $type,)* })?,)*
        }

        impl KernelChoice {
            /// The names of all kernels, as a user writes them.
            pub const NAMES: [&'static str; 2 + [$(stringify!($variant)),*].len()] =
                [table::AUTO, table::COUNTS, $(<$kernel as RecordKernel>::NAME),*];

            /// The name, as a user writes it.
            pub fn name(self) -> &'static str {
                match self {
                    KernelChoice::Auto => table::AUTO,
                    KernelChoice::Counts => table::COUNTS,
                    $(KernelChoice::$variant $({ $($field: _),* })? => {
                        <$kernel as RecordKernel>::NAME
                    })*
                }
            }

            /// The options that the kernel `name` accepts; empty if there is no such kernel.
            pub fn options_of(name: &str) -> &'static [&'static str] {
                match name {
                    $(<$kernel as RecordKernel>::NAME => <$kernel as RecordKernel>::OPTIONS,)*
                    _ => &[],
                }
            }

            /// The kernel `name` with `options` on `n` records; `None` if there is no such kernel.
            pub fn named(name: &str, options: KernelOptions, n: usize) -> Option<Self> {
                match name {
                    table::AUTO => Some(KernelChoice::Auto),
                    table::COUNTS => Some(KernelChoice::Counts),
                    $(<$kernel as RecordKernel>::NAME => {
                        Some(<$kernel as RecordKernel>::choice(options, n))
                    })*
                    _ => None,
                }
            }

            /// The candidates of `auto` for `n` records, in their order.
            pub(crate) fn candidates(n: usize) -> Vec<Self> {
                let ranked = [$((
                    <$kernel as RecordKernel>::AUTO_RANK,
                    <$kernel as RecordKernel>::choice(KernelOptions::default(), n),
                )),*];
                let mut ranked: Vec<_> =
                    ranked.into_iter().filter_map(|(rank, choice)| Some((rank?, choice))).collect();
                ranked.sort_by_key(|(rank, _)| *rank);
                ranked.into_iter().map(|(_, choice)| choice).collect()
            }

            /// About how many bytes the kernel keeps beside the records; for `auto`, the largest of
            /// the candidates.
            pub(crate) fn memory(self, records: RecordSizes) -> u64 {
                match self {
                    KernelChoice::Auto => {
                        let candidates = KernelChoice::candidates(records.n).into_iter();
                        candidates.map(|choice| choice.memory(records)).max().unwrap_or(0)
                    }
                    KernelChoice::Counts => 0,
                    $(KernelChoice::$variant $({ $($field: _),* })? => {
                        <$kernel as RecordKernel>::memory(records)
                    })*
                }
            }

            /// Builds the kernel for `n` records; [settled](KernelChoice::settled), since a single
            /// kernel has no warm-up.
            pub fn build(self, n: usize) -> Result<Kernel, Invalid> {
                Ok(match self.settled() {
                    KernelChoice::Auto => unreachable!("settled"),
                    KernelChoice::Counts => return Err(table::no_records()),
                    $(KernelChoice::$variant $({ $($field: _),* })? => {
                        Kernel::$variant(<$kernel as RecordKernel>::build(self, n)?)
                    })*
                })
            }

            /// The options of this choice.
            pub fn options(self) -> KernelOptions {
                match self {
                    KernelChoice::Auto | KernelChoice::Counts => KernelOptions::default(),
                    $(KernelChoice::$variant $({ $($field: _),* })? => {
                        <$kernel as RecordKernel>::options(self)
                    })*
                }
            }
        }

        /// A kernel, with the state that it keeps between sweeps.
        ///
        /// There is one per chain, so the size of the variants does not matter.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[allow(clippy::large_enum_variant)]
        pub enum Kernel {
            $($(#[$doc])* $variant($kernel),)*
            $(#[$reference_doc])* $reference($reference_kernel),
        }

        impl Kernel {
            fn dispatch(&mut self, at: Context<'_>) -> Outcome<Counts> {
                match self {
                    $(Kernel::$variant(kernel) => kernel.sweep(at),)*
                    Kernel::$reference(kernel) => kernel.sweep(at),
                }
            }

            fn sweep_cost(&self, n: f64) -> SweepCost {
                match self {
                    $(Kernel::$variant(kernel) => kernel.cost(n),)*
                    Kernel::$reference(kernel) => kernel.cost(n),
                }
            }

            /// Whether the state of the kernel, when read from disk, is valid for `release`.
            pub(crate) fn check(&self, release: &Release) -> Check {
                match self {
                    $(Kernel::$variant(kernel) => kernel.check(release),)*
                    Kernel::$reference(kernel) => kernel.check(release),
                }
            }

            /// Whether a chain with this choice can use this kernel.
            pub(crate) fn is_of(&self, choice: KernelChoice) -> bool {
                match self {
                    $(Kernel::$variant(kernel) => match choice {
                        KernelChoice::Auto => <$kernel as RecordKernel>::AUTO_RANK.is_some(),
                        choice => choice.name() == <$kernel as RecordKernel>::NAME
                            && kernel.is_chosen_by(choice.options()),
                    })*
                    Kernel::$reference(_) => false,
                }
            }

            /// How it is coupled.
            pub fn coupling(&self) -> Coupling {
                match self {
                    $(Kernel::$variant(kernel) => kernel.coupling(),)*
                    Kernel::$reference(kernel) => kernel.coupling(),
                }
            }
        }
    };
}
pub(super) use kernels;

/// `size` if it is from 1 to `n`, and otherwise an error with `problem`.
pub(super) fn some_of(n: usize, size: usize, problem: &str) -> Result<usize, Invalid> {
    if size < 1 || size > n {
        let allowed = format!("a whole number from 1 to n = {n}");
        return Err(Invalid::new("subset", problem, size, allowed));
    }
    Ok(size)
}
