//! How groups are fitted, who watches, and what comes out.

use serde::{Deserialize, Serialize};

use crate::chain::Settings;
use crate::diagnostics::{Column, RunFigures, Verdict, rhat};
use crate::error::Invalid;

/// How long the chains of each group are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The number of chains.
    pub chains: usize,
    /// Iterations of each chain before the first draw.
    pub warmup: u64,
    /// Draws of each chain.
    pub draws: u64,
    /// One iteration in so many is kept.
    pub thin: u64,
    /// The same seed gives the same draws.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { chains: 4, warmup: 1000, draws: 1000, thin: 1, seed: 1 }
    }
}

impl Plan {
    /// The most chains: so that no two chains of different groups share a random stream.
    pub(super) const MOST_CHAINS: u64 = 1 << 16;

    /// Whether a run can be made so.
    pub fn check(&self) -> Result<(), Invalid> {
        let fields = [("chains", self.chains as u64), ("draws", self.draws), ("thin", self.thin)];
        for (field, given) in fields {
            if given == 0 {
                let allowed = "a whole number from 1 up";
                return Err(Invalid::new(field, "must be positive", given, allowed));
            }
        }
        if self.chains as u64 > Self::MOST_CHAINS {
            let allowed = format!("at most {}", Self::MOST_CHAINS);
            return Err(Invalid::new("chains", "are too many", self.chains, allowed));
        }
        if self.iterations() > Settings::MOST {
            let given =
                format!("{} of warm-up and {} times {}", self.warmup, self.draws, self.thin);
            let allowed = format!("at most {} iterations of a chain", Settings::MOST);
            let problem = "the number of iterations is out of range";
            return Err(Invalid::new("draws", problem, given, allowed));
        }
        Ok(())
    }

    /// All iterations of a chain.
    pub fn iterations(&self) -> u64 {
        self.draws.saturating_mul(self.thin).saturating_add(self.warmup)
    }

    /// Whether the state after so many iterations is kept.
    pub(super) fn keeps(&self, done: u64) -> bool {
        done > self.warmup && (done - self.warmup).is_multiple_of(self.thin)
    }
}

/// Who watches a run. Methods are called from the threads of the run.
pub trait Watch: Sync {
    /// So many iterations were made.
    fn advance(&self, iterations: u64) {
        let _ = iterations;
    }

    /// What came of a group in a run like this one that was stopped, if it had ended.
    fn known(&self, group: &str) -> Option<Fitted> {
        let _ = group;
        None
    }

    /// A group has ended.
    fn ended(&self, group: &Fitted) {
        let _ = group;
    }

    /// Whether to stop.
    fn stop(&self) -> bool {
        false
    }
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Watch for Quiet {}

/// What came of a group, or of the common prior of pooled groups.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Fitted {
    /// The name of the group; empty for the common prior.
    pub name: String,
    /// Its parameters: shares, counts, and n where it is unknown.
    pub columns: Vec<Column>,
    /// Whether its draws can be trusted.
    pub verdict: Verdict,
    /// Chains.
    pub chains: usize,
    /// Draws of each chain.
    pub draws: usize,
    /// R-hat of the log density of the release; NaN if undefined.
    pub log_density_rhat: f64,
}

/// What is stored of a [`Fitted`]: the verdict follows from it.
#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    columns: Vec<Column>,
    chains: usize,
    draws: usize,
    log_density_rhat: f64,
}

impl From<Fitted> for Stored {
    fn from(fitted: Fitted) -> Self {
        let Fitted { name, columns, chains, draws, log_density_rhat, .. } = fitted;
        Stored { name, columns, chains, draws, log_density_rhat }
    }
}

impl From<Stored> for Fitted {
    fn from(stored: Stored) -> Self {
        let Stored { name, columns, chains, draws, log_density_rhat } = stored;
        let figures = RunFigures { log_density_rhat, ..RunFigures::default() };
        let verdict = Verdict::of(&columns, &figures);
        Fitted { name, columns, verdict, chains, draws, log_density_rhat }
    }
}

impl Fitted {
    /// Of draws: for each parameter those of each chain, and of the log density of the release.
    pub(super) fn of(
        name: &str,
        names: &[String],
        draws: &[Vec<Vec<f64>>],
        log_density: &[Vec<f64>],
    ) -> Self {
        let column = |(name, draws): (&String, &Vec<Vec<f64>>)| Column::of(name, draws);
        Fitted::from(Stored {
            name: name.to_string(),
            columns: names.iter().zip(draws).map(column).collect(),
            chains: log_density.len(),
            draws: log_density.iter().map(Vec::len).min().unwrap_or(0),
            log_density_rhat: rhat(log_density),
        })
    }
}
