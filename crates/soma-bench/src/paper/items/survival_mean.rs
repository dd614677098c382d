//! Meeting times of coupled chains on the private mean, and their rate.

use soma::Outcome;
use soma::coupling::Meetings;
use soma::theory::{ran_rate, soma_rate, sys_rate};
use soma_plot::{Axis, Dash, Figure, Panel, Style};

use super::Item;
use crate::paper::pairs::{meetings, rate};
use crate::paper::settings::{MeanRecords, private_mean};
use crate::paper::stats::digits;
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "survival-mean",
    title: "Private mean: survival of the coupling time",
    place: "Figure 9",
    claim: "At epsilon 20, the survival of the coupling time falls fastest with SOMA, and the \
            theoretical bounds on the convergence rate are conservative.",
    run,
};

const EPSILON: f64 = 20.0;

/// The paper's bound of the rate, as 1 minus it.
fn bound_gap(sampler: Sampler) -> f64 {
    match sampler {
        Sampler::Soma => soma_rate(EPSILON).gap,
        Sampler::RanImwg => ran_rate(EPSILON).gap,
        Sampler::SysImwg => sys_rate(EPSILON).gap,
    }
}

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let problem = private_mean(MeanRecords::Beta, EPSILON)?;
    let pairs = study.pick(40, 2000, 10_000);
    let mut all = Vec::new();
    for sampler in Sampler::ALL {
        all.push(meetings(study, "survival-mean", &problem, sampler, pairs, 100_000)?);
    }
    let mut findings = Findings::new();
    findings.setting(format!(
        "{pairs} pairs (the paper: 100), both chains of a pair started from records of the model, \
         in single moves; the rate is the slope of log P(tau > t) from where three quarters of the \
         pairs are left to where ten are."
    ));
    let mut said = Vec::new();
    for (sampler, meetings) in Sampler::ALL.into_iter().zip(&all) {
        let (estimate, se) = rate(meetings, study.seed());
        said.push(format!("{} {}", sampler.name(), digits(estimate, 4)));
        findings.check(
            Check::ours(format!("convergence rate per move, {}", sampler.name()), (estimate, se))
                .note(format!(
                    "The paper shows a picture only. The bound of its theorem is 1 - {}.",
                    digits(bound_gap(sampler), 2)
                )),
        );
        let quantity = format!("mean coupling time in moves, {}", sampler.name());
        findings.check(Check::ours(quantity, meetings.mean_delay()));
    }
    findings.say(format!(
        "The estimated rates per move are: {}. The bounds are 1 less {} (SOMA), {} (Ran-IMwG) and \
         {} (Sys-IMwG): on the figure they cannot be told from the upper edge.",
        said.join(", "),
        digits(bound_gap(Sampler::Soma), 2),
        digits(bound_gap(Sampler::RanImwg), 2),
        digits(bound_gap(Sampler::SysImwg), 2)
    ));
    findings.table(table(&all));
    findings.figure(
        "survival-mean",
        "Share of coupled pairs that have not met after so many moves, on a log scale, with the \
         fitted lines (thin). The bounds of the theorem (grey) are all but flat at this epsilon.",
        &figure(&all, study.seed()),
    )?;
    Ok(findings)
}

fn table(all: &[Meetings]) -> Table {
    let mut table = Table::new(
        "survival-mean",
        "Share of pairs that have not met, by move.",
        &["sampler", "move", "not met"],
    );
    for (sampler, meetings) in Sampler::ALL.into_iter().zip(all) {
        for (t, share) in meetings.survival() {
            table.row(vec![sampler.name().into(), t.to_string(), digits(share, 5)]);
        }
    }
    table
}

fn figure(all: &[Meetings], seed: u64) -> Figure {
    let end = 100.0;
    let bound = Style::new(Style::GREY).width(1.2).dash(Dash::Dashed);
    let mut panel = Panel::new(
        Axis::new("moves t").range(0.0, end),
        Axis::new("P(coupling time > t)").log().range(0.002, 1.1),
    );
    for (sampler, meetings) in Sampler::ALL.into_iter().zip(all) {
        let survival: Vec<(f64, f64)> =
            meetings.survival().into_iter().map(|(t, share)| (t as f64, share)).collect();
        let gap = bound_gap(sampler);
        panel = panel
            .line(vec![(0.0, 1.0), (end, (1.0 - gap).powf(end))], bound)
            .line(fitted(&survival, rate(meetings, seed).0, end), thin(sampler))
            .line(survival.clone(), sampler.style())
            .points(every_tenth(&survival), sampler.style().width(1.2));
    }
    Sampler::keys(Figure::new("Survival of the coupling time", vec![panel]).panel_size(620, 420))
        .key("bounds of the theorem", bound)
}

fn thin(sampler: Sampler) -> Style {
    Style::new(sampler.style().colour).width(1.0).opacity(0.7)
}

fn every_tenth(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().copied().filter(|point| point.0 % 10.0 == 0.0).collect()
}

/// The line of the fitted rate, through the middle of the part that it was fitted to.
fn fitted(survival: &[(f64, f64)], rate: f64, end: f64) -> Vec<(f64, f64)> {
    let part: Vec<(f64, f64)> = survival
        .windows(2)
        .flat_map(|pair| {
            let (from, to) = (pair[0].0 as u64, pair[1].0 as u64);
            (from..to).map(move |t| (t as f64, pair[0].1))
        })
        .filter(|(_, share)| (0.005..=0.75).contains(share))
        .collect();
    if part.is_empty() || !rate.is_finite() {
        return Vec::new();
    }
    let count = part.len() as f64;
    let t = part.iter().map(|point| point.0).sum::<f64>() / count;
    let height = part.iter().map(|point| point.1.ln()).sum::<f64>() / count;
    [0.0, end].map(|at| (at, (height + rate.ln() * (at - t)).exp())).to_vec()
}
