//! Laplace noise as a scale mixture of normals: given the precisions, it is Gaussian.

use rand::RngExt;
use rand_distr::StandardNormal;

use crate::chain::theta::smooth;
use crate::release::Potential;
use crate::release::potential::Coordinate;
use crate::rng::Rng;

/// Draws precisions 1/v given a residual such that, given v, the noise of L1 and L2 coordinates is
/// Gaussian. Laplace noise is N(0, v) with v exponential of mean 2, so 1/v given r is inverse
/// Gaussian with mean 1/|r| and shape 1 (Park and Casella 2008). A move that draws v and then
/// leaves the posterior given v invariant leaves the posterior invariant. Other coordinates have a
/// constant precision, for proposals only.
pub(in crate::chain) fn draw_precisions(
    potential: &Potential,
    residual: &[f64],
    out: &mut Vec<f64>,
    rng: &mut Rng,
) {
    let draw = |(c, r): (usize, &f64)| match potential.separate(c) {
        Some(Coordinate::L1) => inverse_gaussian(r.abs(), rng),
        other => smooth::precision(other),
    };
    out.clear();
    out.extend(residual.iter().enumerate().map(draw));
}

/// The log density of the noise given these precisions, up to a constant: Gaussian in L1 and L2
/// coordinates, and the exact one in others.
pub(in crate::chain) fn log_density_given(
    potential: &Potential,
    residual: &[f64],
    precisions: &[f64],
) -> f64 {
    let squares = |(c, (r, w)): (usize, (&f64, &f64))| match potential.separate(c) {
        Some(Coordinate::L1 | Coordinate::L2) => r * r * w,
        _ => 0.0,
    };
    let quadratic: f64 = residual.iter().zip(precisions).enumerate().map(squares).sum();
    -0.5 * quadratic - potential.cost_beyond_norms(residual)
}

/// A draw from the inverse Gaussian distribution with mean 1/`rate` and shape 1, whose density at x
/// is proportional to x^(-3/2) exp(-(rate x - 1)^2 / (2 x)). At rate 0 it is one over a chi-squared
/// variable.
///
/// Of the two roots of (rate x - 1)^2 / x = c, c being chi-squared with one degree of freedom, the
/// smaller is taken with probability 1 / (1 + rate x), and otherwise the larger, 1 / (rate^2 x)
/// (Michael, Schucany and Haas 1976). The smaller root is computed as 2 / (2 rate + c + sqrt(c (c +
/// 4 rate))), a sum of positive terms: the usual form suffers from cancellation if c is large
/// compared with the rate, that is at small residuals.
fn inverse_gaussian(rate: f64, rng: &mut Rng) -> f64 {
    let z: f64 = rng.sample(StandardNormal);
    let c = z * z;
    let smaller = 2.0 / (2.0 * rate + c + (c * (c + 4.0 * rate)).sqrt());
    // At most 1, and 0 for a rate of 0.
    let product = rate * smaller;
    if rng.random::<f64>() * (1.0 + product) <= 1.0 { smaller } else { 1.0 / (rate * product) }
}

#[cfg(test)]
mod tests {
    use statrs::function::erf::erfc;

    use super::*;
    use crate::release::potential::Norm;
    use crate::rng;

    /// The probability that an inverse Gaussian with mean 1/`rate` and shape 1 is at most x:
    /// Phi(a) + exp(2 rate) Phi(-b), with a = (rate x - 1) / sqrt(x), b = (rate x + 1) / sqrt(x).
    fn cdf(x: f64, rate: f64) -> f64 {
        let phi = |z: f64| 0.5 * erfc(-z / std::f64::consts::SQRT_2);
        let [a, b] = [rate * x - 1.0, rate * x + 1.0].map(|gap| gap / x.sqrt());
        // exp(2 rate) Phi(-b) = exp(-a^2 / 2) times the Mills ratio at b, over sqrt(2 pi).
        let second = match b {
            b if b < 25.0 => (2.0 * rate).exp() * phi(-b),
            b => (-0.5 * a * a).exp() / (2.0 * std::f64::consts::PI).sqrt() * mills(b),
        };
        phi(a) + second
    }

    /// Phi(-b) over the normal density at b, for a large b.
    fn mills(b: f64) -> f64 {
        let q = 1.0 / (b * b);
        (1.0 - q * (1.0 - 3.0 * q * (1.0 - 5.0 * q))) / b
    }

    /// The distribution of draws against the exact one, at residuals from 0 to 1e12: a
    /// Kolmogorov-Smirnov test. 1.95 is the 0.1% point.
    #[test]
    fn precisions_have_their_law_at_every_residual() {
        let draws = 20_000;
        let mut rng = rng::stream(15, 1);
        let powers = (-12..=12).map(|power| 10_f64.powi(power));
        for residual in std::iter::once(0.0).chain(powers) {
            let mut all = Vec::new();
            let residuals = vec![-residual; draws];
            let potential = Potential::of_norm(Norm::L1, draws);
            draw_precisions(&potential, &residuals, &mut all, &mut rng);
            all.sort_unstable_by(f64::total_cmp);
            let distance = all.iter().enumerate().map(|(i, &x)| {
                let (below, p) = (i as f64 / draws as f64, cdf(x, residual));
                (p - below).abs().max((p - below - 1.0 / draws as f64).abs())
            });
            let distance = distance.fold(0.0, f64::max) * (draws as f64).sqrt();
            assert!(distance < 1.95, "residual {residual}: {distance}");
        }
    }
}
