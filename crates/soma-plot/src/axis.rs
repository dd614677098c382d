//! An axis: its label, range and ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// An axis with its label, which names the unit.
#[derive(Debug, Clone)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) log: bool,
    pub(crate) ticks: Option<Vec<(f64, String)>>,
}

impl Axis {
    /// A linear axis that covers the data.
    pub fn new(label: impl Into<String>) -> Self {
        Axis { label: label.into(), range: None, log: false, ticks: None }
    }

    /// Sets a logarithmic scale; values that are not positive are not drawn.
    pub fn log(mut self) -> Self {
        self.log = true;
        self
    }

    /// Sets the range, independently of the data.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// With ticks at these values, under these names.
    pub fn ticks(mut self, ticks: Vec<(f64, String)>) -> Self {
        self.ticks = Some(ticks);
        self
    }

    /// The scale for data in `low` to `high`.
    pub(crate) fn scale(&self, (low, high): (f64, f64), count: usize) -> Scale {
        let (low, high) = self.range.unwrap_or_else(|| padded(low, high, self.log));
        let ticks = self.ticks.clone().unwrap_or_else(|| {
            let values =
                if self.log { log_ticks(low, high, count) } else { linear_ticks(low, high, count) };
            let step = if values.len() > 1 && !self.log { values[1] - values[0] } else { 0.0 };
            values.into_iter().map(|value| (value, tick_label(value, step))).collect()
        });
        Scale { low, high, log: self.log, ticks }
    }
}

/// The range of the data with some margin.
fn padded(low: f64, high: f64, log: bool) -> (f64, f64) {
    if !(low.is_finite() && high.is_finite()) {
        return if log { (0.1, 1.0) } else { (0.0, 1.0) };
    }
    if log {
        let room = ((high / low).ln() * 0.04).max(0.05);
        return (low * (-room).exp(), high * room.exp());
    }
    let width = if high > low { high - low } else { high.abs().max(1.0) };
    (low - 0.03 * width, high + 0.03 * width)
}

/// Multiples of 1, 2 or 5 times a power of ten, at most about `count` of them.
fn linear_ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high - low) / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough * 0.9)
        .unwrap_or(10.0 * power);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|k| k as f64 * step).collect()
}

/// Powers of ten; with 2 and 5 times them if there are few, thinned if there are many.
fn log_ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let factors: &[f64] = match last - first {
        ..=1 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        2 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let stride = ((last - first) as usize / count.max(1)).max(1);
    (first..=last)
        .step_by(stride)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
        .filter(|value| (low * 0.9999..=high * 1.0001).contains(value))
        .collect()
}

/// The label of a tick; `step` is the distance of ticks, or 0 on a log scale.
fn tick_label(value: f64, step: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:.0e}");
    }
    if size >= 1000.0 && value.fract() == 0.0 {
        return grouped(value as i64);
    }
    let digits = if step > 0.0 {
        (-(step * 1.0001).log10().floor()).max(0.0) as usize
    } else {
        (-(size * 1.0001).log10().floor()).max(0.0) as usize
            + usize::from(size < 10.0 && is_half(size))
    };
    format!("{value:.digits$}").replace('-', "\u{2212}")
}

/// Whether the first digit is followed by a five, as in 1.5 and 0.015.
fn is_half(size: f64) -> bool {
    let lead = size / 10f64.powf(size.log10().floor());
    (lead - 1.5).abs() < 1e-6
}

fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0 { format!("\u{2212}{out}") } else { out }
}

/// An axis with a fixed range and ticks.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) log: bool,
    ticks: Vec<(f64, String)>,
}

impl Scale {
    /// Where a value lies between the ends of the axis, as a fraction.
    pub(crate) fn fraction(&self, value: f64) -> f64 {
        if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// The value at a fraction of the axis.
    pub(crate) fn at(&self, fraction: f64) -> f64 {
        if self.log {
            self.low * (self.high / self.low).powf(fraction)
        } else {
            self.low + fraction * (self.high - self.low)
        }
    }

    /// The number of letters of the longest label at a tick.
    pub(crate) fn longest_label(&self) -> usize {
        self.ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0)
    }
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (self.fraction(*value) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        let inside = self.ticks.iter().map(|(value, _)| *value);
        inside.filter(|value| (-1e-6..=1.0 + 1e-6).contains(&self.fraction(*value))).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, value: &f64) -> String {
        let found = self.ticks.iter().find(|(at, _)| at == value);
        found.map(|(_, name)| name.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, data: (f64, f64)) -> Vec<String> {
        axis.scale(data, 5).ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(
            labels(Axis::new("x").range(0.0, 1.0), (0.0, 0.0)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(Axis::new("x"), (0.0, 10_000.0)),
            ["0", "2,000", "4,000", "6,000", "8,000", "10,000"]
        );
        assert_eq!(labels(Axis::new("x").range(-1.0, 0.0), (0.0, 0.0))[0], "\u{2212}1.0");
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        assert_eq!(
            labels(Axis::new("x").log().range(0.001, 1.0), (0.0, 0.0)),
            ["0.001", "0.01", "0.1", "1"]
        );
        assert_eq!(
            labels(Axis::new("x").log().range(1.0, 4.0), (0.0, 0.0)),
            ["1", "1.5", "2", "3"]
        );
    }

    #[test]
    fn empty_data_have_a_range() {
        let scale = Axis::new("x").scale((f64::INFINITY, f64::NEG_INFINITY), 5);
        assert!(scale.low < scale.high);
    }
}
