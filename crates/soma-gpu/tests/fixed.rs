//! Releases with theta fixed: the draws are summaries of the records. The generated text runs on the CPU.

mod common;

use common::{emulated, histogram, problem};
use soma::chain::{MovesChoice, Problem};
use soma::kernel::{KernelChoice, Records};
use soma_gpu::{Chains, Drawn, Options, Program, starts};

/// The last draws of many chains, and their records.
fn drawn(
    problem: &Problem,
    kernel: KernelChoice,
    lanes: Option<usize>,
    chains: usize,
) -> Option<(Drawn, Vec<Vec<f64>>)> {
    let mut options = Options::new(kernel, MovesChoice::Auto);
    options.lanes = lanes;
    let program = Program::new(problem, options).unwrap();
    assert_eq!(program.outputs, problem.outputs());
    let mut device = emulated(&program)?;
    let published = program.published(problem);
    let theta = starts(problem, 5, 0, chains).unwrap();
    let mut run = Chains::start(&mut device, &program, 5, 0, 39, 1, &published, &theta).unwrap();
    let drawn = run.advance(&mut device, 40, true).unwrap();
    let states = run.states(&mut device, &program).unwrap();
    Some((drawn, states.into_iter().map(|(_, records)| records).collect()))
}

const ALL: &str = "[\"mean\", \"sd\", 0.0, 0.2, 0.5, 1.0]";

fn private_mean() -> Problem {
    problem(
        "n = 2\nstatistic = \"mean\"\nvalues = [0.7]\nquery = { kind = \"mean\", clamp = [0.0, 1.0] }\n\
         mechanism = { kind = \"laplace\", epsilon = 8.0 }",
        "kind = \"beta\"\nfixed = { a = 2.0, b = 3.0 }\nsummaries = [\"mean\", \"sd\", 0.0, 1.0]",
    )
}

/// The summaries of the records in the end, as the CPU computes them.
#[test]
fn summaries_are_those_of_the_records() {
    let uneven = problem(
        "n = 9\nstatistic = \"sum\"\nvalues = [3.0]\nquery = { kind = \"mean\", clamp = [-9.0, 9.0] }\n\
         mechanism = { kind = \"laplace\", scale = 2.0 }",
        &format!("kind = \"normal\"\nfixed = {{ mu = 0.1, sigma2 = 1.5 }}\nsummaries = {ALL}"),
    );
    for (problem, lanes) in [
        (&uneven, Some(1)),
        (&uneven, Some(4)),
        (&histogram(7, ALL), None),
        (&private_mean(), None),
        (&private_mean().with_fixed(vec![2.0, 3.0], Vec::new()).unwrap(), None),
    ] {
        let Some((drawn, records)) = drawn(problem, KernelChoice::Soma, lanes, 20) else { return };
        for (chain, records) in records.into_iter().enumerate() {
            let records = Records::new(problem.release(), records).unwrap();
            let expected = problem.output(problem.fixed().unwrap(), &records);
            assert_eq!(expected.len() + 1, drawn.width);
            for (k, x) in expected.into_iter().enumerate() {
                let found = drawn.get(0, k, chain);
                assert!((found - x).abs() < 1e-5 * (1.0 + x.abs()), "value {k}: {found}, not {x}");
            }
        }
    }
}

/// The mean of a value over chains against the truth, within 4.5 standard errors.
fn assert_mean(values: &[f64], truth: f64, what: &str) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    let error = 4.5 * (variance / count).sqrt();
    assert!((mean - truth).abs() < error, "{what}: {mean} and not {truth} +- {error}");
}

/// Two records, by quadrature.
#[test]
fn two_private_records_have_their_posterior() {
    let problem = private_mean();
    let release = problem.release();
    let (sum, scale) = (release.sums()[0], release.sum_scales()[0]);
    const GRID: usize = 1500;
    let mut truth = [0.0; 5];
    let density = |x: f64| x * (1.0 - x) * (1.0 - x);
    for i in 0..GRID {
        for j in 0..GRID {
            let [x, y] = [i, j].map(|i| (i as f64 + 0.5) / GRID as f64);
            let cost = release.potential().cost(&[(sum - x - y) / scale]);
            let weight = density(x) * density(y) * (-cost).exp();
            let sd = (x - y).abs() / 2.0_f64.sqrt();
            for (to, f) in truth.iter_mut().zip([1.0, 0.5 * (x + y), sd, x.min(y), x.max(y)]) {
                *to += weight * f;
            }
        }
    }
    for kernel in [KernelChoice::Soma, KernelChoice::Auto] {
        let Some((drawn, _)) = drawn(&problem, kernel, None, 20_000) else { return };
        for k in 0..4 {
            let values: Vec<f64> = (0..drawn.chains).map(|c| drawn.get(0, k, c)).collect();
            assert_mean(&values, truth[k + 1] / truth[0], &format!("{kernel:?}, value {k}"));
        }
    }
}

/// Five uniform records in four bins, by enumeration of their counts: the mean, and where the median is.
#[test]
fn uniform_records_have_their_posterior() {
    let n = 5_usize;
    let problem = histogram(n, "[\"mean\", 0.5]");
    let release = problem.release();
    let (sums, scales) = (release.sums(), release.sum_scales());
    let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
    let (mut total, mut mean, mut is_low) = (0.0, 0.0, [0.0; 3]);
    for a in 0..=n {
        for b in 0..=n - a {
            for c in 0..=n - a - b {
                let counts = [a, b, c, n - a - b - c];
                let residual: Vec<f64> =
                    (0..4).map(|k| (sums[k] - counts[k] as f64) / scales[k]).collect();
                let ways: f64 = counts.iter().map(|&count| 1.0 / factorial(count)).product();
                let weight = ways * (-release.potential().cost(&residual)).exp();
                let middle = |k: usize| counts[k] as f64 * (k as f64 + 0.5) / 4.0;
                total += weight;
                mean += weight * (0..4).map(middle).sum::<f64>() / n as f64;
                for (k, low) in is_low.iter_mut().enumerate() {
                    if counts[..=k].iter().sum::<usize>() > n / 2 {
                        *low += weight;
                    }
                }
            }
        }
    }
    for kernel in [KernelChoice::Soma, KernelChoice::SysImwg] {
        let Some((drawn, _)) = drawn(&problem, kernel, None, 20_000) else { return };
        let value = |k: usize| (0..drawn.chains).map(move |c| (c, k));
        let means: Vec<f64> = value(0).map(|(c, k)| drawn.get(0, k, c)).collect();
        assert_mean(&means, mean / total, "mean");
        for (k, low) in is_low.iter().enumerate() {
            let edge = (k as f64 + 1.0) / 4.0;
            let below = value(1).map(|(c, k)| f64::from(u8::from(drawn.get(0, k, c) < edge)));
            assert_mean(&below.collect::<Vec<_>>(), low / total, &format!("median below {edge}"));
        }
    }
}
