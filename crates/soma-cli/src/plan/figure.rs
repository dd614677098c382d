//! The width of intervals against the budget.

use soma::plan::PlanReport;
use soma_plot::{Axis, Colour, Dash, Figure, Marker, Panel, PlotError, Style};

const COLOURS: [Colour; 4] = [Style::BLUE, Style::VERMILION, Style::GREEN, Style::PURPLE];
const MARKERS: [Marker; 3] = [Marker::Circle, Marker::Triangle, Marker::Cross];

/// A panel for each parameter, a line for each design and number of records, and the width without
/// privacy across it.
pub fn svg(report: &PlanReport) -> Result<String, PlotError> {
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for setting in &report.settings {
        let group = (setting.design.as_str(), setting.n);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let style = |i: usize| {
        Style::new(COLOURS[i % COLOURS.len()]).marker(MARKERS[i % MARKERS.len()]).width(2.0)
    };
    let floor_style = Style::new(Style::GREY).dash(Dash::Dashed);
    let names = report.settings.first().map(|first| first.quantities.iter().map(|q| &q.name));
    let panel = |(k, name): (usize, &String)| {
        let axes =
            (Axis::new(report.budget.as_str()).log(), Axis::new("width of 90% interval").log());
        let mut panel = Panel::new(axes.0, axes.1).title(name.clone());
        for floor in &report.floors {
            panel = panel.level(floor.quantities[k].width, floor_style);
        }
        for (i, group) in groups.iter().enumerate() {
            let own = report.settings.iter().filter(|s| (s.design.as_str(), s.n) == *group);
            let points = own.map(|s| (s.budget.unwrap_or(1.0), s.quantities[k].width)).collect();
            panel = panel.line(points, style(i));
        }
        panel
    };
    let panels: Vec<Panel> = names.into_iter().flatten().enumerate().map(panel).collect();
    let columns = panels.len().clamp(1, 3);
    let mut figure = Figure::new("Width of intervals against the budget", panels).columns(columns);
    for (i, (design, n)) in groups.iter().enumerate() {
        figure = figure.key(format!("{design}, n = {n}"), style(i));
    }
    figure.key("without privacy", floor_style).svg()
}
