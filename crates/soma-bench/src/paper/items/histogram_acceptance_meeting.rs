//! Acceptance and meeting times on perturbed histograms as n grows.

use soma::Outcome;
use soma_plot::{Axis, Figure, Panel};

use super::{Item, with_quartiles};
use crate::paper::pairs::{meeting, pair};
use crate::paper::settings::histogram;
use crate::paper::stats::{digits, jackknife, mean_se, quantile_of, quartiles};
use crate::paper::walk::Walk;
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "histogram-acceptance-meeting",
    title: "Perturbed histogram: acceptance and meeting times against n",
    place: "Figure 7",
    claim: "SOMA's acceptance grows with n and its advantage with it. To couple two chains at \
            n = 20 SOMA needs only about 1% of the iterations of the other two.",
    run,
};

const EPSILON: f64 = 5.0;
/// The n at which the paper compares meeting times.
const COMPARED: usize = 20;

/// The results for one sampler at one n.
struct Point {
    n: usize,
    acceptance: Vec<f64>,
    /// In moves; the limit if a pair had not met.
    meetings: Option<Vec<f64>>,
}

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let sizes: &[usize] = study.pick(&[2, COMPARED], &SIZES, &SIZES);
    let runs = study.pick(4, 100, 100);
    let moves = study.pick(100, 20_000, 50_000);
    let limit = study.pick(2_000, 200_000, 2_000_000);
    let mut curves = Vec::new();
    for sampler in Sampler::ALL {
        let mut points: Vec<Point> = Vec::new();
        for &n in sizes {
            // Stops at an n at which half of the pairs do not meet.
            let hopeless = points.last().is_some_and(|point| {
                point.meetings.as_ref().is_none_or(|times| quantile_of(times, 0.5) >= limit as f64)
            });
            let acceptance = acceptance(study, sampler, n, runs, moves)?;
            let meetings = match hopeless {
                true => None,
                false => Some(meeting_times(study, sampler, n, runs, limit)?),
            };
            points.push(Point { n, acceptance, meetings });
        }
        curves.push(points);
    }
    let mut findings = Findings::new();
    findings.setting(format!(
        "{runs} runs at each n, each with data, noise and starts of its own; epsilon {EPSILON}. \
         Acceptance over {moves} moves. Meeting, on all components, in single moves; pairs that \
         had not met after {limit} moves are counted at that, and a sampler is not followed beyond \
         an n at which half of them had not."
    ));
    checks(&mut findings, &curves, limit);
    findings.table(table(&curves));
    findings.figure(
        "histogram-acceptance-meeting",
        "Share of moves taken, and moves until two coupled chains meet: median over runs, with \
         quartiles.",
        &figure(&curves, limit),
    )?;
    Ok(findings)
}

const SIZES: [usize; 11] = [2, 3, 5, 8, 12, 16, COMPARED, 30, 40, 50, 60];

fn acceptance(
    study: &Study<'_>,
    sampler: Sampler,
    n: usize,
    runs: usize,
    moves: usize,
) -> Outcome<Vec<f64>> {
    let purpose = format!("histogram-acceptance/{}/{n}", sampler.name());
    study.map(&purpose, runs, |_, mut rng| {
        let problem = histogram(n, EPSILON, &mut rng)?;
        let mut walk = Walk::new(&problem, sampler, rng)?;
        let mut taken = 0;
        for _ in 0..moves {
            taken += usize::from(walk.step()?);
        }
        Ok(taken as f64 / moves as f64)
    })
}

fn meeting_times(
    study: &Study<'_>,
    sampler: Sampler,
    n: usize,
    runs: usize,
    limit: u64,
) -> Outcome<Vec<f64>> {
    let purpose = format!("histogram-meeting/{}/{n}", sampler.name());
    study.map(&purpose, runs, |_, mut rng| {
        let problem = histogram(n, EPSILON, &mut rng)?;
        let mut pair = pair(&problem, sampler, &mut rng)?;
        Ok(meeting(&mut pair, limit, &mut rng)?.unwrap_or(limit) as f64)
    })
}

fn checks(findings: &mut Findings, curves: &[Vec<Point>], limit: u64) {
    let compared = |curve: &[Point]| -> Option<Vec<f64>> {
        curve.iter().find(|point| point.n == COMPARED)?.meetings.clone()
    };
    for (sampler, curve) in Sampler::ALL.into_iter().zip(curves) {
        for point in curve {
            let quantity = format!("acceptance at n = {}, {}", point.n, sampler.name());
            findings.check(Check::ours(quantity, mean_se(&point.acceptance)));
        }
    }
    for (index, other) in [(0, Sampler::RanImwg), (1, Sampler::SysImwg)] {
        let soma = compared(&curves[2]).unwrap_or_default();
        let theirs = compared(&curves[index]).unwrap_or_else(|| vec![limit as f64; soma.len()]);
        let of = |kept: &[usize]| {
            let some = |times: &[f64]| kept.iter().map(|&i| times[i]).collect::<Vec<f64>>();
            quantile_of(&some(&soma), 0.5) / quantile_of(&some(&theirs), 0.5)
        };
        let (ratio, se) = jackknife(soma.len(), of);
        let censored = theirs.iter().filter(|time| **time >= limit as f64).count();
        findings.check(
            Check::ours(
                format!("median meeting time of SOMA / {} at n = {COMPARED}", other.name()),
                (ratio, se),
            )
            .published(0.01, 0.01, 0.0)
            .note(format!(
                "The paper says about 1%. {censored} of {} pairs of {} had not met after {limit} \
                 moves.",
                theirs.len(),
                other.name()
            ))
            .if_not("The paper's release is not given, and meeting times differ between releases."),
        );
        findings.say(format!(
            "At n = {COMPARED} SOMA's median meeting time is {} of that of {}.",
            digits(ratio, 2),
            other.name()
        ));
    }
}

fn table(curves: &[Vec<Point>]) -> Table {
    let mut table = Table::new(
        "histogram-acceptance-meeting",
        "Quartiles over runs.",
        &[
            "sampler",
            "n",
            "acceptance, lower",
            "median",
            "upper",
            "meeting moves, lower",
            "median ",
            "upper ",
        ],
    )
    .shown();
    for (sampler, curve) in Sampler::ALL.into_iter().zip(curves) {
        for point in curve {
            let mut row = vec![sampler.name().to_string(), point.n.to_string()];
            row.extend(quartiles(&point.acceptance).map(|value| digits(value, 4)));
            row.extend(match &point.meetings {
                Some(times) => quartiles(times).map(|value| digits(value, 4)),
                None => [const { String::new() }; 3],
            });
            table.row(row);
        }
    }
    table
}

fn figure(curves: &[Vec<Point>], limit: u64) -> Figure {
    let records = || Axis::new("records n");
    let mut left = Panel::new(records(), Axis::new("share of moves taken").range(0.0, 1.02))
        .title("A. Acceptance");
    let mut right =
        Panel::new(records(), Axis::new("meeting time (moves)").log()).title("B. Meeting times");
    for (sampler, curve) in Sampler::ALL.into_iter().zip(curves) {
        let style = sampler.style();
        let rates: Vec<(f64, [f64; 3])> =
            curve.iter().map(|point| (point.n as f64, quartiles(&point.acceptance))).collect();
        let times: Vec<(f64, [f64; 3])> = curve
            .iter()
            .filter_map(|point| Some((point.n as f64, quartiles(point.meetings.as_ref()?))))
            .filter(|(_, [_, median, _])| *median < limit as f64)
            .collect();
        let middle = |points: &[(f64, [f64; 3])]| -> Vec<(f64, f64)> {
            points.iter().map(|&(n, [_, median, _])| (n, median)).collect()
        };
        left = with_quartiles(left, &rates, style).points(middle(&rates), style);
        right = with_quartiles(right, &times, style).points(middle(&times), style);
    }
    Sampler::keys(Figure::new("Acceptance and meeting times against n", vec![left, right]))
}
