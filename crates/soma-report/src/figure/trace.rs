//! The draws of each chain, one after the other.

use super::Figure;
use crate::content::Content;
use crate::svg::{Axis, Ink, Panel, Plot, Size, number};

/// As many quantities are drawn.
const MOST: usize = 12;

/// Points of a chain.
const POINTS: usize = 300;

/// Chains that are drawn.
const CHAINS: usize = 8;

pub(super) fn figure(content: &Content) -> Result<Figure, String> {
    let drawn = content.drawn(MOST);
    let mut panels: Vec<Panel> =
        drawn.iter().map(|parameter| panel(&parameter.name, &parameter.chains)).collect();
    let is_known = |chain: &Vec<f64>| chain.iter().any(|x| x.is_finite());
    if content.log_density.iter().any(is_known) {
        panels.push(panel("log density of the release", &content.log_density));
    }
    if panels.is_empty() {
        return Err("no draws of this run can be drawn".into());
    }
    let chains = drawn.first().map_or(content.log_density.len(), |p| p.chains.len());
    Ok(Figure {
        title: "Traces".into(),
        caption: format!(
            "The draws of each chain in their order{}. Chains that agree lie over each other and show \
             no trend.",
            if chains > CHAINS {
                format!(", the first {CHAINS} of {chains} chains")
            } else {
                String::new()
            }
        ),
        keys: keys(chains),
        panels,
    })
}

/// A key for each chain.
pub(super) fn keys(chains: usize) -> Vec<(String, Ink)> {
    (0..chains.min(CHAINS)).map(|c| (format!("chain {}", c + 1), Ink::Chain(c))).collect()
}

fn panel(name: &str, chains: &[Vec<f64>]) -> Panel {
    let finite = || chains.iter().take(CHAINS).flatten().filter(|x| x.is_finite());
    let low = finite().copied().fold(f64::INFINITY, f64::min);
    let high = finite().copied().fold(f64::NEG_INFINITY, f64::max);
    let longest = chains.iter().map(Vec::len).max().unwrap_or(0);
    let x = Axis::new("draw", 0.0, longest as f64);
    let mut plot = Plot::new(Size::PLAIN, x, Axis::new("", low, high));
    let mut means = Vec::new();
    for (c, chain) in chains.iter().take(CHAINS).enumerate() {
        let every = chain.len().div_ceil(POINTS).max(1);
        let points: Vec<(f64, f64)> =
            chain.iter().enumerate().step_by(every).map(|(t, x)| (t as f64, *x)).collect();
        let label = format!("chain {}", c + 1);
        plot = plot.thin(&points, Ink::Chain(c), &label);
        let mean = chain.iter().sum::<f64>() / chain.len() as f64;
        means.push(format!("{label} {}", number(mean)));
    }
    plot.finish(name, format!("{name}, mean by chain: {}.", means.join(", ")))
}
