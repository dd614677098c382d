//! The log distribution function of the standard normal.

use std::f64::consts::{PI, SQRT_2};

use statrs::function::erf::erfc;

/// Below this the asymptotic series is used, whose first omitted term is less than 1e-10 of the
/// value.
const FAR: f64 = -20.0;

/// log P(Z <= z) of a standard normal Z, accurate in both tails.
pub(crate) fn log_normal_cdf(z: f64) -> f64 {
    if z > 0.0 {
        return (-0.5 * erfc(z / SQRT_2)).ln_1p();
    }
    if z > FAR {
        return (0.5 * erfc(-z / SQRT_2)).ln();
    }
    let square = 1.0 / (z * z);
    let series = -square * (1.0 - square * (3.0 - square * (15.0 - 105.0 * square)));
    -0.5 * z * z - (-z * (2.0 * PI).sqrt()).ln() + series.ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with values of 30 digits.
    #[test]
    fn is_exact_in_both_tails() {
        for (z, expected) in [
            (0.0, -std::f64::consts::LN_2),
            (1.0, -0.172_753_779_023_449_9),
            (-1.0, -1.841_021_645_009_263_5),
            (-5.0, -15.064_998_393_988_725),
            (-19.9, -201.917_167_707_332_63),
            (-20.1, -205.927_118_401_948_2),
            (-40.0, -804.608_442_013_753_8),
        ] {
            let found = log_normal_cdf(z);
            assert!((found - expected).abs() < 1e-10 * expected.abs(), "{z}: {found} {expected}");
        }
        assert!(log_normal_cdf(f64::NEG_INFINITY) == f64::NEG_INFINITY);
    }
}
