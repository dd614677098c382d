//! The stored form of a record between 0 and 1, accurate near both edges.
//!
//! The density of Beta(a, b) uses log x and log(1 - x), and a small b puts records nearer to 1 than
//! floating point resolves: at b = 0.02 half of them are within 2^-53 of it. If all were stored as
//! the largest number below 1, no record could distinguish smaller values of b. So a record whose
//! distance from an edge is less than NEAREST is stored beyond that edge, by its depth
//!
//! > d = log(NEAREST / distance),
//!
//! as -d UNIT at 0 and as 1 + d UNIT at 1. A query reads such a record as the edge, to 4e-9. The
//! depth has a resolution of 0.03 at 1, where its standard deviation is 1 / b, and full precision
//! at 0.

use std::f64::consts::LN_2;

use crate::model::dirichlet_conditional::log_sum;

/// The constants of one edge: the smallest distance from it of a number between 0 and 1, its
/// logarithm, and the unit of depths.
struct Edge {
    nearest: f64,
    log_nearest: f64,
    unit: f64,
}

const AT_0: Edge = Edge {
    nearest: f64::MIN_POSITIVE,
    log_nearest: (f64::MIN_EXP - 1) as f64 * LN_2,
    unit: f64::MIN_POSITIVE * (1u64 << 40) as f64,
};

const AT_1: Edge = Edge {
    nearest: f64::EPSILON / 2.0,
    log_nearest: -(f64::MANTISSA_DIGITS as f64) * LN_2,
    unit: f64::EPSILON * (1u64 << 5) as f64,
};

/// The largest depth. For shapes from 1e-4 up, the smallest with tabulated quantiles, a record
/// exceeds it with probability 1e-20.
const DEEPEST: f64 = (1u64 << 19) as f64;

impl Edge {
    /// The depth of a record stored at this distance beyond the edge; 0 if inside.
    #[inline]
    fn depth(&self, beyond: f64) -> f64 {
        beyond.max(0.0) / self.unit
    }

    /// The distance beyond the edge at which a record with this log distance is stored.
    #[inline]
    fn beyond(&self, log_distance: f64) -> f64 {
        self.unit * (self.log_nearest - log_distance).clamp(0.0, DEEPEST)
    }
}

/// Whether `stored` is a valid record.
pub(super) fn is_one(stored: f64) -> bool {
    (-AT_0.unit * DEEPEST..=1.0 + AT_1.unit * DEEPEST).contains(&stored)
}

/// The stored form of x, a number between 0 and 1.
#[inline]
pub(super) fn of(x: f64) -> f64 {
    x.clamp(AT_0.nearest, 1.0 - AT_1.nearest)
}

/// The stored form of the record with this logit.
#[inline]
pub(super) fn of_logit(logit: f64) -> f64 {
    if logit < AT_0.log_nearest {
        -AT_0.beyond(logit)
    } else if -logit < AT_1.log_nearest {
        1.0 + AT_1.beyond(-logit)
    } else {
        of(1.0 / (1.0 + (-logit).exp()))
    }
}

/// log x and log(1 - x) of a record.
#[inline]
pub(super) fn logs(stored: f64) -> [f64; 2] {
    let x = of(stored);
    [x.ln() - AT_0.depth(-stored), (-x).ln_1p() - AT_1.depth(stored - 1.0)]
}

/// The logit of a record.
#[inline]
pub(super) fn logit(stored: f64) -> f64 {
    let [log_x, log_rest] = logs(stored);
    log_x - log_rest
}

/// The sums of log x and of log(1 - x).
pub(super) fn log_sums(records: &[f64]) -> [f64; 2] {
    let inside = || records.iter().map(|x| of(*x));
    let deeper =
        |[low, high]: [f64; 2], x: &f64| [low + AT_0.depth(-x), high + AT_1.depth(x - 1.0)];
    let [low, high] = records.iter().fold([0.0; 2], deeper);
    [log_sum(inside()) - low, log_sum(inside().map(|x| 1.0 - x)) - high]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logits make the round trip, from far below 0 to far above: to the floating point spacing
    /// near 1, and to half the resolution of depths beyond.
    #[test]
    fn logits_come_back() {
        for step in -5000..=5000 {
            let there = f64::from(step) * 0.1 * (1.0 + f64::from(step).abs() / 50.0);
            let stored = of_logit(there);
            assert!(is_one(stored), "{there}");
            let lost = match there {
                u if u > 36.0 => 0.7,
                u if u > 0.0 => 1e-15 * u.exp(),
                _ => 0.0,
            };
            let back = logit(stored);
            assert!((back - there).abs() <= lost + 1e-12 * there.abs() + 1e-15, "{there}: {back}");
        }
        assert!(!is_one(1.0001) && !is_one(-1e-200) && !is_one(f64::NAN));
        for wild in [f64::NEG_INFINITY, -1e300, 1e300, f64::INFINITY] {
            assert!(is_one(of_logit(wild)) && logit(of_logit(wild)).is_finite());
        }
    }

    /// Depths are preserved beyond the resolution of numbers between 0 and 1.
    #[test]
    fn depths_are_kept() {
        for logit_there in [40.0, 100.5, 3e3, 5e5] {
            let [log_x, log_rest] = logs(of_logit(logit_there));
            assert!(log_x.abs() < 1e-15 && (log_rest + logit_there).abs() < 0.02);
        }
        for logit_there in [-720.0, -1e3, -5e5] {
            let [log_x, log_rest] = logs(of_logit(logit_there));
            assert!(log_rest.abs() < 1e-300 && (log_x / logit_there - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn sums_are_those_of_the_logarithms() {
        let stored: Vec<f64> = (-900..900).map(|u| of_logit(f64::from(u))).collect();
        let sums = log_sums(&stored);
        for k in 0..2 {
            let expected: f64 = stored.iter().map(|x| logs(*x)[k]).sum();
            assert!((sums[k] / expected - 1.0).abs() < 1e-12, "{sums:?} {expected}");
        }
    }

    /// A query reads the edge.
    #[test]
    fn stored_records_are_near_the_edge() {
        assert!(of_logit(-1e9).abs() < 1e-280 && (of_logit(1e9) - 1.0).abs() < 4e-9);
    }
}
