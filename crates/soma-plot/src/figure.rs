//! The contents of a figure.

use crate::{Axis, Colour, Style};

/// Something drawn in a panel.
#[derive(Debug, Clone)]
pub enum Layer {
    /// Points joined by a line.
    Line(Vec<(f64, f64)>, Style),
    /// Points, each with the style's marker.
    Points(Vec<(f64, f64)>, Style),
    /// The area from `low` to `high`: points (x, low, high).
    Band(Vec<(f64, f64, f64)>, Colour, f64),
    /// Filled rectangles: (x from, x to, y from, y to, opacity).
    Cells(Vec<(f64, f64, f64, f64, f64)>, Colour),
    /// A line across the panel at this height.
    Level(f64, Style),
    /// A line down the panel at this x.
    Upright(f64, Style),
}

/// Two axes and the layers between them, the first layer lowest.
#[derive(Debug, Clone)]
pub struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) layers: Vec<Layer>,
}

impl Panel {
    /// An empty panel.
    pub fn new(x: Axis, y: Axis) -> Self {
        Panel { title: String::new(), x, y, layers: Vec::new() }
    }

    /// With a line of text above it.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// With one more layer on top.
    pub fn layer(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// With a line.
    pub fn line(self, points: Vec<(f64, f64)>, style: Style) -> Self {
        self.layer(Layer::Line(points, style))
    }

    /// With points.
    pub fn points(self, points: Vec<(f64, f64)>, style: Style) -> Self {
        self.layer(Layer::Points(points, style))
    }

    /// With a shaded band.
    pub fn band(self, points: Vec<(f64, f64, f64)>, colour: Colour) -> Self {
        self.layer(Layer::Band(points, colour, 0.18))
    }

    /// With a reference line across.
    pub fn level(self, at: f64, style: Style) -> Self {
        self.layer(Layer::Level(at, style))
    }

    /// With a reference line down.
    pub fn upright(self, at: f64, style: Style) -> Self {
        self.layer(Layer::Upright(at, style))
    }

    /// The smallest rectangle that holds the data, as (x from, x to), (y from, y to).
    pub(crate) fn extent(&self) -> ((f64, f64), (f64, f64)) {
        let mut extent = Extent::new(self.x.log, self.y.log);
        for layer in &self.layers {
            match layer {
                Layer::Line(points, _) | Layer::Points(points, _) => {
                    points.iter().for_each(|&(x, y)| extent.add(x, y));
                }
                Layer::Band(points, ..) => points.iter().for_each(|&(x, low, high)| {
                    extent.add(x, low);
                    extent.add(x, high);
                }),
                Layer::Cells(cells, _) => cells.iter().for_each(|&(x0, x1, y0, y1, _)| {
                    extent.add(x0, y0);
                    extent.add(x1, y1);
                }),
                Layer::Level(at, _) => extent.add_y(*at),
                Layer::Upright(at, _) => extent.add_x(*at),
            }
        }
        (extent.x, extent.y)
    }
}

struct Extent {
    x: (f64, f64),
    y: (f64, f64),
    log: (bool, bool),
}

impl Extent {
    fn new(log_x: bool, log_y: bool) -> Self {
        let empty = (f64::INFINITY, f64::NEG_INFINITY);
        Extent { x: empty, y: empty, log: (log_x, log_y) }
    }

    fn add(&mut self, x: f64, y: f64) {
        self.add_x(x);
        self.add_y(y);
    }

    fn add_x(&mut self, x: f64) {
        if x.is_finite() && (x > 0.0 || !self.log.0) {
            self.x = (self.x.0.min(x), self.x.1.max(x));
        }
    }

    fn add_y(&mut self, y: f64) {
        if y.is_finite() && (y > 0.0 || !self.log.1) {
            self.y = (self.y.0.min(y), self.y.1.max(y));
        }
    }
}

/// Panels in rows, with one legend above them.
#[derive(Debug, Clone)]
pub struct Figure {
    pub(crate) title: String,
    pub(crate) panels: Vec<Panel>,
    pub(crate) columns: usize,
    pub(crate) panel_size: (u32, u32),
    pub(crate) keys: Vec<(String, Style)>,
}

impl Figure {
    /// A figure with its panels in one row. The title is for screen readers.
    pub fn new(title: impl Into<String>, panels: Vec<Panel>) -> Self {
        let columns = panels.len().max(1);
        Figure { title: title.into(), panels, columns, panel_size: (440, 330), keys: Vec::new() }
    }

    /// With the panels in this many columns.
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = columns.max(1);
        self
    }

    /// With panels of this width and height in pixels.
    pub fn panel_size(mut self, width: u32, height: u32) -> Self {
        self.panel_size = (width, height);
        self
    }

    /// With an entry in the legend.
    pub fn key(mut self, name: impl Into<String>, style: Style) -> Self {
        self.keys.push((name.into(), style));
        self
    }

    /// The title for screen readers.
    pub fn title(&self) -> &str {
        &self.title
    }
}
