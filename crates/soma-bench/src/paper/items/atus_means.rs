//! Mean time allocations, and whether women's and men's differ.

use soma::Outcome;
use soma_plot::{Axis, Figure, Panel, Style};

use super::Item;
use super::atus_chains::{Draws, draws, sweeps_of};
use crate::paper::settings::Sex;
use crate::paper::stats::{density, digits, mean_se, sd};
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "atus-means",
    title: "Time use: mean allocations and three hypotheses",
    place: "Table 2",
    claim: "Women spend 41.1% of the day on personal care, 5.1% on eating and drinking and 53.8% \
            on the rest, men 39.2%, 5.1% and 55.7%. That the difference is at most one percentage \
            point is rejected for personal care and for the rest, and not for eating and drinking.",
    run,
};

const ACTIVITIES: [&str; 3] = ["personal care", "eating and drinking", "other activities"];

/// The paper's table: (SOMA, IMwG), women and men, by activity.
const PUBLISHED: [[(f64, f64); 2]; 3] = [
    [(0.4112, 0.4112), (0.3919, 0.3919)],
    [(0.0507, 0.0506), (0.0508, 0.0508)],
    [(0.5381, 0.5382), (0.5573, 0.5574)],
];

/// A difference of at most this is the null hypothesis.
const MARGIN: f64 = 0.01;

/// E[X_j | alpha] = alpha_j / sum of alpha, by activity, by run, by sweep, after warm-up.
type Means = Vec<Vec<Vec<f64>>>;

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let mut findings = Findings::new();
    let mut table = Table::new(
        "atus-means",
        "Posterior means of the expected allocations, with Monte Carlo standard errors and \
         posterior standard deviations.",
        &["activity", "half", "sampler", "published", "ours", "se", "posterior sd"],
    )
    .shown();
    let mut soma = Vec::new();
    for (column, sex) in Sex::BOTH.into_iter().enumerate() {
        for sampler in [Sampler::Soma, Sampler::SysImwg] {
            let means = means(&draws(study, sex, sampler)?, warmup(study, sex));
            for (j, activity) in ACTIVITIES.iter().enumerate() {
                let published = match sampler {
                    Sampler::Soma => PUBLISHED[j][column].0,
                    _ => PUBLISHED[j][column].1,
                };
                let ours = by_run(&means[j]);
                let all = means[j].concat();
                let quantity =
                    format!("mean share, {activity}, {}, {}", sex.name(), sampler.name());
                findings.check(
                    Check::ours(quantity, ours)
                        .published(published, 0.0001, ours.1)
                        .note("The paper's number is taken to have as large a Monte Carlo error.")
                        .if_not(NOISE_NOTE),
                );
                table.row(vec![
                    (*activity).into(),
                    sex.name().into(),
                    sampler.name().into(),
                    digits(published, 4),
                    digits(ours.0, 5),
                    digits(ours.1, 2),
                    digits(sd(&all), 2),
                ]);
            }
            if sampler == Sampler::Soma {
                soma.push(means);
            }
        }
    }
    findings.setting(format!(
        "The chains of atus-diagnostics, the plain chain of the paper, without their first {} and \
         {} sweeps.",
        warmup(study, Sex::Female),
        warmup(study, Sex::Male)
    ));
    hypotheses(&mut findings, &soma);
    findings.table(table);
    findings.figure(
        "atus-means",
        "Posterior densities of the difference of the expected shares, women minus men, with SOMA. \
         The null hypothesis, at most one percentage point, is the band between the lines.",
        &figure(&soma),
    )?;
    Ok(findings)
}

const NOISE_NOTE: &str = "The paper's script has the numbers of women and men the other way round, \
    which changes the noise scale and the tightness of alpha; the posterior means move little by it.";

/// A quarter of the chain.
fn warmup(study: &Study<'_>, sex: Sex) -> usize {
    study.pick(2, sweeps_of(2.5e5, sex), sweeps_of(2.5e5, sex))
}

fn means(draws: &Draws, warmup: usize) -> Means {
    let (runs, sweeps) = (draws[0].len(), draws[0][0].len());
    let share = |j: usize, run: usize, t: usize| {
        draws[j][run][t] / draws.iter().map(|alpha| alpha[run][t]).sum::<f64>()
    };
    (0..3)
        .map(|j| {
            (0..runs).map(|run| (warmup..sweeps).map(|t| share(j, run, t)).collect()).collect()
        })
        .collect()
}

/// Mean and standard error from the means of independent runs.
fn by_run(runs: &[Vec<f64>]) -> (f64, f64) {
    let means: Vec<f64> = runs.iter().map(|run| mean_se(run).0).collect();
    mean_se(&means)
}

/// Women minus men, by activity and by run: draws of one are paired with independent draws of the
/// other.
fn differences(soma: &[Means], j: usize) -> Vec<Vec<f64>> {
    let (women, men) = (&soma[0][j], &soma[1][j]);
    women
        .iter()
        .zip(men)
        .map(|(women, men)| women.iter().zip(men).map(|(woman, man)| woman - man).collect())
        .collect()
}

fn hypotheses(findings: &mut Findings, soma: &[Means]) {
    for (j, activity) in ACTIVITIES.iter().enumerate() {
        let inside: Vec<Vec<f64>> = differences(soma, j)
            .iter()
            .map(|run| run.iter().map(|gap| f64::from(u8::from(gap.abs() <= MARGIN))).collect())
            .collect();
        let (probability, se) = by_run(&inside);
        let decision = if probability < 0.05 { "rejected" } else { "not rejected" };
        let theirs = if j == 1 { "not rejected" } else { "rejected" };
        findings.check(
            Check::ours(
                format!("probability that the difference is at most {MARGIN}, {activity}"),
                (probability, se),
            )
            .note(format!(
                "The paper prints no probability; the hypothesis is {theirs} there, and {decision} \
                 here at 5%."
            )),
        );
        findings.say(format!(
            "{activity}: the probability of a difference of at most one percentage point is {}: \
             {decision}.",
            digits(probability, 2)
        ));
    }
}

fn figure(soma: &[Means]) -> Figure {
    let reference = Style::new(Style::GREY).width(1.2);
    let panels = (0..3)
        .map(|j| {
            let gaps: Vec<f64> =
                differences(soma, j).concat().iter().map(|gap| 100.0 * gap).collect();
            let grid: Vec<f64> = (0..=200).map(|k| -3.5 + 7.0 * f64::from(k) / 200.0).collect();
            let curve: Vec<(f64, f64)> = grid.iter().copied().zip(density(&gaps, &grid)).collect();
            let area = curve.iter().map(|&(x, y)| (x, 0.0, y)).collect();
            Panel::new(
                Axis::new("women minus men (percentage points)").range(-3.5, 3.5),
                Axis::new("posterior density"),
            )
            .title(ACTIVITIES[j])
            .upright(-100.0 * MARGIN, reference)
            .upright(100.0 * MARGIN, reference)
            .band(area, Sampler::Soma.style().colour)
            .line(curve, Sampler::Soma.style())
        })
        .collect();
    Figure::new("Posterior of the differences", panels)
}
