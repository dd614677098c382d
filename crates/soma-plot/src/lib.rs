//! Figures as SVG or PNG.
//!
//! A [`Figure`] is a row or grid of [`Panel`]s with one legend above them, so that the legend never
//! covers data. A panel is two [`Axis`]es and some layers. Text is set in a font that is part of
//! this crate (Open Sans, Apache-2.0), so that the PNG is the same on every machine; in an SVG the
//! text stays text, in the reader's own sans-serif.
//!
//! ```
//! use soma_plot::{Axis, Figure, Panel, Style};
//! let panel = Panel::new(Axis::new("iteration"), Axis::new("R-hat").log())
//!     .line(vec![(1.0, 3.0), (10.0, 1.2), (100.0, 1.01)], Style::sampler("soma"));
//! let figure = Figure::new("R-hat by iteration", vec![panel])
//!     .key("SOMA", Style::sampler("soma"));
//! let svg = figure.svg()?;
//! assert!(svg.starts_with("<svg"));
//! # #[cfg(feature = "png")]
//! assert_eq!(&soma_plot::png(&svg, 2.0)?[1..4], b"PNG");
//! # Ok::<(), soma_plot::PlotError>(())
//! ```

mod axis;
mod clip;
mod draw;
mod figure;
mod legend;
#[cfg(feature = "png")]
mod raster;
mod style;

pub use axis::Axis;
pub use figure::{Figure, Layer, Panel};
#[cfg(feature = "png")]
pub use raster::png;
pub use style::{Colour, Dash, Marker, Style};

/// A figure that could not be drawn.
#[derive(Debug, Clone)]
pub struct PlotError(String);

impl std::fmt::Display for PlotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the figure could not be drawn: {}", self.0)
    }
}

impl std::error::Error for PlotError {}

impl PlotError {
    fn from_any(error: impl std::fmt::Display) -> Self {
        PlotError(error.to_string())
    }
}

/// The font of all figures: Open Sans, with the Latin and Greek letters and a few signs.
static FONT: &[u8] = include_bytes!("../font/OpenSans-Regular.ttf");
