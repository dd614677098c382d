//! The book's figure of mixing: reads what `soma bench --mixing` printed from standard input, and
//! writes an SVG of the regression problem to standard output.
//!
//! `soma bench --mixing --problem regression | tee mixing.txt`, and then
//! `cargo run --release -p soma-mcmc-plot --example mixing < mixing.txt > docs/figures/mixing.svg`

use std::collections::BTreeMap;
use std::io::Read;

use soma_plot::{Axis, Figure, Marker, Panel, Style};

/// The default chooses its kernel, not the same in every cell.
const ANY: &str = "any";

/// moves, kernel, name in the legend.
const CHAINS: [(&str, &str, &str); 3] = [
    ("centred", "sys-imwg", "the paper's chain, Sys-IMwG"),
    ("centred", "soma", "the paper's chain, SOMA"),
    ("auto", ANY, "the default"),
];

/// Points of epsilon and ESS per sweep, by n, moves and kernel.
type Lines<'a> = BTreeMap<(u64, &'a str, &'a str), Vec<(f64, f64)>>;

fn style(moves: &str, kernel: &str) -> Style {
    match moves {
        "auto" => Style::new(Style::BLUE).marker(Marker::Triangle).width(2.4),
        _ => Style::sampler(kernel),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut lines = Lines::new();
    for row in text.lines().filter(|line| line.starts_with("| regression")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let per_sweep = cells[6].split(' ').next().ok_or("no ESS per sweep")?;
        let at = (cells[3].parse()?, per_sweep.parse()?);
        let kernel = if cells[4] == "auto" { ANY } else { cells[5] };
        lines.entry((cells[2].parse()?, cells[4], kernel)).or_default().push(at);
    }
    let mut ns: Vec<u64> = lines.keys().map(|(n, ..)| *n).collect();
    ns.dedup();
    let panel = |n: &u64| {
        let axes = (Axis::new("epsilon").log(), Axis::new("ESS per sweep").log());
        let empty = Panel::new(axes.0, axes.1.range(0.0005, 3.0)).title(format!("n = {n}"));
        CHAINS.iter().fold(empty, |panel, &(moves, kernel, _)| {
            let points = lines.get(&(*n, moves, kernel)).cloned().unwrap_or_default();
            panel.line(points, style(moves, kernel))
        })
    };
    let title = "Effective draws of theta per sweep against epsilon";
    let figure = Figure::new(title, ns.iter().map(panel).collect()).columns(2);
    let figure = CHAINS
        .iter()
        .fold(figure, |figure, &(moves, kernel, name)| figure.key(name, style(moves, kernel)));
    print!("{}", figure.svg()?);
    Ok(())
}
