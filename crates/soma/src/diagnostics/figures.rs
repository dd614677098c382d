//! The figures of a run for a verdict, beside the draws of its parameters.

/// Figures of a run; the default has none.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFigures {
    /// The acceptance rate of each chain, NaN if unknown; empty if all are.
    pub acceptance: Vec<f64>,
    /// How each chain crosses between separate modes; empty if unknown.
    pub crossings: Vec<Crossing>,
    /// R-hat of the log density of the release; NaN if undefined.
    pub log_density_rhat: f64,
}

impl Default for RunFigures {
    fn default() -> Self {
        RunFigures { acceptance: Vec::new(), crossings: Vec::new(), log_density_rhat: f64::NAN }
    }
}

/// How a chain crosses between separate modes of its posterior.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Crossing {
    /// The posterior is connected, as far as is known.
    NotNeeded,
    /// The posterior may have separate modes, and the chain has no ladder of tempered chains.
    None,
    /// By a ladder of tempered chains; the acceptance rate of its weakest link.
    Swaps(f64),
}
