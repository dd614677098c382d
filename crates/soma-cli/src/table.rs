//! Formatting of tables and numbers.

use comfy_table::{CellAlignment, ContentLineStyle, LineStyle, Table, TableStyle};
use soma::diagnostics::Summary;
use soma_report::svg::probability_decimals;

use crate::report::Row;

/// Lines above, below, and under the header.
const STYLE: TableStyle = {
    let line = LineStyle::new('─', '─', '─', '─');
    let content = ContentLineStyle::new(' ', ' ', ' ');
    let framed = TableStyle::new().top_border(line).bottom_border(line).header_separator(line);
    framed.header_lines(content).content_lines(content)
};

/// The table of the posterior.
pub fn of(rows: &[Row]) -> String {
    let header =
        ["parameter", "mean", "sd", "5%", "50%", "95%", "mcse", "R-hat", "ESS bulk", "ESS tail"];
    let cells = rows.iter().map(|Row { name, summary, is_comparison }| {
        if *is_comparison {
            return probability(name, summary);
        }
        // As many decimals as the standard deviation makes meaningful, the same in the whole row.
        let decimals = decimals(summary.sd);
        let value = |x: f64| figure(x, decimals);
        vec![
            name.clone(),
            value(summary.mean),
            value(summary.sd),
            value(summary.q5),
            value(summary.q50),
            value(summary.q95),
            figure(summary.mcse_mean, decimals + 1),
            figure(summary.rhat, 3),
            figure(summary.ess_bulk, 0),
            figure(summary.ess_tail, 0),
        ]
    });
    framed(&header, cells)
}

/// The row of a comparison: its mean is its probability, and its quantiles say nothing.
fn probability(name: &str, summary: &Summary) -> Vec<String> {
    let decimals = probability_decimals(summary.mcse_mean);
    let mut cells = vec![format!("{name} (probability)"), figure(summary.mean, decimals)];
    cells.resize(6, String::new());
    cells.push(figure(summary.mcse_mean, decimals + 1));
    cells.extend([figure(summary.rhat, 3), figure(summary.ess_bulk, 0), String::new()]);
    cells
}

/// The table of a batch: name, verdict, chains, draws, largest R-hat, fewest effective draws and
/// seconds of each fit.
pub fn of_fits<'a>(
    fits: impl Iterator<Item = (&'a str, &'a str, usize, u64, f64, f64, f64)>,
) -> String {
    let header = ["fit", "verdict", "chains", "draws", "R-hat", "ESS", "time"];
    let cells = fits.map(|(name, verdict, chains, draws, rhat, ess, time)| {
        vec![
            name.to_string(),
            verdict.to_string(),
            chains.to_string(),
            draws.to_string(),
            figure(rhat, 3),
            figure(ess, 0),
            seconds(time),
        ]
    });
    framed(&header, cells)
}

/// A table with names in the first column and numbers in the others.
pub fn framed(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header(header);
    table.add_rows(rows);
    table.column_iter_mut().skip(1).for_each(|column| {
        column.set_cell_alignment(CellAlignment::Right);
    });
    table.to_string()
}

/// The number of decimals that shows `sd` with three digits.
fn decimals(sd: f64) -> usize {
    if sd.is_finite() && sd > 0.0 {
        (2.0 - sd.log10().floor()).clamp(0.0, 12.0) as usize
    } else {
        4
    }
}

/// A number with this many decimals; scientific if very large, and a dash for NaN.
fn figure(x: f64, decimals: usize) -> String {
    if x.is_nan() {
        "-".to_string()
    } else if x.abs() >= 1e9 {
        format!("{x:.3e}")
    } else {
        format!("{x:.decimals$}")
    }
}

/// A time in readable units.
pub fn seconds(seconds: f64) -> String {
    if seconds < 60.0 {
        format!("{seconds:.2} s")
    } else if seconds < 3600.0 {
        format!("{:.0} min {:.0} s", (seconds / 60.0).floor(), seconds % 60.0)
    } else {
        format!("{:.0} h {:.0} min", (seconds / 3600.0).floor(), (seconds % 3600.0) / 60.0)
    }
}
