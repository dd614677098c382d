//! Tests of the chain of counts: enumeration, exact answers, records, and figures.

mod chains;
mod enumeration;
mod grid;
mod models;
mod oracles;
mod pooled;
mod texts;

use super::*;
use crate::release::mechanism::Noise;

/// A table of cells in a row.
pub(super) fn list(cells: usize) -> Table {
    Table::list((0..cells).map(|cell| cell.to_string()).collect()).unwrap()
}

/// A cross-table with levels 0, 1, ... of each factor.
pub(super) fn cross(levels: &[usize]) -> Table {
    let names = |count: usize| (0..count).map(|level| level.to_string()).collect();
    Table::cross(levels.iter().map(|&count| names(count)).collect()).unwrap()
}

/// Each of `cells` published with the same noise.
fn published_cells(noise: Noise, scale: f64, values: &[f64]) -> Vec<Published> {
    let law = |value: f64| Likelihood::new(noise, scale, value).unwrap();
    let row = |(cell, &value)| Published::sum(format!("cell{cell}"), &[cell], law(value));
    values.iter().enumerate().map(row).collect()
}

pub(super) fn flat(cells: usize) -> Shares {
    Shares::Dirichlet(vec![1.0; cells])
}

/// The columns of the draws of one chain after warm-up.
fn columns(problem: &CountProblem, seed: u64, warmup: u64, draws: usize) -> Vec<Vec<f64>> {
    columns_of(CountChain::new(problem, seed, 0, warmup), problem, warmup, draws)
}

fn columns_of(
    mut chain: CountChain,
    problem: &CountProblem,
    warmup: u64,
    draws: usize,
) -> Vec<Vec<f64>> {
    (0..warmup).for_each(|_| chain.step().unwrap());
    let mut columns = vec![Vec::with_capacity(draws); problem.outputs().len()];
    for _ in 0..draws {
        chain.step().unwrap();
        columns.iter_mut().zip(chain.draw()).for_each(|(column, value)| column.push(value));
    }
    columns
}
