//! Quantiles for a given score, by Newton's method on the score.
//!
//! As a function of log x (or logit x) the score is increasing and nearly linear, so that a few
//! steps are enough; every step is kept inside a bracket.

use super::{LOG_SQRT_TWO_PI, log1p, softplus};
use super::{beta_score, gamma_score, log_gamma, normal_cdf, normal_log_cdf, student_score};

const STEPS: usize = 60;

/// The u with `score`(u) = e, where `log_density` is that of u.
fn solve(e: f64, start: f64, score: impl Fn(f64) -> f64, log_density: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let (mut u, mut reach) = (start, 1.0);
    for _ in 0..STEPS {
        let s = score(u);
        let gap = s - e;
        if gap == 0.0 {
            return u;
        }
        if gap > 0.0 {
            high = high.min(u)
        } else {
            low = low.max(u)
        }
        let slope = (log_density(u) + 0.5 * s * s + LOG_SQRT_TWO_PI).exp();
        let mut next = u - gap / slope;
        if !(next > low && next < high && slope.is_finite()) {
            next = match (low.is_finite(), high.is_finite()) {
                (true, true) => 0.5 * (low + high),
                (true, false) => low + reach,
                _ => high - reach,
            };
            reach *= 2.0;
        }
        if (next - u).abs() <= 4e-15 * u.abs().max(1.0) {
            return next;
        }
        u = next;
    }
    u
}

/// The x with score e under Gamma(shape, 1).
pub fn gamma_quantile(shape: f64, e: f64) -> f64 {
    if !(shape > 0.0) || !shape.is_finite() || e.is_nan() {
        return f64::NAN;
    }
    if e.is_infinite() {
        return if e > 0.0 { f64::INFINITY } else { 0.0 };
    }
    let normaliser = log_gamma(shape);
    // P(x) is at most x^shape / Gamma(shape + 1), and nearly that for small x.
    let small = (normal_log_cdf(e) + normaliser + shape.ln()) / shape;
    let root = 1.0 - 1.0 / (9.0 * shape) + e / (3.0 * shape.sqrt());
    let start = if shape < 0.5 || small < -3.0 || root < 0.05 {
        small.min(2.0)
    } else {
        shape.ln() + 3.0 * root.ln()
    };
    if small < -30.0 {
        return small.exp();
    }
    solve(e, start, |u| gamma_score(shape, u.exp()), |u| shape * u - u.exp() - normaliser).exp()
}

/// The x with score e under Beta(a, b).
pub fn beta_quantile(a: f64, b: f64, e: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite()) || e.is_nan() {
        return f64::NAN;
    }
    if e.is_infinite() {
        return if e > 0.0 { 1.0 } else { 0.0 };
    }
    let normaliser = log_gamma(a) + log_gamma(b) - log_gamma(a + b);
    // Near an end the distribution function is a power.
    let low = (normal_log_cdf(e) + a.ln() + normaliser) / a;
    let high = (normal_log_cdf(-e) + b.ln() + normaliser) / b;
    if low < -35.0 {
        return low.exp();
    }
    if high < -35.0 {
        return -high.exp_m1();
    }
    let start = if low < -3.0 {
        low - log1p(-low.exp())
    } else if high < -3.0 {
        log1p(-high.exp()) - high
    } else {
        (a / b).ln() + e * (1.0 / a + 1.0 / b).sqrt().min(3.0)
    };
    let score = |u: f64| {
        // 1 - x is as accurate as x: both from the logit.
        if u < 0.0 { beta_score(a, b, logistic(u)) } else { -beta_score(b, a, logistic(-u)) }
    };
    let log_density = |u: f64| -a * softplus(-u) - b * softplus(u) - normaliser;
    logistic(solve(e, start, score, log_density))
}

fn logistic(u: f64) -> f64 {
    1.0 / (1.0 + (-u).exp())
}

/// The t with score e under Student's t with `nu` degrees of freedom.
pub fn student_quantile(nu: f64, e: f64) -> f64 {
    if !(nu > 0.0) || !nu.is_finite() || e.is_nan() {
        return f64::NAN;
    }
    if e < 0.0 {
        return -student_quantile(nu, -e);
    }
    if e.is_infinite() || e == 0.0 {
        return e;
    }
    let normaliser =
        log_gamma(0.5 * (nu + 1.0)) - log_gamma(0.5 * nu) - 0.5 * (nu * std::f64::consts::PI).ln();
    if e < 1e-3 {
        // The distribution function is linear to order t^3 around 0.
        let t = (normal_cdf(e) - 0.5) * (-normaliser).exp();
        let t = t + (nu + 1.0) / (6.0 * nu) * t * t * t;
        return t;
    }
    // The tail beyond t is about C t^-nu.
    let tail = (normaliser + 0.5 * (nu - 1.0) * nu.ln() - normal_log_cdf(-e)) / nu;
    let body = (e * (1.0 + (1.0 + e * e) / (4.0 * nu))).ln();
    let start = if tail.is_finite() && nu < 4.0 && e > 2.0 { tail } else { body };
    let log_density = |u: f64| normaliser - 0.5 * (nu + 1.0) * log1p((2.0 * u).exp() / nu) + u;
    solve(e, start, |u| student_score(nu, u.exp()), log_density).exp()
}
