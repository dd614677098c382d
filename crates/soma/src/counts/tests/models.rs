//! Models of the cells compared with quadrature over theta and enumeration of the counts.

use std::sync::Arc;

use statrs::function::gamma::ln_gamma;

use super::*;
use crate::counts::models::{BetaCells, ExponentialCells, LogLinear, NormalCells};
use crate::model::testing::assert_mean;

/// All vectors of `cells` counts that sum to n.
fn compositions(cells: usize, n: i64) -> Vec<Vec<i64>> {
    if cells == 1 {
        return vec![vec![n]];
    }
    let rest = |first: i64| compositions(cells - 1, n - first).into_iter();
    let put = |first: i64| rest(first).map(move |r| [vec![first], r].concat());
    (0..=n).flat_map(put).collect()
}

/// The means of theta, of its squares and of the counts, by a grid over theta (`points` values in
/// each coordinate) and enumeration of the counts for each n.
fn exact(
    problem: &CountProblem,
    model: &dyn CellModel,
    ranges: &[(f64, f64)],
    points: usize,
    sizes: std::ops::RangeInclusive<i64>,
) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let (dim, cells) = (model.dim(), model.cells());
    let flat = |n: i64| compositions(cells, n).into_iter();
    let weigh = |counts: Vec<i64>| {
        let sum = |row: &Published| row.cells.iter().map(|&(c, w)| w * counts[c]).sum::<i64>();
        let law: f64 =
            problem.published().iter().map(|row| row.law.log_density(sum(row) as f64)).sum();
        let n: i64 = counts.iter().sum();
        let ways = ln_gamma(n as f64 + 1.0)
            - counts.iter().map(|&c| ln_gamma(c as f64 + 1.0)).sum::<f64>();
        (counts, law + ways)
    };
    let vectors: Vec<(Vec<i64>, f64)> = sizes.flat_map(flat).map(weigh).collect();
    let (mut mass, mut first, mut second) = (0.0, vec![0.0; dim], vec![0.0; dim]);
    let mut means = vec![0.0; cells];
    let mut logs = vec![0.0; cells];
    for index in 0..points.pow(dim as u32) {
        let at = |j: usize| (index / points.pow(j as u32) % points) as f64 + 0.5;
        let place = |j: usize| ranges[j].0 + (ranges[j].1 - ranges[j].0) * at(j) / points as f64;
        let theta: Vec<f64> = (0..dim).map(place).collect();
        model.log_shares(&theta, &mut logs);
        let prior = model.log_prior(&theta);
        let mut here = 0.0;
        for (counts, weight) in &vectors {
            let log: f64 = counts.iter().zip(&logs).map(|(&c, l)| c as f64 * l).sum();
            let density = (prior + weight + log).exp();
            here += density;
            for (mean, &count) in means.iter_mut().zip(counts) {
                *mean += density * count as f64;
            }
        }
        mass += here;
        for (j, x) in theta.iter().enumerate() {
            first[j] += here * x;
            second[j] += here * x * x;
        }
    }
    let normal = |values: Vec<f64>| values.iter().map(|x| x / mass).collect();
    (normal(first), normal(second), normal(means))
}

fn assert_model(
    model: Arc<dyn CellModel>,
    table: Table,
    (noise, scale, values): (Noise, f64, &[f64]),
    ranges: &[(f64, f64)],
    points: usize,
) {
    let guess = values.iter().sum::<f64>() as i64;
    // Small noise is tested with four cells, and few counts suffice.
    let most = if model.cells() > 3 { 12 } else { 16 };
    for (total, sizes) in [
        (Total::Known(guess), guess..=guess),
        (Total::Unknown(SizePrior::Poisson { mean: 4.0 }), 0..=most),
    ] {
        let shares = Shares::Model(model.clone());
        let rows = published_cells(noise, scale, values);
        let problem = CountProblem::new(table.clone(), rows, total, shares.clone()).unwrap();
        let mut with_prior = problem.clone();
        if let Total::Unknown(SizePrior::Poisson { mean }) = total {
            // The prior of n enters as a likelihood of the total, which the enumeration reads.
            let cells: Vec<usize> = (0..model.cells()).collect();
            let law = super::oracles::given(mean, 2.0, move |n| n * mean.ln() - ln_gamma(n + 1.0));
            let mut rows = problem.published().to_vec();
            rows.push(Published::sum("prior", &cells, law));
            with_prior = CountProblem::new(table.clone(), rows, total, shares).unwrap();
        }
        let (first, second, means) = exact(&with_prior, model.as_ref(), ranges, points, sizes);
        let mut chain = CountChain::new(&problem, 3, 0, 1000);
        (0..1000).for_each(|_| chain.step().unwrap());
        let dim = model.dim();
        let mut draws = vec![Vec::new(); dim + model.cells()];
        for _ in 0..40_000 {
            chain.step().unwrap();
            let counts = chain.counts().iter().map(|&count| count as f64);
            let values = chain.theta().iter().copied().chain(counts);
            draws.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        let what = |name: &str, j: usize| format!("{model:?} {total:?} {scale} {name} {j}");
        for j in 0..dim {
            assert_mean(&what("theta", j), &draws[j], first[j]);
            let squares: Vec<f64> = draws[j].iter().map(|x| x * x).collect();
            assert_mean(&what("square of theta", j), &squares, second[j]);
        }
        for (cell, &mean) in means.iter().enumerate() {
            assert_mean(&what("count", cell), &draws[dim + cell], mean);
        }
    }
}

#[test]
fn exponential_histogram() {
    let model = Arc::new(ExponentialCells::new(vec![0.5, 1.5], 2.0, 1.0).unwrap());
    for scale in [0.4, 3.0, 100.0] {
        let release = (Noise::Gaussian, scale, &[3.0, 1.0, 2.0][..]);
        assert_model(model.clone(), list(3), release, &[(-7.0, 3.5)], 2000);
    }
}

#[test]
fn normal_histogram() {
    let model = Arc::new(NormalCells::new(vec![-1.0, 0.7], 0.2, 0.8, 4.0, 3.0).unwrap());
    for scale in [0.5, 8.0] {
        let release = (Noise::DiscreteLaplace, scale, &[1.0, 4.0, 1.0][..]);
        assert_model(model.clone(), list(3), release, &[(-9.0, 9.0), (-3.0, 6.0)], 150);
    }
}

#[test]
fn beta_histogram() {
    let model = Arc::new(BetaCells::new(vec![0.3, 0.6], [(2.0, 0.5); 2]).unwrap());
    let release = (Noise::DiscreteLaplace, 1.0, &[1.0, 4.0, 1.0][..]);
    assert_model(model, list(3), release, &[(-6.0, 4.5), (-6.0, 4.5)], 150);
}

#[test]
fn log_linear_table() {
    let table = cross(&[2, 2]);
    let model = LogLinear::new(&table, &[(vec![0], 1.0), (vec![1], 0.7)]).unwrap();
    let release = (Noise::DiscreteGaussian, 1.0, &[2.0, 0.0, 1.0, 1.0][..]);
    let ranges = [(-5.0, 5.0), (-5.0, 5.0), (-3.5, 3.5), (-3.5, 3.5)];
    assert_model(Arc::new(model), table, release, &ranges, 16);
}
