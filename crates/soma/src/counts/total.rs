//! The number of records: public, or unknown with a prior.

use crate::error::Invalid;
use crate::numeric::ln_gamma_shift::ln_gamma_shift;
use crate::release::{Release, SizePrior};

/// What is known of n beside the published counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Total {
    /// n is public.
    Known(i64),
    /// n is confidential, with this prior.
    Unknown(SizePrior),
}

impl Total {
    /// The largest number of records: all sums of counts stay exact in floating point.
    pub const MOST: i64 = 1 << 50;

    /// What `release` says of the number of records.
    pub(super) fn of(release: &Release) -> Self {
        match release.slotted() {
            Some(slotted) => Total::Unknown(slotted.prior()),
            None => Total::Known(release.n() as i64),
        }
    }

    pub(super) fn check(self) -> Result<(), Invalid> {
        match self {
            Total::Known(n) if !(0..=Self::MOST).contains(&n) => {
                let allowed = format!("a whole number from 0 to {}", Self::MOST);
                Err(Invalid::new("n", "cannot be a number of records", n, allowed))
            }
            Total::Known(_) => Ok(()),
            Total::Unknown(prior) => prior.check(),
        }
    }

    /// n, where it is public.
    pub fn known(self) -> Option<i64> {
        match self {
            Total::Known(n) => Some(n),
            Total::Unknown(_) => None,
        }
    }

    /// The number of records nearest to `n` that can be.
    pub(super) fn nearest(self, n: f64) -> f64 {
        match self {
            Total::Known(known) => known as f64,
            Total::Unknown(SizePrior::Uniform { low, high }) => n.clamp(low as f64, high as f64),
            Total::Unknown(_) => n.clamp(0.0, Self::MOST as f64),
        }
    }

    /// How the log prior of n changes from `n` to `n + by`.
    pub(super) fn change(self, n: i64, by: i64) -> f64 {
        let to = (n + by).max(0) as u64;
        let (n, by) = (n as f64, by as f64);
        match self {
            Total::Known(_) if by != 0.0 => f64::NEG_INFINITY,
            Total::Known(_) | Total::Unknown(SizePrior::Flat) => 0.0,
            Total::Unknown(SizePrior::Uniform { low, high }) => {
                if (low..=high).contains(&to) {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            Total::Unknown(SizePrior::Poisson(mean)) => {
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

    /// The priors of n sum to one when they are built up from their first probability.
    #[test]
    fn priors_are_those_of_the_textbook() {
        let poisson = Total::Unknown(SizePrior::Poisson(3.0));
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
        assert!(Total::Unknown(SizePrior::Poisson(0.0)).check().is_err());
        let prior = SizePrior::PoissonGamma { shape: 1.0, rate: f64::NAN };
        assert_eq!(Total::Unknown(prior).check().unwrap_err().field, "n.rate");
    }
}
