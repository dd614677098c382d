//! Differences of log gamma, accurate for counts of hundreds of millions.

use statrs::function::gamma::ln_gamma;

/// From here on Stirling's series with four terms has an error of 1e-14.
const LARGE: f64 = 16.0;

/// ln Gamma(x + d) - ln Gamma(x), for x and x + d positive.
///
/// The two logarithms are about x ln x, so that at x = 3e8 their difference loses ten digits to
/// cancellation. Stirling's formula is subtracted term by term instead: with y = x + d, (y - 1/2)
/// ln(y / x) + d ln x - d + S(y) - S(x), where S is the series in 1/x.
pub(crate) fn ln_gamma_shift(x: f64, d: f64) -> f64 {
    if d == 0.0 {
        return 0.0;
    }
    let y = x + d;
    if x.min(y) < LARGE {
        return ln_gamma(y) - ln_gamma(x);
    }
    let part = d / x;
    let log_ratio = if part.abs() < 0.5 { part.ln_1p() } else { (y / x).ln() };
    (y - 0.5) * log_ratio + d * (x.ln() - 1.0) + stirling(y) - stirling(x)
}

/// The remainder of Stirling's formula for ln Gamma(x).
fn stirling(x: f64) -> f64 {
    let (inverse, square) = (1.0 / x, 1.0 / (x * x));
    inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_are_sums_of_logarithms() {
        for x in [0.3, 1.0, 15.5, 16.0, 17.25, 400.0, 1e6, 3e8] {
            let mut sum = 0.0;
            for d in 1..400 {
                sum += (x + (d - 1) as f64).ln();
                let got = ln_gamma_shift(x, d as f64);
                assert!((got - sum).abs() < 1e-12 * sum.abs().max(1.0), "{x} {d}: {got} {sum}");
                let back = ln_gamma_shift(x + d as f64, -(d as f64));
                assert!((back + sum).abs() < 1e-12 * sum.abs().max(1.0), "{x} {d}: back");
            }
        }
    }

    /// The shift by a fraction is smooth where the series takes over, and has its known limit.
    #[test]
    fn fractions_agree_with_the_series() {
        let below = ln_gamma_shift(16.0 - 1e-9, 0.7);
        let above = ln_gamma_shift(16.0 + 1e-9, 0.7);
        assert!((below - above).abs() < 1e-9);
        let x = 3e8_f64;
        let expected = 0.7 * x.ln() + 0.7 * (0.7 - 1.0) / (2.0 * x);
        assert!((ln_gamma_shift(x, 0.7) - expected).abs() < 1e-14 * expected);
    }
}
