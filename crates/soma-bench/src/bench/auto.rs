//! The quality of `kernel = "auto"`: effective draws on the shipped specs.

use std::time::Instant;

use serde::Serialize;
use soma::chain::{Chain, ITERATION_WORK};
use soma::diagnostics::ess_bulk;
use soma::error::Failure;
use soma::kernel::KernelChoice;
use soma::spec::Spec;

use super::lines::Lines;
use super::mixing::{Clock, Plan};
use crate::exit::{Failed, Outcome};

#[path = "../../../../examples/shipped.rs"]
mod shipped;

use shipped::SHIPPED;

const KERNELS: [KernelChoice; 4] = [
    KernelChoice::SysImwg,
    KernelChoice::Soma,
    KernelChoice::SomaBlocks { size: None },
    KernelChoice::Auto,
];

/// Runs shorter than this, in seconds, are timed by wall time.
const SHORT: f64 = 0.04;

/// One line of the output.
#[derive(Serialize)]
struct Line {
    spec: &'static str,
    kernel: &'static str,
    /// The kernels that the chains chose, if they had a choice.
    taken: Vec<String>,
    /// The smallest over all parameters.
    ess_per_draw: f64,
    /// Per million units of work of the iterations.
    ess_per_work: f64,
    ess_per_second: f64,
}

/// Measures and prints.
pub fn run(plan: &Plan, json: bool) -> Outcome {
    let wanted = |name: &str| plan.problem.as_deref().is_none_or(|part| name.contains(part));
    let specs: Vec<_> = SHIPPED.iter().filter(|(name, _)| wanted(name)).collect();
    if specs.is_empty() {
        return Err(Failed::Input("--problem: no shipped spec has that in its name".into()));
    }
    let columns = [
        ("spec", 22, true),
        ("kernel", 12, true),
        ("ESS/draw", 9, false),
        ("ESS/work", 10, false),
        ("ESS/s", 10, false),
        ("to best", 8, false),
        ("taken", 30, true),
    ];
    let mut lines = Lines::begin(&columns, specs.len() * KERNELS.len(), json)?;
    for (name, text) in specs {
        let spec = Spec::parse(text).map_err(|error| Failed::Run(error.to_string()))?;
        let mut best: f64 = 0.0;
        for kernel in KERNELS {
            lines.next(&format!("{name}, {}", kernel.name()));
            let line = measure(plan, name, &spec, kernel)?;
            best = best.max(line.ess_per_work);
            let cells = [
                line.spec.into(),
                line.kernel.into(),
                format!("{:.3}", line.ess_per_draw),
                format!("{:.1}", line.ess_per_work),
                format!("{:.0}", line.ess_per_second),
                format!("{:.2}", line.ess_per_work / best),
                line.taken.join(" "),
            ];
            lines.add(line, &cells)?;
        }
    }
    lines.end()
}

fn measure(
    plan: &Plan,
    name: &'static str,
    spec: &Spec,
    kernel: KernelChoice,
) -> Result<Line, Failure> {
    let settings = spec.sampler.settings(spec.problem.release().n())?;
    let mut draws: Vec<Vec<Vec<f64>>> = vec![Vec::new(); spec.problem.outputs().len()];
    let (mut work, mut seconds, mut on_the_wall, mut taken) = (0.0, 0.0, 0.0, Vec::new());
    for index in 0..plan.seeds {
        let chain = Chain::new(&spec.problem, kernel, plan.first_seed(), index)?;
        let mut chain = chain.with_moves(settings.moves, settings.warmup)?;
        for _ in 0..settings.warmup {
            chain.step()?;
        }
        draws.iter_mut().for_each(|column| column.push(Vec::new()));
        let done = |chain: &Chain| chain.moves().iter().map(|made| made.tally.work).sum::<u64>();
        let before = done(&chain);
        let (started, wall) = (Clock::now(), Instant::now());
        for _ in 0..plan.draws {
            chain.step()?;
            for (column, value) in draws.iter_mut().zip(chain.draw()) {
                column[index as usize].push(value);
            }
        }
        seconds += started.seconds();
        on_the_wall += wall.elapsed().as_secs_f64();
        work += (done(&chain) - before) as f64 + ITERATION_WORK * plan.draws as f64;
        taken.extend(chain.chosen().map(|chosen| chosen.kernel.clone()));
    }
    // CPU time has a resolution of some milliseconds.
    let seconds = if seconds > SHORT { seconds } else { on_the_wall };
    let smallest = draws.iter().map(|column| ess_bulk(column)).fold(f64::INFINITY, f64::min);
    Ok(Line {
        spec: name,
        kernel: kernel.name(),
        taken,
        ess_per_draw: smallest / (plan.seeds as f64 * plan.draws as f64),
        ess_per_work: 1e6 * smallest / work,
        ess_per_second: smallest / seconds,
    })
}
