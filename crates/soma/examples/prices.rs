//! The measured cost of the operations of each model, with the stated cost.
//!
//! `cargo run --release -p soma-mcmc --example prices`

use std::hint::black_box;
use std::time::Instant;

use soma::error::Failure;
use soma::model::{
    Beta, Categorical, Dirichlet, Exponential, GammaPrior, Model, Normal, NormalInverseGamma,
    Regression,
};
use soma::rng;

/// Nanoseconds for each of n records: the minimum of a few tries.
fn time(n: usize, mut work: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let mut least = f64::INFINITY;
    for _ in 0..15 {
        let started = Instant::now();
        work()?;
        least = least.min(1e9 * started.elapsed().as_secs_f64() / n as f64);
    }
    Ok(least)
}

fn main() -> Result<(), Failure> {
    let gamma = GammaPrior::new(2.0, 0.5)?;
    let prior =
        NormalInverseGamma::new(vec![0.0; 3], &nalgebra::DMatrix::identity(3, 3), 10.0, 10.0)?;
    let models: Vec<(Box<dyn Model>, Vec<f64>)> = vec![
        (Box::new(Regression::new(vec![0.9, -1.17], None, prior)?), vec![-1.8, -2.9, -0.7, 1.1]),
        (Box::new(Normal::new(0.0, 0.1, 3.0, 3.0)?), vec![0.7, 1.5]),
        (Box::new(Beta::new(gamma, gamma)), vec![3.0, 5.0]),
        (Box::new(Dirichlet::new(vec![gamma; 3])?), vec![8.0, 1.0, 11.0]),
        (Box::new(Exponential::new(gamma)), vec![1.7]),
        (Box::new(Categorical::new(vec![1.0; 4])?), vec![0.1, 0.2, 0.3, 0.4]),
    ];
    println!("| model | n | draw | update | build | inverse |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (model, theta) in &models {
        for n in [100, 4000] {
            let mut rng = rng::stream(1, 0);
            let mut records = vec![0.0; n * model.record_dim()];
            let draw = time(n, || model.propose(theta, &mut records, &mut rng))?;
            let mut moved = theta.clone();
            let update = time(n, || model.update(&mut moved, &records, &mut rng))?;
            let (mut build, mut inverse) = (f64::NAN, f64::NAN);
            if let Some(model) = model.transport() {
                let mut noise = vec![0.0; n * model.noise_dim()];
                let mut again = records.clone();
                inverse = time(n, || model.inverse(theta, &records, &mut noise))?;
                build = time(n, || model.forward(theta, &noise, &mut again))?;
                black_box(again);
            }
            println!(
                "| {} | {n} | {draw:.1} | {update:.1} | {build:.1} | {inverse:.1} |",
                model.kind(),
            );
        }
    }
    Ok(())
}
