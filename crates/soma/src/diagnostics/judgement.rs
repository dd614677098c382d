//! Whether draws can be trusted.

use std::fmt::{self, Display, Formatter};

use super::{MIN_DRAWS, Summary};

/// Chains whose R-hat is not below this disagree.
pub const RHAT: f64 = 1.01;

/// How many effective draws are enough, for each chain, in the bulk and in the tails.
pub const ESS_PER_CHAIN: f64 = 100.0;

/// A judgement on the draws of several parameters, by the thresholds of Vehtari, Gelman, Simpson,
/// Carpenter and Bürkner (2021).
#[derive(Debug, Clone, PartialEq)]
pub enum Judgement {
    /// There are too few draws in each chain to judge.
    TooFew {
        /// How many there are.
        draws: usize,
    },
    /// All draws of a parameter are equal.
    Stuck {
        /// The parameter.
        parameter: String,
    },
    /// The chains disagree.
    Disagree {
        /// The parameter with the largest R-hat.
        parameter: String,
        /// That R-hat.
        rhat: f64,
    },
    /// The chains agree, but some estimates are rough.
    Rough {
        /// The parameter with the fewest effective draws.
        parameter: String,
        /// How many it has.
        ess: f64,
        /// How many it should have.
        wanted: f64,
    },
    /// There are enough effective draws, of one chain, which cannot disagree with another.
    Alone {
        /// The fewest effective draws of a parameter.
        ess: f64,
    },
    /// All is well.
    Trusted {
        /// The largest R-hat.
        rhat: f64,
        /// The fewest effective draws of a parameter.
        ess: f64,
    },
}

impl Judgement {
    /// On parameters with these names and summaries, of so many chains and draws in each.
    pub fn of(rows: &[(&str, Summary)], chains: usize, draws: usize) -> Self {
        if draws < MIN_DRAWS {
            return Judgement::TooFew { draws };
        }
        if let Some((parameter, _)) = rows.iter().find(|(_, summary)| summary.sd == 0.0) {
            return Judgement::Stuck { parameter: parameter.to_string() };
        }
        let (worst, rhat) = extreme(rows, |summary| summary.rhat);
        if (rhat.is_nan() || rhat >= RHAT) && chains > 1 {
            return Judgement::Disagree { parameter: worst, rhat };
        }
        let (worst, ess) = extreme(rows, |summary| -summary.ess_bulk.min(summary.ess_tail));
        let (ess, wanted) = (-ess, ESS_PER_CHAIN * chains as f64);
        if ess.is_nan() || ess < wanted {
            return Judgement::Rough { parameter: worst, ess, wanted };
        }
        if chains == 1 {
            return Judgement::Alone { ess };
        }
        Judgement::Trusted { rhat, ess }
    }

    /// Whether the draws can be trusted.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Judgement::Trusted { .. })
    }
}

/// The parameter for which `of` is largest, and how large; one for which it cannot be told is
/// worse than any other.
fn extreme(rows: &[(&str, Summary)], of: impl Fn(&Summary) -> f64) -> (String, f64) {
    let rank = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
    let worst = rows.iter().max_by(|(_, a), (_, b)| rank(of(a)).total_cmp(&rank(of(b))));
    worst.map_or(("nothing".into(), f64::NAN), |(name, summary)| (name.to_string(), of(summary)))
}

impl Display for Judgement {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Judgement::TooFew { draws } => {
                write!(f, "Too few draws to judge ({draws} in each chain): let it run longer.")
            }
            Judgement::Stuck { parameter } => write!(
                f,
                "Do not trust this: {parameter} never moved. If the acceptance rate is near 0, the \
                 start is far from the release: raise the warm-up, or see whether the release is \
                 stated rightly."
            ),
            Judgement::Disagree { parameter, rhat } => write!(
                f,
                "Do not trust this yet: the chains disagree (R-hat of {parameter} is {rhat:.3}, \
                 and should be below {RHAT}). Raise the number of draws and the warm-up."
            ),
            Judgement::Rough { parameter, ess, wanted } => write!(
                f,
                "The chains agree (R-hat below {RHAT}), but {parameter} has only {ess:.0} effective \
                 draws, and should have {wanted:.0}: means are rough, and quantiles rougher. Raise \
                 the number of draws."
            ),
            Judgement::Alone { ess } => write!(
                f,
                "Every parameter has at least {ess:.0} effective draws. But one chain cannot \
                 disagree with another: run several to be sure."
            ),
            Judgement::Trusted { rhat, ess } => write!(
                f,
                "The chains agree (largest R-hat {rhat:.3}), and every \
                 parameter has at least {ess:.0} effective draws."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(rhat: f64, ess: f64) -> Summary {
        let chains = [[0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0, 4.0]];
        Summary { rhat, ess_bulk: ess, ess_tail: ess + 1.0, ..Summary::of(&chains) }
    }

    #[test]
    fn the_worst_parameter_is_named() {
        let judged = |rows: &[(&str, Summary)]| Judgement::of(rows, 4, 1000);
        let (good, apart) = (summary(1.002, 900.0), summary(1.2, 900.0));
        let (few, unknown) = (summary(1.001, 90.0), summary(f64::NAN, 900.0));
        let trusted = judged(&[("a", good), ("b", good)]);
        assert_eq!(trusted, Judgement::Trusted { rhat: 1.002, ess: 900.0 });
        assert!(trusted.is_trusted());
        let disagree = Judgement::Disagree { parameter: "b".into(), rhat: 1.2 };
        assert_eq!(judged(&[("a", good), ("b", apart)]), disagree);
        assert!(matches!(judged(&[("a", unknown)]), Judgement::Disagree { .. }));
        let rough = Judgement::Rough { parameter: "a".into(), ess: 90.0, wanted: 400.0 };
        assert_eq!(judged(&[("a", few), ("b", good)]), rough);
    }

    #[test]
    fn few_or_equal_draws_are_said_to_be_so() {
        let still = Summary::of(&[[1.0; 5], [1.0; 5]]);
        let stuck = Judgement::Stuck { parameter: "a".into() };
        assert_eq!(Judgement::of(&[("a", still)], 2, 5), stuck);
        let few = Judgement::of(&[("a", still)], 2, 3);
        assert_eq!(few, Judgement::TooFew { draws: 3 });
        let alone = Judgement::of(&[("a", summary(f64::NAN, 900.0))], 1, 1000);
        assert_eq!(alone, Judgement::Alone { ess: 900.0 });
    }
}
