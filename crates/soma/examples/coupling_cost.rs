//! What a coupled move costs beside a plain one, and how SOMA's places are best coupled.
//!
//! `cargo run --release -p soma-mcmc --example coupling_cost`

use std::sync::Arc;
use std::time::Instant;

use nalgebra::DMatrix;
use soma::Outcome;
use soma::chain::{Chain, Problem, Summary};
use soma::coupling::{Choice, CoupledChains, CoupledKernel};
use soma::kernel::KernelChoice;
use soma::model::{NormalInverseGamma, Regression};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::{Aggregate, Release, query};

const KERNELS: [KernelChoice; 3] =
    [KernelChoice::Soma, KernelChoice::RanImwg, KernelChoice::SysImwg];

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

/// Nanoseconds a plain move, and a move of both chains of a pair that has not met.
fn cost(problem: &Problem, kernel: KernelChoice, choice: Choice) -> Outcome<(f64, f64)> {
    let n = problem.release().n();
    let sweeps = (4_000_000 / (n * n.min(1000))).clamp(3, 20_000);
    let (mut plain, mut coupled) = (f64::INFINITY, f64::INFINITY);
    for repetition in 0..3 {
        let mut chain = Chain::new(problem, kernel, 1, repetition)?;
        for _ in 0..20 {
            chain.step()?;
        }
        let start = Instant::now();
        for _ in 0..sweeps {
            chain.step()?;
        }
        plain = plain.min(start.elapsed().as_secs_f64());
        let (mut seconds, mut done, mut index) = (0.0, 0, 10_000 * repetition);
        while done < sweeps {
            let mut pair = CoupledChains::new(problem, kernel, 1, 1, index)?
                .with_coupling(CoupledKernel::new(kernel, n)?.with_choice(choice));
            pair.step()?; // X alone, up to the lag
            let start = Instant::now();
            while pair.met().is_none() && done < sweeps {
                pair.step()?;
                done += 1;
            }
            seconds += start.elapsed().as_secs_f64();
            index += 1;
        }
        coupled = coupled.min(seconds);
    }
    let nanoseconds = |seconds: f64| 1e9 * seconds / (sweeps * n) as f64;
    Ok((nanoseconds(plain), nanoseconds(coupled)))
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
    println!("nanoseconds a move, epsilon 3, theta updates included: plain, coupled (ratio)");
    for fixed in [false, true] {
        for n in [10, 100, 1_000] {
            print!("n = {n}{}:", if fixed { ", theta fixed" } else { "" });
            let mut problem = regression(n, 3.0)?;
            if fixed {
                problem =
                    problem.with_fixed(vec![-1.79, -2.89, -0.66, 1.13], vec![Summary::Mean])?;
            }
            for kernel in KERNELS {
                let (plain, coupled) = cost(&problem, kernel, Choice::Maximal)?;
                print!("  {} {plain:.0}, {coupled:.0} ({:.1})", kernel.name(), coupled / plain);
            }
            let (plain, coupled) = cost(&problem, KernelChoice::Soma, Choice::Rejection)?;
            println!("  soma by rejection {coupled:.0} ({:.1})", coupled / plain);
        }
    }
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
