//! A figure drawn with plotters.

use std::sync::Once;

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use crate::axis::Scale;
use crate::clip::{clip_line, inside};
use crate::{Colour, Dash, FONT, Figure, Layer, Marker, Panel, PlotError, Style, legend};

/// plotters draws at integer coordinates: figures are drawn this much larger and scaled down, so
/// that curves are smooth.
pub(crate) const FINE: f64 = 4.0;
/// Sizes of text in pixels, before plotters' own factor between a font's size and its height.
pub(crate) const TEXT: f64 = 16.0;
const TITLE: f64 = 17.0;

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Scale, Scale>>;

/// A length in pixels, in drawing units.
pub(crate) fn fine(pixels: f64) -> i32 {
    (pixels * FINE).round() as i32
}

impl Figure {
    /// The whole figure: legend and panels.
    pub fn svg(&self) -> Result<String, PlotError> {
        self.draw_some(&self.panels, self.columns, true)
    }

    /// The legend alone, if there is one: with [`panel_svgs`](Figure::panel_svgs), for a page that
    /// arranges panels by itself.
    pub fn legend_svg(&self) -> Result<Option<String>, PlotError> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        self.draw_some(&[], 1, true).map(Some)
    }

    /// Each panel alone.
    pub fn panel_svgs(&self) -> Result<Vec<String>, PlotError> {
        let draw = |panel| self.draw_some(std::slice::from_ref(panel), 1, false);
        self.panels.iter().map(draw).collect()
    }

    fn draw_some(
        &self,
        panels: &[Panel],
        columns: usize,
        with_legend: bool,
    ) -> Result<String, PlotError> {
        static FONT_ONCE: Once = Once::new();
        FONT_ONCE.call_once(|| {
            // The font is part of this crate and valid.
            let _ = register_font("sans-serif", FontStyle::Normal, FONT);
        });
        let width = self.panel_size.0 * columns as u32;
        let rows = panels.len().div_ceil(columns);
        let keys: &[(String, Style)] = if with_legend { &self.keys } else { &[] };
        let head = legend::height(keys, f64::from(width));
        let height = head.ceil() as u32 + self.panel_size.1 * rows as u32;
        let size = (width * FINE as u32, height * FINE as u32);
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&WHITE).map_err(PlotError::from_any)?;
            let (top, body) = root.split_vertically(fine(head));
            legend::draw(keys, f64::from(width), &top)?;
            if rows > 0 {
                for (area, panel) in body.split_evenly((rows, columns)).iter().zip(panels) {
                    panel.draw(area, self.panel_size.0)?;
                }
            }
            root.present().map_err(PlotError::from_any)?;
        }
        Ok(shown_at(svg, size, (width, height), &self.title))
    }
}

/// The SVG with its display size, and its title for screen readers.
fn shown_at(svg: String, drawn: (u32, u32), shown: (u32, u32), title: &str) -> String {
    let from = format!("width=\"{}\" height=\"{}\"", drawn.0, drawn.1);
    let to = format!("width=\"{}\" height=\"{}\" role=\"img\"", shown.0, shown.1);
    let escaped = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let svg = svg.replacen(&from, &to, 1);
    match svg.find('>') {
        Some(end) => format!("{}<title>{escaped}</title>{}", &svg[..=end], &svg[end + 1..]),
        None => svg,
    }
}

pub(crate) fn colour((r, g, b): Colour, opacity: f64) -> RGBAColor {
    RGBColor(r, g, b).mix(opacity)
}

pub(crate) fn text(size: f64) -> TextStyle<'static> {
    ("sans-serif", size * FINE).into_font().color(&colour(Style::INK, 1.0))
}

impl Panel {
    fn draw(&self, area: &Area<'_>, width: u32) -> Result<(), PlotError> {
        let (x_extent, y_extent) = self.extent();
        let x = self.x.scale(x_extent, if width < 400 { 4 } else { 6 });
        let y = self.y.scale(y_extent, 6);
        // Wide numbers must not overlap the name of the axis.
        let side = (24.0 + 7.0 * y.longest_label() as f64).max(66.0);
        let mut builder = ChartBuilder::on(area);
        builder
            .margin_top(fine(if self.title.is_empty() { 10.0 } else { 32.0 }))
            .margin_right(fine(18.0))
            .margin_bottom(fine(6.0))
            .margin_left(fine(4.0))
            .x_label_area_size(fine(46.0))
            .y_label_area_size(fine(side));
        let mut chart =
            builder.build_cartesian_2d(x.clone(), y.clone()).map_err(PlotError::from_any)?;
        chart
            .configure_mesh()
            .bold_line_style(colour((225, 225, 225), 1.0).stroke_width(FINE as u32))
            .light_line_style(TRANSPARENT)
            .axis_style(colour(Style::GREY, 1.0).stroke_width(FINE as u32))
            .set_all_tick_mark_size(fine(4.0))
            .label_style(text(TEXT - 1.0))
            .axis_desc_style(text(TEXT))
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .x_labels(12)
            .y_labels(12)
            .draw()
            .map_err(PlotError::from_any)?;
        if !self.title.is_empty() {
            let at = (fine(side + 4.0), fine(7.0));
            area.draw(&Text::new(self.title.clone(), at, text(TITLE)))
                .map_err(PlotError::from_any)?;
        }
        for layer in &self.layers {
            draw_layer(&mut chart, layer, &x, &y)?;
        }
        Ok(())
    }
}

fn draw_layer(
    chart: &mut Chart<'_, '_>,
    layer: &Layer,
    x: &Scale,
    y: &Scale,
) -> Result<(), PlotError> {
    match layer {
        Layer::Line(points, style) => draw_line(chart, points, style, x, y),
        Layer::Points(points, style) => draw_points(chart, points, style, x, y),
        Layer::Band(points, tint, opacity) => {
            draw_band(chart, points, colour(*tint, *opacity), x, y)
        }
        Layer::Cells(cells, tint) => draw_cells(chart, cells, *tint, x, y),
        Layer::Level(at, style) => draw_line(chart, &[(x.low, *at), (x.high, *at)], style, x, y),
        Layer::Upright(at, style) => draw_line(chart, &[(*at, y.low), (*at, y.high)], style, x, y),
    }
}

fn draw_line(
    chart: &mut Chart<'_, '_>,
    points: &[(f64, f64)],
    style: &Style,
    x: &Scale,
    y: &Scale,
) -> Result<(), PlotError> {
    let fractions: Vec<_> = points.iter().map(|p| (x.fraction(p.0), y.fraction(p.1))).collect();
    let pen = colour(style.colour, style.opacity).stroke_width((style.width * FINE) as u32);
    for part in clip_line(&fractions) {
        let part = part.into_iter().map(|(fx, fy)| (x.at(fx), y.at(fy)));
        let drawn = match style.dash {
            Dash::Absent => Ok(()),
            Dash::Solid => chart.draw_series(LineSeries::new(part, pen)).map(|_| ()),
            Dash::Dashed => chart
                .draw_series(DashedLineSeries::new(part, fine(7.0), fine(4.0), pen))
                .map(|_| ()),
            Dash::Dotted => chart
                .draw_series(DashedLineSeries::new(part, fine(2.2), fine(2.6), pen))
                .map(|_| ()),
        };
        drawn.map_err(PlotError::from_any)?;
    }
    Ok(())
}

fn draw_points(
    chart: &mut Chart<'_, '_>,
    points: &[(f64, f64)],
    style: &Style,
    x: &Scale,
    y: &Scale,
) -> Result<(), PlotError> {
    let fill = colour(style.colour, style.opacity).filled();
    let seen = points.iter().filter(|p| inside((x.fraction(p.0), y.fraction(p.1))));
    let size = fine(1.6 + style.width);
    let drawn = match style.marker {
        Marker::None => Ok(()),
        Marker::Circle => chart
            .draw_series(seen.map(|&at| plotters::element::Circle::new(at, size, fill)))
            .map(|_| ()),
        Marker::Triangle => {
            chart.draw_series(seen.map(|&at| TriangleMarker::new(at, size, fill))).map(|_| ())
        }
        Marker::Cross => {
            let pen = colour(style.colour, style.opacity).stroke_width((style.width * FINE) as u32);
            chart
                .draw_series(seen.map(|&at| plotters::element::Cross::new(at, size, pen)))
                .map(|_| ())
        }
    };
    drawn.map_err(PlotError::from_any)
}

/// The polygon between the lower and the upper line, both held within the panel.
fn draw_band(
    chart: &mut Chart<'_, '_>,
    points: &[(f64, f64, f64)],
    fill: RGBAColor,
    x: &Scale,
    y: &Scale,
) -> Result<(), PlotError> {
    let whole = points.iter().filter(|(at, low, high)| {
        at.is_finite()
            && low.is_finite()
            && high.is_finite()
            && (0.0..=1.0).contains(&x.fraction(*at))
    });
    let held = |value: f64| {
        let value = if y.log { value.max(f64::MIN_POSITIVE) } else { value };
        y.at(y.fraction(value).clamp(0.0, 1.0))
    };
    let mut outline: Vec<(f64, f64)> = whole.clone().map(|&(at, low, _)| (at, held(low))).collect();
    outline.extend(whole.rev().map(|&(at, _, high)| (at, held(high))));
    if outline.len() < 4 {
        return Ok(());
    }
    chart
        .draw_series(std::iter::once(Polygon::new(outline, fill.filled())))
        .map(|_| ())
        .map_err(PlotError::from_any)
}

fn draw_cells(
    chart: &mut Chart<'_, '_>,
    cells: &[(f64, f64, f64, f64, f64)],
    tint: Colour,
    x: &Scale,
    y: &Scale,
) -> Result<(), PlotError> {
    let held = |scale: &Scale, value: f64| scale.at(scale.fraction(value).clamp(0.0, 1.0));
    let rectangles = cells.iter().map(|&(x0, x1, y0, y1, opacity)| {
        let corners = [(held(x, x0), held(y, y1)), (held(x, x1), held(y, y0))];
        Rectangle::new(corners, colour(tint, opacity).filled())
    });
    chart.draw_series(rectangles).map(|_| ()).map_err(PlotError::from_any)
}
