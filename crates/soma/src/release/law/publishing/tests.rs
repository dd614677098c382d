//! Tests of the laws of processed answers.

use super::*;
use crate::model::testing::{assert_follows, integral};
use crate::release::potential::Curve;
use crate::rng::stream;

fn all() -> Vec<(Noise, Publishing)> {
    let plain = Publishing::default();
    let mut cases = Vec::new();
    for noise in Noise::ALL {
        let (low, high) = (-1.0, 4.0);
        cases.push((noise, Publishing { low, high, ..plain }));
        if noise.is_discrete() {
            cases.push((noise, Publishing { granularity: Some(0.25), ..plain }));
            cases.push((noise, Publishing { granularity: Some(0.25), low, high, ..plain }));
        } else {
            cases.push((noise, Publishing { within: Some((-1.5, 3.0)), ..plain }));
            cases.push((noise, Publishing { rounding: Some(0.5), ..plain }));
            cases.push((noise, Publishing { rounding: Some(0.5), low, high, ..plain }));
        }
    }
    cases
}

/// Frequencies of published values compared with their probabilities. Continuous values that
/// are neither rounded nor clamped are compared at the ends only.
#[test]
fn draws_have_the_probabilities() {
    const DRAWS: usize = 40_000;
    for (noise, publishing) in all() {
        for (scale, truth) in [(1.3, 0.4), (2.0, 3.0), (0.6, -2.0)] {
            let truth = if noise.is_discrete() && publishing.granularity.is_none() {
                f64::round(truth)
            } else {
                truth
            };
            let mut rng = stream(5, 0);
            let mut draws: Vec<f64> =
                (0..DRAWS).map(|_| publishing.sample(noise, scale, truth, &mut rng)).collect();
            draws.sort_unstable_by(f64::total_cmp);
            for group in draws.chunk_by(|a, b| a == b) {
                let is_atom = noise.is_discrete()
                    || publishing.rounding.is_some()
                    || group[0] == publishing.low
                    || group[0] == publishing.high;
                if !is_atom {
                    continue;
                }
                let p = publishing.log_density(noise, scale, group[0], truth).exp();
                let expected = p * DRAWS as f64;
                let sd = (expected * (1.0 - p)).sqrt();
                let z = (group.len() as f64 - expected) / sd.max(1.0);
                assert!(z.abs() < 5.0, "{noise:?} {publishing:?} {scale} {truth} {z}");
            }
        }
    }
}

/// The probabilities of all publishable values sum to one.
#[test]
fn probabilities_sum_to_one() {
    for (noise, publishing) in all() {
        let step = match (publishing.granularity, publishing.rounding) {
            (Some(step), _) | (_, Some(step)) => step,
            _ if noise.is_discrete() => 1.0,
            _ => continue,
        };
        let (low, high) = (publishing.low.max(-60.0), publishing.high.min(60.0));
        for truth in [0.0, 1.0, -3.0, 5.0] {
            let count = ((high - low) / step).round() as usize;
            let values = (0..=count).map(|i| low + i as f64 * step);
            let total: f64 =
                values.map(|y| publishing.log_density(noise, 1.2, y, truth).exp()).sum();
            assert!((total - 1.0).abs() < 1e-9, "{noise:?} {publishing:?} {truth}: {total}");
        }
    }
}

/// The cost is unimodal, which the bounds over an interval require.
#[test]
fn costs_have_one_valley() {
    for (noise, publishing) in all() {
        for published in [-1.0, 0.5, 4.0] {
            let is_between = noise.is_discrete() && published == 0.5;
            if publishing.granularity.is_none() && is_between {
                continue;
            }
            if let Block::Joint(..) = publishing.block(noise, 1.5, published) {
                continue;
            }
            let curve = Processed::new(publishing, noise, 1.5, published);
            let costs: Vec<f64> =
                (-200..=200).map(|i| Curve::cost(&curve, f64::from(i) * 0.05)).collect();
            let mode = curve.mode();
            for (i, pair) in costs.windows(2).enumerate() {
                let middle = (i as f64 - 199.5) * 0.05;
                let rise = pair[1] - pair[0];
                let ok = if middle > mode { rise >= -1e-12 } else { rise <= 1e-12 };
                assert!(ok, "{noise:?} {publishing:?} {published} at {middle}: {rise}");
            }
        }
    }
}

/// Noise on a bounded domain: the density integrates to one, and draws follow it.
#[test]
fn noise_on_a_bounded_domain() {
    let publishing = Publishing { within: Some((0.0, 4.0)), ..Publishing::default() };
    for (noise, truth) in [(Noise::Laplace, 0.3), (Noise::Gaussian, 3.5)] {
        let density = |y: f64| publishing.log_density(noise, 1.4, y, truth).exp();
        let below = |y: f64| integral(0.0, y, density);
        assert!((below(4.0) - 1.0).abs() < 1e-7, "{noise:?} {}", below(4.0));
        let mut rng = stream(6, 0);
        let mut draws: Vec<f64> =
            (0..4_000).map(|_| publishing.sample(noise, 1.4, truth, &mut rng)).collect();
        assert_follows("draws", &mut draws, below);
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    let plain = Publishing::default();
    let lattice = Publishing { granularity: Some(0.5), ..plain };
    assert_eq!(lattice.check(Noise::Laplace).unwrap_err().field, "granularity");
    let rounded = Publishing { rounding: Some(0.5), ..plain };
    assert_eq!(rounded.check(Noise::DiscreteLaplace).unwrap_err().field, "round");
    let empty = Publishing { low: 1.0, high: 1.0, ..plain };
    assert_eq!(empty.check(Noise::Gaussian).unwrap_err().field, "clamp");
    assert!(rounded.check(Noise::Gaussian).is_ok());
}

/// Values that cannot have been published, and those at the ends of what can be.
#[test]
fn impossible_values_are_told() {
    let plain = Publishing::default();
    let clamped = Publishing { low: 0.0, high: 9.0, ..plain };
    let lattice = Publishing { granularity: Some(0.25), ..plain };
    let rounded = Publishing { rounding: Some(5.0), low: -7.0, ..plain };
    let bounded = Publishing { within: Some((0.0, 25.0)), ..plain };
    for (publishing, good, bad) in [
        (clamped, [0.0, 9.0, 4.3], [-1.0, 9.5]),
        (lattice, [1020.25, -0.5, 0.0], [1020.3, 0.1]),
        (rounded, [10.0, -5.0, -7.0], [11.0, -8.0]),
        (bounded, [0.0, 25.0, 3.3], [-4.2, 26.0]),
    ] {
        for value in good {
            assert_eq!(publishing.check_value(value), Ok(()), "{publishing:?}");
        }
        for value in bad {
            assert!(publishing.check_value(value).is_err(), "{publishing:?}: {value}");
        }
    }
    // A third of a lattice, published to some digits.
    let third = Publishing { granularity: Some(1.0 / 3.0), ..plain };
    assert!(third.check_value(1.333333).is_ok() && third.check_value(1.33).is_err());
}
