//! Reasons not to trust draws.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::verdict::RHAT;

/// A reason not to trust draws. Chains are counted from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// Too few draws per chain for any diagnostic.
    TooFewDraws {
        /// The number of draws.
        draws: usize,
    },
    /// Some draw of a parameter is not a number, or infinite.
    NotANumber {
        /// The parameter.
        parameter: String,
    },
    /// All draws of a parameter are equal, in all chains.
    Constant {
        /// The parameter.
        parameter: String,
    },
    /// In some chain a parameter changed only a few times.
    HardlyMoved {
        /// The parameter.
        parameter: String,
        /// The chain.
        chain: usize,
        /// The number of changes.
        changes: usize,
        /// The number of draws.
        draws: usize,
    },
    /// In some chain almost no proposed record was accepted.
    Refused {
        /// The chain.
        chain: usize,
        /// Its acceptance rate.
        rate: f64,
    },
    /// The chains disagree.
    Disagree {
        /// The parameter with the largest R-hat.
        parameter: String,
        /// That R-hat.
        rhat: f64,
    },
    /// Some estimates are imprecise.
    Rough {
        /// The parameter with the fewest effective draws.
        parameter: String,
        /// Its effective sample size.
        ess: f64,
        /// The required effective sample size.
        wanted: f64,
    },
    /// There is only one chain, so that R-hat is undefined.
    OneChain,
    /// The release is sharp and has few records, so the posterior may have separate modes, and the
    /// chains had no ladder of tempered chains to cross between them.
    NoLadder,
    /// As before, and the ladder of some chain rarely swapped.
    FewSwaps {
        /// The chain.
        chain: usize,
        /// The acceptance rate of swaps of its weakest link.
        rate: f64,
    },
    /// The chains agree on the parameters, but differ in the log density of the release.
    Apart {
        /// R-hat of the log density of the release.
        rhat: f64,
    },
}

impl Reason {
    /// Whether it leaves open whether the draws are good, rather than speaking against them.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Reason::NoLadder | Reason::FewSwaps { .. } | Reason::Apart { .. })
    }

    /// What to do about it, in a sentence.
    pub fn remedy(&self) -> &'static str {
        match self {
            Reason::TooFewDraws { .. } | Reason::Rough { .. } => "Raise the number of draws.",
            Reason::NotANumber { .. } => {
                "Check whether the prior allows parameters to grow without limit, or an expression \
                 divides by 0 or takes the root or logarithm of a negative number."
            }
            Reason::Constant { .. } | Reason::HardlyMoved { .. } | Reason::Refused { .. } => {
                "Check the release in the spec: its noise may be far smaller than the \
                 records can follow. Otherwise raise the warm-up and the number of draws."
            }
            Reason::Disagree { .. } => "Raise the number of draws and the warm-up.",
            Reason::OneChain => "Run several chains.",
            Reason::NoLadder => {
                "Use moves = \"auto\" and a warm-up of 1000. If this remains, the noise has no \
                 ladder: run many chains and check that all agree."
            }
            Reason::FewSwaps { .. } | Reason::Apart { .. } => {
                "Raise the number of draws and the warm-up, run more chains, and check that all agree."
            }
        }
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Reason::TooFewDraws { draws } => {
                write!(f, "{draws} draws in each chain are too few to judge")
            }
            Reason::NotANumber { parameter } => {
                write!(
                    f,
                    "some draws of {parameter} are not finite numbers, so that it has no mean, and \
                     its effective draws cannot be counted"
                )
            }
            Reason::Constant { parameter } => write!(f, "{parameter} never moved"),
            Reason::HardlyMoved { parameter, chain, changes: 0, draws } => {
                write!(f, "{parameter} never moved in the {draws} draws of chain {chain}")
            }
            Reason::HardlyMoved { parameter, chain, changes, draws } => write!(
                f,
                "{parameter} took a new value only {changes} times in the {draws} draws of chain \
                 {chain}"
            ),
            Reason::Refused { chain, rate } => write!(
                f,
                "chain {chain} accepted {:.2}% of the proposed records, so that the records hardly \
                 moved",
                100.0 * rate
            ),
            Reason::Disagree { parameter, rhat } if rhat.is_nan() => {
                write!(
                    f,
                    "it is unknown whether the chains agree (R-hat of {parameter} is undefined)"
                )
            }
            Reason::Disagree { parameter, rhat } => write!(
                f,
                "the chains disagree (R-hat of {parameter} is {rhat:.3}, and should be below \
                 {RHAT})"
            ),
            Reason::Rough { parameter, ess, .. } if ess.is_nan() => {
                write!(f, "the effective draws of {parameter} cannot be counted")
            }
            Reason::Rough { parameter, ess, wanted } => write!(
                f,
                "{parameter} has only {ess:.0} effective draws, and should have {wanted:.0}: means \
                 are rough, and quantiles rougher"
            ),
            Reason::OneChain => write!(f, "one chain cannot disagree with another"),
            Reason::NoLadder => write!(
                f,
                "the release is sharp and of few records, so that its posterior may be in pieces, \
                 and the chains had no ladder to cross between them"
            ),
            Reason::FewSwaps { chain, rate } => write!(
                f,
                "the release is sharp and of few records, so that its posterior may be in pieces, \
                 and the ladder of chain {chain} accepted {:.1}% of the swaps at its weakest step",
                100.0 * rate
            ),
            Reason::Apart { rhat } => write!(
                f,
                "the chains match the release by different amounts (R-hat of its log density is \
                 {rhat:.3}), so that they may be in different pieces of the posterior"
            ),
        }
    }
}
