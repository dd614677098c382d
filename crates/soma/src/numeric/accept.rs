//! The Metropolis-Hastings acceptance test.

use rand::RngExt;

use super::exp::exp;
use crate::rng::Rng;

/// True with probability min(1, exp(-loss)).
#[inline(always)]
pub(crate) fn accepts_exp_neg(loss: f64, rng: &mut Rng) -> bool {
    is_below_exp_neg(rng.random(), loss)
}

/// Whether `uniform` is below exp(-loss).
///
/// Squeeze: the bounds 1 - x + x^2/2 - x^3/6 <= exp(-x) <= 1 / (1 + x + x^2/2 + x^3/6) nearly
/// always decide without an exponential.
#[inline(always)]
pub(crate) fn is_below_exp_neg(uniform: f64, loss: f64) -> bool {
    let (square, cube) = (0.5 * loss * loss, loss * loss * loss * (1.0 / 6.0));
    if uniform < (1.0 - loss) + (square - cube) {
        return true;
    }
    uniform * ((1.0 + loss) + (square + cube)) <= 1.0 && uniform < exp(-loss)
}

/// True with probability min(1, exp(`log_ratio`)). A NaN is rejected: it comes from states whose
/// density cannot be computed.
#[inline]
pub(crate) fn accepts(log_ratio: f64, rng: &mut Rng) -> bool {
    is_accepted(rng.random::<f64>().ln(), log_ratio)
}

/// The same for a given log uniform, for coupled chains.
#[inline]
pub(crate) fn is_accepted(log_uniform: f64, log_ratio: f64) -> bool {
    // Not `!(log_uniform >= log_ratio)`, which is true of NaN.
    log_uniform < log_ratio
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    /// The squeeze does not change a decision.
    #[test]
    fn squeezed_decisions_are_those_of_exp() {
        for loss in [-3.0, -1e-9, 0.0, 1e-12, 1e-3, 0.3, 0.9, 2.0, 7.5, 40.0, 800.0] {
            for j in 0..10_000 {
                let uniform = f64::from(j) / 10_000.0;
                let near = (uniform / f64::exp(-loss) - 1.0).abs() < 1e-12;
                let decided = is_below_exp_neg(uniform, loss);
                assert!(near || decided == (uniform < f64::exp(-loss)), "{uniform} at {loss}");
            }
        }
    }

    #[test]
    fn ratios_that_are_no_numbers_are_refused() {
        let mut rng = rng::stream(15, 2);
        for _ in 0..1000 {
            assert!(!accepts(f64::NAN, &mut rng));
            assert!(!accepts(f64::NEG_INFINITY, &mut rng));
            assert!(!accepts(f64::NEG_INFINITY - f64::NEG_INFINITY, &mut rng));
            assert!(accepts(f64::INFINITY, &mut rng));
            assert!(accepts(0.0, &mut rng));
            // The acceptance test of the kernels.
            assert!(
                !accepts_exp_neg(f64::NAN, &mut rng) && !accepts_exp_neg(f64::INFINITY, &mut rng)
            );
            assert!(accepts_exp_neg(f64::NEG_INFINITY, &mut rng) && accepts_exp_neg(0.0, &mut rng));
        }
    }

    #[test]
    fn acceptance_is_the_ratio() {
        let (draws, mut rng) = (100_000, rng::stream(15, 3));
        for ratio in [0.01, 0.3, 0.9_f64] {
            let taken = (0..draws).filter(|_| accepts(ratio.ln(), &mut rng)).count();
            let error = (ratio * (1.0 - ratio) / draws as f64).sqrt();
            assert!((taken as f64 / draws as f64 - ratio).abs() < 4.5 * error, "{ratio}");
        }
    }
}
