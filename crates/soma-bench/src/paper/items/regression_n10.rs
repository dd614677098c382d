//! Coupling time, convergence rate and acceptance of the regression at n = 10.

use soma::Outcome;
use soma::chain::Problem;
use soma::coupling::{CoupledChains, CoupledKernel, Meetings};
use soma_plot::{Axis, Figure, Panel};

use super::Item;
use super::regression_n10_published::{Cell, PUBLISHED};
use crate::paper::pairs::rate;
use crate::paper::settings::{chain_from_prior, regression};
use crate::paper::stats::{digits, jackknife, mean_se, quantile_of};
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "regression-n10",
    title: "Regression, n = 10: coupling time, rate and acceptance",
    place: "Table 3",
    claim: "At epsilon 3 SOMA accepts 99.5% and the others 94.8%, and Sys-IMwG couples fastest. At \
            epsilon 30 SOMA accepts 91.9% and the others 51%, and SOMA couples 4.5 times as fast \
            as Sys-IMwG.",
    run,
};

/// The number of runs inferred from the paper's spread of the rate; the text does not state it.
const THEIR_RUNS: f64 = 100.0;
/// The limit for a meeting; every pair should meet before.
const LIMIT: u64 = 1_000_000;

/// The results for one sampler at one epsilon.
struct Row {
    epsilon: f64,
    sampler: Sampler,
    times: Vec<f64>,
    aligned: Vec<f64>,
    fresh: Vec<f64>,
    rates: Vec<f64>,
    acceptance: Vec<f64>,
    published: [Cell; 3],
}

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let pairs = study.pick(20, 600, 5000);
    let (chains, iterations) = study.pick((4, 20), (100, 2000), (100, 10_000));
    let mut rows = Vec::new();
    for (release, published) in PUBLISHED {
        let problem = regression(release)?;
        for (sampler, published) in Sampler::ALL.into_iter().zip(published) {
            let purpose = format!("regression-n10/{}/{}", release.epsilon, sampler.name());
            let papers = CoupledKernel::new(sampler.choice(), problem.release().n())?
                .with_alignment(false)
                .with_shared_parts(true);
            let of = |coupled: CoupledKernel| {
                coupling_times(study, &purpose, &problem, sampler, (pairs, coupled))
            };
            let times = of(papers.clone())?;
            let aligned = of(papers.clone().with_alignment(true))?;
            let fresh = of(papers.with_shared_parts(false))?;
            let acceptance = study.map(&format!("{purpose}/acceptance"), chains, |_, rng| {
                let mut chain = chain_from_prior(&problem, sampler, rng)?;
                for _ in 0..iterations {
                    chain.step()?;
                }
                Ok(100.0 * chain.counts().acceptance_rate())
            })?;
            let rates = rates_of_groups(study, &purpose, &times)?;
            rows.push(Row {
                epsilon: release.epsilon,
                sampler,
                times,
                aligned,
                fresh,
                rates,
                acceptance,
                published,
            });
        }
    }
    let mut findings = Findings::new();
    findings.setting(format!(
        "{pairs} pairs of chains with lag 1, theta started from the prior; meeting means equal \
         theta and equal records as a multiset. An iteration is 10 moves and a draw of theta. \
         Acceptance over {chains} chains of {iterations} iterations. The released values are those \
         of the authors' n = 10 experiment, which the paper does not print: with the printed \
         n = 100 values the acceptance comes out otherwise. The coupling is the paper's, mended, and \
         proposals that differ share their predictors: the authors' \
         own relabels records without their statistics, and gives up a maximal coupling after 100 \
         tries."
    ));
    for row in &rows {
        checks(&mut findings, row);
    }
    say(&mut findings, &rows);
    findings.table(table(&rows));
    findings.figure(
        "regression-n10",
        "Share of pairs that have not met, by iteration, on a log scale.",
        &figure(&rows),
    )?;
    Ok(findings)
}

fn coupling_times(
    study: &Study<'_>,
    purpose: &str,
    problem: &Problem,
    sampler: Sampler,
    (pairs, coupled): (usize, CoupledKernel),
) -> Outcome<Vec<f64>> {
    study.map(purpose, pairs, |_, mut rng| {
        let first = chain_from_prior(problem, sampler, fork(&mut rng))?;
        let second = chain_from_prior(problem, sampler, fork(&mut rng))?;
        let chains = CoupledChains::at(problem, sampler.choice(), 1, [&first, &second], rng)?;
        let mut chains = chains.with_coupling(coupled.clone());
        while chains.met().is_none() {
            if chains.iteration() >= LIMIT {
                return Err(format!("a pair had not met after {LIMIT} iterations").into());
            }
            chains.step()?;
        }
        Ok((chains.iteration() - chains.lag()) as f64)
    })
}

/// A separate generator for a part of the work.
fn fork(rng: &mut soma::rng::Rng) -> soma::rng::Rng {
    use rand::{RngExt, SeedableRng};
    soma::rng::Rng::seed_from_u64(rng.random())
}

/// The rates of groups of as many pairs as the paper had, drawn with replacement.
fn rates_of_groups(study: &Study<'_>, purpose: &str, times: &[f64]) -> Outcome<Vec<f64>> {
    use rand::RngExt;
    let size = times.len().min(THEIR_RUNS as usize);
    study.map(&format!("{purpose}/rates"), 200, |_, mut rng| {
        let group = (0..size).map(|_| Some(times[rng.random_range(0..times.len())] as u64));
        Ok(rate(&Meetings::new(0, LIMIT, group.collect()), 0).0)
    })
}

fn survival(times: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let steps = sorted.iter().enumerate().map(|(k, t)| (*t, 1.0 - (k as f64 + 1.0) / n));
    std::iter::once((0.0, 1.0)).chain(steps).collect()
}

/// A quantile with its standard error.
fn quantile_with_error(values: &[f64], p: f64) -> (f64, f64) {
    jackknife(values.len(), |kept| {
        quantile_of(&kept.iter().map(|&i| values[i]).collect::<Vec<_>>(), p)
    })
}

fn checks(findings: &mut Findings, row: &Row) {
    let which = format!("epsilon {}, {}", row.epsilon, row.sampler.name());
    let [time, rate_cell, accept] = row.published;
    let runs = THEIR_RUNS.sqrt();
    // A coupling time is nearly exponential, so that its standard deviation is about its mean,
    // and that of a quartile at p about mean sqrt(p / (1 - p)).
    let their = |p: f64| time.mean * (p / (1.0 - p)).sqrt() / runs;
    let note = "The paper's error is taken from 100 runs, which its spread of the rate points to.";
    let mut add = |name: String, ours: (f64, f64), theirs: f64, unit: f64, their_se: f64| {
        findings.check(
            Check::ours(format!("{name}, {which}"), ours)
                .published(theirs, unit, their_se)
                .note(note)
                .if_not(EXPLANATION),
        );
    };
    add(
        "mean coupling time (iterations)".into(),
        mean_se(&row.times),
        time.mean,
        0.01,
        time.mean / runs,
    );
    for (p, name, theirs) in [(0.25, "lower", time.low), (0.75, "upper", time.high)] {
        let ours = quantile_with_error(&row.times, p);
        add(format!("{name} quartile of the coupling time"), ours, theirs, 1.0, their(p));
    }
    let aligned = Check::ours(
        format!("mean coupling time with like records side by side, {which}"),
        mean_se(&row.aligned),
    );
    let fresh = Check::ours(
        format!("mean coupling time with proposals that share no predictors, {which}"),
        mean_se(&row.fresh),
    );
    let whole = Meetings::new(0, LIMIT, row.times.iter().map(|t| Some(*t as u64)).collect());
    let (estimate, se) = rate(&whole, 1);
    let spread = (rate_cell.high - rate_cell.low) / 1.35;
    add("convergence rate".into(), (estimate, se), rate_cell.mean, 0.0001, spread);
    for (p, name, theirs) in [(0.25, "lower", rate_cell.low), (0.75, "upper", rate_cell.high)] {
        let ours = quantile_of(&row.rates, p);
        add(
            format!("{name} quartile of the rate over 100 pairs"),
            (ours, se),
            theirs,
            0.0001,
            spread,
        );
    }
    let spread = (accept.high - accept.low) / 1.35;
    add("acceptance (%)".into(), mean_se(&row.acceptance), accept.mean, 0.01, spread / runs);
    for (p, name, theirs) in [(0.25, "lower", accept.low), (0.75, "upper", accept.high)] {
        let ours = quantile_with_error(&row.acceptance, p);
        add(
            format!("{name} quartile of the acceptance (%)"),
            ours,
            theirs,
            0.01,
            1.4 * spread / runs,
        );
    }
    findings.check(fresh.note(
        "Not in the paper, as it seems: where the two proposals differ, their predictors differ too, \
         in the place of the responses alone.",
    ));
    findings.check(aligned.note(
        "Not in the paper: before each sweep the second chain is relabelled so that records of \
         like statistics stand side by side, which leaves each chain alone as it is.",
    ));
}

const EXPLANATION: &str = "Known differences: the authors' coupled SOMA keeps statistics that do \
    not belong to its records, and their proposal coupling gives up after 100 tries; the length of \
    the runs behind the quartiles of the acceptance, and the number of runs, are not given.";

fn say(findings: &mut Findings, rows: &[Row]) {
    for row in rows {
        findings.say(format!(
            "epsilon {}, {}: mean coupling time {}, acceptance {}%.",
            row.epsilon,
            row.sampler.name(),
            digits(mean_se(&row.times).0, 3),
            digits(mean_se(&row.acceptance).0, 4)
        ));
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(
        "regression-n10",
        "Mean with quartiles, as in the paper's table; the published means beside them.",
        &[
            "epsilon",
            "sampler",
            "coupling time",
            "published",
            "rate",
            "published ",
            "acceptance %",
            "published  ",
        ],
    )
    .shown();
    let cell = |mean: f64, values: &[f64], significant: usize| {
        let [low, high] = [0.25, 0.75].map(|p| digits(quantile_of(values, p), significant));
        format!("{} ({low}, {high})", digits(mean, significant))
    };
    for row in rows {
        table.row(vec![
            digits(row.epsilon, 2),
            row.sampler.name().into(),
            cell(mean_se(&row.times).0, &row.times, 4),
            row.published[0].mean.to_string(),
            cell(mean_se(&row.rates).0, &row.rates, 4),
            row.published[1].mean.to_string(),
            cell(mean_se(&row.acceptance).0, &row.acceptance, 4),
            row.published[2].mean.to_string(),
        ]);
    }
    table
}

fn figure(rows: &[Row]) -> Figure {
    let panels = rows
        .chunks(Sampler::ALL.len())
        .enumerate()
        .map(|(index, rows)| {
            let longest = rows.iter().map(|row| quantile_of(&row.times, 0.95)).fold(0.0, f64::max);
            let mut panel = Panel::new(
                Axis::new("iterations t").range(0.0, longest),
                Axis::new("P(coupling time > t)").log().range(0.01, 1.1),
            )
            .title(format!("{}. ε = {}", ["A", "B"][index], rows[0].epsilon));
            for row in rows {
                panel = panel.line(thinned(&survival(&row.times)), row.sampler.style());
            }
            panel
        })
        .collect();
    Sampler::keys(Figure::new("Survival of the coupling time", panels))
}

/// At most about 200 points of a long curve.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().copied().step_by((points.len() / 200).max(1)).collect()
}
