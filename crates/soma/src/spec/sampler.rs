//! The table `[sampler]`: the settings of the run.

use super::value::Table;
use super::words::choices;
use crate::chain::{MovesChoice, Settings};
use crate::error::Invalid;
use crate::kernel::{KernelChoice, KernelOptions, Subset};

/// The settings of a run from a spec or a command line; missing ones have defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sampler {
    /// The name of the kernel.
    pub kernel: Option<&'static str>,
    /// The size of the subset, for the kernel `soma-subset`.
    pub subset: Option<usize>,
    /// How the subset is chosen, for the kernel `soma-subset`.
    pub order: Option<Subset>,
    /// The theta updates.
    pub moves: Option<MovesChoice>,
    /// The number of chains.
    pub chains: Option<usize>,
    /// Iterations before the first that may be kept.
    pub warmup: Option<u64>,
    /// Draws kept of each chain.
    pub draws: Option<u64>,
    /// The thinning interval: one iteration in this many is kept.
    pub thin: Option<u64>,
    /// The seed.
    pub seed: Option<u64>,
}

impl From<&Settings> for Sampler {
    fn from(settings: &Settings) -> Self {
        let KernelOptions { subset, order } = settings.kernel.options();
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

/// The largest number of chains: a guard against typing errors.
pub const MOST_CHAINS: u64 = 10_000;

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

    /// These settings, overridden by those of `other`.
    pub fn overridden_by(self, other: Sampler) -> Sampler {
        let kernel = other.kernel.or(self.kernel);
        // Options belong to the kernel that was named with them.
        let is_another = other.kernel.is_some() && other.kernel != self.kernel;
        let mine = if is_another { Sampler::default() } else { self };
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

    /// The settings of a run on `n` records, with defaults for missing ones.
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
        let options = KernelOptions { subset: self.subset, order: self.order };
        let takes = KernelChoice::options_of(self.kernel.unwrap_or_default());
        if let Some(key) = options.given().find(|key| !takes.contains(key)) {
            let others = KernelChoice::NAMES
                .into_iter()
                .filter(|name| KernelChoice::options_of(name).contains(&key))
                .map(|name| format!("\"{name}\""));
            let others: Vec<String> = others.collect();
            return Err(Invalid::new(
                format!("sampler.{key}"),
                format!("the kernel takes no {key}"),
                self.kernel.unwrap_or("no kernel"),
                format!("kernel = {}, or no {key}", others.join(" or ")),
            ));
        }
        let Some(name) = self.kernel else { return Ok(None) };
        let choice = KernelChoice::named(name, options, n).ok_or_else(|| {
            let allowed = choices(name, &KernelChoice::NAMES);
            Invalid::new("sampler.kernel", "unknown kernel", name, allowed)
        })?;
        Ok(Some(choice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel named again keeps its options; another one does not inherit them.
    #[test]
    fn options_stay_with_their_kernel() {
        let spec = Sampler { kernel: Some("soma-blocks"), subset: Some(8), ..Sampler::default() };
        let named = |kernel| Sampler { kernel: Some(kernel), ..Sampler::default() };
        let chosen = |sampler: Sampler| sampler.settings(20).unwrap().kernel;
        let blocks = KernelChoice::SomaBlocks { size: Some(8) };
        assert_eq!(chosen(spec), blocks);
        assert_eq!(chosen(spec.overridden_by(Sampler::default())), blocks);
        assert_eq!(chosen(spec.overridden_by(named("soma-blocks"))), blocks);
        assert_eq!(chosen(spec.overridden_by(named("sys-imwg"))), KernelChoice::SysImwg);
        let subset = KernelChoice::SomaSubset { size: 16, subset: Subset::Random };
        assert_eq!(chosen(spec.overridden_by(named("soma-subset"))), subset);
        // A run is resumed with the settings that it began with.
        let begun = Sampler::from(&spec.settings(20).unwrap());
        assert_eq!(chosen(begun.overridden_by(named("soma-blocks"))), blocks);
    }

    #[test]
    fn stray_options_are_refused() {
        let stray = Sampler { kernel: Some("soma"), subset: Some(3), ..Sampler::default() };
        let said = stray.settings(20).unwrap_err();
        assert_eq!(said.field, "sampler.subset");
        assert_eq!(said.allowed, "kernel = \"soma-subset\" or \"soma-blocks\", or no subset");
        let stray = Sampler { order: Some(Subset::Cyclic), ..Sampler::default() };
        assert_eq!(stray.settings(20).unwrap_err().field, "sampler.order");
    }
}
