//! The distance of two coupled chains on a perturbed histogram, by move.

use soma::Outcome;
use soma_plot::{Axis, Figure, Panel};

use super::{Item, with_quartiles};
use crate::paper::pairs::pair;
use crate::paper::settings::histogram;
use crate::paper::stats::{digits, mean_se, quartiles};
use crate::paper::wasserstein::wasserstein2_1d;
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "histogram-wasserstein",
    title: "Perturbed histogram: Wasserstein distance of coupled chains",
    place: "Figure 8",
    claim: "All three couplings bring the chains near each other at first; then only SOMA's goes \
            on until they meet, also in a distance that does not see the order of the records.",
    run,
};

const EPSILON: f64 = 5.0;

/// The distances of each run at the moves looked at.
struct Case {
    n: usize,
    at: Vec<u64>,
    runs: Vec<Vec<Vec<f64>>>,
}

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let runs = study.pick(4, 100, 100);
    let last: u64 = study.pick(100, 10_000, 10_000);
    let at = moves_looked_at(last);
    let mut cases = Vec::new();
    for n in [10, 20] {
        let mut all = Vec::new();
        for sampler in Sampler::ALL {
            let purpose = format!("histogram-wasserstein/{}/{n}", sampler.name());
            all.push(study.map(&purpose, runs, |_, mut rng| {
                let problem = histogram(n, EPSILON, &mut rng)?;
                let mut pair = pair(&problem, sampler, &mut rng)?;
                let mut distances = Vec::with_capacity(at.len());
                for &moves in &at {
                    while pair.moves() < moves {
                        pair.advance(&mut rng)?;
                    }
                    let [x, y] = pair.pair().records();
                    distances.push(wasserstein2_1d(x.all(), y.all())?);
                }
                Ok(distances)
            })?);
        }
        cases.push(Case { n, at: at.clone(), runs: all });
    }
    let mut findings = Findings::new();
    findings.setting(format!(
        "{runs} coupled pairs, each with data, noise and starts of its own; epsilon {EPSILON}; the \
         second Wasserstein distance of the two sets of records, in single moves."
    ));
    for case in &cases {
        checks(&mut findings, case);
    }
    findings.table(table(&cases));
    let panels = cases.iter().enumerate().map(|(index, case)| panel(index, case)).collect();
    findings.figure(
        "histogram-wasserstein",
        "Second Wasserstein distance between the records of two coupled chains: median over runs, \
         with quartiles. It is 0 once they have met.",
        &Sampler::keys(Figure::new("Distance of coupled chains by move", panels)),
    )?;
    Ok(findings)
}

/// About evenly spaced on a log scale.
fn moves_looked_at(last: u64) -> Vec<u64> {
    let steps = 48;
    let mut at: Vec<u64> = (0..=steps)
        .map(|k| (last as f64).powf(f64::from(k) / f64::from(steps)).round() as u64)
        .collect();
    at.dedup();
    at
}

fn over_runs(case: &Case, sampler: usize) -> Vec<(f64, [f64; 3])> {
    (0..case.at.len())
        .map(|k| {
            let values: Vec<f64> = case.runs[sampler].iter().map(|run| run[k]).collect();
            (case.at[k] as f64, quartiles(&values))
        })
        .collect()
}

fn checks(findings: &mut Findings, case: &Case) {
    let end = case.at.len() - 1;
    let mut said = Vec::new();
    for (index, sampler) in Sampler::ALL.into_iter().enumerate() {
        let last: Vec<f64> = case.runs[index].iter().map(|run| run[end]).collect();
        let met: Vec<f64> = last.iter().map(|d| f64::from(u8::from(*d == 0.0))).collect();
        let which = format!("after {} moves, n = {}, {}", case.at[end], case.n, sampler.name());
        findings.check(Check::ours(format!("mean distance {which}"), mean_se(&last)));
        findings.check(Check::ours(format!("share of pairs that have met {which}"), mean_se(&met)));
        said.push(format!("{} {}%", sampler.name(), digits(100.0 * mean_se(&met).0, 3)));
    }
    findings.say(format!(
        "n = {}: of the pairs, these have met after {} moves: {}.",
        case.n,
        case.at[end],
        said.join(", ")
    ));
}

fn table(cases: &[Case]) -> Table {
    let mut table = Table::new(
        "histogram-wasserstein",
        "Quartiles over runs of the distance.",
        &["n", "sampler", "move", "lower quartile", "median", "upper quartile"],
    );
    for case in cases {
        for (index, sampler) in Sampler::ALL.into_iter().enumerate() {
            for (at, values) in over_runs(case, index) {
                let mut row = vec![case.n.to_string(), sampler.name().into(), at.to_string()];
                row.extend(values.map(|value| digits(value, 4)));
                table.row(row);
            }
        }
    }
    table
}

fn panel(index: usize, case: &Case) -> Panel {
    let mut panel =
        Panel::new(Axis::new("moves").log(), Axis::new("Wasserstein distance of the records"))
            .title(format!("{}. n = {}", ["A", "B"][index], case.n));
    for (k, sampler) in Sampler::ALL.into_iter().enumerate() {
        panel = with_quartiles(panel, &over_runs(case, k), sampler.style());
    }
    panel
}
