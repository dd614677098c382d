//! The scale, the seed and the threads of an item.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use soma::rng::{self, Rng};
use soma::{Failure, Outcome};

/// How many runs and iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Only enough to show that an item works; the numbers are meaningless.
    Tiny,
    /// Enough to see what the paper shows: all items in a few minutes.
    Quick,
    /// As many as in the paper.
    Paper,
}

impl Scale {
    /// The value for this scale.
    pub fn pick<T>(self, tiny: T, quick: T, paper: T) -> T {
        match self {
            Scale::Tiny => tiny,
            Scale::Quick => quick,
            Scale::Paper => paper,
        }
    }

    /// The name, as a user writes it.
    pub fn name(self) -> &'static str {
        self.pick("tiny", "quick", "paper")
    }
}

/// Receives the progress of an item.
pub trait Progress: Sync {
    /// Announces `units` more pieces of work.
    fn expect(&self, units: u64);
    /// Called after each piece.
    fn advance(&self);
}

/// No progress display.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn expect(&self, _: u64) {}
    fn advance(&self) {}
}

/// Scale, seed, threads and progress of a run.
pub struct Study<'a> {
    scale: Scale,
    seed: u64,
    pool: rayon::ThreadPool,
    progress: &'a dyn Progress,
}

impl std::fmt::Debug for Study<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Study").field("scale", &self.scale).field("seed", &self.seed).finish()
    }
}

impl<'a> Study<'a> {
    /// A study. The findings do not depend on `threads` (0: one for each core).
    pub fn new(
        scale: Scale,
        seed: u64,
        threads: usize,
        progress: &'a dyn Progress,
    ) -> Result<Self, Failure> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(Study { scale, seed, pool, progress })
    }

    /// The scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The value for the scale of this study.
    pub fn pick<T>(&self, tiny: T, quick: T, paper: T) -> T {
        self.scale.pick(tiny, quick, paper)
    }

    /// Calls `work` with 0 to `count` - 1, each with its own random stream, which depends only on
    /// the seed, `purpose` and the index. Returns the results in order.
    pub fn map<T: Send>(
        &self,
        purpose: &str,
        count: usize,
        work: impl Fn(usize, Rng) -> Outcome<T> + Sync,
    ) -> Outcome<Vec<T>> {
        self.progress.expect(count as u64);
        let seed = self.seed_for(purpose);
        self.pool.install(|| {
            (0..count)
                .into_par_iter()
                .map(|index| {
                    let result = work(index, rng::stream(seed, index as u64));
                    self.progress.advance();
                    result
                })
                .collect()
        })
    }

    /// A random stream for work that is done once.
    pub fn rng(&self, purpose: &str) -> Rng {
        rng::stream(self.seed_for(purpose), u64::MAX)
    }

    /// The seed of the study combined with a purpose (FNV-1a), so that different parts of a study
    /// have different streams and can be run separately.
    fn seed_for(&self, purpose: &str) -> u64 {
        let bytes = self.seed.to_le_bytes().into_iter().chain(purpose.bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}
