//! The distance of independent chains from the posterior, by iteration.

use soma::Outcome;
use soma_plot::{Axis, Dash, Figure, Panel, Style};

use super::Item;
use super::regression_truth::{paths, posterior_draws};
use crate::paper::mmd::{median_distance, mmd_squared_biased, mmd_squared_unbiased};
use crate::paper::settings::{REGRESSION_100_30, regression};
use crate::paper::stats::{digits, jackknife};
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "regression-mmd",
    title: "Regression, n = 100: distance of 1,000 chains to the posterior",
    place: "Figure 11",
    claim: "The maximum mean discrepancy between 1,000 independent chains and the posterior falls \
            faster with SOMA than with the other two, and approaches zero after 150 iterations.",
    run,
};

/// The length of theta.
const DIM: usize = 4;

/// The chains of a sampler at the iterations looked at, and their discrepancies.
struct Curve {
    sampler: Sampler,
    paths: Vec<Vec<f64>>,
    mmd: Vec<f64>,
}

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let problem = regression(REGRESSION_100_30)?;
    let chains = study.pick(12, 400, 1000);
    let at: Vec<usize> = study.pick(
        vec![0, 1, 2, 4],
        (0..=300).step_by(10).collect(),
        (0..=300).step_by(5).collect(),
    );
    let truth = posterior_draws(study, &problem)?;
    let bandwidth = median_distance(&truth, &truth[..DIM], DIM)?;
    let mut curves = Vec::new();
    for sampler in Sampler::ALL {
        let paths = paths(study, &problem, sampler, chains, &at)?;
        let mmd = study.map("regression-mmd/distances", at.len(), |k, _| {
            Ok(mmd_squared_biased(&paths[k], &truth, DIM, bandwidth)?.max(0.0).sqrt())
        })?;
        curves.push(Curve { sampler, paths, mmd });
    }
    let mut findings = Findings::new();
    findings.setting(format!(
        "{chains} chains of {} iterations started from the prior; {} draws of the posterior from \
         long chains; Gaussian kernel, bandwidth {} (the median distance of posterior draws) on \
         (β0, β1, β2, σ²).",
        at[at.len() - 1],
        truth.len() / DIM,
        digits(bandwidth, 3)
    ));
    checks(&mut findings, &curves, &truth, &at, bandwidth);
    findings.table(table(&curves, &at));
    let floor = floor(&truth, chains, bandwidth)?;
    findings.figure(
        "regression-mmd",
        "Maximum mean discrepancy of theta between independent chains and the posterior. The \
         dashed line is what as many exact draws of the posterior would show.",
        &figure(&curves, &at, floor),
    )?;
    Ok(findings)
}

/// The expected discrepancy of `chains` exact draws, since both samples are finite: for samples of
/// one distribution the biased statistic has mean (1 - E k)(1/n + 1/m), and exceeds the unbiased
/// one by as much.
fn floor(truth: &[f64], chains: usize, bandwidth: f64) -> Outcome<f64> {
    let m = truth.len() / DIM;
    let (a, b) = truth.split_at(m / 2 * DIM);
    let gap =
        mmd_squared_biased(a, b, DIM, bandwidth)? - mmd_squared_unbiased(a, b, DIM, bandwidth)?;
    let per_point = gap / (4.0 / m as f64);
    Ok((per_point * (1.0 / chains as f64 + 1.0 / m as f64)).max(0.0).sqrt())
}

fn checks(findings: &mut Findings, curves: &[Curve], truth: &[f64], at: &[usize], bandwidth: f64) {
    let wanted = at.iter().position(|&t| t >= 150).unwrap_or(at.len() - 1);
    let mut said = Vec::new();
    for Curve { sampler, paths, .. } in curves {
        let sample = &paths[wanted];
        let of = |kept: &[usize]| {
            let some: Vec<f64> =
                kept.iter().flat_map(|&c| sample[c * DIM..][..DIM].to_vec()).collect();
            mmd_squared_unbiased(&some, truth, DIM, bandwidth).unwrap_or(f64::NAN)
        };
        let (value, se) = jackknife(sample.len() / DIM, of);
        said.push(format!("{} {}", sampler.name(), digits(value.max(0.0).sqrt(), 2)));
        let quantity =
            format!("squared discrepancy at iteration {}, {}", at[wanted], sampler.name());
        findings.check(
            Check::ours(quantity, (value, se))
                .note("Unbiased estimate, which may be negative; the paper shows a picture only."),
        );
    }
    findings.say(format!(
        "At iteration {} the discrepancy (square root of the unbiased estimate, zero where that is \
         negative) is: {}.",
        at[wanted],
        said.join(", ")
    ));
}

fn table(curves: &[Curve], at: &[usize]) -> Table {
    let header = ["sampler", "iteration", "mmd"];
    let mut table = Table::new("regression-mmd", "The discrepancy by iteration.", &header);
    for Curve { sampler, mmd, .. } in curves {
        for (iteration, mmd) in at.iter().zip(mmd) {
            table.row(vec![sampler.name().into(), iteration.to_string(), digits(*mmd, 5)]);
        }
    }
    table
}

fn figure(curves: &[Curve], at: &[usize], floor: f64) -> Figure {
    let mut panel =
        Panel::new(Axis::new("iteration (sweeps)"), Axis::new("maximum mean discrepancy").log());
    for Curve { sampler, mmd, .. } in curves {
        let points = at.iter().map(|&t| t as f64).zip(mmd.iter().copied()).collect();
        panel = panel.line(points, sampler.style());
    }
    let reference = Style::new(Style::GREY).dash(Dash::Dashed).width(1.2);
    let panels = vec![panel.level(floor, reference)];
    let figure = Figure::new("Discrepancy to the posterior by iteration", panels);
    Sampler::keys(figure.panel_size(560, 380)).key("exact draws", reference)
}
