//! What a verdict looks at of a run beside the draws of its parameters.

/// Figures of a run; the default is of one of which nothing is known.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFigures {
    /// The acceptance rate of each chain, NaN where it is not known; empty, where none is.
    pub acceptance: Vec<f64>,
    /// How each chain crosses between the pieces of its posterior; empty, where it is not known.
    pub crossings: Vec<Crossing>,
    /// R-hat of the log density of the release; NaN, where it cannot be told.
    pub log_density_rhat: f64,
}

impl Default for RunFigures {
    fn default() -> Self {
        RunFigures { acceptance: Vec::new(), crossings: Vec::new(), log_density_rhat: f64::NAN }
    }
}

/// How a chain crosses between the pieces that its posterior may be in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Crossing {
    /// The posterior is in one piece, as far as is known.
    NotNeeded,
    /// The posterior may be in pieces, and the chain has no ladder to cross between them by.
    None,
    /// By a ladder of chains, which accepts this share of swaps at its weakest step.
    Swaps(f64),
}
