//! Small summaries of many runs.

use soma::diagnostics::quantile;

/// The mean with its standard error, for independent values.
pub(crate) fn mean_se(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// The standard deviation.
pub(crate) fn sd(values: &[f64]) -> f64 {
    mean_se(values).1 * (values.len() as f64).sqrt()
}

/// The quantile at `p`, of values in any order.
pub(crate) fn quantile_of(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile(&sorted, p)
}

/// The lower quartile, the median and the upper quartile.
pub(crate) fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|p| quantile(&sorted, p))
}

/// The standard error of a function of independent runs, by the jackknife over ten groups.
pub(crate) fn jackknife(runs: usize, of: impl Fn(&[usize]) -> f64) -> (f64, f64) {
    let groups = runs.min(10);
    let all: Vec<usize> = (0..runs).collect();
    let without: Vec<f64> = (0..groups)
        .map(|group| {
            let kept: Vec<usize> = all.iter().copied().filter(|i| i % groups != group).collect();
            of(&kept)
        })
        .collect();
    let mean = without.iter().sum::<f64>() / groups as f64;
    let squares: f64 = without.iter().map(|value| (value - mean) * (value - mean)).sum();
    (of(&all), ((groups as f64 - 1.0) / groups as f64 * squares).sqrt())
}

/// A kernel estimate of the density of `values` at each of `at`: Gaussian, with Silverman's width.
pub(crate) fn density(values: &[f64], at: &[f64]) -> Vec<f64> {
    let [low, _, high] = quartiles(values);
    let spread = sd(values).min((high - low) / 1.34).max(1e-12);
    let width = 0.9 * spread * (values.len() as f64).powf(-0.2);
    let norm = 1.0 / (values.len() as f64 * width * (2.0 * std::f64::consts::PI).sqrt());
    at.iter()
        .map(|x| {
            let sum: f64 = values.iter().map(|v| (-0.5 * ((x - v) / width).powi(2)).exp()).sum();
            norm * sum
        })
        .collect()
}

/// A number for a table, with this many significant digits.
pub(crate) fn digits(value: f64, significant: usize) -> String {
    if !value.is_finite() {
        return String::new();
    }
    if value == 0.0 {
        return "0".into();
    }
    let power = value.abs().log10().floor() as i32;
    if !(-5..7).contains(&power) {
        return format!("{value:.*e}", significant.saturating_sub(1));
    }
    format!("{value:.*}", (significant as i32 - 1 - power).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For the mean with groups of one, the jackknife is the usual standard error.
    #[test]
    fn jackknife_of_a_mean_is_its_standard_error() {
        let values = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0, 1.0, 3.0, 3.0, 9.0];
        let mean =
            |runs: &[usize]| runs.iter().map(|&i| values[i]).sum::<f64>() / runs.len() as f64;
        let ((a, a_se), (b, b_se)) = (jackknife(10, mean), mean_se(&values));
        assert!((a - b).abs() < 1e-12 && (a_se - b_se).abs() < 1e-12);
    }

    #[test]
    fn a_density_sums_to_one() {
        let values: Vec<f64> = (0..200).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let at: Vec<f64> = (0..400).map(|i| -2.0 + 0.01 * f64::from(i)).collect();
        let total: f64 = density(&values, &at).iter().sum::<f64>() * 0.01;
        assert!((total - 1.0).abs() < 1e-3);
    }

    #[test]
    fn numbers_keep_their_significant_digits() {
        assert_eq!(digits(0.012345, 3), "0.0123");
        assert_eq!(digits(1234.5, 3), "1234");
        assert_eq!(digits(1.5e-9, 2), "1.5e-9");
    }
}
