//! Standard normals between bounds.

use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};

use crate::rng::Rng;

/// A standard normal truncated to values above `low`: by rejection from the normal or, in the tail,
/// from an exponential (Robert 1995). The acceptance rate is at least one third; beyond 1e100 the
/// draw equals `low` to the last digit.
pub(crate) fn normal_above(low: f64, rng: &mut Rng) -> f64 {
    if low.is_nan() || low >= 1e100 {
        return low;
    }
    if low < 0.4 {
        loop {
            let z: f64 = rng.sample(StandardNormal);
            if z > low {
                return z;
            }
        }
    }
    let rate = 0.5 * (low + (low * low + 4.0).sqrt());
    loop {
        let z = low + rng.sample::<f64, _>(Exp1) / rate;
        if rng.random::<f64>().ln() < -0.5 * (z - rate) * (z - rate) {
            return z;
        }
    }
}

/// A standard normal truncated to the interval from `low` to `high`, either of which may be infinite:
/// by rejection from the uniform distribution if the density hardly changes over the interval, and
/// otherwise from the normal above the end nearer to 0. The acceptance rate is at least one quarter.
pub(crate) fn normal_between(low: f64, high: f64, rng: &mut Rng) -> f64 {
    if low.is_nan() || high.is_nan() || low >= high {
        return low;
    }
    if high <= 0.0 || (low < 0.0 && high < -low) {
        return -normal_between(-high, -low, rng);
    }
    // Here high > 0, and low is nearer to 0 than high.
    let nearest = low.max(0.0);
    let is_flat = high * high - nearest * nearest < 4.0 && high - low < 4.0;
    loop {
        if is_flat {
            let z = low + (high - low) * rng.random::<f64>();
            if rng.random::<f64>().ln() <= 0.5 * (nearest * nearest - z * z) {
                return z;
            }
        } else {
            let z = normal_above(low, rng);
            if z <= high {
                return z;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::assert_follows;
    use crate::rng;

    /// Mean and mean square agree with the normal hazard, on both sides of the change of method.
    #[test]
    fn tails_are_those_of_the_normal() {
        let mut rng = rng::stream(5, 0);
        for low in [-1.0, 0.3, 0.5, 2.0, 6.0_f64] {
            let draws = 100_000;
            let mut sums = [0.0; 3];
            for _ in 0..draws {
                let z = normal_above(low, &mut rng);
                assert!(z > low);
                sums[0] += z / draws as f64;
                sums[1] += z * z / draws as f64;
                sums[2] += z.powi(4) / draws as f64;
            }
            let tail = 0.5 * statrs::function::erf::erfc(low / std::f64::consts::SQRT_2);
            let density = (-0.5 * low * low).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let right = [density / tail, 1.0 + low * density / tail];
            let errors = [sums[1] - sums[0] * sums[0], sums[2] - sums[1] * sums[1]]
                .map(|variance| 4.5 * (variance / draws as f64).sqrt());
            for k in 0..2 {
                assert!((sums[k] - right[k]).abs() < errors[k], "{low}: {} {}", sums[k], right[k]);
            }
        }
    }

    /// The distribution function between the bounds, for intervals in the middle, on either side and
    /// in the tails, by each of the methods.
    #[test]
    fn intervals_are_those_of_the_normal() {
        let mut rng = rng::stream(6, 0);
        let infinite = f64::INFINITY;
        for (low, high) in [
            (-1.0, 1.5),
            (-3.0, 2.5),
            (-0.2, 0.1),
            (0.0, infinite),
            (-infinite, 0.7),
            (1.0, 1.3),
            (0.5, 3.0),
            (-4.0, -1.0),
            (5.0, 5.1),
            (6.0, 9.0),
            (-infinite, infinite),
        ] {
            let upper = |z: f64| 0.5 * statrs::function::erf::erfc(z / std::f64::consts::SQRT_2);
            // Both tails from the side on which they are small.
            let mass = |a: f64, b: f64| match a > 0.0 {
                true => upper(a) - upper(b),
                false => upper(-b) - upper(-a),
            };
            let mut draws: Vec<f64> =
                (0..20_000).map(|_| normal_between(low, high, &mut rng)).collect();
            assert!(draws.iter().all(|z| (low..=high).contains(z)), "{low} {high}");
            let name = format!("{low} to {high}");
            assert_follows(&name, &mut draws, |z| mass(low, z) / mass(low, high));
        }
        let sharp = normal_between(40.0, 40.5, &mut rng);
        assert!((40.0..40.5).contains(&sharp));
    }
}
