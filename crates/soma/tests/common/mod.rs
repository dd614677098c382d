//! What tests of posteriors from the text of a spec share.

use std::num::NonZeroUsize;

use soma::calibration::{Plan, Ranks, Unobserved, calibrate};
use soma::chain::{Engine, Settings};
use soma::kernel::KernelChoice;
use soma::spec::Spec;

/// The draws of one chain after warm-up, column by column.
pub fn columns(spec: &Spec, draws: usize) -> Vec<Vec<f64>> {
    let settings = Settings { warmup: 500, seed: 5, ..Settings::default() };
    let mut chain = Engine::new(&spec.problem, &settings, 0).unwrap();
    let mut columns = vec![Vec::with_capacity(draws); spec.problem.outputs().len()];
    for iteration in 0..500 + draws {
        chain.step().unwrap();
        if iteration >= 500 {
            columns.iter_mut().zip(chain.draw()).for_each(|(column, value)| column.push(value));
        }
    }
    columns
}

/// Fails if the mean is not the expected one, given to six digits, within four Monte Carlo errors,
/// from 50 batches.
pub fn assert_mean(what: &str, values: &[f64], expected: f64) {
    let batches: Vec<f64> = values
        .chunks_exact(values.len() / 50)
        .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
        .collect();
    let mean = batches.iter().sum::<f64>() / 50.0;
    let squares: f64 = batches.iter().map(|batch| (batch - mean).powi(2)).sum();
    let error = (squares / (50.0 * 49.0)).sqrt();
    assert!((mean - expected).abs() < 4.0 * error + 1e-6, "{what}: {mean} +- {error}, {expected}");
}

/// The quantity with the smallest p-value of simulation-based calibration; the truth is published by
/// the law of `used`.
pub fn p_value(assumed: &Spec, used: Option<&Spec>, thin: u64, replications: u64) -> (String, f64) {
    let plan =
        Plan { kernel: KernelChoice::Auto, replications, warmup: 250, thin, ..Plan::default() };
    let truth = used.map(|spec| spec.problem.release());
    let found = calibrate(&assumed.problem, truth, &plan, NonZeroUsize::MIN, &Unobserved).unwrap();
    let of = |ranks: Ranks| (ranks.name, ranks.uniformity.p_value());
    found.quantities.into_iter().map(of).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
}
