//! Effective draws per second and per iteration, from sharp to blunt and from village to nation.

use std::time::Instant;

use rand::RngExt;
use rand_distr::Exp1;

use super::*;
use crate::diagnostics::{ess_bulk, rhat};
use crate::rng::stream;

const CELLS: usize = 24;

/// Counts of 24 cells with shares as different as exponentials are.
fn truth(n: i64) -> Vec<i64> {
    let mut rng = stream(5, n as u64);
    let shares: Vec<f64> = (0..CELLS).map(|_| rng.sample::<f64, _>(Exp1)).collect();
    super::super::start::apportion(n, &shares)
}

/// Four chains with 1,000 iterations of warm-up and 1,000 draws, one after the other: the smallest
/// ESS a second (warm-up included), the smallest ESS an iteration, the largest R-hat.
fn figures(problem: &CountProblem) -> (f64, f64, f64, CountMoves) {
    let outputs = problem.outputs().len();
    let mut draws: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); 4]; outputs];
    let began = Instant::now();
    let mut moves = CountMoves::default();
    for index in 0..4 {
        let mut chain = CountChain::new(problem, 1, index, 1000);
        for iteration in 0..2000 {
            chain.step().unwrap();
            if iteration >= 1000 {
                for (column, value) in draws.iter_mut().zip(chain.draw()) {
                    column[index as usize].push(value);
                }
            }
        }
        moves = chain.moves();
    }
    let seconds = began.elapsed().as_secs_f64();
    let ess = draws.iter().map(|column| ess_bulk(column)).fold(f64::MAX, f64::min);
    let worst = draws.iter().map(|column| rhat(column)).fold(1.0, f64::max);
    (ess / seconds, ess / 4000.0, worst, moves)
}

fn print(problem: &CountProblem, what: &str) {
    let (second, iteration, rhat, moves) = figures(problem);
    let rates: Vec<String> = moves
        .named()
        .iter()
        .filter(|(_, counts)| counts.proposed > 0)
        .map(|(name, counts)| format!("{name} {:.2}", counts.acceptance_rate()))
        .collect();
    println!("{what:44} {second:9.0} {iteration:6.2} {rhat:7.4}  {}", rates.join(", "));
}

/// `cargo test --release -p soma-mcmc --lib counts::tests::grid -- --ignored --nocapture`
#[test]
#[ignore = "prints figures; a minute"]
fn effective_draws_of_24_cells() {
    println!("{:44} {:>9} {:>6} {:>7}", "", "ESS/s", "ESS/it", "R-hat");
    for known in [true, false] {
        for noise in [Noise::DiscreteLaplace, Noise::DiscreteGaussian] {
            for n in [100, 10_000, 1_000_000, 100_000_000] {
                for sd in [0.5, 8.0, 200.0, 2000.0] {
                    let gaussian = noise == Noise::DiscreteGaussian;
                    let scale = if gaussian { sd } else { sd / std::f64::consts::SQRT_2 };
                    let mut rng = stream(6, n as u64);
                    let noisy = |&count: &i64| count as f64 + noise.sample(scale, &mut rng);
                    let values: Vec<f64> = truth(n).iter().map(noisy).collect();
                    let rows = published_cells(noise, scale, &values);
                    let total = if known {
                        Total::Known(n)
                    } else {
                        Total::Unknown(SizePrior::Flat)
                    };
                    let problem = CountProblem::new(list(CELLS), rows, total, flat(CELLS)).unwrap();
                    let size = if known { "known" } else { "unknown" };
                    print(&problem, &format!("{} n {size} {n} sd {sd}", noise.name()));
                }
            }
        }
    }
}
