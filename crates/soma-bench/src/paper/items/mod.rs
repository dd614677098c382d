//! The items, in the order of the page.

mod acceptance_mean;
mod atus_chains;
mod atus_diagnostics;
mod atus_means;
mod atus_often;
mod histogram_acceptance_meeting;
mod histogram_quantiles;
mod histogram_wasserstein;
mod rate_correlation;
mod regression_mmd;
mod regression_n10;
mod regression_n10_published;
mod regression_rhat_ess;
mod regression_ridge;
mod regression_truth;
mod runtime;
mod runtime_gpu;
mod runtime_published;
mod survival_mean;
mod synthetic_data;
mod trace_mean;

use soma::Outcome;
use soma_plot::{Panel, Style};

use crate::paper::{Findings, Study};

/// A table or figure of the paper.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    /// The name on the command line.
    pub name: &'static str,
    /// The title on the page.
    pub title: &'static str,
    /// Its number in the paper.
    pub place: &'static str,
    /// The claim of the paper.
    pub claim: &'static str,
    /// Reproduces it.
    pub run: fn(&Study<'_>) -> Outcome<Findings>,
}

/// All items.
pub const ALL: &[Item] = &[
    trace_mean::ITEM,
    acceptance_mean::ITEM,
    survival_mean::ITEM,
    rate_correlation::ITEM,
    regression_n10::ITEM,
    regression_rhat_ess::ITEM,
    regression_mmd::ITEM,
    regression_ridge::ITEM,
    histogram_quantiles::ITEM,
    histogram_acceptance_meeting::ITEM,
    histogram_wasserstein::ITEM,
    atus_diagnostics::ITEM,
    atus_means::ITEM,
    runtime::ITEM,
    synthetic_data::ITEM,
];

/// The item of this name.
pub fn find(name: &str) -> Option<&'static Item> {
    ALL.iter().find(|item| item.name == name)
}

/// `panel` with a line through the medians and a band between the quartiles.
fn with_quartiles(panel: Panel, points: &[(f64, [f64; 3])], style: Style) -> Panel {
    let band = points.iter().map(|&(x, [low, _, high])| (x, low, high)).collect();
    let line = points.iter().map(|&(x, [_, median, _])| (x, median)).collect();
    panel.band(band, style.colour).line(line, style)
}
