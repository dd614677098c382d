//! Fits, calibrations and checks on the GPU.

use std::num::NonZeroUsize;

use soma::calibration::{Calibration, Plan};
use soma::chain::{MovesChoice, Problem, Settings};
use soma::coupling::{PILOT, PairRun, PairSettings};
use soma::kernel::{KernelChoice, Subset};
use soma::rng::stream;
use soma::spec::Spec;
use soma_gpu::frozen::Among;
use soma_gpu::{Cuda, Device, Fit, Options, Program, frozen, rank, run_pairs};

use super::report::Report;
use super::{SettingsOf, ShowArgs};
use crate::exit::{self, Failed, Outcome};
use crate::{interrupt, spec_file};

/// The program of a problem. The error says what the GPU does not support.
pub(super) fn program(problem: &Problem, mut options: Options) -> Result<Program, Failed> {
    options.most_shared = Cuda::most_shared().unwrap_or(options.most_shared);
    Program::new(problem, options).map_err(|invalid| {
        Failed::Input(format!("--device gpu: {invalid} To run without a GPU: --device cpu."))
    })
}

/// Fits a problem and prints the table.
pub fn fit(problem: &Problem, settings: &Settings, json: bool, quiet: bool) -> Outcome {
    let program = program(problem, Options::new(settings.kernel, settings.moves))?;
    let begun = std::time::Instant::now();
    let mut device = Cuda::new(&program)?;
    if !quiet {
        eprintln!("note: {} chains on {}", settings.chains, device.name());
    }
    let fit = Fit { problem, program: &program, settings };
    let fitted = fit.run(&mut device, &interrupt::seen)?;
    let report = Report::new(fitted, &program, settings, device.name(), begun.elapsed());
    exit::print(&if json { report.json() } else { report.text() })
}

/// The ranks of a calibration.
pub fn calibrate(
    problem: &Problem,
    plan: &Plan,
    threads: NonZeroUsize,
    quiet: bool,
) -> Result<Calibration, Failed> {
    let program = program(problem, Options::new(plan.kernel, plan.moves))?;
    let begun = std::time::Instant::now();
    let mut device = Cuda::new(&program)?;
    let started = begun.elapsed().as_secs_f64();
    let ranked = rank(&mut device, &program, problem, plan, threads)?;
    if !quiet {
        eprintln!(
            "note: {} on {}: {started:.2} s to compile, {:.2} s to simulate releases, {:.2} s for the \
             chains, {:.2} s in all",
            program.kernel,
            device.name(),
            ranked.seconds_simulating,
            ranked.seconds_chains,
            begun.elapsed().as_secs_f64()
        );
    }
    Ok(ranked.calibration(plan))
}

/// Makes a plan with its fits on the GPU.
pub fn plan(
    plan: &soma::plan::Plan,
    threads: NonZeroUsize,
    observer: &dyn soma::plan::Observer,
) -> Result<soma::plan::Made, Failed> {
    let most_shared = Cuda::most_shared().unwrap_or(99 << 10);
    let programs = soma_gpu::plan_programs(plan, most_shared).map_err(|invalid| {
        Failed::Input(format!("--device gpu: {invalid} To run without a GPU: --device cpu."))
    })?;
    let open = |program: &Program| Ok(Box::new(Cuda::new(program)?) as Box<dyn Device>);
    Ok(soma_gpu::run_plan(plan, &programs, threads, observer, &open)?)
}

/// The number of the first pilot pair, behind all that are asked for.
const FIRST_PILOT: u64 = 1 << 32;

/// Runs `count` pairs. Without a lag, one is chosen by as many pilot pairs as on the CPU.
pub fn couple(
    problem: &Problem,
    wanted: &PairSettings,
    count: u64,
    pilot: Option<&SettingsOf<'_>>,
    functions: &dyn Fn(&[f64]) -> Vec<f64>,
    quiet: bool,
) -> Result<(PairSettings, Vec<PairRun>), Failed> {
    let run = |settings: &PairSettings, range: (u64, u64)| {
        let mut options = Options::new(settings.kernel, MovesChoice::Centred);
        (options.is_paired, options.keeps) = (true, settings.window.is_some());
        let program = program(problem, options)?;
        let outputs = problem.plain_outputs();
        if options.keeps && program.outputs != outputs {
            return Err(Failed::Input(format!(
                "--device gpu: --estimate of these outputs is not supported on the GPU (given: {}). Allowed: a \
                 model whose draws are parameters alone, with what is derived from them; or --device cpu.",
                outputs[program.outputs.len()..].join(", ")
            )));
        }
        let functions = |draw: &[f64]| functions(&problem.with_derived(draw.to_vec()));
        let mut device = Cuda::new(&program)?;
        let stop = &interrupt::seen;
        let found = run_pairs(&mut device, &program, problem, settings, range, &functions, stop)?;
        match interrupt::seen() {
            true => Err(Failed::Run("stopped before all pairs had ended".into())),
            false => Ok((found, program.kernel, device.name())),
        }
    };
    let settings = match pilot {
        Some(settings_of) => {
            let plain = PairSettings { window: None, ..wanted.clone() };
            settings_of(&run(&plain, (FIRST_PILOT, PILOT))?.0.0)?
        }
        None => wanted.clone(),
    };
    let ((runs, seconds), kernel, device) = run(&settings, (0, count))?;
    if !quiet {
        eprintln!("note: {kernel} on {device}: {seconds:.2} s for {count} pairs");
    }
    Ok((settings, runs))
}

fn spec_of(args: &ShowArgs) -> Result<(Spec, Settings), Failed> {
    let text = spec_file::text(&args.spec)?;
    let spec = spec_file::parse(&args.spec, &text)?;
    let sampler = spec.sampler.overridden_by(args.kernel.sampler());
    let settings = sampler.settings(spec.problem.release().n());
    let mut settings = settings.map_err(|invalid| Failed::Input(invalid.to_string()))?;
    if let Some(moves) = args.moves.as_deref().and_then(MovesChoice::named) {
        settings.moves = moves;
    }
    Ok((spec, settings))
}

/// `soma gpu show`.
pub fn show(args: &ShowArgs) -> Outcome {
    let (spec, settings) = spec_of(args)?;
    let program = program(&spec.problem, Options::new(settings.kernel, settings.moves))?;
    exit::print(program.text.trim_end())
}

/// Moves of `soma gpu check`.
const MOVES: usize = 100_000;

/// Largest deviation, in standard deviations, that passes.
const LEVEL: f64 = 4.5;

/// `soma gpu check`: exits with 1 if the moves deviate from their probabilities.
pub fn check(args: &ShowArgs) -> Outcome {
    let (spec, settings) = spec_of(args)?;
    let problem = &spec.problem;
    let mut options = Options::new(settings.kernel, settings.moves);
    options.is_frozen = true;
    let program = program(problem, options)?;
    let mut device = Cuda::new(&program)?;
    let n = problem.release().n();
    let among = match settings.kernel {
        KernelChoice::Soma => Among::First(n),
        KernelChoice::SomaBlocks { size } => Among::First(size.unwrap_or(10).min(n)),
        KernelChoice::SomaSubset { size, subset: Subset::Random } => Among::Random(size.min(n)),
        KernelChoice::SomaSubset { size, subset: Subset::Cyclic } => Among::First(size.min(n)),
        KernelChoice::RanImwg => Among::Random(1),
        _ => Among::First(1),
    };
    if !among.is_enumerable(n) {
        return Err(Failed::Input(format!(
            "soma gpu check: there are too many subsets of {n} records to be enumerated; take a smaller subset, or \
             order = cyclic"
        )));
    }
    let model = problem.model();
    let mut rng = stream(settings.seed, 0);
    let mut theta = vec![0.0; program.parameters];
    match problem.fixed() {
        Some(fixed) => theta[..fixed.len()].copy_from_slice(fixed),
        None => model.start(problem.release(), &mut theta, &mut rng)?,
    }
    let mut records = vec![0.0; n * model.record_dim()];
    let own = model.parameters().len();
    model.propose(&theta[..own], &mut records, &mut rng)?;
    let seed = settings.seed;
    let found =
        frozen::frozen(&mut device, &program, problem, &theta, &records, among, MOVES, seed)?;
    let worst = found.worst();
    let taken: u64 = found.taken.iter().sum();
    exit::print(&format!(
        "{} on {}: {taken} of {MOVES} moves accepted, {:.1} expected; the largest deviation of a place is \
         {worst:.2} standard deviations.",
        program.kernel,
        device.name(),
        found.expected.iter().sum::<f64>()
    ))?;
    match worst < LEVEL {
        true => Ok(()),
        false => Err(Failed::Run(format!("more than {LEVEL} standard deviations"))),
    }
}
