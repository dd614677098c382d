//! The accept step of Metropolis and Hastings.

use rand::RngExt;

use crate::rng::Rng;

/// True with probability min(1, exp(`log_ratio`)). A log ratio that is NaN is refused: it comes of
/// states whose density cannot be computed, and a chain must not go there.
#[inline]
pub(crate) fn accepts(log_ratio: f64, rng: &mut Rng) -> bool {
    is_accepted(rng.random::<f64>().ln(), log_ratio)
}

/// The same with a given logarithm of a uniform, for chains that share one.
#[inline]
pub(crate) fn is_accepted(log_uniform: f64, log_ratio: f64) -> bool {
    // Not `!(log_uniform >= log_ratio)`, which is true of NaN.
    log_uniform < log_ratio
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::shape::survives;
    use crate::rng;

    #[test]
    fn ratios_that_are_no_numbers_are_refused() {
        let mut rng = rng::stream(15, 2);
        for _ in 0..1000 {
            assert!(!accepts(f64::NAN, &mut rng));
            assert!(!accepts(f64::NEG_INFINITY, &mut rng));
            assert!(!accepts(f64::NEG_INFINITY - f64::NEG_INFINITY, &mut rng));
            assert!(accepts(f64::INFINITY, &mut rng));
            assert!(accepts(0.0, &mut rng));
            // The accept step of the kernels.
            assert!(!survives(f64::NAN, &mut rng) && !survives(f64::INFINITY, &mut rng));
            assert!(survives(f64::NEG_INFINITY, &mut rng) && survives(0.0, &mut rng));
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
