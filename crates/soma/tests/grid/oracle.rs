//! The exact answers compared with each other and with quadrature.

use soma::release::mechanism::Noise;
use statrs::distribution::{Continuous, ContinuousCDF, Exp, Gamma};

use super::cases::{Case, Family, Place};

/// One exponential record, by quadrature over the rate: on the clamp or between.
#[test]
fn importance_sampling_agrees_with_quadrature() {
    let (low, high): (f64, f64) = (0.2, 1.5);
    for (noise, epsilon, place, value) in [
        (Noise::Laplace, 100.0, Place::HighEdge, high),
        (Noise::Gaussian, 30.0, Place::HighEdge, high),
        (Noise::Laplace, 10.0, Place::Middle, 0.85),
        (Noise::Laplace, 1000.0, Place::LowEdge, low),
    ] {
        let family = Family::ExponentialMean { wide: false };
        let case = Case { family, noise, n: 1, epsilon, place };
        let problem = case.problem().unwrap();
        let found = &case.answers(&problem, 3).unwrap()[0];
        let scale = problem.release().scales()[0];
        let eta = |x: f64| noise.log_density(scale, value - x).exp();
        let prior = Gamma::new(1.0, 0.5).unwrap();
        let density = |rate: f64| {
            let record = Exp::new(rate).unwrap();
            let steps = 20_000;
            let width = (high - low) / steps as f64;
            let between: f64 = (0..steps)
                .map(|i| low + (i as f64 + 0.5) * width)
                .map(|x| record.pdf(x) * eta(x) * width)
                .sum();
            record.cdf(low) * eta(low) + (1.0 - record.cdf(high)) * eta(high) + between
        };
        let rates = (0..600).map(|i| (i as f64 + 0.5) * 0.05);
        let weights: Vec<(f64, f64)> =
            rates.map(|rate| (rate, prior.pdf(rate) * density(rate))).collect();
        let total: f64 = weights.iter().map(|(_, w)| w).sum();
        let mean = weights.iter().map(|(rate, w)| rate * w).sum::<f64>() / total;
        let z = (found.mean.value - mean) / found.mean.error;
        assert!(z.abs() < 4.5, "{case}: {found:?}, not {mean}");
        let below = weights.iter().filter(|(rate, _)| *rate < found.quantiles[2].value);
        let share = below.map(|(_, w)| w).sum::<f64>() / total;
        assert!((share - 0.95).abs() < 0.01, "{case}: {share}");
    }
}
