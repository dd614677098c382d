//! The chain of counts compared with the chain of records.

use std::sync::Arc;

use soma::chain::{Chain, Problem};
use soma::counts::{CountChain, CountProblem, Likelihood, Published, Shares, Table, Total};
use soma::kernel::KernelChoice;
use soma::model::Categorical;
use soma::release::mechanism::Noise;
use soma::release::query::Categories;
use soma::release::{Aggregate, Mechanism, Release};

const N: usize = 40;
const VALUES: [f64; 3] = [25.0, -3.0, 14.0];
const ALPHA: [f64; 3] = [1.0, 0.4, 2.0];

/// Mean and standard error from 50 batches.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let batches: Vec<f64> = values
        .chunks_exact(values.len() / 50)
        .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
        .collect();
    let mean = batches.iter().sum::<f64>() / 50.0;
    let squares: f64 = batches.iter().map(|batch| (batch - mean).powi(2)).sum();
    (mean, (squares / (50.0 * 49.0)).sqrt())
}

fn by_records(noise: Noise, scale: f64) -> Vec<Vec<f64>> {
    let query = Arc::new(Categories::new(3).unwrap());
    let mechanism = Mechanism::new(noise, vec![scale; 3]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Sum, N, VALUES.to_vec()).unwrap();
    let model = Arc::new(Categorical::new(ALPHA.to_vec()).unwrap());
    let problem = Problem::new(release, model).unwrap();
    let mut chain = Chain::new(&problem, KernelChoice::Soma, 1, 0).unwrap();
    let mut columns = vec![Vec::new(); 3];
    for iteration in 0..61_000 {
        chain.step().unwrap();
        if iteration >= 1000 {
            columns.iter_mut().zip(chain.draw()).for_each(|(column, value)| column.push(value));
        }
    }
    columns
}

fn by_counts(noise: Noise, scale: f64) -> Vec<Vec<f64>> {
    let table = Table::list(vec!["a".into(), "b".into(), "c".into()]).unwrap();
    let row = |(cell, &value): (usize, &f64)| {
        let law = Likelihood::new(noise, scale, value).unwrap();
        Published::sum(cell.to_string(), &[cell], law)
    };
    let rows = VALUES.iter().enumerate().map(row).collect();
    let shares = Shares::Dirichlet(ALPHA.to_vec());
    let problem = CountProblem::new(table, rows, Total::Known(N as i64), shares).unwrap();
    let mut chain = CountChain::new(&problem, 2, 0, 500);
    let mut columns = vec![Vec::new(); 3];
    for iteration in 0..40_500 {
        chain.step().unwrap();
        if iteration >= 500 {
            columns.iter_mut().zip(chain.draw()).for_each(|(column, value)| column.push(value));
        }
    }
    columns
}

#[test]
fn counts_and_records_agree() {
    for (noise, scale) in [(Noise::DiscreteLaplace, 3.0), (Noise::Gaussian, 6.0)] {
        let (records, counts) = (by_records(noise, scale), by_counts(noise, scale));
        for cell in 0..3 {
            for power in [1, 2] {
                let moment = |column: &[f64]| {
                    mean_and_error(&column.iter().map(|p| p.powi(power)).collect::<Vec<f64>>())
                };
                let (a, b) = (moment(&records[cell]), moment(&counts[cell]));
                let error = (a.1 * a.1 + b.1 * b.1).sqrt();
                assert!((a.0 - b.0).abs() < 4.5 * error, "{noise:?} cell {cell}: {a:?} {b:?}");
            }
        }
    }
}
