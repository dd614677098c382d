//! Pooled groups against quadrature over the common prior and enumeration of the counts.

use statrs::function::gamma::ln_gamma;

use super::*;
use crate::model::testing::assert_mean;

/// Two groups of two cells: the posterior means of ln k, k/(1+k), m_0, m_0^2, and of both groups'
/// first counts and their product, by a grid over (ln k, m_0) and all counts.
fn exact(problem: &PooledProblem, prior: SharedPrior) -> [f64; 7] {
    const STEPS: usize = 240;
    let ln_mass = |c: i64, n: i64, a: [f64; 2]| {
        let (x, y, n, k) = (c as f64, (n - c) as f64, n as f64, a[0] + a[1]);
        ln_gamma(n + 1.0) - ln_gamma(x + 1.0) - ln_gamma(y + 1.0) + ln_gamma(k) - ln_gamma(n + k)
            + ln_gamma(x + a[0])
            - ln_gamma(a[0])
            + ln_gamma(y + a[1])
            - ln_gamma(a[1])
    };
    let (mut mass, mut sums) = (0.0, [0.0; 7]);
    for i in 0..STEPS {
        // ln k within 6 standard deviations, m_0 on the logistic scale.
        let z = -6.0 + 12.0 * (i as f64 + 0.5) / STEPS as f64;
        let k = (prior.median.ln() + prior.sd * z).exp();
        for j in 0..STEPS {
            let t = -14.0 + 28.0 * (j as f64 + 0.5) / STEPS as f64;
            let m = 1.0 / (1.0 + f64::exp(-t));
            let a = [k * m, k * (1.0 - m)];
            let weight = -0.5 * z * z + prior.shares * (m.ln() + (1.0 - m).ln());
            let group = |group: &CountProblem| {
                let n = group.total().known().unwrap();
                let row = |c: i64| {
                    let log = ln_mass(c, n, a) + group.log_density(&[c, n - c]);
                    (c as f64, log.exp())
                };
                let all: Vec<(f64, f64)> = (0..=n).map(row).collect();
                let mass: f64 = all.iter().map(|x| x.1).sum();
                (mass, all.iter().map(|x| x.0 * x.1).sum::<f64>() / mass)
            };
            let (a, b) = (group(&problem.groups()[0]), group(&problem.groups()[1]));
            let w = weight.exp() * a.0 * b.0;
            mass += w;
            let values = [k.ln(), k / (1.0 + k), m, m * m, a.1, b.1, a.1 * b.1];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += w * value);
        }
    }
    sums.map(|sum| sum / mass)
}

fn assert_pooled(noise: Noise, scale: f64, prior: SharedPrior, draws: usize) {
    let group = |n: i64, values: &[f64]| {
        let rows = published_cells(noise, scale, values);
        CountProblem::new(list(2), rows, Total::Known(n), flat(2)).unwrap()
    };
    let groups = vec![group(12, &[10.0, 1.0]), group(7, &[3.0, 5.0])];
    let problem = PooledProblem::new(groups, prior).unwrap();
    let mut chain = PooledChain::new(&problem, 3, 0, 1000);
    let mut columns = vec![Vec::new(); 7];
    for iteration in 0..draws + 1000 {
        chain.step().unwrap();
        if iteration >= 1000 {
            let (shared, a, b) = (chain.shared(), chain.group(0)[2], chain.group(1)[2]);
            let (k, m) = (shared[0], shared[1]);
            let values = [k.ln(), k / (1.0 + k), m, m * m, a, b, a * b];
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
    }
    let names = ["ln k", "k/(1+k)", "m", "m^2", "count 0", "count 1", "product"];
    for ((name, column), expected) in names.iter().zip(&columns).zip(exact(&problem, prior)) {
        assert_mean(&format!("{} {scale}: {name}", noise.name()), column, expected);
    }
}

#[test]
fn pooled_groups_agree_with_quadrature() {
    let prior = SharedPrior { median: 4.0, sd: 1.0, shares: 1.5 };
    for (noise, scale) in [(Noise::DiscreteLaplace, 0.6), (Noise::DiscreteGaussian, 4.0)] {
        assert_pooled(noise, scale, prior, 60_000);
    }
    let wide = SharedPrior { median: 1.0, sd: 1.5, shares: 0.7 };
    assert_pooled(Noise::Laplace, 2.0, wide, 60_000);
}

/// Groups of other cells, and a prior that is none, are refused.
#[test]
fn bad_pools_are_refused() {
    let group = |cells: usize| {
        let rows = published_cells(Noise::Laplace, 1.0, &vec![1.0; cells]);
        CountProblem::new(list(cells), rows, Total::Known(9), flat(cells)).unwrap()
    };
    let prior = SharedPrior::default();
    assert!(PooledProblem::new(vec![], prior).is_err());
    assert!(PooledProblem::new(vec![group(2), group(3)], prior).is_err());
    let none = SharedPrior { sd: -1.0, ..prior };
    assert_eq!(PooledProblem::new(vec![group(2)], none).unwrap_err().field, "prior.sd");
}
