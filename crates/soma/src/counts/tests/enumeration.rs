//! The chain compared with the enumeration of all count vectors of small tables.

use std::sync::Arc;

use statrs::function::gamma::ln_gamma;

use super::super::exact::Exact;
use super::*;
use crate::model::testing::assert_mean;

/// All vectors of counts up to `most` each, with sum n if n is known, and their unnormalised log
/// posterior probability, from textbook formulas.
fn posterior(problem: &CountProblem, most: i64) -> Vec<(Vec<i64>, f64)> {
    let Shares::Dirichlet(alpha) = problem.shares() else { panic!("a Dirichlet prior") };
    let sum: f64 = alpha.iter().sum();
    let cells = alpha.len();
    let mut counts = vec![0; cells];
    let mut all = Vec::new();
    loop {
        let n: i64 = counts.iter().sum();
        if problem.total().known().is_none_or(|known| known == n) {
            let size = n as f64;
            let mut log = ln_gamma(size + 1.0) - ln_gamma(size + sum);
            log += match problem.total() {
                Total::Unknown(SizePrior::Poisson { mean }) => {
                    size * mean.ln() - ln_gamma(size + 1.0)
                }
                Total::Unknown(SizePrior::PoissonGamma { shape, rate }) => {
                    ln_gamma(size + shape) - ln_gamma(size + 1.0) - size * (1.0 + rate).ln()
                }
                Total::Unknown(SizePrior::Uniform { low, high })
                    if !(low..=high).contains(&(n as u64)) =>
                {
                    f64::NEG_INFINITY
                }
                _ => 0.0,
            };
            for (&count, &alpha) in counts.iter().zip(alpha) {
                log += ln_gamma(count as f64 + alpha) - ln_gamma(count as f64 + 1.0);
            }
            for row in problem.published() {
                let truth: i64 = row.cells.iter().map(|&(cell, w)| w * counts[cell]).sum();
                log += row.law.log_density(truth as f64);
            }
            all.push((counts.clone(), log));
        }
        let Some(next) = counts.iter().position(|&count| count < most) else { break };
        counts[..next].fill(0);
        counts[next] += 1;
    }
    let top = all.iter().map(|x| x.1).fold(f64::MIN, f64::max);
    let mass: f64 = all.iter().map(|x| (x.1 - top).exp()).sum();
    all.iter_mut().for_each(|x| x.1 = (x.1 - top).exp() / mass);
    all
}

/// The posterior as it is sampled, and with all moves in every iteration where counts are drawn at
/// once.
fn assert_posterior(what: &str, problem: &CountProblem, most: i64, draws: usize) {
    let chain = |seed| CountChain::new(problem, seed, 0, 500);
    assert_chain(what, chain(7), problem, most, draws);
    if problem.exact().is_some() {
        let what = format!("{what}, one by one");
        assert_chain(&what, chain(8).with_exact(None), problem, most, draws);
    }
}

/// First and second moments of all counts, products of neighbours, probabilities of single values,
/// and first and second moments of the shares.
fn assert_chain(what: &str, chain: CountChain, problem: &CountProblem, most: i64, draws: usize) {
    let exact = posterior(problem, most);
    let Shares::Dirichlet(alpha) = problem.shares() else { panic!("a Dirichlet prior") };
    let sum: f64 = alpha.iter().sum();
    let cells = alpha.len();
    let columns = columns_of(chain, problem, 500, draws);
    let (shares, counts) = columns.split_at(cells);
    let check = |name: String, values: Vec<f64>, f: &dyn Fn(&[i64]) -> f64| {
        let expected: f64 = exact.iter().map(|(c, p)| p * f(c)).sum();
        // Too rare for a standard error from the batches.
        if name.starts_with('P') && !(0.005..0.995).contains(&expected) {
            return;
        }
        assert_mean(&format!("{what}: {name}"), &values, expected);
    };
    for i in 0..cells {
        let j = (i + 1) % cells;
        let (a, b) = (&counts[i], &counts[j]);
        check(format!("count {i}"), a.clone(), &|c| c[i] as f64);
        check(format!("square {i}"), a.iter().map(|x| x * x).collect(), &|c| (c[i] * c[i]) as f64);
        let products = a.iter().zip(b).map(|(x, y)| x * y).collect();
        check(format!("product {i} {j}"), products, &|c| (c[i] * c[j]) as f64);
        for value in 0..3 {
            let hits = a.iter().map(|&x| f64::from(x == value as f64)).collect();
            let is = |c: &[i64]| f64::from(u8::from(c[i] == value));
            check(format!("P(count {i} is {value})"), hits, &is);
        }
        let post = |c: &[i64]| (c[i] as f64 + alpha[i], c.iter().sum::<i64>() as f64 + sum);
        check(format!("share {i}"), shares[i].clone(), &|c| post(c).0 / post(c).1);
        let squares = shares[i].iter().map(|x| x * x).collect();
        check(format!("share {i} squared"), squares, &|c| {
            let (a, s) = post(c);
            a * (a + 1.0) / (s * (s + 1.0))
        });
    }
}

fn problem(table: Table, published: Vec<Published>, total: Total, alpha: &[f64]) -> CountProblem {
    CountProblem::new(table, published, total, Shares::Dirichlet(alpha.to_vec())).unwrap()
}

const ALPHA: [f64; 4] = [1.0, 0.3, 2.5, 0.05];

#[test]
fn cells_with_known_n() {
    let values = [5.0, -2.0, 9.0];
    for (noise, scale) in [
        (Noise::DiscreteLaplace, 0.5),
        (Noise::DiscreteLaplace, 4.0),
        (Noise::DiscreteGaussian, 2.0),
        (Noise::Gaussian, 50.0),
    ] {
        let rows = published_cells(noise, scale, &values);
        let problem = problem(list(3), rows, Total::Known(14), &ALPHA[..3]);
        assert_posterior(&format!("{noise:?} {scale}"), &problem, 14, 40_000);
    }
}

/// Small Dirichlet parameters and large noise: cells empty or full, between which slice moves do
/// not cross.
#[test]
fn sparse_cells_under_blunt_noise() {
    let rows = published_cells(Noise::Laplace, 30.0, &[8.0, 1.0, 0.0, 12.0]);
    let problem = problem(list(4), rows, Total::Known(20), &[0.05, 0.1, 0.02, 0.05]);
    assert_posterior("sparse", &problem, 20, 60_000);
}

/// Sums of two cells above and below the largest that is shared out by weighing all its values.
#[test]
fn cells_with_many_records() {
    for (noise, values) in [
        (Noise::DiscreteGaussian, &[180.0, 110.0][..]),
        (Noise::DiscreteLaplace, &[70.0, 45.0, 3.0]),
    ] {
        let n = if values.len() == 2 { 300 } else { 120 };
        let rows = published_cells(noise, 15.0, values);
        let problem = problem(list(values.len()), rows, Total::Known(n), &ALPHA[1..=values.len()]);
        assert_posterior(&format!("{n} records"), &problem, n, 40_000);
    }
}

/// A sparse table with sharp margins: most cells are empty, and which they are is in doubt.
#[test]
fn sparse_table_with_margins() {
    let table = cross(&[2, 3]);
    let mut rows = published_cells(Noise::DiscreteGaussian, 4.0, &[6.0, 0.0, -3.0, 1.0, 4.0, -1.0]);
    for (kept, values) in [(&[0][..], &[7.0, 2.0][..]), (&[1], &[6.0, 3.0, 0.0])] {
        for (margin, &value) in table.margin(kept).unwrap().iter().zip(values) {
            let law = Likelihood::new(Noise::DiscreteGaussian, 1.0, value).unwrap();
            rows.push(Published::sum(margin.label.clone(), &margin.cells, law));
        }
    }
    for total in [Total::Known(9), Total::Unknown(SizePrior::Poisson { mean: 8.0 })] {
        let problem = problem(table.clone(), rows.clone(), total, &[0.1, 0.2, 0.05, 0.1, 0.3, 0.1]);
        assert_posterior(&format!("sparse, {total:?}"), &problem, 9, 60_000);
    }
}

#[test]
fn cells_with_unknown_n() {
    let priors = [
        SizePrior::Flat,
        SizePrior::Uniform { low: 13, high: 15 },
        SizePrior::Poisson { mean: 6.0 },
        SizePrior::PoissonGamma { shape: 3.85, rate: 0.25 },
    ];
    for prior in priors {
        let rows = published_cells(Noise::DiscreteGaussian, 2.0, &[4.0, -1.0, 7.0, 1.0]);
        let problem = problem(list(4), rows, Total::Unknown(prior), &ALPHA);
        assert_posterior(&format!("{prior:?}"), &problem, 24, 40_000);
    }
    let rows = published_cells(Noise::DiscreteLaplace, 0.7, &[4.0, 0.0, 2.0]);
    let problem = problem(list(3), rows, Total::Unknown(SizePrior::Flat), &ALPHA[..3]);
    assert_posterior("sharp", &problem, 30, 40_000);
}

/// Cells that are published twice, twice over, clamped or not at all, and a noisy total.
#[test]
fn cells_and_a_total() {
    let law = |scale, value| Likelihood::new(Noise::DiscreteGaussian, scale, value).unwrap();
    let publishing = crate::release::mechanism::Publishing { low: 0.0, ..Default::default() };
    let clamped = Likelihood::processed(Noise::DiscreteLaplace, 1.5, publishing, 0.0).unwrap();
    let rows = vec![
        Published { label: "a".into(), cells: vec![(2, 2)], law: law(3.0, 9.0) },
        Published::sum("b", &[0], law(2.0, 5.0)),
        Published::sum("all", &[0, 1, 2, 3], law(1.5, 13.0)),
        Published::sum("c", &[0], law(1.5, 2.0)),
        Published::sum("d", &[3], clamped),
    ];
    for total in [Total::Known(11), Total::Unknown(SizePrior::Poisson { mean: 10.0 })] {
        let problem = problem(list(4), rows.clone(), total, &[0.4, 1.6, 1.0, 0.2]);
        // Nothing but the prior of n ends the count of the second cell.
        assert_eq!(problem.exact().is_some(), total.known().is_some());
        assert_posterior(&format!("{total:?}"), &problem, 26, 60_000);
    }
    let rows: Vec<Published> =
        rows.into_iter().chain([Published::sum("e", &[1], law(4.0, 3.0))]).collect();
    for prior in [SizePrior::Flat, SizePrior::Uniform { low: 9, high: 12 }] {
        let problem = problem(list(4), rows.clone(), Total::Unknown(prior), &[0.4, 1.6, 1.0, 0.2]);
        assert!(problem.exact().is_some());
        assert_posterior(&format!("{prior:?}"), &problem, 26, 60_000);
    }
}

/// Ranges that hold a part of the posterior only: the other moves lead out of them and back.
#[test]
fn all_counts_at_once_within_narrow_ranges() {
    let rows = published_cells(Noise::DiscreteGaussian, 2.0, &[5.0, 3.0, 7.0]);
    for total in [Total::Known(14), Total::Unknown(SizePrior::Flat)] {
        let problem = problem(list(3), rows.clone(), total, &[0.3, 1.0, 2.5]);
        let narrow = vec![(0, (4, 6)), (1, (1, 3)), (2, (5, 9))];
        let exact = Arc::new(Exact::within(&problem, narrow).unwrap());
        let chain = CountChain::new(&problem, 9, 0, 500).with_exact(Some(exact));
        assert_chain("narrow", chain, &problem, 26, 200_000);
    }
}

/// Both margins and the total of a 2 x 3 table, sharper than its cells.
#[test]
fn margins_of_a_cross_table() {
    let table = cross(&[2, 3]);
    let mut rows = published_cells(Noise::DiscreteGaussian, 3.0, &[2.0, 0.0, 3.0, 1.0, 4.0, -1.0]);
    let values: [&[f64]; 3] = [&[10.0], &[4.0, 5.0], &[3.0, 4.0, 2.0]];
    for (kept, values) in [&[][..], &[0], &[1]].into_iter().zip(values) {
        for (margin, &value) in table.margin(kept).unwrap().iter().zip(values) {
            let law = Likelihood::new(Noise::DiscreteLaplace, 0.6, value).unwrap();
            rows.push(Published::sum(margin.label.clone(), &margin.cells, law));
        }
    }
    let alpha = [1.0, 0.3, 2.5, 0.5, 1.0, 0.7];
    for total in [Total::Known(9), Total::Unknown(SizePrior::Flat)] {
        let problem = problem(table.clone(), rows.clone(), total, &alpha);
        assert_posterior(&format!("{total:?}"), &problem, 9, 60_000);
    }
}

/// Weights other than one, and a sum over some of the cells.
#[test]
fn weighted_sums() {
    let law = |value| Likelihood::new(Noise::DiscreteLaplace, 1.0, value).unwrap();
    let rows = vec![
        Published { label: "w".into(), cells: vec![(0, 2), (1, -1), (3, 3)], law: law(6.0) },
        Published::sum("half", &[1, 2], law(4.0)),
    ];
    let problem = problem(list(4), rows, Total::Known(8), &ALPHA);
    assert_posterior("weighted", &problem, 8, 60_000);
}

/// Sharp sums of values and of squares: only exchanges and balances leave them unchanged.
#[test]
fn sharp_weighted_sums() {
    let row = |weights: &[i64], value: f64| Published {
        label: String::new(),
        cells: weights.iter().copied().enumerate().filter(|&(_, w)| w != 0).collect(),
        law: Likelihood::new(Noise::Gaussian, 0.12, value).unwrap(),
    };
    let (values, squares) = ([0, 1, 2, 3], [0, 1, 4, 9]);
    let one = vec![row(&values, 11.0)];
    let both = vec![row(&values, 11.0), row(&squares, 22.0)];
    for (rows, n) in [(one, 8), (both, 8), (vec![row(&values, 3.0)], 2)] {
        let problem = problem(list(4), rows, Total::Known(n), &ALPHA);
        assert_posterior(&format!("sharp, n = {n}"), &problem, n, 60_000);
    }
}

/// Sharp sums, some of them without weights, that together leave one direction free.
#[test]
fn sharp_sums_with_one_free_direction() {
    let law = |value| Likelihood::new(Noise::Gaussian, 0.12, value).unwrap();
    let weighted = vec![(2, 1), (3, 2), (4, 3)];
    let rows = vec![
        Published::sum("v", &[2, 3, 4], law(8.0)),
        Published { label: String::new(), cells: weighted, law: law(16.0) },
        Published::sum("two", &[1, 3], law(6.0)),
    ];
    let alpha = [1.0, 0.3, 2.5, 0.5, 0.7];
    let problem = problem(list(5), rows, Total::Known(16), &alpha);
    assert_posterior("one free direction", &problem, 16, 40_000);
}
