//! R-hat and effective sample size of the regression at n = 100, epsilon = 30.

use soma::Outcome;
use soma::diagnostics::{ess_bulk, rhat};
use soma_plot::{Axis, Dash, Figure, Panel, Style};

use super::{Item, with_quartiles};
use crate::paper::settings::{REGRESSION_100_30, chain_from_prior, regression};
use crate::paper::stats::{digits, mean_se, quartiles};
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "regression-rhat-ess",
    title: "Regression, n = 100: R-hat and effective sample size",
    place: "Figure 3",
    claim: "At epsilon 30 the chains that use SOMA need about 800 iterations to reach R-hat below \
            1.05, Sys-IMwG and Ran-IMwG about 1,500, and SOMA has the higher effective sample size.",
    run,
};

/// The threshold of R-hat, as in the paper.
const THRESHOLD: f64 = 1.05;

/// A group of chains at one iteration.
#[derive(Debug, Clone, Copy)]
struct Point {
    iteration: usize,
    /// By [`DEFINITIONS`].
    rhat: [f64; 4],
    ess: f64,
}

/// The paper does not say which R-hat it shows. The first is the one shown here.
const DEFINITIONS: [&str; 4] = [
    "second half of the iterations, mean of the parameters",
    "second half, worst of the parameters",
    "all iterations, mean of the parameters",
    "all iterations, worst of the parameters",
];

/// By sampler, by group, by iteration.
type Curves = Vec<Vec<Vec<Point>>>;

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let chains = study.pick(4, 20, 20);
    let groups = study.pick(2, 5, 20);
    let iterations: usize = study.pick(40, 3000, 3000);
    let step = iterations / study.pick(4, 30, 60);
    let curves = curves(study, (groups, chains), (iterations, step))?;
    let mut findings = Findings::new();
    findings.setting(format!(
        "{groups} groups of {chains} independent chains of {iterations} iterations (a sweep of 100 \
         moves and a draw of theta), theta started from the prior; rank-normalised split R-hat \
         (mean of the four parameters) and bulk effective sample size (the smallest) of the second \
         half of the iterations so far."
    ));
    checks(&mut findings, &curves, iterations);
    findings.table(table(&curves));
    findings.figure(
        "regression-rhat-ess",
        "R-hat (mean of the parameters) and effective sample size (the smallest) of the second half \
         of the iterations so far: median over groups of chains, with quartiles. The dashed line is \
         R-hat = 1.05.",
        &figure(&curves),
    )?;
    Ok(findings)
}

fn curves(
    study: &Study<'_>,
    (groups, chains): (usize, usize),
    (iterations, step): (usize, usize),
) -> Outcome<Curves> {
    let problem = regression(REGRESSION_100_30)?;
    let mut curves = Vec::new();
    for sampler in Sampler::ALL {
        let purpose = format!("regression-rhat-ess/{}", sampler.name());
        let draws = study.map(&purpose, groups * chains, |_, rng| {
            let mut chain = chain_from_prior(&problem, sampler, rng)?;
            let mut draws = vec![Vec::new(); chain.theta().len()];
            for _ in 0..iterations {
                chain.step()?;
                draws.iter_mut().zip(chain.theta()).for_each(|(draws, value)| draws.push(*value));
            }
            Ok(draws)
        })?;
        curves.push(study.map(&purpose, groups, |group, _| {
            let group = &draws[group * chains..][..chains];
            Ok((1..=iterations / step).map(|k| point(group, k * step)).collect())
        })?);
    }
    Ok(curves)
}

/// `draws` by chain, by parameter, by iteration.
fn point(draws: &[Vec<Vec<f64>>], iteration: usize) -> Point {
    let parameters = draws[0].len();
    let part = |parameter: usize, from: usize| -> Vec<&[f64]> {
        draws.iter().map(|chain| &chain[parameter][from..iteration]).collect()
    };
    let from = |from: usize| {
        let all: Vec<f64> = (0..parameters).map(|k| rhat(&part(k, from))).collect();
        let mean = all.iter().sum::<f64>() / parameters as f64;
        (mean, all.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let (half, whole) = (from(iteration / 2), from(0));
    let ess = (0..parameters).map(|k| ess_bulk(&part(k, iteration / 2)));
    Point {
        iteration,
        rhat: [half.0, half.1, whole.0, whole.1],
        ess: ess.fold(f64::INFINITY, f64::min),
    }
}

/// The iteration at which R-hat first passes the threshold, between checkpoints by a straight
/// line in log (R-hat - 1); the last iteration where it does not.
fn passing(curve: &[Point], definition: usize) -> f64 {
    let level = |rhat: f64| (rhat - 1.0).max(1e-9).ln();
    let of = |point: &Point| level(point.rhat[definition]);
    let Some(at) = curve.iter().position(|point| point.rhat[definition] < THRESHOLD) else {
        return curve.last().map_or(f64::NAN, |point| point.iteration as f64);
    };
    let after = curve[at];
    if at == 0 {
        return after.iteration as f64;
    }
    let before = curve[at - 1];
    let part = (of(&before) - level(THRESHOLD)) / (of(&before) - of(&after));
    before.iteration as f64 + part * (after.iteration - before.iteration) as f64
}

/// Mean and standard error over groups.
fn mean_passing(groups: &[Vec<Point>], definition: usize) -> (f64, f64) {
    let passings: Vec<f64> = groups.iter().map(|curve| passing(curve, definition)).collect();
    mean_se(&passings)
}

fn checks(findings: &mut Findings, curves: &Curves, iterations: usize) {
    let mut said = Vec::new();
    for (sampler, groups) in Sampler::ALL.into_iter().zip(curves) {
        let published = if sampler == Sampler::Soma { 800.0 } else { 1500.0 };
        let ours = mean_passing(groups, 0);
        said.push(format!("{} {}", sampler.name(), digits(ours.0, 3)));
        let quantity = format!("iteration at which R-hat passes {THRESHOLD}, {}", sampler.name());
        let others: Vec<String> = (1..DEFINITIONS.len())
            .map(|k| format!("{} with {}", digits(mean_passing(groups, k).0, 3), DEFINITIONS[k]))
            .collect();
        findings.check(
            Check::ours(quantity, ours)
                .published(published, 100.0, 0.0)
                .note("The paper gives a round number read off one figure.")
                .if_not(format!(
                    "It shows one group of chains, and neither their number nor the R-hat is \
                     given; both change the passing. Ours is {}.",
                    others.join(", ")
                )),
        );
    }
    findings.say(format!("R-hat passes {THRESHOLD} after, on average: {}.", said.join(", ")));
    for (sampler, groups) in Sampler::ALL.into_iter().zip(curves) {
        let ess: Vec<f64> = groups.iter().filter_map(|c| c.last()).map(|p| p.ess).collect();
        let quantity = format!(
            "smallest effective sample size after {iterations} iterations, {}",
            sampler.name()
        );
        findings.check(Check::ours(quantity, mean_se(&ess)));
    }
}

fn table(curves: &Curves) -> Table {
    let mut table = Table::new(
        "regression-rhat-ess",
        "R-hat and effective sample size of each group of chains.",
        &[
            "sampler",
            "group",
            "iteration",
            "R-hat",
            "R-hat, worst",
            "all, mean",
            "all, worst",
            "ess",
        ],
    );
    for (sampler, groups) in Sampler::ALL.into_iter().zip(curves) {
        for (group, curve) in groups.iter().enumerate() {
            for point in curve {
                let mut row = vec![sampler.name().into(), group.to_string()];
                row.push(point.iteration.to_string());
                row.extend(point.rhat.map(|value| digits(value, 6)));
                row.push(digits(point.ess, 6));
                table.row(row);
            }
        }
    }
    table
}

fn figure(curves: &Curves) -> Figure {
    let iteration = || Axis::new("iteration (sweeps)");
    let mut left = Panel::new(iteration(), Axis::new("R-hat").range(1.0, 1.4)).title("A. R-hat");
    let mut right = Panel::new(iteration(), Axis::new("effective sample size (draws)"))
        .title("B. Effective sample size");
    let take = |groups: &[Vec<Point>], of: fn(&Point) -> f64| -> Vec<(f64, [f64; 3])> {
        (0..groups[0].len())
            .map(|k| {
                let values: Vec<f64> = groups.iter().map(|curve| of(&curve[k])).collect();
                (groups[0][k].iteration as f64, quartiles(&values))
            })
            .collect()
    };
    for (sampler, groups) in Sampler::ALL.into_iter().zip(curves) {
        left = with_quartiles(left, &take(groups, |p| p.rhat[0]), sampler.style());
        right = with_quartiles(right, &take(groups, |p| p.ess), sampler.style());
    }
    let reference = Style::new(Style::GREY).dash(Dash::Dashed).width(1.2);
    let left = left.level(THRESHOLD, reference);
    Sampler::keys(Figure::new("R-hat and effective sample size by iteration", vec![left, right]))
}
