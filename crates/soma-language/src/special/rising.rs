//! Rising factorials, s (s + 1) ... (s + x - 1), over s^x.
//!
//! log Gamma(s + x) - log Gamma(s) cancels where s is large: at s = 1e15 nothing of it is right. From
//! `LARGE` on Stirling's series are subtracted term by term, so that the result tends to 0 as it should.

use super::{digamma, log_gamma, trigamma};

/// From here on the series have errors below 1e-15.
const LARGE: f64 = 16.0;

/// log[Gamma(s + x) / (Gamma(s) s^x)] for s > 0 and x >= 0.
pub fn log_rising(s: f64, x: f64) -> f64 {
    if !(s > 0.0 && x >= 0.0) {
        return f64::NAN;
    }
    let y = s + x;
    if s < LARGE {
        return log_gamma(y) - log_gamma(s) - x * s.ln();
    }
    let t = x / s;
    s * log1p_less(t) + (x - 0.5) * t.ln_1p() + (stirling(y) - stirling(s))
}

/// The derivative of [`log_rising`] by s: digamma(s + x) - digamma(s) - x / s.
pub fn log_rising_slope(s: f64, x: f64) -> f64 {
    if !(s > 0.0 && x >= 0.0) {
        return f64::NAN;
    }
    let y = s + x;
    if s < LARGE {
        return digamma(y) - digamma(s) - x / s;
    }
    let series = |z: f64| {
        let v = 1.0 / (z * z);
        v * (1.0 / 12.0 - v * (1.0 / 120.0 - v * (1.0 / 252.0 - v * (1.0 / 240.0 - v / 132.0))))
    };
    log1p_less(x / s) + 0.5 * (x / s) / y - (series(y) - series(s))
}

/// The second derivative of [`log_rising`] by s: trigamma(s + x) - trigamma(s) + x / s^2.
pub fn log_rising_curve(s: f64, x: f64) -> f64 {
    if !(s > 0.0 && x >= 0.0) {
        return f64::NAN;
    }
    let y = s + x;
    let t = x / s;
    if s < LARGE {
        return trigamma(y) - trigamma(s) + t / s;
    }
    let series = |z: f64| {
        let v = 1.0 / (z * z);
        v / z
            * (1.0 / 6.0 - v * (1.0 / 30.0 - v * (1.0 / 42.0 - v * (1.0 / 30.0 - v * 5.0 / 66.0))))
    };
    t * t / y - 0.5 * t / y * (1.0 / y + 1.0 / s) + (series(y) - series(s))
}

/// log(1 + t) - t for t > -1, without cancellation for small t.
pub(super) fn log1p_less(t: f64) -> f64 {
    if t.abs() > 0.5 {
        return t.ln_1p() - t;
    }
    // log(1 + t) is twice the inverse hyperbolic tangent of v.
    let v = t / (2.0 + t);
    let square = v * v;
    let series = (0..12).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 3));
    2.0 * v * square * series - t * v
}

/// What log Gamma(x) is more than Stirling's formula, (x - 1/2) log x - x + log sqrt(2 pi), for x > 0.
pub(super) fn stirling(x: f64) -> f64 {
    if x < LARGE {
        return log_gamma(x) - ((x - 0.5) * x.ln() - x + super::LOG_SQRT_TWO_PI);
    }
    let v = 1.0 / (x * x);
    (1.0 / 12.0 - v * (1.0 / 360.0 - v * (1.0 / 1260.0 - v * (1.0 / 1680.0 - v / 1188.0)))) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the sum of logarithms, from the smallest term on; and the derivatives against those of
    /// its terms.
    #[test]
    fn rising_factorials_are_products() {
        let sizes = (-8..=16).flat_map(|power| [1.0, 3.7].map(|m| m * 10f64.powi(power)));
        for s in sizes.chain([15.9999999, 16.0]) {
            for x in [0, 1, 2, 5, 17, 300] {
                let terms = |of: &dyn Fn(f64) -> f64| (0..x).map(|k| of(f64::from(k))).sum::<f64>();
                let x = f64::from(x);
                let check = |name: &str, ours: f64, exact: f64, size: f64| {
                    let limit = 2e-14 * (exact.abs() + size);
                    assert!((ours - exact).abs() <= limit, "{name} {s} {x}: {ours:e} {exact:e}");
                };
                // The size of what cancels.
                let far = |power: i32| x * (x + 1.0) / s.powi(power);
                let size = if s < LARGE { x * s.ln().abs() + 1.0 } else { far(1) };
                check("log", log_rising(s, x), terms(&|k| (k / s).ln_1p()), size);
                let size = if s < LARGE { (x + 1.0) / s } else { far(2) };
                let slope = terms(&|k| -k / (s * (s + k)));
                check("slope", log_rising_slope(s, x), slope, size);
                let size = if s < LARGE { (x + 1.0) / (s * s) + 5.0 } else { 10.0 * far(3) };
                let curve = terms(&|k| k * (2.0 * s + k) / (s * (s + k)).powi(2));
                check("curve", log_rising_curve(s, x), curve, size);
            }
        }
    }
}
