//! Couplings of SOMA's selection compared: iterations and seconds until pairs have met.
//!
//! `cargo run --release -p soma-mcmc --example coupled_places`

use std::sync::Arc;
use std::time::Instant;

use nalgebra::DMatrix;
use soma::Outcome;
use soma::chain::{Problem, Summary};
use soma::coupling::{Choice, CoupledChains, CoupledKernel};
use soma::kernel::KernelChoice;
use soma::model::{NormalInverseGamma, Regression};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::{Aggregate, Release, query};

/// The paper's regression with the values released at n = 100, used for n records.
fn regression(n: usize, epsilon: f64) -> Result<Problem, soma::Invalid> {
    let values = [-0.5120269, -0.1326493, 0.1553842, 0.4520016, 0.0471396];
    let values = [&values[..], &[-0.1216039, 0.0803059, -0.0676178, 0.0018717]].concat();
    let query = Arc::new(query::Gram::with_range(2, (-6.0, 6.0))?);
    let mechanism = Mechanism::new(Noise::Laplace, vec![13.0 / (n as f64 * epsilon); 9])?;
    let release = Release::new(query, mechanism, Aggregate::Mean, n, values)?;
    let precision = DMatrix::identity(3, 3) * 0.5;
    let prior = NormalInverseGamma::new(vec![0.0; 3], &precision, 10.0, 10.0)?;
    Problem::new(release, Arc::new(Regression::new(vec![0.9, -1.17], None, prior)?))
}

/// Iterations to meet, with their standard error, how many met, and seconds; pairs that have not
/// met in `limit` count as that.
fn meetings(
    problem: &Problem,
    choice: Choice,
    (pairs, limit): (u64, u64),
) -> Outcome<(f64, f64, usize, f64)> {
    let kernel = KernelChoice::Soma;
    let start = Instant::now();
    let (mut times, mut met) = (Vec::new(), 0);
    for index in 0..pairs {
        let mut pair = CoupledChains::new(problem, kernel, 1, 1, index)?
            .with_coupling(CoupledKernel::new(kernel, problem.release().n())?.with_choice(choice));
        while pair.met().is_none() && pair.iteration() <= limit {
            pair.step()?;
        }
        times.push((pair.iteration() - 1) as f64);
        met += usize::from(pair.met().is_some());
    }
    let mean = times.iter().sum::<f64>() / pairs as f64;
    let squares: f64 = times.iter().map(|t| (t - mean) * (t - mean)).sum();
    let error = (squares / (pairs * (pairs - 1)) as f64).sqrt();
    Ok((mean, error, met, start.elapsed().as_secs_f64()))
}

fn main() -> Outcome {
    println!("iterations to meet (pairs met; seconds)");
    for (n, epsilon, is_fixed, pairs) in [
        (10, 3.0, false, 500),
        (10, 30.0, false, 500),
        (30, 30.0, false, 60),
        (100, 3.0, false, 60),
        (300, 1.0, true, 20),
        (300, 3.0, true, 20),
        (1_000, 1.0, true, 20),
        (1_000, 3.0, true, 10),
    ] {
        let mut problem = regression(n, epsilon)?;
        if is_fixed {
            let theta = vec![-1.79, -2.89, -0.66, 1.13];
            problem = problem.with_fixed(theta, vec![Summary::Mean])?;
        }
        let theta = if is_fixed { "fixed" } else { "moves" };
        print!("n = {n}, epsilon = {epsilon}, theta {theta}, {pairs} pairs:");
        for choice in [Choice::Maximal, Choice::Near] {
            let limit = if is_fixed { 150 } else { 5_000 };
            let (mean, error, met, seconds) = meetings(&problem, choice, (pairs, limit))?;
            print!("  {} {mean:.1} +- {error:.1} ({met}; {seconds:.2} s)", choice.name());
        }
        println!();
    }
    Ok(())
}
