//! Quantiles of the imputed records of a perturbed histogram, by move.

use soma::Outcome;
use soma::chain::Problem;
use soma_plot::{Axis, Dash, Figure, Panel, Style};

use super::{Item, with_quartiles};
use crate::paper::settings::histogram;
use crate::paper::stats::{digits, mean_se, quartiles};
use crate::paper::walk::Walk;
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "histogram-quantiles",
    title: "Perturbed histogram: quantiles of the records by iteration",
    place: "Figure 6",
    claim: "The quartiles of the imputed records settle sooner with SOMA than with the other two \
            samplers, at n = 20 and at n = 50 (100 runs, epsilon 5).",
    run,
};

const EPSILON: f64 = 5.0;
const QUARTILES: [&str; 3] = ["lower quartile", "median", "upper quartile"];

/// The three quartiles of the records at the moves looked at, of one run.
type Path = Vec<[f64; 3]>;

/// A number of records, with the moves looked at, the runs of each sampler, and the truth.
struct Case {
    n: usize,
    at: Vec<usize>,
    paths: Vec<Vec<Path>>,
    truth: [f64; 3],
}

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let runs = study.pick(3, 100, 100);
    let mut cases = Vec::new();
    for (n, moves) in
        study.pick([(20, 60), (50, 100)], [(20, 300), (50, 900)], [(20, 300), (50, 900)])
    {
        let problem = histogram(n, EPSILON, &mut study.rng(&format!("histogram/{n}")))?;
        let at: Vec<usize> = (0..=60).map(|k| k * moves / 60).collect();
        let mut paths = Vec::new();
        for sampler in Sampler::ALL {
            let purpose = format!("histogram-quantiles/{n}/{}", sampler.name());
            paths.push(study.map(&purpose, runs, |_, rng| path(&problem, sampler, &at, rng))?);
        }
        let truth = truth(study, &problem)?;
        cases.push(Case { n, at, paths, truth });
    }
    let mut findings = Findings::new();
    findings.setting(format!(
        "{runs} runs from uniform records on one release for each n: ten bins, epsilon {EPSILON}, \
         data from Beta(10, 10), simulated from our own seed, since the paper's is not given. An \
         iteration is one move. The truth is from long chains with SOMA."
    ));
    for case in &cases {
        checks(&mut findings, case);
    }
    findings.table(table(&cases));
    findings.figure(
        "histogram-quantiles",
        "Quartiles of the imputed records by move: median over runs, with quartiles over runs \
         shaded. The dashed line is the posterior mean of the quantile.",
        &figure(&cases),
    )?;
    Ok(findings)
}

fn path(problem: &Problem, sampler: Sampler, at: &[usize], rng: soma::rng::Rng) -> Outcome<Path> {
    let mut walk = Walk::new(problem, sampler, rng)?;
    let mut made = 0;
    let mut path = Vec::with_capacity(at.len());
    for &moves in at {
        while made < moves {
            walk.step()?;
            made += 1;
        }
        path.push(quartiles(walk.records()));
    }
    Ok(path)
}

/// The posterior means of the quartiles.
fn truth(study: &Study<'_>, problem: &Problem) -> Outcome<[f64; 3]> {
    let (chains, sweeps) = study.pick((2, 40), (8, 2000), (20, 4000));
    let n = problem.release().n();
    let means = study.map(&format!("histogram-quantiles/truth/{n}"), chains, |_, rng| {
        let at: Vec<usize> = (0..sweeps).map(|k| (sweeps / 10 + k) * n).collect();
        let path = path(problem, Sampler::Soma, &at, rng)?;
        Ok([0, 1, 2].map(|q| path.iter().map(|state| state[q]).sum::<f64>() / path.len() as f64))
    })?;
    Ok([0, 1, 2].map(|q| means.iter().map(|mean| mean[q]).sum::<f64>() / chains as f64))
}

/// The mean over runs, quartiles and moves of the distance to the truth: how long it takes.
fn checks(findings: &mut Findings, case: &Case) {
    let mut said = Vec::new();
    for (sampler, runs) in Sampler::ALL.into_iter().zip(&case.paths) {
        let gaps: Vec<f64> = runs
            .iter()
            .map(|path| {
                let gap = |state: &[f64; 3]| {
                    (0..3).map(|q| (state[q] - case.truth[q]).abs()).sum::<f64>() / 3.0
                };
                path.iter().map(gap).sum::<f64>() / path.len() as f64
            })
            .collect();
        let (mean, se) = mean_se(&gaps);
        said.push(format!("{} {}", sampler.name(), digits(mean, 2)));
        let quantity = format!(
            "mean distance of the quartiles to the truth over {} moves, n = {}, {}",
            case.at[case.at.len() - 1],
            case.n,
            sampler.name()
        );
        findings.check(Check::ours(quantity, (mean, se)).note("The paper shows a picture only."));
    }
    findings.say(format!(
        "n = {}: the mean distance of the quartiles to their posterior means over the moves shown \
         is: {}.",
        case.n,
        said.join(", ")
    ));
}

/// The quartiles over runs of quantile `q` at each move looked at.
fn over_runs(case: &Case, sampler: usize, q: usize) -> Vec<(f64, [f64; 3])> {
    (0..case.at.len())
        .map(|k| {
            let values: Vec<f64> = case.paths[sampler].iter().map(|path| path[k][q]).collect();
            (case.at[k] as f64, quartiles(&values))
        })
        .collect()
}

fn table(cases: &[Case]) -> Table {
    let mut table = Table::new(
        "histogram-quantiles",
        "Quartiles over runs of the quartiles of the records.",
        &["n", "sampler", "quantile", "move", "lower quartile", "median", "upper quartile"],
    );
    for case in cases {
        for (index, sampler) in Sampler::ALL.into_iter().enumerate() {
            for (q, name) in QUARTILES.iter().enumerate() {
                for (at, values) in over_runs(case, index, q) {
                    let mut row = vec![case.n.to_string(), sampler.name().into(), (*name).into()];
                    row.push(at.to_string());
                    row.extend(values.map(|value| digits(value, 5)));
                    table.row(row);
                }
            }
        }
    }
    table
}

fn figure(cases: &[Case]) -> Figure {
    let mut panels = Vec::new();
    let reference = Style::new(Style::INK).dash(Dash::Dashed).width(1.2);
    for (q, name) in QUARTILES.iter().enumerate() {
        for case in cases {
            let mut panel = Panel::new(Axis::new("moves"), Axis::new("record"))
                .title(format!("n = {}, {name}", case.n))
                .level(case.truth[q], reference);
            for (index, sampler) in Sampler::ALL.into_iter().enumerate() {
                panel = with_quartiles(panel, &over_runs(case, index, q), sampler.style());
            }
            panels.push(panel);
        }
    }
    let figure = Figure::new("Quantiles of the records by move", panels);
    Sampler::keys(figure.columns(cases.len()).panel_size(440, 270)).key("posterior mean", reference)
}
