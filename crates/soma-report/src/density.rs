//! Densities of draws: by a kernel, or by counting where they are whole numbers.

use soma::diagnostics::quantile;

/// Points of a curve.
const POINTS: usize = 160;

/// Whole numbers over a wider range than this are drawn as a curve.
const MOST_BARS: f64 = 60.0;

/// The density of draws, for a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Density {
    /// Of whole numbers: each with its probability.
    Bars(Vec<(f64, f64)>),
    /// A curve.
    Curve(Vec<(f64, f64)>),
}

impl Density {
    /// Of sorted draws, between `from` and `to`. The mass outside of them is not drawn, and counts.
    pub fn of(sorted: &[f64], (from, to): (f64, f64)) -> Self {
        let is_whole = sorted.iter().all(|x| x.fract() == 0.0);
        if is_whole && to - from <= MOST_BARS {
            let (mut bars, size) = (Vec::new(), sorted.len() as f64);
            for same in sorted.chunk_by(|a, b| a == b) {
                if (from..=to).contains(&same[0]) {
                    bars.push((same[0], same.len() as f64 / size));
                }
            }
            return Density::Bars(bars);
        }
        Density::Curve(curve(sorted, (from, to)))
    }

    /// The highest value.
    pub fn highest(&self) -> f64 {
        let (Density::Bars(points) | Density::Curve(points)) = self;
        points.iter().map(|point| point.1).fold(0.0, f64::max)
    }
}

/// A kernel estimate with Silverman's bandwidth, reflected at the smallest and the largest draw, so
/// that no mass is lost at the end of a support.
fn curve(sorted: &[f64], (from, to): (f64, f64)) -> Vec<(f64, f64)> {
    let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let size = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / size;
    let sd = (sorted.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / size).sqrt();
    let spread = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.34;
    let narrow = if spread > 0.0 { sd.min(spread) } else { sd };
    let step = (to - from) / (POINTS - 1) as f64;
    // No narrower than the distance of points, below which a curve would be jagged.
    let width = (0.9 * narrow * size.powf(-0.2)).max(step);
    if !(width.is_finite() && width > 0.0) {
        return Vec::new();
    }
    let reach = 4.5 * width;
    let at = |x: f64| {
        if x < least - 1e-9 * width || x > most + 1e-9 * width {
            return 0.0;
        }
        let near = |centre: f64| {
            let first = sorted.partition_point(|y| *y < centre - reach);
            let last = sorted.partition_point(|y| *y <= centre + reach);
            let kernel = |y: &f64| (-0.5 * ((centre - y) / width).powi(2)).exp();
            sorted[first..last].iter().map(kernel).sum::<f64>()
        };
        let mut total = near(x);
        // The mirror images of draws near an end.
        if x - least < reach {
            total += near(2.0 * least - x);
        }
        if most - x < reach {
            total += near(2.0 * most - x);
        }
        total / (size * width * std::f64::consts::TAU.sqrt())
    };
    (0..POINTS).map(|k| from + k as f64 * step).map(|x| (x, at(x))).collect()
}

/// At most `most` of sorted draws, evenly spaced: an estimate of the same curve at less cost.
pub fn thinned(sorted: Vec<f64>, most: usize) -> Vec<f64> {
    if sorted.len() <= most {
        return sorted;
    }
    let last = (sorted.len() - 1) as f64 / (most - 1) as f64;
    (0..most).map(|k| sorted[(k as f64 * last).round() as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integral(points: &[(f64, f64)]) -> f64 {
        points.windows(2).map(|w| 0.5 * (w[1].0 - w[0].0) * (w[0].1 + w[1].1)).sum()
    }

    /// Uniform draws: the density is 1 up to both ends, which a kernel without reflection halves.
    #[test]
    fn no_mass_is_lost_at_the_ends() {
        let draws: Vec<f64> = (0..4000).map(|k| (k as f64 + 0.5) / 4000.0).collect();
        let Density::Curve(points) = Density::of(&draws, (-0.5, 1.5)) else { panic!() };
        assert!((integral(&points) - 1.0).abs() < 0.02, "{}", integral(&points));
        for (x, y) in points {
            let expected = if (0.001..=0.999).contains(&x) { 1.0 } else { 0.0 };
            assert!((y - expected).abs() < 0.05, "{y} at {x}");
        }
    }

    #[test]
    fn whole_numbers_are_counted() {
        let found = Density::of(&[1.0, 1.0, 2.0, 7.0], (0.0, 5.0));
        assert_eq!(found, Density::Bars(vec![(1.0, 0.5), (2.0, 0.25)]));
    }

    #[test]
    fn constant_draws_give_no_nonsense() {
        for ends in [(2.0, 2.0), (1.5, 3.0)] {
            if let Density::Curve(points) = Density::of(&[2.5; 50], ends) {
                assert!(points.iter().all(|(x, y)| x.is_finite() && y.is_finite()));
            }
        }
    }

    #[test]
    fn thinned_draws_keep_the_ends() {
        assert_eq!(thinned((0..1001).map(f64::from).collect(), 3), [0.0, 500.0, 1000.0]);
    }
}
