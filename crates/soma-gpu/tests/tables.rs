//! Counts of tables without records: margins, several parts, weighted sums, unknown n and log-linear models,
//! against enumeration and quadrature. The generated text runs on the CPU.

mod common;

use std::num::NonZeroUsize;

use common::{emulated, problem, program};
use soma::calibration::Plan;
use soma::chain::{MovesChoice, Problem};
use soma::counts::Shares;
use soma::kernel::KernelChoice;
use soma_gpu::{Chains, Cuda, Drawn, rank, starts};
use soma_language::special::log_gamma;

const DIRICHLET: &str = "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = 1.0 }";

/// Two rows and two columns: noisy margins, and one noisy total.
fn margins(n: &str) -> Problem {
    let axes = "axes = [[\"a\", \"b\"], [\"x\", \"y\"]]";
    let part = |name: &str, margin: &str, values: &str, noise: &str| {
        format!(
            "[[release.parts]]\nname = \"{name}\"\nquery = {{ kind = \"table\", {axes}, margin = {margin} }}\n\
             statistic = \"sum\"\nvalues = {values}\nmechanism = {noise}\n"
        )
    };
    let laplace = "{ kind = \"discrete-laplace\", scale = 1.5 }";
    let gaussian = "{ kind = \"gaussian\", scale = 0.8 }";
    let rows = part("rows", "[0]", "[6, 2]", laplace);
    let columns = part("columns", "[1]", "[3.4, 4.1]", gaussian);
    problem(&format!("n = {n}\n{rows}{columns}"), DIRICHLET)
}

/// Draws of many chains after `iterations`.
fn drawn(problem: &Problem, chains: usize, iterations: u64) -> Option<Drawn> {
    let program = program(problem, KernelChoice::Counts, MovesChoice::Auto);
    // Counts of categories alone have the probabilities only.
    assert_eq!(program.outputs, problem.outputs()[..program.outputs.len()]);
    let mut device = emulated(&program)?;
    let published = program.published(problem);
    let theta = starts(problem, 5, 0, chains).unwrap();
    let last = iterations - 1;
    let mut run = Chains::start(&mut device, &program, 5, 0, last, 1, &published, &theta).unwrap();
    Some(run.advance(&mut device, iterations, true).unwrap())
}

/// The posterior probability of each table of four counts, with n at most `most`.
fn enumerated(problem: &Problem, sizes: std::ops::RangeInclusive<i64>) -> Vec<([f64; 4], f64)> {
    let counts = problem.counts().unwrap();
    let Shares::Dirichlet(alpha) = counts.shares() else { panic!("a Dirichlet prior") };
    let sum: f64 = alpha.iter().sum();
    let mut all = Vec::new();
    for n in sizes {
        for a in 0..=n {
            for b in 0..=n - a {
                for c in 0..=n - a - b {
                    let cells = [a, b, c, n - a - b - c].map(|count| count as f64);
                    let one = |(c, alpha): (&f64, &f64)| log_gamma(c + alpha) - log_gamma(c + 1.0);
                    let mut log: f64 = cells.iter().zip(alpha).map(one).sum();
                    log += log_gamma(n as f64 + 1.0) - log_gamma(n as f64 + sum);
                    for row in counts.published() {
                        let truth = row.cells.iter().map(|&(k, w)| w as f64 * cells[k]).sum();
                        log += row.law.log_density(truth);
                    }
                    all.push((cells, log));
                }
            }
        }
    }
    let top = all.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = all.iter().map(|(_, log)| (log - top).exp()).sum();
    all.into_iter().map(|(cells, log)| (cells, (log - top).exp() / total)).collect()
}

/// Tables of many chains against their probabilities.
fn check(problem: &Problem, sizes: std::ops::RangeInclusive<i64>) {
    const CHAINS: usize = 10_000;
    let Some(drawn) = drawn(problem, CHAINS, 60) else { return };
    let at = problem.outputs().iter().position(|name| name.starts_with("count[")).unwrap();
    let chains = CHAINS as f64;
    let mut found = std::collections::HashMap::new();
    for chain in 0..CHAINS {
        let cells: Vec<u64> = (0..4).map(|k| drawn.get(0, at + k, chain) as u64).collect();
        *found.entry(cells).or_insert(0.0) += 1.0;
    }
    let (mut rest, mut worst) = ((0.0, 0.0), 0.0_f64);
    for (cells, p) in enumerated(problem, sizes) {
        let count = found.remove(cells.map(|c| c as u64).as_slice()).unwrap_or(0.0);
        match p * chains < 20.0 {
            true => rest = (rest.0 + count, rest.1 + p),
            false => {
                worst = worst.max((count - p * chains).abs() / (chains * p * (1.0 - p)).sqrt());
            }
        }
    }
    assert!(found.values().sum::<f64>() < 5.0, "tables that cannot be: {found:?}");
    let (count, p) = rest;
    worst = worst.max((count - p * chains).abs() / (chains * p * (1.0 - p) + 1.0).sqrt());
    assert!(worst < 4.5, "a table: {worst} standard deviations");
}

#[test]
fn tables_have_their_enumerated_probabilities() {
    check(&margins("8"), 8..=8);
    check(&margins("{ prior = \"uniform\", low = 3, high = 11 }"), 3..=11);
    // Cells beyond these have a probability below 1e-6.
    check(&margins("\"unknown\""), 0..=26);
}

/// Sums of the categories with weights.
#[test]
fn weighted_sums_have_their_enumerated_probabilities() {
    let weighted = problem(
        "n = 7\nstatistic = \"sum\"\nvalues = [9.3]\n\
         query = { kind = \"mean\", clamp = [0.0, 3.0] }\n\
         mechanism = { kind = \"laplace\", scale = 1.0 }",
        "kind = \"categorical\"\nprior = { kind = \"dirichlet\", alpha = [0.5, 1.0, 2.0, 1.5] }",
    );
    check(&weighted, 7..=7);
}

/// The mean and the standard deviation of a value over chains against the truth, within 4.5 standard errors.
fn assert_moments(drawn: &Drawn, k: usize, mean: f64, sd: f64) {
    let count = drawn.chains as f64;
    let all: Vec<f64> = (0..drawn.chains).map(|chain| drawn.get(0, k, chain)).collect();
    let found = all.iter().sum::<f64>() / count;
    let squares: Vec<f64> = all.iter().map(|x| (x - mean) * (x - mean)).collect();
    let variance = squares.iter().sum::<f64>() / count;
    let error = 4.5 * (variance / count).sqrt();
    assert!((found - mean).abs() < error, "mean of value {k}: {found} and not {mean} +- {error}");
    if sd.is_nan() {
        return;
    }
    let spread = squares.iter().map(|s| (s - variance) * (s - variance)).sum::<f64>() / count;
    let error = 4.5 * (spread / count).sqrt();
    assert!(
        (variance - sd * sd).abs() < error,
        "sd of value {k}: {} and not {sd}",
        variance.sqrt()
    );
}

/// Two categories with a flat prior of n: answers by enumeration, all digits good. Counts that are clamped at 0, rounded or
/// suppressed have laws that are neither L1 nor L2. A standard deviation that is not a number is not known.
#[test]
fn unknown_sizes_have_their_exact_posterior() {
    let categories = "query = { kind = \"categories\", labels = [\"a\", \"b\"] }\nstatistic = \"sum\"\nvalues = [12, 3]\n\
                      mechanism = { kind = \"discrete-laplace\", scale = 2.0 }";
    let alone = problem(&format!("n = \"unknown\"\n{categories}"), DIRICHLET);
    let known = problem(&format!("n = 15\n{categories}"), DIRICHLET);
    let noisy = problem(
        &format!(
            "n = \"unknown\"\n[[release.parts]]\nname = \"cells\"\n{categories}\n\
             [[release.parts]]\nname = \"all\"\nquery = {{ kind = \"count\" }}\nstatistic = \"sum\"\nvalues = [18]\n\
             mechanism = {{ kind = \"discrete-laplace\", scale = 1.0 }}"
        ),
        DIRICHLET,
    );
    let law = |values: &str, noise: &str| {
        problem(
            &format!(
                "n = \"unknown\"\nstatistic = \"sum\"\nvalues = {values}\n\
                 query = {{ kind = \"categories\", labels = [\"a\", \"b\"] }}\nmechanism = {noise}"
            ),
            DIRICHLET,
        )
    };
    let clamped = law("[12, 0]", "{ kind = \"discrete-gaussian\", scale = 3.0, clamp = [0, inf] }");
    let rounded = law("[12, 3]", "{ kind = \"rounded-laplace\", scale = 1.0 }");
    let suppressed = law(
        "[95, \"suppressed\"]",
        "{ kind = \"discrete-gaussian\", scale = 10.0, threshold = 90 }",
    );
    for (problem, share, size) in [
        (&clamped, (0.83629, 0.13088), Some((12.72071, f64::NAN))),
        (&rounded, (0.76733, 0.11781), Some((14.82375, 1.97504))),
        (&suppressed, (0.72406, 0.14689), Some((134.42127, 28.80773))),
        (&alone, (0.74876, 0.14821), Some((14.65882, 3.67940))),
        (&known, (0.76105, 0.12336), None),
        (&noisy, (0.72971, 0.13017), Some((17.49698, 1.28412))),
    ] {
        let Some(drawn) = drawn(problem, 20_000, 60) else { return };
        assert_moments(&drawn, 0, share.0, share.1);
        if let Some((mean, sd)) = size {
            assert_moments(&drawn, drawn.width - 2, mean, sd);
        }
    }
}

/// One factor of two levels: only the difference of the two effects matters, which is N(0, 2 sd^2).
#[test]
fn effects_have_their_posterior_by_quadrature() {
    let (n, sd, scale) = (9, 0.8, 1.5);
    let problem = problem(
        &format!(
            "n = {n}\nstatistic = \"sum\"\nvalues = [7, 1]\n\
             query = {{ kind = \"table\", axes = [[\"a\", \"b\"]] }}\n\
             mechanism = {{ kind = \"discrete-laplace\", scale = {scale:?} }}"
        ),
        &format!("kind = \"log-linear\"\nprior = {{ kind = \"normal\", sd = [{sd:?}] }}"),
    );
    let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
    for step in -4000..=4000 {
        let gap = 8.0 * sd * f64::from(step) / 4000.0;
        let p = 1.0 / (1.0 + (-gap).exp());
        let prior = (-gap * gap / (4.0 * sd * sd)).exp();
        for a in 0..=n {
            let (a, b) = (f64::from(a), f64::from(n - a));
            let log = a * p.ln() + b * (1.0 - p).ln() - log_gamma(a + 1.0) - log_gamma(b + 1.0);
            let cost = ((7.0 - a).abs() + (1.0 - b).abs()) / scale;
            let weight = prior * (log - cost).exp();
            total += weight;
            first += weight * p;
            second += weight * p * p;
        }
    }
    let (mean, square) = (first / total, second / total);
    let Some(drawn) = drawn(&problem, 10_000, 60) else { return };
    let at = problem.outputs().iter().position(|name| name.starts_with("p[")).unwrap();
    assert_moments(&drawn, at, mean, (square - mean * mean).sqrt());
}

#[test]
fn ranks_are_uniform() {
    let axes = "query = { kind = \"table\", axes = [[\"a\", \"b\"], [\"x\", \"y\", \"z\"]] }";
    let effects = problem(
        &format!(
            "n = {{ prior = \"poisson\", mean = 30 }}\nstatistic = \"sum\"\nvalues = [5, 4, 6, 5, 4, 6]\n{axes}\n\
             mechanism = {{ kind = \"discrete-laplace\", scale = 2.0 }}"
        ),
        "kind = \"log-linear\"\ninteractions = [[0, 1]]\nprior = { kind = \"normal\", sd = [0.5, 0.5, 0.3] }",
    );
    let shares = margins("{ prior = \"poisson-gamma\", shape = 4.0, rate = 0.3 }");
    for problem in [&effects, &shares] {
        let (kernel, moves) = (KernelChoice::Auto, MovesChoice::Auto);
        let program = program(problem, kernel, moves);
        assert_eq!(program.kernel, "counts");
        let Some(mut device) = emulated(&program) else { return };
        let plan =
            Plan { kernel, moves, replications: 400, warmup: 60, draws: 7, thin: 12, seed: 3 };
        let ranked = rank(&mut device, &program, problem, &plan, NonZeroUsize::MIN).unwrap();
        let found = ranked.calibration(&plan);
        let all: Vec<_> = found.quantities.iter().map(|q| (&q.name, q.uniformity)).collect();
        assert!(found.p_value() > 1e-3, "{all:?}");
    }
}

/// What the compiler of CUDA says of the texts.
#[test]
fn tables_are_cuda() {
    let effects = problem(
        "n = \"unknown\"\nstatistic = \"sum\"\nvalues = [5, 4, 6, 5]\n\
         query = { kind = \"table\", axes = [[\"a\", \"b\"], [\"x\", \"y\"]] }\n\
         mechanism = { kind = \"discrete-gaussian\", scale = 2.0 }",
        "kind = \"log-linear\"\nprior = { kind = \"normal\", sd = [0.5, 0.5] }",
    );
    for problem in [effects, margins("\"unknown\"")] {
        match Cuda::try_compile(&program(&problem, KernelChoice::Auto, MovesChoice::Auto)) {
            None => return eprintln!("skipped: there is no NVRTC (libnvrtc.so)"),
            Some(compiled) => compiled.unwrap_or_else(|error| panic!("{error}")),
        }
    }
}
