//! Acceptance with probability exp(-loss).

use rand::RngExt;

use super::exp::exp;
use crate::rng::Rng;

/// True with probability exp(-loss), and surely where `loss` is not positive.
#[inline(always)]
pub(crate) fn accepts_exp_neg(loss: f64, rng: &mut Rng) -> bool {
    is_below_exp_neg(rng.random(), loss)
}

/// Whether `uniform` is below exp(-loss).
///
/// Squeeze: the bounds 1 - x + x^2/2 - x^3/6 <= exp(-x) <= 1 / (1 + x + x^2/2 + x^3/6) decide nearly
/// always, without the exponential function.
#[inline(always)]
pub(crate) fn is_below_exp_neg(uniform: f64, loss: f64) -> bool {
    let (square, cube) = (0.5 * loss * loss, loss * loss * loss * (1.0 / 6.0));
    if uniform < (1.0 - loss) + (square - cube) {
        return true;
    }
    uniform * ((1.0 + loss) + (square + cube)) <= 1.0 && uniform < exp(-loss)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The squeeze changes no decision.
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
}
