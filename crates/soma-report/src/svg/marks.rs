//! What is drawn between axes.

use std::fmt::Write;

use super::{Ink, Plot, escape};

impl Plot {
    /// Points joined by a line; `name` is what pointing at it says, with the value there.
    pub fn line(self, points: &[(f64, f64)], ink: Ink, name: &str) -> Self {
        self.path(points, ink, name, "stroke-width=\"1.6\"")
    }

    /// The same, dashed.
    pub fn dashed(self, points: &[(f64, f64)], ink: Ink, name: &str) -> Self {
        self.path(points, ink, name, "stroke-width=\"1.6\" stroke-dasharray=\"5 3\"")
    }

    /// The same, thin: for lines of which there are many.
    pub fn thin(self, points: &[(f64, f64)], ink: Ink, name: &str) -> Self {
        self.path(points, ink, name, "stroke-width=\"0.8\" stroke-opacity=\"0.85\"")
    }

    fn path(mut self, points: &[(f64, f64)], ink: Ink, name: &str, style: &str) -> Self {
        let Some(d) = self.outline(points) else { return self };
        let (class, colour, label) = (ink.class(), ink.light(), escape(name));
        let _ = write!(
            self.body,
            "<path class=\"mark-line {class}\" stroke=\"{colour}\" fill=\"none\" \
             stroke-linejoin=\"round\" {style} data-name=\"{label}\" d=\"{d}\">{}</path>",
            titled(name)
        );
        self
    }

    /// The path through the points that are finite; none, where there are none.
    fn outline(&self, points: &[(f64, f64)]) -> Option<String> {
        let mut d = String::new();
        for &(x, y) in points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
            let sign = if d.is_empty() { 'M' } else { 'L' };
            let _ = write!(d, "{sign}{:.1} {:.1}", self.x.clamped(x), self.y.clamped(y));
        }
        (!d.is_empty()).then_some(d)
    }

    /// The area between a line and y = 0.
    pub fn area(mut self, points: &[(f64, f64)], ink: Ink) -> Self {
        let Some(d) = self.outline(points) else { return self };
        let ends = (points.first().map_or(0.0, |p| p.0), points.last().map_or(0.0, |p| p.0));
        let (from, to) = (self.x.clamped(ends.0), self.x.clamped(ends.1));
        let (class, colour, foot) = (ink.class(), ink.light(), self.y.clamped(0.0));
        let _ = write!(
            self.body,
            "<path class=\"mark-fill {class}\" fill=\"{colour}\" fill-opacity=\"0.16\" \
             pointer-events=\"none\" d=\"{d}L{to:.1} {foot:.1}L{from:.1} {foot:.1}Z\"/>"
        );
        self
    }

    /// A filled box; `title` is what pointing at it says.
    pub fn bar(
        mut self,
        x: (f64, f64),
        y: (f64, f64),
        ink: Ink,
        opacity: f64,
        title: &str,
    ) -> Self {
        let (x0, x1) = (self.x.clamped(x.0), self.x.clamped(x.1));
        let (y0, y1) = (self.y.clamped(y.0), self.y.clamped(y.1));
        let (left, top) = (x0.min(x1), y0.min(y1));
        let (width, height) = ((x1 - x0).abs().max(0.5), (y1 - y0).abs());
        let (class, colour) = (ink.class(), ink.light());
        let _ = write!(
            self.body,
            "<rect class=\"mark-fill {class}\" fill=\"{colour}\" fill-opacity=\"{opacity}\" \
             x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\">{}</rect>",
            titled(title)
        );
        self
    }

    /// A bar along x of a thickness in pixels, moved down by `below` of them: an interval.
    pub fn interval(
        mut self,
        (low, high): (f64, f64),
        y: f64,
        (below, thick): (f64, f64),
        ink: Ink,
        title: &str,
    ) -> Self {
        if low.is_nan() || high.is_nan() {
            return self;
        }
        let (from, to) = (self.x.clamped(low), self.x.clamped(high));
        let (top, width) = (self.y.at(y) + below - 0.5 * thick, (to - from).max(1.0));
        let (class, colour) = (ink.class(), ink.light());
        let _ = write!(
            self.body,
            "<rect class=\"mark-fill {class}\" fill=\"{colour}\" rx=\"1\" x=\"{from:.1}\" \
             y=\"{top:.1}\" width=\"{width:.1}\" height=\"{thick:.1}\">{}</rect>",
            titled(title)
        );
        self
    }

    /// A dot of a radius in pixels, moved down by `below` of them. Nothing, outside of the axes.
    pub fn dot(
        mut self,
        (x, y): (f64, f64),
        (below, radius): (f64, f64),
        ink: Ink,
        title: &str,
    ) -> Self {
        if !(self.x.holds(x) && self.y.holds(y)) {
            return self;
        }
        let (x, y, class, colour) = (self.x.at(x), self.y.at(y) + below, ink.class(), ink.light());
        let _ = write!(
            self.body,
            "<circle class=\"mark-fill {class}\" fill=\"{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" \
             r=\"{radius}\">{}</circle>",
            titled(title)
        );
        self
    }

    /// A diamond, which is told from a dot without colours. Nothing, outside of the axes.
    pub fn diamond(mut self, (x, y): (f64, f64), below: f64, ink: Ink, title: &str) -> Self {
        if !(self.x.holds(x) && self.y.holds(y)) {
            return self;
        }
        let (x, y, class, colour) = (self.x.at(x), self.y.at(y) + below, ink.class(), ink.light());
        let (left, right, top, bottom) = (x - 4.5, x + 4.5, y - 4.5, y + 4.5);
        let _ = write!(
            self.body,
            "<path class=\"mark-fill {class}\" fill=\"{colour}\" d=\"M{left:.1} {y:.1}L{x:.1} \
             {top:.1}L{right:.1} {y:.1}L{x:.1} {bottom:.1}Z\">{}</path>",
            titled(title)
        );
        self
    }

    /// Small dots without words of their own: a cloud.
    pub fn cloud(mut self, points: &[(f64, f64)], ink: Ink) -> Self {
        let mut d = String::new();
        for &(x, y) in points.iter().filter(|(x, y)| self.x.holds(*x) && self.y.holds(*y)) {
            let _ = write!(d, "M{:.1} {:.1}h0", self.x.at(x), self.y.at(y));
        }
        let (class, colour) = (ink.class(), ink.light());
        let _ = write!(
            self.body,
            "<path class=\"mark-line {class}\" stroke=\"{colour}\" stroke-width=\"2.6\" \
             stroke-linecap=\"round\" stroke-opacity=\"0.4\" pointer-events=\"none\" d=\"{d}\"/>"
        );
        self
    }

    /// A line down the panel at `x`. Nothing, outside of the axis.
    pub fn upright(self, x: f64, ink: Ink, title: &str) -> Self {
        if !self.x.holds(x) {
            return self;
        }
        let (x, (bottom, top)) = (self.x.at(x), self.y.pixels);
        self.straight((x, bottom, x, top), ink, "stroke-width=\"2\"", title)
    }

    /// A dashed line across the panel at `y`. Nothing, outside of the axis.
    pub fn level(self, y: f64, ink: Ink, title: &str) -> Self {
        if !self.y.holds(y) {
            return self;
        }
        let (y, (left, right)) = (self.y.at(y), self.x.pixels);
        let style = "stroke-width=\"1.4\" stroke-dasharray=\"5 3\"";
        self.straight((left, y, right, y), ink, style, title)
    }

    fn straight(
        mut self,
        (x0, y0, x1, y1): (f64, f64, f64, f64),
        ink: Ink,
        style: &str,
        title: &str,
    ) -> Self {
        let (class, colour) = (ink.class(), ink.light());
        let _ = write!(
            self.body,
            "<path class=\"mark-line {class}\" stroke=\"{colour}\" {style} \
             d=\"M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}\">{}</path>",
            titled(title)
        );
        self
    }
}

/// What pointing at a mark says.
pub(super) fn titled(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<title>{}</title>", escape(text)) }
}
