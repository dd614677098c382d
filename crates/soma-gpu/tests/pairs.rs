//! Pairs of coupled chains: each chain of a pair is a plain chain, equal chains stay equal, and pairs meet. The
//! generated text runs on the CPU.

mod common;

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use common::{emulated, exponential, normal, program, regression};
use soma::chain::{MovesChoice, Problem, Settings};
use soma::coupling::{Meetings, PairSettings, Window, run_pairs as on_cpu};
use soma::kernel::KernelChoice;
use soma::rng::stream;
use soma_gpu::{Chains, Cuda, Options, Pairs, Program, run_pairs};

fn paired(problem: &Problem, kernel: KernelChoice) -> Program {
    let mut options = Options::new(kernel, MovesChoice::Centred);
    options.is_paired = true;
    Program::new(problem, options).unwrap()
}

/// A theta from the prior and its records.
fn state(problem: &Problem, number: u64) -> (Vec<f64>, Vec<f64>) {
    let model = problem.model();
    let mut rng = stream(21, number);
    let mut theta = vec![0.0; model.parameters().len()];
    model.start(problem.release(), &mut theta, &mut rng).unwrap();
    let mut records = vec![0.0; problem.release().n() * model.record_dim()];
    model.propose(&theta, &mut records, &mut rng).unwrap();
    (theta, records)
}

/// What one iteration from a state leaves: theta, how many records were replaced, the first and the last of them or
/// not, and the sum of each coordinate.
fn functions(before: &[f64], n: usize, (theta, after): &(Vec<f64>, Vec<f64>)) -> Vec<f64> {
    let dim = before.len() / n;
    let row = |all: &[f64], i: usize| all[i * dim..(i + 1) * dim].to_vec();
    // A pair may put a record at another place: records are compared as sets.
    let stays =
        |i: usize| (0..n).any(|j| row(after, j)[dim - 1] as f32 == row(before, i)[dim - 1] as f32);
    let replaced = (0..n).filter(|&i| !stays(i)).count() as f64;
    let mut all = theta.clone();
    all.extend([replaced, f64::from(u8::from(stays(0))), f64::from(u8::from(stays(n - 1)))]);
    for d in 0..dim {
        all.push((0..n).map(|i| row(after, i)[d]).sum());
        all.push((0..n).map(|i| row(after, i)[d].powi(2)).sum());
    }
    all
}

/// Fails unless the two samples of each function have the same law: shares below quantiles.
fn assert_same_law(name: &str, ours: &[Vec<f64>], theirs: &[Vec<f64>]) {
    for k in 0..theirs[0].len() {
        let mut sorted: Vec<f64> = theirs.iter().map(|row| row[k]).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        for share in [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98] {
            let at = sorted[(share * sorted.len() as f64) as usize];
            let below = |all: &[Vec<f64>]| {
                let count = all.iter().filter(|row| row[k] <= at).count() as f64;
                (count / all.len() as f64, all.len() as f64)
            };
            let ((a, n), (b, m)) = (below(ours), below(theirs));
            let middle = (a * n + b * m) / (n + m);
            let error = (middle * (1.0 - middle) * (1.0 / n + 1.0 / m)).sqrt();
            assert!((a - b).abs() <= 4.5 * error + 1e-9, "{name}: {k} below {at}: {a} and {b}");
        }
    }
}

/// One coupled iteration from two states, against plain iterations from each of them.
fn check_marginals(name: &str, problem: &Problem, kernel: KernelChoice) {
    const PAIRS: usize = 12_000;
    let n = problem.release().n();
    let pair = paired(problem, kernel);
    let plain = program(problem, kernel, MovesChoice::Centred);
    let states = [state(problem, 0), state(problem, 1)];
    let Some(mut device) = emulated(&pair) else { return };
    let theta: Vec<f64> =
        (0..PAIRS).flat_map(|_| [&states[0].0, &states[1].0]).flatten().copied().collect();
    let mut pairs = Pairs::start(&mut device, &pair, problem, (5, 0), 0, &theta).unwrap();
    pairs.set_records(&mut device, &pair, [&states[0].1, &states[1].1]).unwrap();
    pairs.run(&mut device, 1, &|| false).unwrap();
    let found = pairs.states(&mut device, &pair).unwrap();
    for (side, (theta, records)) in states.iter().enumerate() {
        let mut device = emulated(&plain).unwrap();
        let all: Vec<f64> = (0..PAIRS).flat_map(|_| theta.clone()).collect();
        let published = plain.published(problem);
        let mut chains = Chains::start(&mut device, &plain, 77, 0, 0, 1, &published, &all).unwrap();
        chains.set_records(&mut device, &plain, records).unwrap();
        chains.advance(&mut device, 1, false).unwrap();
        let theirs: Vec<Vec<f64>> = chains
            .states(&mut device, &plain)
            .unwrap()
            .iter()
            .map(|s| functions(records, n, s))
            .collect();
        let ours: Vec<Vec<f64>> =
            found.iter().skip(side).step_by(2).map(|s| functions(records, n, s)).collect();
        assert_same_law(&format!("{name}, side {side}"), &ours, &theirs);
    }
}

#[test]
fn each_chain_of_a_pair_is_a_plain_chain() {
    let laplace = regression(5, "{ kind = \"laplace\", epsilon = 10.0 }");
    for kernel in [KernelChoice::Soma, KernelChoice::SysImwg] {
        check_marginals("regression", &laplace, kernel);
        check_marginals("normal", &normal(4), kernel);
        check_marginals("exponential", &exponential(5), kernel);
    }
}

#[test]
fn equal_chains_stay_equal() {
    for kernel in [KernelChoice::Soma, KernelChoice::SysImwg] {
        let problem = regression(6, "{ kind = \"laplace\", epsilon = 10.0 }");
        let program = paired(&problem, kernel);
        let Some(mut device) = emulated(&program) else { return };
        let (theta, records) = state(&problem, 3);
        let all: Vec<f64> = (0..200).flat_map(|_| theta.clone()).collect();
        let mut pairs = Pairs::start(&mut device, &program, &problem, (5, 0), 0, &all).unwrap();
        pairs.set_records(&mut device, &program, [&records, &records]).unwrap();
        assert_eq!(pairs.run(&mut device, 1, &|| false).unwrap(), vec![Some(1); 100]);
    }
}

/// Pairs meet about as soon as those of the CPU, whose coupling is another one of the same chains.
#[test]
fn pairs_meet_as_soon_as_on_the_cpu() {
    for (problem, kernel) in [
        (regression(6, "{ kind = \"laplace\", epsilon = 5.0 }"), KernelChoice::SysImwg),
        (regression(6, "{ kind = \"laplace\", epsilon = 5.0 }"), KernelChoice::Soma),
        (exponential(6), KernelChoice::Soma),
        (normal(5), KernelChoice::SysImwg),
    ] {
        let settings =
            PairSettings { kernel, lag: 3, max_iterations: 4_000, seed: 4, window: None };
        let program = paired(&problem, kernel);
        let Some(mut device) = emulated(&program) else { return };
        let none = |_: &[f64]| Vec::new();
        let (runs, _) =
            run_pairs(&mut device, &program, &problem, &settings, (0, 400), &none, &|| false)
                .unwrap();
        let ours = settings.meetings(&runs);
        let indices: Vec<u64> = (0..400).collect();
        let cpu = std::sync::Mutex::new(Vec::new());
        let keep = |run| cpu.lock().unwrap().push(run);
        on_cpu(&problem, &settings, &indices, 1, &none, &keep, &AtomicBool::new(false)).unwrap();
        let theirs: Meetings = settings.meetings(&cpu.into_inner().unwrap());
        let ((a, error_a), (b, error_b)) = (ours.mean_delay(), theirs.mean_delay());
        eprintln!(
            "{} {kernel:?}: {a:.2} +- {error_a:.2}, {b:.2} +- {error_b:.2} on the CPU",
            problem.model().kind()
        );
        assert!(ours.all_met() && theirs.all_met());
        assert!(runs.iter().all(|run| run.met > Some(settings.lag) && run.counts.accepted > 0));
        assert!(a < 1.5 * b + 4.5 * error_a.hypot(error_b), "{a} +- {error_a}, {b} +- {error_b}");
    }
}

#[test]
fn a_pair_depends_on_its_number_and_nothing_else() {
    let problem = normal(5);
    let program = paired(&problem, KernelChoice::Soma);
    let settings = PairSettings {
        kernel: KernelChoice::Soma,
        lag: 2,
        max_iterations: 1_000,
        seed: 4,
        window: None,
    };
    let run = |first: u64, count: u64| {
        let mut device = emulated(&program)?;
        Some(
            run_pairs(
                &mut device,
                &program,
                &problem,
                &settings,
                (first, count),
                &|_| Vec::new(),
                &|| false,
            )
            .unwrap()
            .0,
        )
    };
    let Some(all) = run(0, 40) else { return };
    assert_eq!(Some(&all[17..20]), run(17, 3).as_deref());
}

/// Unbiased estimates over few iterations: their mean over pairs is the posterior mean, which long chains of the CPU
/// give. The pairs are those of a program that keeps nothing.
#[test]
fn estimates_have_no_bias() {
    for (problem, kernel, lag, window) in [
        (exponential(6), KernelChoice::Soma, 2, (0, 5)),
        (normal(5), KernelChoice::SysImwg, 3, (2, 40)),
        (regression(6, "{ kind = \"laplace\", epsilon = 5.0 }"), KernelChoice::SysImwg, 1, (1, 8)),
    ] {
        let window = Some(Window::new(window.0, window.1).unwrap());
        let settings = PairSettings { kernel, lag, max_iterations: 4_000, seed: 4, window };
        let mut options = Options::new(kernel, MovesChoice::Centred);
        (options.is_paired, options.keeps) = (true, true);
        let program = Program::new(&problem, options).unwrap();
        let Some(mut device) = emulated(&program) else { return };
        const PAIRS: u64 = 3_000;
        let log = |theta: &[f64]| vec![theta[0], theta[theta.len() - 1].ln()];
        let (runs, _) =
            run_pairs(&mut device, &program, &problem, &settings, (0, PAIRS), &log, &|| false)
                .unwrap();
        let plain = paired(&problem, kernel);
        let mut device = emulated(&plain).unwrap();
        let (others, _) =
            run_pairs(&mut device, &plain, &problem, &settings, (0, 50), &log, &|| false).unwrap();
        assert!(others.iter().zip(&runs).all(|(a, b)| a.met == b.met && a.estimate.is_none()));
        let collected = soma::chain::Collected::new(8);
        let (moves, thin) = (MovesChoice::Auto, 1);
        let long = Settings { kernel, moves, chains: 8, warmup: 200, draws: 8_000, thin, seed: 2 };
        soma::chain::run(&problem, &long, NonZeroUsize::MIN, &collected).unwrap();
        let draws = collected.into_draws();
        for f in 0..2 {
            let mean_of = |chain: &Vec<soma::chain::Draw>| {
                chain.iter().map(|draw| log(&draw.values)[f]).sum::<f64>() / chain.len() as f64
            };
            let of = |all: Vec<f64>| {
                let (count, sum) = (all.len() as f64, all.iter().sum::<f64>());
                let squares: f64 = all.iter().map(|x| (x - sum / count).powi(2)).sum();
                (sum / count, squares / (count * (count - 1.0)))
            };
            let (truth, truth_error2) = of(draws.iter().map(mean_of).collect());
            let each = runs.iter().map(|run| run.estimate.as_ref().unwrap().unbiased[f]);
            let (mean, error2) = of(each.collect());
            let z = (mean - truth) / (error2 + truth_error2).sqrt();
            assert!(z.abs() < 5.0, "{}, {f}: {mean}, not {truth}: {z}", problem.model().kind());
        }
    }
}

#[test]
fn what_pairs_cannot_do_is_said() {
    let told = |problem: &Problem, kernel| {
        let mut options = Options::new(kernel, MovesChoice::Centred);
        options.is_paired = true;
        Program::new(problem, options).unwrap_err().to_string()
    };
    assert!(told(&common::poisson_text(5), KernelChoice::Soma).contains("model.kind"));
    assert!(told(&normal(5), KernelChoice::RanImwg).contains("sys-imwg"));
}

/// What the compiler of CUDA says of the text.
#[test]
fn pairs_are_cuda() {
    for kernel in [KernelChoice::Soma, KernelChoice::SysImwg] {
        for problem in [normal(5), exponential(7)] {
            match Cuda::try_compile(&paired(&problem, kernel)) {
                None => return eprintln!("skipped: there is no NVRTC (libnvrtc.so)"),
                Some(compiled) => compiled.unwrap_or_else(|error| panic!("{kernel:?}: {error}")),
            }
        }
    }
}
