//! The table `[sampler]`: how the run is made.

use super::value::{Table, choices};
use crate::chain::{MovesChoice, Settings};
use crate::error::Invalid;
use crate::kernel::{KernelChoice, Subset};

/// What a spec, or a command line, says of a run. What is left out comes from elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sampler {
    /// The name of the kernel.
    pub kernel: Option<&'static str>,
    /// The size of the subset, for the kernel `soma-subset`.
    pub subset: Option<usize>,
    /// Which records are in the subset, for the kernel `soma-subset`.
    pub order: Option<Subset>,
    /// How theta is moved.
    pub moves: Option<MovesChoice>,
    /// The number of chains.
    pub chains: Option<usize>,
    /// Iterations before the first that may be kept.
    pub warmup: Option<u64>,
    /// Draws kept of each chain.
    pub draws: Option<u64>,
    /// One iteration in so many is kept.
    pub thin: Option<u64>,
    /// The seed.
    pub seed: Option<u64>,
}

impl From<&Settings> for Sampler {
    fn from(settings: &Settings) -> Self {
        let (subset, order) = match settings.kernel {
            KernelChoice::SomaSubset { size, subset } => (Some(size), Some(subset)),
            KernelChoice::SomaBlocks { size } => (size, None),
            KernelChoice::Auto
            | KernelChoice::Soma
            | KernelChoice::RanImwg
            | KernelChoice::SysImwg => (None, None),
        };
        Sampler {
            kernel: Some(settings.kernel.name()),
            subset,
            order,
            moves: Some(settings.moves),
            chains: Some(settings.chains),
            warmup: Some(settings.warmup),
            draws: Some(settings.draws),
            thin: Some(settings.thin),
            seed: Some(settings.seed),
        }
    }
}

/// The most chains: a guard against slips of the keyboard.
pub const MOST_CHAINS: u64 = 10_000;

/// The size of a subset where none is given: about the width of a SIMD register.
const SUBSET: usize = 16;

impl Sampler {
    pub(super) fn read(table: &Table) -> Result<Self, Invalid> {
        table.only(&[
            "kernel", "subset", "order", "moves", "chains", "warmup", "draws", "thin", "seed",
        ])?;
        let whole = |key: &str, range| table.get(key).map(|v| v.whole(range)).transpose();
        let kernel = table.get("kernel").map(|v| v.choice(&KernelChoice::NAMES)).transpose()?;
        let order = table.get("order").map(|v| v.choice(&["random", "cyclic"])).transpose()?;
        let moves = table.get("moves").map(|v| v.choice(&MovesChoice::NAMES)).transpose()?;
        Ok(Sampler {
            kernel,
            moves: moves.and_then(MovesChoice::named),
            subset: whole("subset", 1..=u64::from(u32::MAX))?.map(|size| size as usize),
            order: order.map(|name| if name == "random" { Subset::Random } else { Subset::Cyclic }),
            chains: whole("chains", 1..=MOST_CHAINS)?.map(|chains| chains as usize),
            warmup: whole("warmup", 0..=u64::MAX)?,
            draws: whole("draws", 1..=u64::MAX)?,
            thin: whole("thin", 1..=u64::MAX)?,
            seed: whole("seed", 0..=u64::MAX)?,
        })
    }

    /// This, with what `other` says in its place.
    pub fn overridden_by(self, other: Sampler) -> Sampler {
        let kernel = other.kernel.or(self.kernel);
        // A subset belongs to the kernel that was named beside it.
        let mine = if other.kernel.is_some_and(|name| name != "soma-subset") {
            Sampler::default()
        } else {
            self
        };
        Sampler {
            kernel,
            subset: other.subset.or(mine.subset),
            order: other.order.or(mine.order),
            moves: other.moves.or(self.moves),
            chains: other.chains.or(self.chains),
            warmup: other.warmup.or(self.warmup),
            draws: other.draws.or(self.draws),
            thin: other.thin.or(self.thin),
            seed: other.seed.or(self.seed),
        }
    }

    /// The settings of a run on `n` records, with defaults for what was left out.
    pub fn settings(self, n: usize) -> Result<Settings, Invalid> {
        let default = Settings::default();
        Ok(Settings {
            kernel: self.choice(n)?.unwrap_or(default.kernel),
            moves: self.moves.unwrap_or(default.moves),
            chains: self.chains.unwrap_or(default.chains),
            warmup: self.warmup.unwrap_or(default.warmup),
            draws: self.draws.unwrap_or(default.draws),
            thin: self.thin.unwrap_or(default.thin),
            seed: self.seed.unwrap_or(default.seed),
        })
    }

    fn choice(self, n: usize) -> Result<Option<KernelChoice>, Invalid> {
        if self.kernel == Some("soma-subset") {
            return Ok(Some(KernelChoice::SomaSubset {
                size: self.subset.unwrap_or(SUBSET.min(n)),
                subset: self.order.unwrap_or(Subset::Random),
            }));
        }
        if self.kernel == Some("soma-blocks") && self.order.is_none() {
            return Ok(Some(KernelChoice::SomaBlocks { size: self.subset }));
        }
        let stray = self.subset.map(|_| "subset").or(self.order.map(|_| "order"));
        if let Some(key) = stray {
            return Err(Invalid::new(
                format!("sampler.{key}"),
                "only the kernel soma-subset works on subsets",
                self.kernel.unwrap_or("no kernel"),
                format!("kernel = \"soma-subset\", or no {key}"),
            ));
        }
        Ok(match self.kernel {
            Some("auto") => Some(KernelChoice::Auto),
            Some("soma") => Some(KernelChoice::Soma),
            Some("ran-imwg") => Some(KernelChoice::RanImwg),
            Some("sys-imwg") => Some(KernelChoice::SysImwg),
            None => None,
            Some(name) => {
                let allowed = choices(name, &KernelChoice::NAMES);
                return Err(Invalid::new(
                    "sampler.kernel",
                    "there is no such kernel",
                    name,
                    allowed,
                ));
            }
        })
    }
}
