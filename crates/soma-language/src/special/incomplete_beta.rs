//! The regularised incomplete beta function of large shapes.

use statrs::function::beta::beta_reg;

use super::rising::{log1p_less, stirling};
use super::{gamma_tails, normal_cdf};

/// Up to this the continued fraction of 140 terms is long enough, and log Gamma of the shapes has no
/// more than four digits before the point.
const LARGE_SHAPE: f64 = 3e3;

/// From here on for both shapes, the cube roots of two gammas are normal to about 1e-9.
const VERY_LARGE_SHAPE: f64 = 1e9;

/// Where one shape is so many times the other, the variable is minus the log of a gamma.
const UNEQUAL: f64 = 1e6;

/// I_x(a, b) and 1 minus it, if one shape is much larger than the other: minus the log of what is near 1, times
/// the larger shape and half the other less one, is gamma of the smaller shape, to order 1 / `UNEQUAL`^2
/// (Wise 1950).
pub(super) fn of_unequal_shapes(a: f64, b: f64, x: f64, rest: f64) -> Option<[f64; 2]> {
    let log = |x: f64, rest: f64| if x < 0.5 { (-x).ln_1p() } else { rest.ln() };
    if b > UNEQUAL * (1.0 + a) {
        return Some(gamma_tails(a, -(b + 0.5 * (a - 1.0)) * log(x, rest)));
    }
    if a > UNEQUAL * (1.0 + b) {
        let [above, below] = gamma_tails(b, -(a + 0.5 * (b - 1.0)) * log(rest, x));
        return Some([below, above]);
    }
    None
}

/// I_x(a, b) for x below (a + 1) / (a + b + 2), about the mean; `rest` is 1 - x, which may have digits
/// that x has not.
pub(super) fn lower_tail(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    if a.max(b) <= LARGE_SHAPE {
        return beta_reg(a, b, x);
    }
    if a.min(b) > VERY_LARGE_SHAPE {
        return normal_cdf(cube_root_score(a, b, x, rest));
    }
    (log_power(a, b, x, rest) - a.ln()).exp() * fraction(a, b, x)
}

/// The log of I_x(a, b) for x far below the mean: the first term of the continued fraction.
pub(super) fn log_lower_tail(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    log_power(a, b, x, rest) - a.ln() - (-(a + b) * x / (a + 1.0)).ln_1p()
}

/// log[x^a (1 - x)^b / B(a, b)], by the deviance from the mean, in which nothing cancels (Loader
/// 2000).
fn log_power(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    let n = a + b;
    let gap = a * rest - b * x;
    let (mean, other) = (n * x, n * rest);
    let deviance = mean * excess(gap / mean) + other * excess(-gap / other);
    let normaliser = stirling(n) - stirling(a) - stirling(b);
    0.5 * (a.ln() + (b / n).ln()) - super::LOG_SQRT_TWO_PI - deviance + normaliser
}

/// (1 + u) log(1 + u) - u.
fn excess(u: f64) -> f64 {
    if u <= -1.0 {
        return 1.0;
    }
    if u > 0.5 { (1.0 + u) * u.ln_1p() - u } else { (1.0 + u) * log1p_less(u) + u * u }
}

/// The continued fraction, by Lentz's method. It takes some multiples of the root of the smaller shape.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const MOST_TERMS: u32 = 1 << 20;
    const TINY: f64 = 1e-290;
    let away = |z: f64| if z.abs() < TINY { TINY } else { z };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..MOST_TERMS {
        let m = f64::from(m);
        let twice = a + 2.0 * m;
        let even = m * (b - m) * x / ((twice - 1.0) * twice);
        let odd = -(a + m) * (a + b + m) * x / (twice * (twice + 1.0));
        let mut factor = 1.0;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            factor = c * d;
            value *= factor;
        }
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// The score of x by the cube roots of two gammas (Wilson and Hilferty).
fn cube_root_score(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    let (first, second) = ((b * x).cbrt(), (a * rest).cbrt());
    let gap = first * (1.0 - 1.0 / (9.0 * b)) - second * (1.0 - 1.0 / (9.0 * a));
    3.0 * gap / (first * first / b + second * second / a).sqrt()
}
