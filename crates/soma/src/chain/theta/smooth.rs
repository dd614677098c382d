//! Smooth approximations of the potential of one coordinate of the release, for proposals of theta.
//! The acceptance tests use the exact potential, so a poor approximation costs acceptance only.
//!
//! A coordinate is `None` if only the joint potential of several coordinates is known: its
//! approximation is then Gaussian.

use crate::release::Potential;
use crate::release::potential::Coordinate;

/// The half-width of the smoothing of a kink, in noise units.
const SMOOTHED: f64 = 0.3;

/// The rise of the potential whose distance from the mode gives the precision: at 4 both |r| and
/// r^2 / 2 give one over the variance of the noise.
const RISE: f64 = 4.0;

/// A potential that has not risen at this distance, in noise units, counts as flat.
const FLAT: f64 = 1e6;

/// The derivative of the potential, smoothed at its kinks.
#[inline]
pub(in crate::chain) fn slope(coordinate: Option<&Coordinate>, r: f64) -> f64 {
    match coordinate {
        Some(Coordinate::L1) => r / (r * r + SMOOTHED * SMOOTHED).sqrt(),
        Some(Coordinate::L2) | None => r,
        Some(Coordinate::Curve(curve)) => {
            (curve.cost(r + SMOOTHED) - curve.cost(r - SMOOTHED)) / (2.0 * SMOOTHED)
        }
    }
}

/// The precision of a Gaussian approximation of the noise: about one over its variance. It is 0 if
/// the potential is flat on one side, so that the release only bounds the true value.
pub(in crate::chain) fn precision(coordinate: Option<&Coordinate>) -> f64 {
    match coordinate {
        Some(Coordinate::L1) => 0.5,
        Some(Coordinate::L2) | None => 1.0,
        Some(Coordinate::Curve(curve)) => {
            let mode = curve.mode();
            if !mode.is_finite() {
                return 0.0;
            }
            let level = curve.cost(mode) + RISE;
            let width = |side: f64| distance(|d| curve.cost(mode + side * d) >= level);
            2.0 * RISE / (width(1.0) * width(-1.0))
        }
    }
}

/// The precision of each of `k` coordinates.
pub(in crate::chain) fn precisions(potential: &Potential, k: usize) -> Vec<f64> {
    (0..k).map(|c| precision(potential.separate(c))).collect()
}

/// The smallest distance at which `is_far`, by bisection; infinite if there is none.
fn distance(is_far: impl Fn(f64) -> bool) -> f64 {
    let (mut near, mut far) = (0.0, 1.0);
    while !is_far(far) {
        (near, far) = (far, 2.0 * far);
        if far > FLAT {
            return f64::INFINITY;
        }
    }
    for _ in 0..20 {
        let middle = 0.5 * (near + far);
        if is_far(middle) { far = middle } else { near = middle }
    }
    far
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::release::potential::Curve;

    #[derive(Debug)]
    struct As(fn(f64) -> f64, f64);

    impl Curve for As {
        fn cost(&self, residual: f64) -> f64 {
            (self.0)(residual)
        }

        fn mode(&self) -> f64 {
            self.1
        }
    }

    fn curve(cost: fn(f64) -> f64, mode: f64) -> Coordinate {
        Coordinate::Curve(Arc::new(As(cost, mode)))
    }

    /// |r| and r^2 / 2 as curves have the same approximations as the norms.
    #[test]
    fn curves_agree_with_norms() {
        let pairs =
            [(Coordinate::L1, curve(f64::abs, 0.0)), (Coordinate::L2, curve(|r| 0.5 * r * r, 0.0))];
        for (norm, curve) in &pairs {
            let [a, b] = [norm, curve].map(|coordinate| precision(Some(coordinate)));
            assert!((a - b).abs() < 1e-4, "{a} {b}");
            for r in [-5.0, -1.0, 2.0, 40.0] {
                let [a, b] = [norm, curve].map(|coordinate| slope(Some(coordinate), r));
                assert!((a - b).abs() < 0.06, "{r}: {a} {b}");
            }
        }
        let shifted = curve(|r| 2.0 * (r - 3.0) * (r - 3.0), 3.0);
        assert!((precision(Some(&shifted)) - 4.0).abs() < 1e-3);
    }

    /// A potential that is flat on one side has precision 0.
    #[test]
    fn flat_costs_have_no_precision() {
        assert_eq!(precision(Some(&curve(f64::exp, f64::NEG_INFINITY))), 0.0);
        assert_eq!(precision(Some(&curve(|r| r.max(0.0), 0.0))), 0.0);
    }
}
