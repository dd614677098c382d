//! Scores: the standard normal quantile of the same probability.
//!
//! Computed from the smaller of the two tails, so that they are accurate in both.

use super::incomplete_beta::log_lower_tail;
use super::{LARGE_SHAPE, beta_tails, cube_root_score, gamma_tails, log_gamma};
use super::{normal_cdf, normal_log_cdf, normal_quantile};

/// From here on e^-x is too small for the digits of a double.
const DEEP: f64 = 700.0;

/// The score of a probability `below`, or of `above`, whichever is smaller.
pub(super) fn score(below: f64, above: f64) -> f64 {
    if below <= above { normal_quantile(below) } else { -normal_quantile(above) }
}

/// The negative score with this log probability below it, which is far below those of doubles: Newton's
/// method on the log distribution function.
fn deep_score(log: f64) -> f64 {
    if !log.is_finite() {
        return log;
    }
    let mut x = -(-2.0 * log).sqrt();
    for _ in 0..8 {
        // The density over the distribution function is nearly this.
        x -= (normal_log_cdf(x) - log) / (-x - 1.0 / x);
    }
    x
}

/// The score of x under Gamma(shape, 1).
pub fn gamma_score(shape: f64, x: f64) -> f64 {
    if shape > LARGE_SHAPE && shape.is_finite() && x > 0.0 {
        return cube_root_score(shape, x);
    }
    let [below, above] = gamma_tails(shape, x);
    // The first term of the series of a tail, and the sum of a geometric one above it.
    if below == 0.0 && x > 0.0 {
        let rest = (-x / (shape + 1.0)).ln_1p();
        return deep_score(shape * x.ln() - x - log_gamma(shape + 1.0) - rest);
    }
    if above == 0.0 && x > DEEP {
        let rest = (-(shape - 1.0) / x).ln_1p();
        return -deep_score((shape - 1.0) * x.ln() - x - log_gamma(shape) - rest);
    }
    score(below, above)
}

/// The score of x under Beta(a, b).
pub fn beta_score(a: f64, b: f64, x: f64) -> f64 {
    let [below, above] = beta_tails(a, b, x);
    if below == 0.0 && x > 0.0 {
        return deep_score(log_lower_tail(a, b, x, 1.0 - x));
    }
    if above == 0.0 && x < 1.0 {
        return -deep_score(log_lower_tail(b, a, 1.0 - x, x));
    }
    score(below, above)
}

/// The distribution function of Student's t with `nu` degrees of freedom.
pub fn student_cdf(nu: f64, t: f64) -> f64 {
    let [near, far] = student_tails(nu, t);
    if t < 0.0 { near } else { far }
}

/// The probability beyond |t| on one side, and the rest.
fn student_tails(nu: f64, t: f64) -> [f64; 2] {
    if !(nu > 0.0) || t.is_nan() {
        return [f64::NAN; 2];
    }
    let square = t * t;
    if square.is_infinite() {
        return [0.0, 1.0];
    }
    // The argument near 1 is computed from its small complement.
    let beyond = if square < nu {
        0.5 * beta_tails(0.5, 0.5 * nu, square / (nu + square))[1]
    } else {
        0.5 * beta_tails(0.5 * nu, 0.5, nu / (nu + square))[0]
    };
    [beyond, 1.0 - beyond]
}

/// The score of t under Student's t with `nu` degrees of freedom.
pub fn student_score(nu: f64, t: f64) -> f64 {
    let size = -normal_quantile(student_tails(nu, t)[0]);
    if t < 0.0 { -size } else { size }
}

/// The score of x under the half-normal of scale 1.
pub fn half_normal_score(x: f64) -> f64 {
    if x > 37.0 {
        return -deep_score(normal_log_cdf(-x) + std::f64::consts::LN_2);
    }
    score(libm::erf(x * std::f64::consts::FRAC_1_SQRT_2), 2.0 * normal_cdf(-x))
}

/// The half-normal of scale 1 with the score e.
pub fn half_normal_quantile(e: f64) -> f64 {
    if e > -1.0 {
        return -normal_quantile(0.5 * normal_cdf(-e));
    }
    // Phi(x) - 1/2 = Phi(e) / 2 is small: Newton's method on erf(x / sqrt 2) = Phi(e).
    let p = normal_cdf(e);
    let mut x = p * std::f64::consts::FRAC_PI_2.sqrt();
    for _ in 0..4 {
        let density = (2.0 / std::f64::consts::PI).sqrt() * (-0.5 * x * x).exp();
        x -= (libm::erf(x * std::f64::consts::FRAC_1_SQRT_2) - p) / density;
    }
    x
}

/// The score of x under the exponential of rate 1.
pub fn exponential_score(x: f64) -> f64 {
    if x > DEEP { -deep_score(-x) } else { score(-(-x).exp_m1(), (-x).exp()) }
}

/// The score of x under the Laplace distribution of scale 1.
pub fn laplace_score(x: f64) -> f64 {
    let far = x.abs();
    let size = if far > DEEP {
        -deep_score(-far - std::f64::consts::LN_2)
    } else {
        -normal_quantile(0.5 * (-far).exp())
    };
    if x < 0.0 { -size } else { size }
}

/// The score of x under the logistic distribution of scale 1.
pub fn logit_score(x: f64) -> f64 {
    if x.abs() > DEEP {
        return deep_score(-x.abs()).copysign(x);
    }
    score(1.0 / (1.0 + (-x).exp()), 1.0 / (1.0 + x.exp()))
}
