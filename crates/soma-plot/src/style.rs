//! Colours, dashes and markers.

/// A colour as red, green and blue.
pub type Colour = (u8, u8, u8);

/// The dash of a line, so that lines differ in print and without colour too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    /// Without gaps.
    Solid,
    /// Long strokes.
    Dashed,
    /// Short strokes.
    Dotted,
    /// No line: markers only.
    Absent,
}

/// The marker at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// Nothing: a line only.
    None,
    /// A disc.
    Circle,
    /// A triangle that points up.
    Triangle,
    /// A diagonal cross.
    Cross,
}

/// How a line and its points look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    /// The colour of line and marker.
    pub colour: Colour,
    /// The dash of the line.
    pub dash: Dash,
    /// The marker at each point.
    pub marker: Marker,
    /// The width of the line in pixels.
    pub width: f64,
    /// The opacity, from 0 to 1.
    pub opacity: f64,
}

impl Style {
    /// Vermilion, of the palette of Okabe and Ito, which colour-blind readers can tell apart.
    pub const VERMILION: Colour = (213, 94, 0);
    /// Blue, of the same palette.
    pub const BLUE: Colour = (0, 114, 178);
    /// Bluish green, of the same palette.
    pub const GREEN: Colour = (0, 158, 115);
    /// Orange, of the same palette.
    pub const ORANGE: Colour = (230, 159, 0);
    /// Sky blue, of the same palette.
    pub const SKY: Colour = (86, 180, 233);
    /// Reddish purple, of the same palette.
    pub const PURPLE: Colour = (204, 121, 167);
    /// Near black, for what belongs to no sampler.
    pub const INK: Colour = (40, 40, 40);
    /// Grey, for reference lines.
    pub const GREY: Colour = (120, 120, 120);

    /// A solid line of this colour.
    pub const fn new(colour: Colour) -> Self {
        Style { colour, dash: Dash::Solid, marker: Marker::None, width: 1.8, opacity: 1.0 }
    }

    /// The style of a kernel, by its name: the same in every figure of the project.
    pub fn sampler(name: &str) -> Self {
        match name {
            "soma" => Style::new(Style::VERMILION).marker(Marker::Circle),
            "ran-imwg" => Style::new(Style::BLUE).dash(Dash::Dashed).marker(Marker::Triangle),
            "sys-imwg" => Style::new(Style::GREEN).dash(Dash::Dotted).marker(Marker::Cross),
            "soma-subset" => Style::new(Style::PURPLE).marker(Marker::Circle),
            _ => Style::new(Style::INK),
        }
    }

    /// With another dash.
    pub const fn dash(mut self, dash: Dash) -> Self {
        self.dash = dash;
        self
    }

    /// With another marker.
    pub const fn marker(mut self, marker: Marker) -> Self {
        self.marker = marker;
        self
    }

    /// With another width.
    pub const fn width(mut self, width: f64) -> Self {
        self.width = width;
        self
    }

    /// Sets the opacity.
    pub const fn opacity(mut self, opacity: f64) -> Self {
        self.opacity = opacity;
        self
    }
}
