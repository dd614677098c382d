//! The times of the samplers, with the paper's, and the cost of a move as n grows.

use std::time::Instant;

use soma::Outcome;
use soma::chain::{Chain, Problem};
use soma::diagnostics::ess_bulk;
use soma_plot::{Axis, Figure, Panel};

use super::Item;
use super::runtime_gpu::{Gpu, Many};
use super::runtime_published::{PUBLISHED, Published, Setting};
use crate::paper::settings::{
    REGRESSION_10_3, REGRESSION_10_30, REGRESSION_100_30, TRUE_THETA, chain_from_prior, histogram,
    private_mean, regression, regression_simulated,
};
use crate::paper::stats::{digits, jackknife, mean_se};
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "runtime",
    title: "Running times, and the cost of a move as n grows",
    place: "Table 4",
    claim: "With vectorised weights SOMA takes less than about twice the time of Ran-IMwG and \
            Sys-IMwG on a CPU and on a GPU, although each of its moves looks at all n weights.",
    run,
};

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let mut findings = Findings::new();
    let repeats = study.pick(2, 5, 100);
    findings.setting(format!(
        "Mean of {repeats} runs of each sampler, one after the other on one thread of this \
         machine; the samplers take turns, so that a busy machine slows all alike. The paper's \
         seconds are of an Intel Core i9-10900K and an Nvidia RTX 3090, over 100 runs."
    ));
    let gpu = Gpu::find();
    findings.setting(gpu.sentence());
    table_of_settings(study, &mut findings, repeats, &gpu)?;
    cost_by_n(study, &mut findings)?;
    Ok(findings)
}

/// A chain of the setting, ready to be timed.
fn chain<'a>(
    study: &Study<'_>,
    problem: &'a Problem,
    sampler: Sampler,
    run: usize,
) -> Outcome<Chain<'a>> {
    let rng = study.rng(&format!("runtime/{run}"));
    match problem.fixed() {
        None => chain_from_prior(problem, sampler, rng),
        Some(theta) => {
            let mut rng = rng;
            let mut records = vec![0.0; problem.release().n() * problem.model().record_dim()];
            problem.model().propose(theta, &mut records, &mut rng)?;
            Chain::at(problem, sampler.choice(), theta.to_vec(), records, rng)
        }
    }
}

/// The problem of a setting, and the number of our iterations (sweeps) for the paper's.
fn problem(study: &Study<'_>, setting: Setting) -> Outcome<(Problem, usize)> {
    let mut rng = study.rng("runtime/release");
    Ok(match setting {
        Setting::Mean(records, epsilon) => (private_mean(records, epsilon)?, 5000 / 2),
        Setting::Histogram(n, epsilon) => (histogram(n, epsilon, &mut rng)?, 10_000 / n),
        Setting::Regression100 => (regression(REGRESSION_100_30)?, 10_000),
        Setting::Regression10Wide => (regression(REGRESSION_10_30)?, 10_000),
        Setting::Regression10 => (regression(REGRESSION_10_3)?, 10_000),
    })
}

/// The results of one sampler in one setting: the seconds of each run, and theta by parameter, run
/// and iteration, if theta is not fixed.
#[derive(Default)]
struct Timed {
    seconds: Vec<f64>,
    draws: Vec<Vec<Vec<f64>>>,
}

impl Timed {
    fn add(&mut self, mut chain: Chain<'_>, sweeps: usize, keep: bool) -> Outcome {
        let mut draws = vec![Vec::new(); if keep { chain.theta().len() } else { 0 }];
        let clock = Instant::now();
        for _ in 0..sweeps {
            chain.step()?;
            draws.iter_mut().zip(chain.theta()).for_each(|(to, value)| to.push(*value));
        }
        self.seconds.push(clock.elapsed().as_secs_f64());
        if keep {
            self.draws.resize(draws.len(), Vec::new());
            self.draws.iter_mut().zip(draws).for_each(|(to, run)| to.push(run));
        }
        Ok(())
    }

    /// The smallest effective sample size over the parameters of one run, without its first
    /// tenth, on average over runs.
    fn ess(&self) -> (f64, f64) {
        let of = |kept: &[usize]| {
            let one = |runs: &Vec<Vec<f64>>| {
                let some: Vec<&[f64]> =
                    kept.iter().map(|&run| &runs[run][runs[run].len() / 10..]).collect();
                ess_bulk(&some) / kept.len() as f64
            };
            self.draws.iter().map(one).fold(f64::INFINITY, f64::min)
        };
        jackknife(self.draws[0].len(), of)
    }
}

fn table_of_settings(
    study: &Study<'_>,
    findings: &mut Findings,
    repeats: usize,
    gpu: &Gpu,
) -> Outcome {
    let mut seconds = Table::new(
        "runtime",
        "Seconds by setting and sampler.",
        &[
            "setting",
            "sampler",
            "paper CPU",
            "paper GPU",
            "ours",
            "se",
            "CPU / ours",
            "our GPU",
            "chains",
        ],
    )
    .shown();
    let mut worth = Table::new(
        "runtime-effective",
        "Effective draws of theta, the smallest over the parameters: by iteration and by second.",
        &["setting", "sampler", "per 1,000 iterations", "per second"],
    )
    .shown();
    for row in PUBLISHED {
        let (problem, sweeps) = problem(study, row.setting)?;
        let sweeps = study.pick(sweeps.min(20), sweeps, sweeps);
        let joint = problem.fixed().is_none();
        let mut timed: [Timed; 3] = Default::default();
        for run in 0..repeats {
            for (sampler, timed) in Sampler::ALL.into_iter().zip(&mut timed) {
                let keep = joint && run < MOST_KEPT;
                timed.add(chain(study, &problem, sampler, run)?, sweeps, keep)?;
            }
        }
        let mut many = [None; 3];
        for (sampler, many) in Sampler::ALL.into_iter().zip(&mut many) {
            *many = gpu.time(&problem, sampler.choice(), sweeps as u64)?;
        }
        setting(findings, &mut seconds, row, &timed, many);
        if joint {
            effective(findings, &mut worth, row.name, &timed, sweeps);
        }
    }
    findings.table(seconds);
    findings.table(worth);
    Ok(())
}

/// The number of runs for an effective sample size.
const MOST_KEPT: usize = 10;

/// The seconds of one setting with the paper's.
fn setting(
    findings: &mut Findings,
    table: &mut Table,
    row: Published,
    timed: &[Timed; 3],
    many: [Option<Many>; 3],
) {
    let ours = timed.each_ref().map(|timed| mean_se(&timed.seconds));
    for (k, sampler) in Sampler::ALL.into_iter().enumerate() {
        for (name, theirs) in [("CPU", row.cpu[k]), ("GPU", row.gpu[k])] {
            findings.check(
                Check::ours(format!("{name} seconds, {}, {}", row.name, sampler.name()), ours[k])
                    .published(theirs.0, 0.0001, theirs.1 / 10.0)
                    .if_not(format!(
                        "Another machine, and compiled code on one CPU thread: the published time \
                         is {} times ours. What can be compared is the ratio of the samplers.",
                        digits(theirs.0 / ours[k].0, 2)
                    )),
            );
        }
        table.row(vec![
            row.name.into(),
            sampler.name().into(),
            digits(row.cpu[k].0, 4),
            digits(row.gpu[k].0, 4),
            digits(ours[k].0, 3),
            digits(ours[k].1, 2),
            digits(row.cpu[k].0 / ours[k].0, 3),
            many[k].map_or("-".into(), |many| digits(many.seconds, 3)),
            many[k].map_or("-".into(), |many| many.chains.to_string()),
        ]);
    }
    findings.say(format!(
        "{}: SOMA takes {} times the time of Sys-IMwG (the paper: {}).",
        row.name,
        digits(ours[2].0 / ours[1].0, 2),
        digits(row.cpu[2].0 / row.cpu[1].0, 2)
    ));
}

/// Effective draws per iteration and per second.
fn effective(
    findings: &mut Findings,
    table: &mut Table,
    name: &str,
    timed: &[Timed; 3],
    sweeps: usize,
) {
    for (sampler, timed) in Sampler::ALL.into_iter().zip(timed) {
        let (ess, se) = timed.ess();
        let seconds = mean_se(&timed.seconds).0;
        let which = format!("{name}, {}", sampler.name());
        let by_iteration = (1000.0 * ess / sweeps as f64, 1000.0 * se / sweeps as f64);
        findings.check(Check::ours(
            format!("effective draws per 1,000 iterations, {which}"),
            by_iteration,
        ));
        findings.check(Check::ours(
            format!("effective draws per second, {which}"),
            (ess / seconds, se / seconds),
        ));
        table.row(vec![
            name.into(),
            sampler.name().into(),
            digits(by_iteration.0, 3),
            digits(ess / seconds, 3),
        ]);
    }
}

/// Whether this many sweeps would take more than a minute if the cost of a move were linear in n,
/// as for a kernel that scans all records.
fn too_long(costs: &[(f64, f64)], n: usize, sweeps: usize) -> bool {
    costs.last().is_some_and(|(last, cost)| {
        let moves = ((sweeps + 1) * n) as f64;
        cost * (n as f64 / last) * moves > 60e9
    })
}

/// Nanoseconds per move on regression releases of growing n, without the draw of theta.
fn cost_by_n(study: &Study<'_>, findings: &mut Findings) -> Outcome {
    let sizes: &[usize] = study.pick(
        &[10, 100],
        &[10, 100, 1000, 10_000, 100_000, 1_000_000],
        &[10, 30, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000],
    );
    let moves = study.pick(1000, 300_000, 3_000_000);
    let mut table = Table::new(
        "runtime-by-n",
        "Cost of a move on the regression problem.",
        &["epsilon", "sampler", "n", "nanoseconds per move", "times Sys-IMwG"],
    )
    .shown();
    let mut panels = Vec::new();
    for epsilon in [3.0, 30.0] {
        let mut panel =
            Panel::new(Axis::new("records n").log(), Axis::new("nanoseconds per move").log())
                .title(format!("ε = {epsilon}"));
        let mut costs = [const { Vec::new() }; 3];
        for &n in sizes {
            let mut rng = study.rng(&format!("runtime/{n}/{epsilon}"));
            let problem = regression_simulated(n, epsilon, &mut rng)?
                .with_fixed(TRUE_THETA.to_vec(), Vec::new())?;
            let sweeps = (moves / n).max(2);
            for (sampler, costs) in Sampler::ALL.into_iter().zip(&mut costs) {
                if too_long(costs, n, sweeps) {
                    continue;
                }
                let mut chain = chain(study, &problem, sampler, 0)?;
                // The first sweep is not stationary, and not typical.
                chain.step()?;
                let clock = Instant::now();
                for _ in 0..sweeps {
                    chain.step()?;
                }
                let cost = clock.elapsed().as_secs_f64() * 1e9 / (sweeps * n) as f64;
                costs.push((n as f64, cost));
            }
        }
        for (sampler, points) in Sampler::ALL.into_iter().zip(&costs) {
            for (&(n, cost), base) in points.iter().zip(&costs[1]) {
                let mut row = vec![digits(epsilon, 2), sampler.name().into(), n.to_string()];
                row.extend([digits(cost, 3), digits(cost / base.1, 3)]);
                table.row(row);
            }
            panel =
                panel.line(points.clone(), sampler.style()).points(points.clone(), sampler.style());
        }
        let (n, cost) = costs[2][costs[2].len() - 1];
        let quantity =
            format!("nanoseconds of a SOMA move, regression, n = {n}, epsilon {epsilon}");
        findings.check(Check::ours(quantity, (cost, f64::NAN)).note("One timed run."));
        panels.push(panel);
    }
    findings.table(table);
    let figure = Sampler::keys(Figure::new("Cost of a move by n", panels));
    let caption = "Cost of one move against the number of records, on regression releases \
                   simulated from the paper's parameters; theta held fixed.";
    findings.figure("runtime-by-n", caption, &figure)
}
