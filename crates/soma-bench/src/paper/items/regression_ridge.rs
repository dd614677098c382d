//! The intercept over many independent chains, by iteration.

use soma::Outcome;
use soma_plot::{Axis, Dash, Figure, Layer, Marker, Panel, Style};

use super::Item;
use super::regression_truth::{paths, posterior_draws};
use crate::paper::settings::{REGRESSION_100_30, regression};
use crate::paper::stats::{density, digits, mean_se, quartiles};
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "regression-ridge",
    title: "Regression, n = 100: the intercept over 1,000 chains",
    place: "Figure 12",
    claim: "To the eye, the intercept of chains that use SOMA has converged after about 150 \
            iterations, with Sys-IMwG after 200 and with Ran-IMwG after 300.",
    run,
};

/// The length of theta; the intercept is its first number.
const DIM: usize = 4;

/// The intercepts of the chains of a sampler, by iteration.
type Ridge = Vec<Vec<f64>>;

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let problem = regression(REGRESSION_100_30)?;
    let chains = study.pick(12, 400, 1000);
    let at: Vec<usize> = (0..=study.pick(50, 300, 300)).step_by(25).collect();
    let intercepts = |theta: &[f64]| -> Vec<f64> { theta.iter().step_by(DIM).copied().collect() };
    let truth = intercepts(&posterior_draws(study, &problem)?);
    let mut ridges: Vec<Ridge> = Vec::new();
    for sampler in Sampler::ALL {
        let paths = paths(study, &problem, sampler, chains, &at)?;
        ridges.push(paths.iter().map(|theta| intercepts(theta)).collect());
    }
    let mut findings = Findings::new();
    findings.setting(format!(
        "{chains} chains started from the prior; the posterior from {} draws of long chains. \
         Densities by a Gaussian kernel estimate.",
        truth.len()
    ));
    checks(&mut findings, &ridges, &truth, &at);
    findings.table(table(&ridges, &at));
    let panels = Sampler::ALL.into_iter().zip(&ridges);
    let panels = panels.map(|(sampler, ridge)| panel(sampler, &at, ridge, &truth)).collect();
    let figure = Figure::new("Densities of the intercept by iteration", panels)
        .panel_size(440, 480)
        .key("mean over chains", Style::new(Style::INK).marker(Marker::Circle))
        .key("quartiles over chains", Style::new(Style::INK).width(1.2))
        .key("posterior mean", Style::new(Style::PURPLE).dash(Dash::Dashed))
        .key("posterior quartiles", Style::new(Style::PURPLE).dash(Dash::Dotted));
    findings.figure(
        "regression-ridge",
        "Density of β0 over independent chains at every 25th iteration, from below upwards. The \
         posterior, from long chains, is drawn through.",
        &figure,
    )?;
    Ok(findings)
}

fn table(ridges: &[Ridge], at: &[usize]) -> Table {
    let mut table = Table::new(
        "regression-ridge",
        "Mean and quartiles of β0 over the chains, by iteration.",
        &["sampler", "iteration", "mean", "lower quartile", "median", "upper quartile"],
    );
    for (sampler, ridge) in Sampler::ALL.into_iter().zip(ridges) {
        for (iteration, values) in at.iter().zip(ridge) {
            let mut row = vec![sampler.name().to_string(), iteration.to_string()];
            row.push(digits(mean_se(values).0, 5));
            row.extend(quartiles(values).map(|quartile| digits(quartile, 5)));
            table.row(row);
        }
    }
    table
}

/// The spacing of the ridges of two iterations, in iterations.
fn gap(at: &[usize]) -> f64 {
    (at[1] - at[0]) as f64
}

fn panel(sampler: Sampler, at: &[usize], ridge: &Ridge, truth: &[f64]) -> Panel {
    let (low, high) = (-3.6, 2.4);
    let grid: Vec<f64> = (0..=160).map(|k| low + (high - low) * f64::from(k) / 160.0).collect();
    let gap = gap(at);
    let top = density(truth, &grid).into_iter().fold(0.0, f64::max);
    let end = at[at.len() - 1] as f64 + 2.0 * gap;
    let iterations = Axis::new("iteration (sweeps)").range(-0.3 * gap, end);
    let mut panel = Panel::new(Axis::new("β0").range(low, high), iterations).title(sampler.name());
    // From above, so that a ridge is drawn in front of the one above it.
    for (&iteration, values) in at.iter().zip(ridge).rev() {
        let base = iteration as f64;
        let heights: Vec<f64> =
            density(values, &grid).into_iter().map(|d| base + 1.6 * gap * d / top).collect();
        let area: Vec<_> = grid.iter().zip(&heights).map(|(&x, &h)| (x, base, h)).collect();
        let edge = grid.iter().copied().zip(heights).collect();
        panel = panel
            .layer(Layer::Band(area.clone(), (255, 255, 255), 0.8))
            .layer(Layer::Band(area, sampler.style().colour, 0.5))
            .line(edge, Style::new((255, 255, 255)).width(1.2));
    }
    let follow = |of: &dyn Fn(&[f64]) -> f64| -> Vec<(f64, f64)> {
        at.iter().zip(ridge).map(|(&t, values)| (of(values), t as f64)).collect()
    };
    let means = follow(&|values| mean_se(values).0);
    let [lower, _, upper] = quartiles(truth);
    panel
        .line(follow(&|values| quartiles(values)[0]), Style::new(Style::INK).width(1.2))
        .line(follow(&|values| quartiles(values)[2]), Style::new(Style::INK).width(1.2))
        .line(means.clone(), Style::new(Style::INK))
        .points(means, Style::new(Style::INK).marker(Marker::Circle).width(1.0))
        .upright(mean_se(truth).0, Style::new(Style::PURPLE).dash(Dash::Dashed))
        .upright(lower, Style::new(Style::PURPLE).dash(Dash::Dotted))
        .upright(upper, Style::new(Style::PURPLE).dash(Dash::Dotted))
}

/// The first iteration from which on the mean and the quartiles stay near the posterior's: within
/// a fifth of its interquartile range.
fn settled(at: &[usize], ridge: &Ridge, truth: &[f64]) -> Option<usize> {
    let [lower, _, upper] = quartiles(truth);
    let room = 0.2 * (upper - lower);
    let mean = mean_se(truth).0;
    let near = |values: &Vec<f64>| {
        let [low, _, high] = quartiles(values);
        (mean_se(values).0 - mean).abs() < room
            && (low - lower).abs() < room
            && (high - upper).abs() < room
    };
    let from = ridge.iter().rposition(|values| !near(values)).map_or(0, |last| last + 1);
    at.get(from).copied()
}

fn checks(findings: &mut Findings, ridges: &[Ridge], truth: &[f64], at: &[usize]) {
    let posterior = mean_se(truth);
    findings.check(Check::ours("posterior mean of β0", posterior).note("From long chains."));
    let wanted = at.iter().position(|&t| t >= 150).unwrap_or(at.len() - 1);
    let last = at[at.len() - 1];
    for (sampler, ridge) in Sampler::ALL.into_iter().zip(ridges) {
        let published = match sampler {
            Sampler::Soma => 150.0,
            Sampler::SysImwg => 200.0,
            Sampler::RanImwg => 300.0,
        };
        let settled = settled(at, ridge, truth);
        let quantity = format!("iteration from which β0 looks converged, {}", sampler.name());
        findings.check(
            Check::ours(quantity, (settled.unwrap_or(last) as f64, gap(at)))
                .published(published, 50.0, 0.0)
                .note(
                    "The paper judges by eye; ours is the first iteration shown from which on the \
                     mean and the quartiles over the chains stay within a fifth of the posterior's \
                     interquartile range. Its error is taken as the spacing of the iterations.",
                )
                .if_not("The two criteria are not the same."),
        );
        let (mean, se) = mean_se(&ridge[wanted]);
        let quantity = format!(
            "mean of β0 over chains minus the posterior mean at iteration {}, {}",
            at[wanted],
            sampler.name()
        );
        findings.check(Check::ours(quantity, (mean - posterior.0, se.hypot(posterior.1))));
        findings.say(match settled {
            Some(iteration) => format!("{}: settled from iteration {iteration}.", sampler.name()),
            None => format!("{}: not settled by iteration {last}.", sampler.name()),
        });
    }
}
