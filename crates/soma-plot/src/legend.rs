//! The legend: a strip above the panels, in as many rows as it needs.

use plotters::prelude::*;

use crate::draw::{Area, FINE, TEXT, colour, fine, text};
use crate::{Dash, Marker, PlotError, Style};

const ROW: f64 = 24.0;
const SAMPLE: f64 = 30.0;
const GAP: f64 = 22.0;
const MARGIN: f64 = 12.0;

/// The position of each entry, in pixels. Letter widths are estimated generously, since the
/// reader's font is not known.
fn places(keys: &[(String, Style)], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (MARGIN, 6.0);
    let mut places = Vec::with_capacity(keys.len());
    for (name, _) in keys {
        let length = SAMPLE + 6.0 + 0.46 * TEXT * name.chars().count() as f64;
        if x > MARGIN && x + length > width - MARGIN {
            (x, y) = (MARGIN, y + ROW);
        }
        places.push((x, y));
        x += length + GAP;
    }
    places
}

/// The height of the strip, in pixels.
pub(crate) fn height(keys: &[(String, Style)], width: f64) -> f64 {
    places(keys, width).last().map_or(0.0, |(_, y)| y + ROW)
}

/// Draws the strip.
pub(crate) fn draw(keys: &[(String, Style)], width: f64, area: &Area<'_>) -> Result<(), PlotError> {
    for ((name, style), (x, y)) in keys.iter().zip(places(keys, width)) {
        draw_sample(style, x, y + ROW / 2.0, area)?;
        let style = text(TEXT).pos(plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Left,
            plotters::style::text_anchor::VPos::Center,
        ));
        let at = (fine(x + SAMPLE + 6.0), fine(y + ROW / 2.0));
        area.draw(&Text::new(name.clone(), at, style)).map_err(PlotError::from_any)?;
    }
    Ok(())
}

/// A short piece of line with its marker.
fn draw_sample(style: &Style, x: f64, y: f64, area: &Area<'_>) -> Result<(), PlotError> {
    let tint = colour(style.colour, style.opacity.max(0.35));
    let pen = tint.stroke_width((style.width * FINE) as u32);
    let (stroke, gap) = match style.dash {
        Dash::Solid => (SAMPLE, 0.0),
        Dash::Dashed => (7.0, 4.0),
        Dash::Dotted => (2.2, 2.6),
        Dash::Absent => (0.0, 0.0),
    };
    let mut from = if style.dash == Dash::Absent { SAMPLE } else { 0.0 };
    while from < SAMPLE {
        let to = (from + stroke).min(SAMPLE);
        let ends = vec![(fine(x + from), fine(y)), (fine(x + to), fine(y))];
        area.draw(&PathElement::new(ends, pen)).map_err(PlotError::from_any)?;
        from = to + gap;
    }
    let middle = (fine(x + SAMPLE / 2.0), fine(y));
    let size = fine(1.6 + style.width);
    let drawn = match style.marker {
        Marker::None => Ok(()),
        Marker::Circle => area.draw(&Circle::new(middle, size, tint.filled())),
        Marker::Triangle => area.draw(&TriangleMarker::new(middle, size, tint.filled())),
        Marker::Cross => area.draw(&Cross::new(middle, size, pen)),
    };
    drawn.map_err(PlotError::from_any)
}
