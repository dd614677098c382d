//! Acceptance rates of the samplers on the private mean, against epsilon.

use soma::Outcome;
use soma::theory::{imwg_acceptance, soma_acceptance};
use soma_plot::{Axis, Dash, Figure, Panel, Style};

use super::{Item, with_quartiles};
use crate::paper::settings::{MeanRecords, private_mean};
use crate::paper::stats::{digits, mean_se, quartiles};
use crate::paper::walk::Walk;
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "acceptance-mean",
    title: "Private mean: acceptance against epsilon",
    place: "Figure 2",
    claim: "SOMA accepts more often than Ran-IMwG and Sys-IMwG at every epsilon, as the theory \
            says it must.",
    run,
};

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let epsilons: Vec<f64> = study.pick(
        vec![1.0, 20.0],
        vec![0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0],
        vec![0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0],
    );
    let runs = study.pick(3, 100, 100);
    let moves = study.pick(200, 5000, 5000);
    // rates[sampler][epsilon][run]
    let mut rates = Vec::new();
    for sampler in Sampler::ALL {
        let mut of_sampler = Vec::new();
        for &epsilon in &epsilons {
            let problem = private_mean(MeanRecords::Beta, epsilon)?;
            let purpose = format!("acceptance-mean/{}/{epsilon}", sampler.name());
            of_sampler.push(study.map(&purpose, runs, |_, rng| {
                let mut walk = Walk::new(&problem, sampler, rng)?;
                let mut taken = 0;
                for _ in 0..moves {
                    taken += usize::from(walk.step()?);
                }
                Ok(taken as f64 / moves as f64)
            })?);
        }
        rates.push(of_sampler);
    }
    let mut findings = Findings::new();
    findings.setting(format!(
        "{runs} runs of {moves} moves from records of the model; Laplace noise of scale \
         0.5 / epsilon on the mean of two Beta(10, 10) records, which is epsilon-DP."
    ));
    checks(&mut findings, &epsilons, &rates);
    findings.table(table(&epsilons, &rates));
    findings.figure(
        "acceptance-mean",
        "Share of moves taken, median over runs with quartiles (narrower than the lines where they \
         cannot be seen), and the paper's lower bounds: n / (n + exp(ε) - 1) for SOMA, exp(-ε) for \
         the other two.",
        &figure(&epsilons, &rates),
    )?;
    Ok(findings)
}

fn bound(sampler: Sampler, epsilon: f64) -> f64 {
    match sampler {
        Sampler::Soma => soma_acceptance(2, epsilon),
        _ => imwg_acceptance(epsilon),
    }
}

fn checks(findings: &mut Findings, epsilons: &[f64], rates: &[Vec<Vec<f64>>]) {
    let ratios: Vec<f64> =
        (0..epsilons.len()).map(|k| mean_se(&rates[2][k]).0 / mean_se(&rates[0][k]).0).collect();
    let largest = ratios.iter().copied().fold(0.0, f64::max);
    let smallest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    findings.say(format!(
        "SOMA takes {} to {} times as many moves as Ran-IMwG over these epsilons; every rate is \
         above its bound, which is far below it for epsilon above 3.",
        digits(smallest, 3),
        digits(largest, 3)
    ));
    for (sampler, of_sampler) in Sampler::ALL.into_iter().zip(rates) {
        for (&epsilon, runs) in epsilons.iter().zip(of_sampler) {
            let note = format!(
                "The paper shows a picture only. Its lower bound is {}.",
                digits(bound(sampler, epsilon), 3)
            );
            let quantity = format!("acceptance, epsilon {epsilon}, {}", sampler.name());
            findings.check(Check::ours(quantity, mean_se(runs)).note(note));
        }
    }
}

fn table(epsilons: &[f64], rates: &[Vec<Vec<f64>>]) -> Table {
    let mut table = Table::new(
        "acceptance-mean",
        "Acceptance by epsilon.",
        &["sampler", "epsilon", "mean", "lower quartile", "median", "upper quartile", "bound"],
    );
    for (sampler, of_sampler) in Sampler::ALL.into_iter().zip(rates) {
        for (&epsilon, runs) in epsilons.iter().zip(of_sampler) {
            let mut row =
                vec![sampler.name().into(), digits(epsilon, 3), digits(mean_se(runs).0, 5)];
            row.extend(quartiles(runs).map(|quartile| digits(quartile, 5)));
            row.push(digits(bound(sampler, epsilon), 4));
            table.row(row);
        }
    }
    table
}

fn figure(epsilons: &[f64], rates: &[Vec<Vec<f64>>]) -> Figure {
    let mut panel = Panel::new(
        Axis::new("privacy budget ε"),
        Axis::new("share of moves taken").range(0.0, 1.02),
    );
    let fine: Vec<f64> = (0..=500).map(|k| 0.05 + 0.1 * f64::from(k)).collect();
    let curve = |bound: &dyn Fn(f64) -> f64| fine.iter().map(|&e| (e, bound(e))).collect();
    let thin = |colour| Style::new(colour).width(1.2).opacity(0.8);
    let soma_bound = thin(Style::VERMILION).dash(Dash::Dotted);
    let imwg_bound = thin(Style::GREY).dash(Dash::Dotted);
    panel = panel
        .line(curve(&|epsilon| soma_acceptance(2, epsilon)), soma_bound)
        .line(curve(&imwg_acceptance), imwg_bound);
    for (sampler, of_sampler) in Sampler::ALL.into_iter().zip(rates) {
        let points: Vec<(f64, [f64; 3])> =
            epsilons.iter().zip(of_sampler).map(|(&e, runs)| (e, quartiles(runs))).collect();
        let marks = points.iter().map(|&(e, [_, median, _])| (e, median)).collect();
        panel = with_quartiles(panel, &points, sampler.style()).points(marks, sampler.style());
    }
    Sampler::keys(Figure::new("Acceptance against epsilon", vec![panel]).panel_size(620, 400))
        .key("SOMA, lower bound", soma_bound)
        .key("IMwG, lower bound", imwg_bound)
}
