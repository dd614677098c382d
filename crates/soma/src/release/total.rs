//! The number of records: public, or unknown with a prior.

use serde::{Deserialize, Serialize};

use crate::error::{Invalid, positive};
use crate::numeric::ln_gamma_shift::ln_gamma_shift;

/// The prior knowledge of n.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Total {
    /// n is public.
    Known(i64),
    /// n is confidential, with this prior.
    Unknown(SizePrior),
}

/// A prior of n on the non-negative integers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizePrior {
    /// Uniform on all n: improper, so that every cell must be measured.
    Flat,
    /// Uniform from `low` to `high`.
    Uniform {
        /// The least number.
        low: u64,
        /// The largest number.
        high: u64,
    },
    /// Poisson of this mean.
    Poisson {
        /// The mean.
        mean: f64,
    },
    /// Poisson with a Gamma(shape, rate) mean: n is negative binomial. With Dirichlet(alpha) shares
    /// and shape sum(alpha), the cells are independent: each Poisson with mean Gamma(alpha_i,
    /// rate).
    PoissonGamma {
        /// The shape of the mean's gamma prior.
        shape: f64,
        /// Its rate.
        rate: f64,
    },
}

impl Total {
    /// The largest number of records: all sums of counts stay exact in floating point.
    pub const MOST: i64 = 1 << 50;

    pub(crate) fn check(self) -> Result<(), Invalid> {
        match self {
            Total::Known(n) if !(0..=Self::MOST).contains(&n) => {
                let allowed = format!("a whole number from 0 to {}", Self::MOST);
                Err(Invalid::new("n", "cannot be a number of records", n, allowed))
            }
            Total::Unknown(SizePrior::Poisson { mean }) => positive("n.mean", mean).map(|_| ()),
            Total::Unknown(SizePrior::PoissonGamma { shape, rate }) => {
                positive("n.shape", shape)?;
                positive("n.rate", rate).map(|_| ())
            }
            Total::Unknown(SizePrior::Uniform { low, high }) if low >= high => Err(Invalid::new(
                "n.low",
                "the prior of n must leave several numbers possible",
                format!("{low} to {high}"),
                "low below high",
            )),
            _ => Ok(()),
        }
    }

    /// n, if it is public.
    pub fn known(self) -> Option<i64> {
        match self {
            Total::Known(n) => Some(n),
            Total::Unknown(_) => None,
        }
    }

    /// The possible number of records nearest to `n`.
    pub(crate) fn nearest(self, n: f64) -> f64 {
        match self {
            Total::Known(known) => known as f64,
            Total::Unknown(SizePrior::Uniform { low, high }) => n.clamp(low as f64, high as f64),
            Total::Unknown(_) => n.clamp(0.0, Self::MOST as f64),
        }
    }

    /// The change of the log prior of n from `n` to `n + by`.
    pub(crate) fn change(self, n: i64, by: i64) -> f64 {
        let (n, by) = (n as f64, by as f64);
        match self {
            Total::Known(_) if by != 0.0 => f64::NEG_INFINITY,
            Total::Unknown(SizePrior::Uniform { low, high })
                if !(low as f64..=high as f64).contains(&(n + by)) =>
            {
                f64::NEG_INFINITY
            }
            Total::Known(_) | Total::Unknown(SizePrior::Flat | SizePrior::Uniform { .. }) => 0.0,
            Total::Unknown(SizePrior::Poisson { mean }) => {
                by * mean.ln() - ln_gamma_shift(n + 1.0, by)
            }
            Total::Unknown(SizePrior::PoissonGamma { shape, rate }) => {
                ln_gamma_shift(n + shape, by) - ln_gamma_shift(n + 1.0, by) - by * rate.ln_1p()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The priors of n, computed from their first probability, sum to one.
    #[test]
    fn priors_are_those_of_the_textbook() {
        let poisson = Total::Unknown(SizePrior::Poisson { mean: 3.0 });
        let gamma = Total::Unknown(SizePrior::PoissonGamma { shape: 2.5, rate: 0.5 });
        let first = [(-3.0_f64).exp(), (0.5_f64 / 1.5).powf(2.5)];
        for (prior, first) in [poisson, gamma].into_iter().zip(first) {
            let total: f64 = (0..400).map(|n| first * prior.change(0, n).exp()).sum();
            assert!((total - 1.0).abs() < 1e-12, "{prior:?}: {total}");
        }
    }

    #[test]
    fn bad_sizes_are_refused() {
        assert!(Total::Known(-1).check().is_err());
        assert!(Total::Known(i64::MAX).check().is_err());
        assert!(Total::Unknown(SizePrior::Poisson { mean: 0.0 }).check().is_err());
        let prior = SizePrior::PoissonGamma { shape: 1.0, rate: f64::NAN };
        assert_eq!(Total::Unknown(prior).check().unwrap_err().field, "n.rate");
    }
}
