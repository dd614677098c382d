//! Axes, and marks between them.

use std::fmt::Write;

use super::marks::titled;
use super::width::width as width_of;
use super::{Panel, Scale, escape, ticks};

/// An axis: its label and its ends.
#[derive(Debug, Clone)]
pub struct Axis {
    label: String,
    values: (f64, f64),
    ticks: Option<Vec<(f64, String)>>,
}

impl Axis {
    /// From `low` to `high`, with round ticks.
    pub fn new(label: impl Into<String>, low: f64, high: f64) -> Self {
        let ends = low.is_finite() && high.is_finite() && high > low;
        let values = match (ends, low.is_finite()) {
            (true, _) => (low, high),
            (false, true) => (low - 0.5 * low.abs().max(1.0), low + 0.5 * low.abs().max(1.0)),
            (false, false) => (0.0, 1.0),
        };
        Axis { label: label.into(), values, ticks: None }
    }

    /// With ticks at these values under these names; none, where there are none.
    pub fn ticks(mut self, ticks: Vec<(f64, String)>) -> Self {
        self.ticks = Some(ticks);
        self
    }
}

/// Width and height of a panel in pixels.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub f64, pub f64);

impl Size {
    /// As most panels are: three beside each other on a wide page, one on a telephone.
    pub const PLAIN: Size = Size(360.0, 216.0);
    /// As those of which there are many.
    pub const SMALL: Size = Size(232.0, 208.0);

    /// For so many rows of marks, one under the other.
    pub fn of_rows(rows: usize) -> Size {
        Size(360.0, 62.0 + 20.0 * rows as f64)
    }
}

/// The width of a letter of a title, which is bold.
const TITLE_LETTER: f64 = 7.2;

/// The longest name of a row that is shown as it is.
const LONGEST: usize = 22;

/// A panel at work.
#[derive(Debug, Clone)]
pub struct Plot {
    size: Size,
    /// Where a value of x is drawn.
    pub x: Scale,
    /// Where a value of y is drawn.
    pub y: Scale,
    pub(super) body: String,
}

impl Plot {
    /// Axes without marks. `x` runs to the right and `y` upwards.
    pub fn new(size: Size, x: Axis, y: Axis) -> Self {
        Plot::with_rows(size, x, y, &[])
    }

    /// The same with a name beside each row at y = 0, -1, ...; the axis `y` has no ticks then.
    pub fn with_rows(size: Size, x: Axis, y: Axis, rows: &[String]) -> Self {
        let Size(width, height) = size;
        let y_ticks = y.ticks.unwrap_or_else(|| ticks(y.values.0, y.values.1, 4));
        let x_ticks = x.ticks.unwrap_or_else(|| ticks(x.values.0, x.values.1, width as usize / 70));
        let named = rows.iter().map(|name| shortened(name));
        let labels = y_ticks.iter().map(|(_, label)| label.clone()).chain(named.clone());
        let longest = labels.map(|label| width_of(&label)).fold(0.0, f64::max);
        let named_y = if y.label.is_empty() { 0.0 } else { 16.0 };
        let left = 10.0 + named_y + longest;
        let bottom = height - if x.label.is_empty() { 22.0 } else { 38.0 };
        let x_scale = Scale { values: x.values, pixels: (left, width - 16.0) };
        let y_scale = Scale { values: y.values, pixels: (bottom, 26.0) };
        let mut plot = Plot { size, x: x_scale, y: y_scale, body: String::new() };
        for (value, label) in &x_ticks {
            plot.x_tick(*value, label);
        }
        for (value, label) in &y_ticks {
            plot.y_tick(*value, label);
        }
        for (row, (whole, name)) in rows.iter().zip(named).enumerate() {
            plot.row_name(-(row as f64), whole, &name);
        }
        plot.frame(&x.label, &y.label);
        plot
    }

    fn x_tick(&mut self, value: f64, label: &str) {
        let (x, (bottom, top)) = (self.x.at(value), self.y.pixels);
        self.rule(x, bottom, x, top);
        // A long number at an end stays inside the panel.
        let half = 0.5 * width_of(label) + 2.0;
        let x = x.min(self.size.0 - half).max(half);
        self.text(x, bottom + 14.0, "middle", "", label);
    }

    fn y_tick(&mut self, value: f64, label: &str) {
        let (y, (left, right)) = (self.y.at(value), self.x.pixels);
        self.rule(left, y, right, y);
        self.text(left - 5.0, y + 3.5, "end", "", label);
    }

    fn row_name(&mut self, at: f64, whole: &str, name: &str) {
        let (y, left) = (self.y.at(at), self.x.pixels.0);
        let title = if whole == name { String::new() } else { titled(whole) };
        let (x, y, name) = (left - 6.0, y + 3.5, escape(name));
        let _ = write!(
            self.body,
            "<text class=\"name\" fill=\"#1b1f24\" x=\"{x:.1}\" y=\"{y:.1}\" \
             text-anchor=\"end\">{name}{title}</text>"
        );
    }

    fn frame(&mut self, x_label: &str, y_label: &str) {
        let ((left, right), (bottom, top)) = (self.x.pixels, self.y.pixels);
        let middle = 0.5 * (left + right);
        if !x_label.is_empty() {
            self.text(middle, bottom + 31.0, "middle", "", x_label);
        }
        if !y_label.is_empty() {
            let y = 0.5 * (bottom + top);
            let label = escape(y_label);
            let _ = write!(
                self.body,
                "<text fill=\"#5a626c\" transform=\"translate(13 {y:.1}) rotate(-90)\" \
                 text-anchor=\"middle\">{label}</text>"
            );
        }
        let ((low, high), (below, above)) = (self.x.values, self.y.values);
        let (width, height) = (right - left, bottom - top);
        // What the script reads to turn pixels into values.
        let _ = write!(
            self.body,
            "<rect class=\"area\" fill=\"none\" pointer-events=\"all\" x=\"{left:.1}\" y=\"{top:.1}\" \
             width=\"{width:.1}\" height=\"{height:.1}\" data-x=\"{low},{high}\" \
             data-y=\"{below},{above}\"/>"
        );
    }

    fn rule(&mut self, x0: f64, y0: f64, x1: f64, y1: f64) {
        let _ = write!(
            self.body,
            "<path class=\"grid\" stroke=\"#d5d9de\" d=\"M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}\"/>"
        );
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let text = escape(text);
        let _ = write!(
            self.body,
            "<text{class} fill=\"#5a626c\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}\
             </text>"
        );
    }

    /// The finished panel, with a line of text above it and what it says in words.
    pub fn finish(mut self, title: impl Into<String>, description: impl Into<String>) -> Panel {
        let (title, Size(width, height)) = (title.into(), self.size);
        let most = ((width - 20.0) / TITLE_LETTER) as usize;
        let shown = match title.chars().count() > most {
            true => format!("{}\u{2026}", title.chars().take(most - 1).collect::<String>()),
            false => title.clone(),
        };
        let (text, whole) =
            (escape(&shown), if shown == title { String::new() } else { titled(&title) });
        let _ = write!(
            self.body,
            "<text class=\"title\" fill=\"#1b1f24\" x=\"10\" y=\"16\">{text}{whole}</text>"
        );
        Panel { title, description: description.into(), width, height, body: self.body }
    }
}

/// A name that fits beside a row.
fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_string();
    }
    format!("{}\u{2026}", name.chars().take(LONGEST - 1).collect::<String>())
}
