//! Plans: a chain for each of many simulated releases, setting after setting.

use std::num::NonZeroUsize;

use soma::chain::{MovesChoice, Problem};
use soma::kernel::KernelChoice;
use soma::plan::{Fitted, Made, Observer, Plan, Released, released, run_floors};
use soma::rng::stream;
use soma::{Invalid, Outcome};

use crate::calibrate::over_threads;
use crate::chains::{Chains, Drawn, own_start};
use crate::device::Device;
use crate::program::{Options, Program};

/// Iterations for each iteration of the plan: one of the CPU has more kinds of theta updates.
const ITERATIONS: u64 = 16;

/// The programs of the settings of a plan. The error says what the GPU does not support.
pub fn plan_programs(plan: &Plan, most_shared: usize) -> Result<Vec<Program>, Invalid> {
    let program = |problem: &Problem| {
        let mut options = Options::new(KernelChoice::Auto, MovesChoice::Auto);
        options.most_shared = most_shared;
        let program = Program::new(problem, options)?;
        program.check_many(problem, "a plan")?;
        let mut beside = problem.plain_outputs();
        beside.retain(|name| !program.outputs.contains(name));
        if !beside.is_empty() || problem.fixed().is_some() {
            return Err(Invalid::new(
                "plan",
                "is not supported on the GPU with these outputs",
                if beside.is_empty() { program.outputs.join(", ") } else { beside.join(", ") },
                "parameters that are not fixed, and what is derived from them",
            ));
        }
        Ok(program)
    };
    plan.settings.iter().map(|setting| program(&setting.problem)).collect()
}

/// Makes a plan: the releases are simulated on `threads` threads and are those of the CPU, each is fitted by one
/// chain on the device, and the floors are computed on the CPU. `open` loads a program.
pub fn run_plan(
    plan: &Plan,
    programs: &[Program],
    threads: NonZeroUsize,
    observer: &dyn Observer,
    open: &dyn Fn(&Program) -> Outcome<Box<dyn Device>>,
) -> Outcome<Made> {
    plan.check()?;
    let mut fits = Vec::new();
    for (number, program) in programs.iter().enumerate() {
        if observer.stop() {
            fits.push(Vec::new());
            continue;
        }
        let simulate = |replication: u64| released(plan, &plan.settings[number], replication);
        let all = over_threads(plan.replications, 8, threads, &simulate)?;
        let mut device = open(program)?;
        let fitted = fit(plan, program, &all, device.as_mut(), threads)?;
        fitted.iter().for_each(|_| observer.done());
        fits.push((0..).zip(fitted).collect());
    }
    Ok(Made { fits, floors: run_floors(plan, threads, observer)? })
}

/// One chain for each release, and what its draws say.
fn fit(
    plan: &Plan,
    program: &Program,
    all: &[Released],
    device: &mut dyn Device,
    threads: NonZeroUsize,
) -> Outcome<Vec<Fitted>> {
    let mut theta = Vec::new();
    let mut published = Vec::new();
    for (replication, Released { problem, .. }) in (0..).zip(all) {
        theta.extend(own_start(problem, &mut stream(plan.seed, 3 * replication + 1))?);
        published.extend(program.published(problem));
    }
    let (seed, warmup) = (plan.seed, ITERATIONS * plan.warmup);
    let mut chains =
        Chains::start(device, program, seed, 0, warmup, ITERATIONS, &published, &theta)?;
    let last = warmup + ITERATIONS * plan.draws;
    let mut drawn = Drawn::default();
    while chains.iteration() < last {
        let some = chains.advance(device, last, true)?;
        (drawn.chains, drawn.width) = (some.chains, some.width);
        drawn.values.extend(some.values);
    }
    let summarise = |replication: u64| {
        let chain = replication as usize;
        let problem = &all[chain].problem;
        let mut columns = vec![Vec::with_capacity(drawn.draws()); problem.output_count()];
        for draw in 0..drawn.draws() {
            let own = (0..program.outputs.len()).map(|k| drawn.get(draw, k, chain)).collect();
            let values = problem.with_derived(own);
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        Ok(all[chain].fitted(&columns))
    };
    over_threads(all.len() as u64, 8, threads, &summarise)
}
