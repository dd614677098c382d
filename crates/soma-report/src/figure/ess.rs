//! How the effective sample size grows with the draws.

use soma::diagnostics::{ESS_PER_CHAIN, ess_bulk, ess_tail};

use super::Figure;
use crate::content::{Content, Parameter};
use crate::svg::{Axis, Ink, Panel, Plot, Size, fixed};

/// As many quantities are drawn.
const MOST: usize = 12;

/// Points of a line.
const POINTS: usize = 10;

pub(super) fn figure(content: &Content) -> Result<Figure, String> {
    let drawn = content.drawn(MOST);
    let long = |p: &&Parameter| p.chains.iter().map(Vec::len).min().unwrap_or(0) >= 4 * POINTS;
    let drawn: Vec<&Parameter> = drawn.into_iter().filter(long).collect();
    if drawn.is_empty() {
        return Err(format!("the chains have fewer than {} draws", 4 * POINTS));
    }
    Ok(Figure {
        title: "Effective sample size".into(),
        caption: "Effective draws of the first draws of all chains: they grow in proportion where \
                  the chains mix. Dashed: what is wanted, 100 for each chain."
            .into(),
        keys: vec![("bulk".into(), Ink::Chain(0)), ("tail".into(), Ink::Chain(1))],
        panels: drawn.iter().map(|parameter| panel(parameter)).collect(),
    })
}

fn panel(parameter: &Parameter) -> Panel {
    let length = parameter.chains.iter().map(Vec::len).min().unwrap_or(0);
    let of = |measure: fn(&[Vec<f64>]) -> f64| -> Vec<(f64, f64)> {
        let at = |k: usize| {
            let some = k * length / POINTS;
            let cut = |chain: &Vec<f64>| chain[..some].to_vec();
            let first: Vec<Vec<f64>> = parameter.chains.iter().map(cut).collect();
            ((some * first.len()) as f64, measure(&first))
        };
        (1..=POINTS).map(at).collect()
    };
    let (bulk, tail) = (of(ess_bulk), of(ess_tail));
    let chains = parameter.chains.len();
    let wanted = ESS_PER_CHAIN * chains as f64;
    let finite = bulk.iter().chain(&tail).map(|p| p.1).filter(|y| y.is_finite());
    let most = finite.fold(wanted, f64::max);
    let x = Axis::new("draws of all chains", 0.0, (length * chains) as f64);
    let summary = &parameter.summary;
    let words = format!(
        "{}: {} effective draws in the bulk and {} in the tails, of {} draws; {} are wanted.",
        parameter.name,
        fixed(summary.ess_bulk, 0),
        fixed(summary.ess_tail, 0),
        length * chains,
        fixed(wanted, 0)
    );
    Plot::new(Size::PLAIN, x, Axis::new("effective draws", 0.0, 1.06 * most))
        .level(wanted, Ink::Muted, &format!("wanted: {}", fixed(wanted, 0)))
        .line(&bulk, Ink::Chain(0), "bulk")
        .line(&tail, Ink::Chain(1), "tail")
        .finish(parameter.name.clone(), words)
}
