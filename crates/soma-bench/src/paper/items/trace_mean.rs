//! Two-dimensional traces of the samplers on the private mean of two records.

use soma::Outcome;
use soma::chain::Problem;
use soma_plot::{Axis, Dash, Figure, Layer, Marker, Panel, Style};

use super::Item;
use crate::paper::settings::{MeanRecords, private_mean};
use crate::paper::stats::{digits, mean_se};
use crate::paper::walk::Walk;
use crate::paper::{Check, Findings, Sampler, Study, Table};

pub(super) const ITEM: Item = Item {
    name: "trace-mean",
    title: "Private mean: traces of the three samplers",
    place: "Figure 1",
    claim: "Over 500 iterations from (0.3, 0.3), with Beta(10, 10) records and epsilon 20, SOMA \
            explores the target better; Ran-IMwG gets stuck in places.",
    run,
};

const EPSILON: f64 = 20.0;
const MOVES: usize = 500;
const START: Style = Style::new(Style::INK).width(3.0).dash(Dash::Absent).marker(Marker::Circle);
/// The grid of the density: this many cells a side, over this range.
const CELLS: usize = 72;
const RANGE: (f64, f64) = (0.1, 0.9);

fn run(study: &Study<'_>) -> Outcome<Findings> {
    let problem = private_mean(MeanRecords::Beta, EPSILON)?;
    let truth = Density::new(&problem)?;
    let repeats = study.pick(4, 400, 2000);
    let moves = study.pick(40, MOVES, MOVES);
    let mut findings = Findings::new();
    findings.setting(format!(
        "An iteration is one move. log eta = -2 epsilon |mean - 0.5|: Laplace noise of scale \
         0.5 / epsilon on the mean, as in the authors' runs. The traces are the first of {repeats} \
         runs of {moves} moves, from which the numbers are. The density is by quadrature."
    ));
    let mut table =
        Table::new("trace-mean", "The traces shown.", &["sampler", "move", "x1", "x2", "taken"]);
    let mut traces = Vec::new();
    for sampler in Sampler::ALL {
        let purpose = format!("trace-mean/{}", sampler.name());
        let mut runs =
            study.map(&purpose, repeats, |_, rng| trace(&problem, sampler, moves, rng))?;
        checks(&mut findings, sampler, &runs, &truth);
        let first = runs.swap_remove(0);
        for (k, step) in first.iter().enumerate() {
            table.row(vec![
                sampler.name().into(),
                k.to_string(),
                digits(step.x.0, 6),
                digits(step.x.1, 6),
                step.taken.to_string(),
            ]);
        }
        traces.push(first);
    }
    say(&mut findings);
    findings.table(table);
    findings.figure(
        "trace-mean",
        "Above: the path of each sampler over the true density (grey), from the black point on, \
         later moves lighter. Below: the values visited by both records (bars) and the true \
         marginal density (line).",
        &figure(&traces, &truth),
    )?;
    Ok(findings)
}

/// A state of a trace, and whether the move to it was accepted.
#[derive(Debug, Clone, Copy)]
struct Step {
    x: (f64, f64),
    taken: bool,
}

fn trace(
    problem: &Problem,
    sampler: Sampler,
    moves: usize,
    rng: soma::rng::Rng,
) -> Outcome<Vec<Step>> {
    let mut walk = Walk::from(problem, sampler, vec![0.3, 0.3], rng)?;
    let mut steps = vec![Step { x: (0.3, 0.3), taken: true }];
    for _ in 0..moves {
        let taken = walk.step()?;
        let x = walk.records();
        steps.push(Step { x: (x[0], x[1]), taken });
    }
    Ok(steps)
}

/// The true density on a grid, as probabilities of cells.
struct Density {
    cells: Vec<f64>,
    marginal: Vec<f64>,
}

/// The middle of cell k.
fn middle(k: usize) -> f64 {
    RANGE.0 + (RANGE.1 - RANGE.0) * (k as f64 + 0.5) / CELLS as f64
}

fn cell_width() -> f64 {
    (RANGE.1 - RANGE.0) / CELLS as f64
}

impl Density {
    fn new(problem: &Problem) -> Outcome<Self> {
        let (model, release) = (problem.model(), problem.release());
        let theta = problem.fixed().unwrap_or_default();
        let mut logs = Vec::with_capacity(CELLS);
        for k in 0..CELLS {
            logs.push(model.log_density(theta, &[middle(k)])?);
        }
        let scale = release.scales()[0];
        let mut cells = Vec::with_capacity(CELLS * CELLS);
        for i in 0..CELLS {
            for j in 0..CELLS {
                let residual = release.values()[0] - 0.5 * (middle(i) + middle(j));
                let log = logs[i] + logs[j] + release.log_density(&[residual / scale]);
                cells.push(log.exp());
            }
        }
        let total: f64 = cells.iter().sum();
        cells.iter_mut().for_each(|p| *p /= total);
        let marginal = cells.chunks_exact(CELLS).map(|row| row.iter().sum()).collect();
        Ok(Density { cells, marginal })
    }

    /// The Wasserstein-1 distance of the visited values to the true marginal: the area between the
    /// two distribution functions.
    fn distance(&self, visited: &[f64]) -> f64 {
        let mut below = vec![0.0; CELLS];
        for x in visited {
            let k = ((x - RANGE.0) / cell_width()).clamp(0.0, CELLS as f64 - 1.0) as usize;
            below[k] += 1.0 / visited.len() as f64;
        }
        let (mut gap, mut area) = (0.0, 0.0);
        for (here, there) in below.iter().zip(&self.marginal) {
            gap += here - there;
            area += f64::abs(gap) * cell_width();
        }
        area
    }
}

fn visited(steps: &[Step]) -> Vec<f64> {
    steps.iter().flat_map(|step| [step.x.0, step.x.1]).collect()
}

fn checks(findings: &mut Findings, sampler: Sampler, runs: &[Vec<Step>], truth: &Density) {
    let distances: Vec<f64> = runs.iter().map(|run| truth.distance(&visited(run))).collect();
    let accepted: Vec<f64> = runs
        .iter()
        .map(|run| {
            run[1..].iter().filter(|step| step.taken).count() as f64 / (run.len() - 1) as f64
        })
        .collect();
    let note = "The paper shows a picture only.";
    findings.check(
        Check::ours(
            format!("mean distance of the values visited to the true marginal, {}", sampler.name()),
            mean_se(&distances),
        )
        .note(note),
    );
    findings.check(
        Check::ours(format!("share of moves taken, {}", sampler.name()), mean_se(&accepted))
            .note(note),
    );
}

fn say(findings: &mut Findings) {
    let said: Vec<String> = Sampler::ALL
        .into_iter()
        .zip(findings.checks.chunks_exact(2))
        .map(|(sampler, pair)| {
            format!(
                "{} takes {}% of its moves and ends {} from the true marginal",
                sampler.name(),
                digits(100.0 * pair[1].ours, 3),
                digits(pair[0].ours, 2)
            )
        })
        .collect();
    findings.say(format!("On average {}.", said.join("; ")));
}

fn figure(traces: &[Vec<Step>], truth: &Density) -> Figure {
    let top = truth.cells.iter().copied().fold(0.0, f64::max);
    let mut panels = Vec::new();
    for (sampler, steps) in Sampler::ALL.into_iter().zip(traces) {
        panels.push(path_panel(sampler, steps, truth, top));
    }
    for (sampler, steps) in Sampler::ALL.into_iter().zip(traces) {
        panels.push(marginal_panel(sampler, steps, truth));
    }
    let line = Style::new(Style::INK);
    Sampler::keys(
        Figure::new("Traces over the true density", panels).columns(3).panel_size(400, 360),
    )
    .key("start", START)
    .key("true density", line)
}

fn path_panel(sampler: Sampler, steps: &[Step], truth: &Density, top: f64) -> Panel {
    let half = 0.5 * cell_width();
    let cells = (0..CELLS * CELLS)
        .filter(|index| truth.cells[*index] > 0.03 * top)
        .map(|index| {
            let (x, y) = (middle(index / CELLS), middle(index % CELLS));
            let opacity = 0.8 * truth.cells[index] / top;
            (x - half, x + half, y - half, y + half, (opacity * 50.0).round() / 50.0)
        })
        .filter(|cell| cell.4 > 0.0)
        .collect();
    let axis = |name: &str| Axis::new(name).range(0.2, 0.8);
    let mut panel = Panel::new(axis("x1"), axis("x2"))
        .title(sampler.name())
        .layer(Layer::Cells(cells, Style::GREY));
    let points: Vec<(f64, f64)> = steps.iter().map(|step| step.x).collect();
    let pieces = 5;
    let length = points.len().div_ceil(pieces);
    for piece in 0..pieces {
        let from = (piece * length).saturating_sub(1).min(points.len());
        let to = ((piece + 1) * length).min(points.len());
        let opacity = 0.95 - 0.14 * piece as f64;
        let style = Style::new(sampler.style().colour).width(1.1).opacity(opacity);
        panel = panel
            .line(points[from..to].to_vec(), style)
            .points(points[from..to].to_vec(), style.width(0.3).marker(Marker::Circle));
    }
    panel.points(vec![points[0]], START)
}

fn marginal_panel(sampler: Sampler, steps: &[Step], truth: &Density) -> Panel {
    let bars = 24;
    let width = (RANGE.1 - RANGE.0) / bars as f64;
    let values = visited(steps);
    let cells = (0..bars)
        .map(|k| {
            let low = RANGE.0 + k as f64 * width;
            let inside = values.iter().filter(|x| (low..low + width).contains(x)).count();
            let height = inside as f64 / (values.len() as f64 * width);
            (low, low + width, 0.0, height, 0.5)
        })
        .collect();
    let curve = (0..CELLS).map(|k| (middle(k), truth.marginal[k] / cell_width())).collect();
    Panel::new(Axis::new("x1 and x2").range(0.2, 0.8), Axis::new("density").range(0.0, 7.0))
        .layer(Layer::Cells(cells, sampler.style().colour))
        .line(curve, Style::new(Style::INK))
}
