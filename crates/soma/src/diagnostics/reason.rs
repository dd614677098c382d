//! What speaks against draws.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::verdict::RHAT;

/// A reason not to trust draws. Chains are counted from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// There are too few draws in each chain to tell anything.
    TooFewDraws {
        /// How many there are.
        draws: usize,
    },
    /// Some draw of a parameter is not a number.
    NotANumber {
        /// The parameter.
        parameter: String,
    },
    /// All draws of a parameter are equal, in all chains.
    Constant {
        /// The parameter.
        parameter: String,
    },
    /// In some chain a parameter took only a few values, one after the other.
    HardlyMoved {
        /// The parameter.
        parameter: String,
        /// The chain.
        chain: usize,
        /// How often the parameter took a new value.
        changes: usize,
        /// In how many draws.
        draws: usize,
    },
    /// In some chain hardly any proposed record was accepted.
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
    /// Some estimates are rough.
    Rough {
        /// The parameter with the fewest effective draws.
        parameter: String,
        /// How many it has.
        ess: f64,
        /// How many it should have.
        wanted: f64,
    },
    /// There is one chain, which cannot disagree with another.
    OneChain,
    /// The release is sharp and of few records, so that the posterior may be in pieces, and the
    /// chains had no ladder to go from one to another by.
    NoLadder,
    /// As before, and the ladder of some chain hardly led anywhere.
    FewSwaps {
        /// The chain.
        chain: usize,
        /// The share of swaps accepted between the two rungs that swap least.
        rate: f64,
    },
    /// The chains agree on the parameters, but match the release by different amounts.
    Apart {
        /// R-hat of the log density of the release.
        rhat: f64,
    },
}

impl Reason {
    /// Whether it speaks against the draws only in that it cannot be known whether they are good.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Reason::NoLadder | Reason::FewSwaps { .. } | Reason::Apart { .. })
    }

    /// What to do about it, in a sentence.
    pub fn remedy(&self) -> &'static str {
        match self {
            Reason::TooFewDraws { .. } | Reason::Rough { .. } => "Raise the number of draws.",
            Reason::NotANumber { .. } => {
                "See whether the prior lets parameters grow without limit."
            }
            Reason::Constant { .. } | Reason::HardlyMoved { .. } | Reason::Refused { .. } => {
                "See whether the release is stated rightly: its noise may be far smaller than the \
                 records can follow. Otherwise raise the warm-up and the number of draws."
            }
            Reason::Disagree { .. } => "Raise the number of draws and the warm-up.",
            Reason::OneChain => "Run several chains.",
            Reason::NoLadder => {
                "Take the moves \"auto\" and a warm-up of 1000; where that says the same, the noise \
                 has no ladder: run many chains and look whether all agree."
            }
            Reason::FewSwaps { .. } | Reason::Apart { .. } => {
                "Raise the warm-up and the number of draws, run more chains, and look whether all \
                 agree."
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
                write!(f, "some draws of {parameter} are not numbers")
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
            Reason::Disagree { parameter, rhat } => write!(
                f,
                "the chains disagree (R-hat of {parameter} is {rhat:.3}, and should be below \
                 {RHAT})"
            ),
            Reason::Rough { parameter, ess, wanted } => write!(
                f,
                "{parameter} has only {ess:.0} effective draws, and should have {wanted:.0}: means \
                 are rough, and quantiles rougher"
            ),
            Reason::OneChain => write!(f, "one chain cannot disagree with another"),
            Reason::NoLadder => write!(
                f,
                "the release is sharp and of few records, so that its posterior may be in pieces, \
                 and the chains had no ladder to go from one to another by"
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
