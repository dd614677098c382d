//! How SOMA's places are best coupled: sweeps and seconds until ten pairs have met.
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

/// The paper's regression with the values released at n = 100, as if of n records.
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

/// Sweeps to meet, and seconds, of ten pairs; those that have not met in `limit` count as that.
fn meetings(problem: &Problem, choice: Choice, limit: u64) -> Outcome<(f64, u32, f64)> {
    let kernel = KernelChoice::Soma;
    let (start, mut sum, mut met) = (Instant::now(), 0, 0);
    for index in 0..10 {
        let mut pair = CoupledChains::new(problem, kernel, 1, 1, index)?
            .with_coupling(CoupledKernel::new(kernel, problem.release().n())?.with_choice(choice));
        while pair.met().is_none() && pair.iteration() <= limit {
            pair.step()?;
        }
        sum += pair.iteration() - 1;
        met += u32::from(pair.met().is_some());
    }
    Ok((sum as f64 / 10.0, met, start.elapsed().as_secs_f64()))
}

fn main() -> Outcome {
    println!("sweeps to meet with theta fixed (pairs met of 10; seconds)");
    for (n, epsilon) in [(300, 1.0), (300, 3.0), (1_000, 1.0), (1_000, 3.0)] {
        let fixed = vec![-1.79, -2.89, -0.66, 1.13];
        let problem = regression(n, epsilon)?.with_fixed(fixed, vec![Summary::Mean])?;
        print!("n = {n}, epsilon = {epsilon}:");
        let adaptive = Choice::Adaptive { left: 0, next: 1 };
        let choices = [
            ("maximal", Choice::Maximal),
            ("rejection", Choice::Rejection),
            ("adaptive", adaptive),
        ];
        for (name, choice) in choices {
            let (sweeps, met, seconds) = meetings(&problem, choice, 150)?;
            print!("  {name} {sweeps:.1} ({met}; {seconds:.2} s)");
        }
        println!();
    }
    Ok(())
}
