//! Counts without records, against enumeration. The generated text runs on the CPU.

mod common;

use std::num::NonZeroUsize;

use common::{categorical, emulated, problem, program};
use soma::calibration::Plan;
use soma::chain::{MovesChoice, Problem};
use soma::kernel::KernelChoice;
use soma_gpu::{Chains, Cuda, Options, Program, rank, starts};
use soma_language::special::log_gamma;

/// Three categories with other priors, and Gaussian noise on counts with scale `scale`.
fn gaussian(n: usize, scale: f64) -> Problem {
    problem(
        &format!(
            "n = {n}\nstatistic = \"sum\"\nvalues = [4.2, 0.3, 2.0]\n\
             query = {{ kind = \"categories\", labels = [\"a\", \"b\", \"c\"] }}\n\
             mechanism = {{ kind = \"gaussian\", scale = {scale:?} }}"
        ),
        "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = [0.4, 1.0, 3.0] }",
    )
}

/// The posterior probability of each table of three counts.
fn enumerated(problem: &Problem, alpha: [f64; 3]) -> Vec<([f64; 3], f64)> {
    let release = problem.release();
    let n = release.n();
    let mut all = Vec::new();
    for a in 0..=n {
        for b in 0..=n - a {
            let counts = [a, b, n - a - b].map(|count| count as f64);
            let one = |(c, alpha): (f64, f64)| log_gamma(c + alpha) - log_gamma(c + 1.0);
            let prior: f64 = counts.into_iter().zip(alpha).map(one).sum();
            let (sums, scales) = (release.sums(), release.sum_scales());
            let residual: Vec<f64> = (0..3).map(|k| (sums[k] - counts[k]) / scales[k]).collect();
            all.push((counts, prior - release.potential().cost(&residual)));
        }
    }
    let top = all.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = all.iter().map(|(_, log)| (log - top).exp()).sum();
    all.into_iter().map(|(counts, log)| (counts, (log - top).exp() / total)).collect()
}

/// Counts of many chains after some iterations, against their probabilities.
fn check(problem: &Problem, alpha: [f64; 3]) {
    const CHAINS: usize = 20_000;
    let program = program(problem, KernelChoice::Counts, MovesChoice::Auto);
    let Some(mut device) = emulated(&program) else { return };
    let published = program.published(problem);
    let theta = starts(problem, 5, 0, CHAINS).unwrap();
    let mut chains = Chains::start(&mut device, &program, 5, 0, 40, 1, &published, &theta).unwrap();
    let drawn = chains.advance(&mut device, 41, true).unwrap();
    let states = chains.states(&mut device, &program).unwrap();
    let tables = enumerated(problem, alpha);
    let (mut rest, mut worst) = ((0.0, 0.0), 0.0_f64);
    let chains = CHAINS as f64;
    for (counts, p) in &tables {
        let found = states.iter().filter(|(_, state)| state[..] == counts[..]).count() as f64;
        match p * chains < 20.0 {
            true => rest = (rest.0 + found, rest.1 + p),
            false => {
                worst = worst.max((found - p * chains).abs() / (chains * p * (1.0 - p)).sqrt())
            }
        }
    }
    let (found, p) = rest;
    worst = worst.max((found - p * chains).abs() / (chains * p * (1.0 - p) + 1.0).sqrt());
    assert!(worst < 4.5, "a table: {worst} standard deviations");
    // Probabilities given the counts are Dirichlet.
    let n: f64 = problem.release().n() as f64;
    let all: f64 = alpha.iter().sum();
    for k in 0..3 {
        let mean: f64 = tables.iter().map(|(c, p)| p * (c[k] + alpha[k]) / (n + all)).sum();
        let ours: Vec<f64> = (0..CHAINS).map(|chain| drawn.get(0, k, chain)).collect();
        let found = ours.iter().sum::<f64>() / chains;
        let variance = ours.iter().map(|x| (x - found).powi(2)).sum::<f64>() / chains;
        assert!((found - mean).abs() < 4.5 * (variance / chains).sqrt(), "p{k}: {found}, {mean}");
    }
}

#[test]
fn counts_have_their_enumerated_probabilities() {
    check(&categorical(9), [0.8; 3]);
    check(&gaussian(7, 1.2), [0.4, 1.0, 3.0]);
    // Noise that says nothing, and noise that leaves hardly a doubt.
    check(&gaussian(5, 1e4), [0.4, 1.0, 3.0]);
    check(&gaussian(12, 0.6), [0.4, 1.0, 3.0]);
}

#[test]
fn ranks_are_uniform() {
    let problem = categorical(200);
    let (kernel, moves) = (KernelChoice::Auto, MovesChoice::Auto);
    let program = program(&problem, kernel, moves);
    assert_eq!(program.kernel, "counts");
    let Some(mut device) = emulated(&program) else { return };
    let plan = Plan { kernel, moves, replications: 2_000, warmup: 40, draws: 7, thin: 6, seed: 3 };
    let ranked = rank(&mut device, &program, &problem, &plan, NonZeroUsize::MIN).unwrap();
    let found = ranked.calibration(&plan);
    let all: Vec<_> = found.quantities.iter().map(|q| (&q.name, q.uniformity)).collect();
    assert!(found.p_value() > 1e-3, "{all:?}");
}

#[test]
fn what_counts_cannot_do_is_said() {
    let options = Options::new(KernelChoice::Counts, MovesChoice::Auto);
    let told = Program::new(&common::normal(5), options).unwrap_err().to_string();
    assert!(told.contains("sampler.kernel") && told.contains("categorical"), "{told}");
    let mut frozen = options;
    frozen.is_frozen = true;
    let told = Program::new(&categorical(5), frozen).unwrap_err().to_string();
    assert!(told.contains("single moves"), "{told}");
}

/// What the compiler of CUDA says of the text.
#[test]
fn counts_are_cuda() {
    match Cuda::try_compile(&program(&categorical(30), KernelChoice::Counts, MovesChoice::Auto)) {
        None => eprintln!("skipped: there is no NVRTC (libnvrtc.so)"),
        Some(compiled) => compiled.unwrap_or_else(|error| panic!("{error}")),
    }
}
