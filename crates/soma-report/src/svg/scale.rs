//! From values to places, and round values for ticks.

use super::number::fixed;

/// A linear map from values to pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The values at both ends.
    pub values: (f64, f64),
    /// The pixels at both ends.
    pub pixels: (f64, f64),
}

impl Scale {
    /// Where a value is drawn.
    pub fn at(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let part = if high > low { (value - low) / (high - low) } else { 0.5 };
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }

    /// The same for a value that may lie beyond the ends: a little beyond them then.
    pub fn clamped(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        self.at(value.clamp(low, high))
    }

    /// Whether a value is between the ends.
    pub fn holds(&self, value: f64) -> bool {
        (self.values.0..=self.values.1).contains(&value)
    }
}

/// Round values between `low` and `high`, about `count` of them, with their labels: multiples of 1, 2
/// or 5 times a power of ten. There are two at least: from one alone no distance can be read.
pub fn ticks(low: f64, high: f64, count: usize) -> Vec<(f64, String)> {
    let tried = (count..=count + 6).map(|count| multiples(low, high, count));
    tried
        .reduce(|best, next| if best.len() < next.len().min(2) { next } else { best })
        .unwrap_or_default()
}

fn multiples(low: f64, high: f64, count: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / count.max(1) as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= 0.9 * rough).unwrap_or(10.0 * power);
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    let steps = last - first;
    if steps.is_nan() || steps >= 100.0 || first.abs() > 1e15 {
        return Vec::new();
    }
    let decimals = (-(step * 1.0001).log10().floor()).max(0.0) as usize;
    let label = |value: f64| match value.abs() {
        small if decimals > 5 && small > 0.0 => format!("{value:.1e}").replace('-', "\u{2212}"),
        large if large >= 1e7 => format!("{value:.1e}").replace('-', "\u{2212}"),
        _ => fixed(value, decimals),
    };
    (first as i64..=last as i64)
        .map(|k| k as f64 * step)
        .map(|value| (value, label(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64) -> Vec<String> {
        ticks(low, high, 5).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(-3.0, 7.0), ["−2", "0", "2", "4", "6"]);
        assert_eq!(labels(0.0, 123456.0).last().unwrap(), "100,000");
        // 0.5 would be the only multiple of 0.5 inside.
        let two =
            |low, high| ticks(low, high, 3).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(two(0.01, 0.99), ["0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(two(-19.0, 1.0).len(), 2);
        assert!(labels(1.0, 1.0).is_empty() && labels(f64::NAN, 1.0).is_empty());
        // Numbers too near to each other for round ones between them.
        assert!(labels(1.0, 1.0 + 4e-16).is_empty());
    }

    #[test]
    fn places_are_linear() {
        let scale = Scale { values: (2.0, 4.0), pixels: (100.0, 0.0) };
        assert_eq!([2.0, 3.0, 4.0].map(|x| scale.at(x)), [100.0, 50.0, 0.0]);
        assert_eq!(scale.clamped(9.0), 0.0);
    }
}
