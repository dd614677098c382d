//! Special functions, each to about full double precision.

mod beta_table;
mod discrete;
mod elementary;
mod incomplete_beta;
mod quantile;
mod rising;
mod score;
mod small_shape;

pub use beta_table::{BetaTable, TABLE_ROWS};
pub use discrete::{
    binomial_cdf, binomial_quantile, negative_binomial_cdf, negative_binomial_quantile,
    negative_binomial_sf, poisson_cdf, poisson_quantile,
};
pub use elementary::{exp, log, log1p, logistic, softplus};
pub use quantile::{beta_quantile, gamma_quantile, student_quantile};
pub use rising::{log_rising, log_rising_curve, log_rising_slope};
pub use score::{
    beta_score, exponential_score, gamma_score, half_normal_quantile, half_normal_score,
    laplace_score, logit_score, student_cdf, student_score,
};
use statrs::function::gamma::{gamma_lr, gamma_ur};

/// log sqrt(2 pi).
pub const LOG_SQRT_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// A function of up to three numbers that is evaluated one record at a time.
///
/// A *score* is the standard normal with the same probability below it, Phi^-1(F(x)); a *quantile*
/// is its inverse, F^-1(Phi(e)) for a continuous distribution and F^-1(u) for a discrete one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Special {
    GammaCdf,
    GammaScore,
    GammaQuantile,
    GammaCdfShape,
    BetaCdf,
    BetaScore,
    BetaQuantile,
    BetaCdfA,
    BetaCdfB,
    StudentCdf,
    StudentScore,
    StudentQuantile,
    StudentCdfFreedom,
    HalfNormalScore,
    HalfNormalQuantile,
    ExponentialScore,
    LaplaceScore,
    LogitScore,
    PoissonCdf,
    PoissonQuantile,
    BinomialCdf,
    BinomialQuantile,
    NegativeBinomialCdf,
    NegativeBinomialSf,
    NegativeBinomialQuantile,
    LogRising,
    LogRisingSlope,
    LogRisingCurve,
}

impl Special {
    /// The value at `args`: shapes first, and then x, e or u.
    pub fn evaluate(self, args: &[f64]) -> f64 {
        use Special::*;
        let at = |k: usize| args.get(k).copied().unwrap_or(f64::NAN);
        match self {
            GammaCdf => gamma_cdf(at(0), at(1)),
            GammaScore => gamma_score(at(0), at(1)),
            GammaQuantile => gamma_quantile(at(0), at(1)),
            GammaCdfShape => slope(|a| gamma_tails(a, at(1)), at(0)),
            BetaCdf => beta_cdf(at(0), at(1), at(2)),
            BetaScore => beta_score(at(0), at(1), at(2)),
            BetaQuantile => beta_quantile(at(0), at(1), at(2)),
            BetaCdfA => slope(|a| beta_tails(a, at(1), at(2)), at(0)),
            BetaCdfB => slope(|b| beta_tails(at(0), b, at(2)), at(1)),
            StudentCdf => student_cdf(at(0), at(1)),
            StudentScore => student_score(at(0), at(1)),
            StudentQuantile => student_quantile(at(0), at(1)),
            StudentCdfFreedom => {
                slope(|nu| [student_cdf(nu, at(1)), student_cdf(nu, -at(1))], at(0))
            }
            HalfNormalScore => half_normal_score(at(0)),
            HalfNormalQuantile => half_normal_quantile(at(0)),
            ExponentialScore => exponential_score(at(0)),
            LaplaceScore => laplace_score(at(0)),
            LogitScore => logit_score(at(0)),
            PoissonCdf => poisson_cdf(at(0), at(1)),
            PoissonQuantile => poisson_quantile(at(0), at(1)),
            BinomialCdf => binomial_cdf(at(0), at(1), at(2)),
            BinomialQuantile => binomial_quantile(at(0), at(1), at(2)),
            NegativeBinomialCdf => negative_binomial_cdf(at(0), at(1), at(2)),
            NegativeBinomialSf => negative_binomial_sf(at(0), at(1), at(2)),
            NegativeBinomialQuantile => negative_binomial_quantile(at(0), at(1), at(2)),
            LogRising => log_rising(at(0), at(1)),
            LogRisingSlope => log_rising_slope(at(0), at(1)),
            LogRisingCurve => log_rising_curve(at(0), at(1)),
        }
    }

    /// The distribution function of a score or a quantile; the score itself if only the density is
    /// needed.
    pub(crate) fn cdf(self) -> Special {
        use Special::*;
        match self {
            GammaScore | GammaQuantile => GammaCdf,
            BetaScore | BetaQuantile => BetaCdf,
            StudentScore | StudentQuantile => StudentCdf,
            HalfNormalQuantile => HalfNormalScore,
            other => other,
        }
    }
}

/// log Gamma(x).
pub fn log_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The derivative of [`log_gamma`] for x > 0, by recurrence and the asymptotic series.
pub fn digamma(x: f64) -> f64 {
    if !(x > 0.0) {
        return f64::NAN;
    }
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift -= 1.0 / x;
        x += 1.0;
    }
    let v = 1.0 / (x * x);
    let series = v
        * (1.0 / 12.0
            - v * (1.0 / 120.0
                - v * (1.0 / 252.0
                    - v * (1.0 / 240.0 - v * (1.0 / 132.0 - v * (691.0 / 32760.0 - v / 12.0))))));
    shift + x.ln() - 0.5 / x - series
}

/// The derivative of [`digamma`] for x > 0.
pub fn trigamma(x: f64) -> f64 {
    if !(x > 0.0) {
        return f64::NAN;
    }
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += 1.0 / (x * x);
        x += 1.0;
    }
    let v = 1.0 / (x * x);
    let series =
        v * (1.0 / 6.0 - v * (1.0 / 30.0 - v * (1.0 / 42.0 - v * (1.0 / 30.0 - v * 5.0 / 66.0))));
    shift + (1.0 + 0.5 / x + series) / x
}

/// Phi(x).
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// log Phi(x), to full relative precision in the lower tail.
pub fn normal_log_cdf(x: f64) -> f64 {
    if x > 0.0 {
        return (-normal_cdf(-x)).ln_1p();
    }
    if x > -35.0 {
        return normal_cdf(x).ln();
    }
    let v = 1.0 / (x * x);
    let series = 1.0 - v * (1.0 - v * (3.0 - v * (15.0 - 105.0 * v)));
    -0.5 * x * x - LOG_SQRT_TWO_PI - (-x).ln() + series.ln()
}

/// Phi^-1(p): a rational approximation and one step of Newton's method.
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if !(p > 0.0) {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    let x = -std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * p);
    let log = normal_log_cdf(x);
    let error = (log - p.ln()) * (log + 0.5 * x * x + LOG_SQRT_TWO_PI).exp();
    let mended = x - error;
    if mended.is_finite() { mended } else { x }
}

/// The regularised lower incomplete gamma function.
pub fn gamma_cdf(shape: f64, x: f64) -> f64 {
    if !(shape > 0.0) || x.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    if x.is_infinite() {
        return 1.0;
    }
    if shape > LARGE_SHAPE { normal_cdf(cube_root_score(shape, x)) } else { gamma_lr(shape, x) }
}

/// 1 - [`gamma_cdf`], without cancellation.
pub fn gamma_sf(shape: f64, x: f64) -> f64 {
    if !(shape > 0.0) || x.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    if shape > LARGE_SHAPE { normal_cdf(-cube_root_score(shape, x)) } else { gamma_ur(shape, x) }
}

/// [`gamma_cdf`] and [`gamma_sf`], at the cost of one: the one that a series gives is 1 minus the
/// other.
pub fn gamma_tails(shape: f64, x: f64) -> [f64; 2] {
    if 0.0 < shape && shape < small_shape::GAMMA && 0.0 < x && x <= 1.0 {
        let above = small_shape::gamma_above(shape, x);
        return [1.0 - above, above];
    }
    if x <= shape.max(1.0) {
        let below = gamma_cdf(shape, x);
        [below, 1.0 - below]
    } else {
        let above = gamma_sf(shape, x);
        [1.0 - above, above]
    }
}

/// Above this the incomplete gamma function takes too many terms, and the cube root of a gamma is
/// normal (Wilson and Hilferty) to about 1e-9.
const LARGE_SHAPE: f64 = 1e9;

fn cube_root_score(shape: f64, x: f64) -> f64 {
    3.0 * shape.sqrt() * ((x / shape).cbrt() - 1.0 + 1.0 / (9.0 * shape))
}

/// The regularised incomplete beta function.
pub fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    beta_tails(a, b, x)[0]
}

/// The regularised incomplete beta function and 1 minus it, without cancellation.
pub fn beta_tails(a: f64, b: f64, x: f64) -> [f64; 2] {
    beta_tails_of(a, b, x, 1.0 - x)
}

/// The same, where `rest`, 1 - x, is known to more digits than those of x give.
pub(crate) fn beta_tails_of(a: f64, b: f64, x: f64, rest: f64) -> [f64; 2] {
    if !(a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite()) || x.is_nan() {
        return [f64::NAN; 2];
    }
    if x <= 0.0 {
        return [0.0, 1.0];
    }
    if rest <= 0.0 {
        return [1.0, 0.0];
    }
    if let Some(tails) = incomplete_beta::of_unequal_shapes(a, b, x, rest) {
        return tails;
    }
    // The continued fraction is that of the tail on the side of x; the other is the rest.
    if x < (a + 1.0) / (a + b + 2.0) {
        if a < small_shape::BETA {
            let above = small_shape::beta_above(a, b, x);
            return [1.0 - above, above];
        }
        let below = incomplete_beta::lower_tail(a, b, x, rest);
        [below, 1.0 - below]
    } else {
        if b < small_shape::BETA {
            let below = small_shape::beta_above(b, a, rest);
            return [below, 1.0 - below];
        }
        let above = incomplete_beta::lower_tail(b, a, rest, x);
        [1.0 - above, above]
    }
}

/// The derivative with respect to a positive shape of the first of two numbers that sum to one,
/// by central differences of order six of the smaller of them.
fn slope(tails: impl Fn(f64) -> [f64; 2], shape: f64) -> f64 {
    let here = tails(shape);
    let side = usize::from(here[0] > here[1]);
    let h = 0.01 * shape;
    let difference = |k: f64| tails(shape + k * h)[side] - tails(shape - k * h)[side];
    let slope = (45.0 * difference(1.0) - 9.0 * difference(2.0) + difference(3.0)) / (60.0 * h);
    if side == 0 { slope } else { -slope }
}
