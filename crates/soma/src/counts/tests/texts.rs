//! Effective draws per iteration of models as text, from small to large n and noise.

use std::sync::Arc;

use super::grid::{Figures, figures, header, print};
use super::*;
use crate::counts::start::apportion;
use crate::model::{Model, Text};
use crate::release::query;
use crate::release::{Aggregate, Mechanism, Release};
use crate::rng::stream;

/// A model with the statistics that are released, and the true theta.
struct Example {
    name: &'static str,
    parameters: &'static str,
    record: &'static str,
    statistics: &'static [&'static str],
    theta: &'static [f64],
}

const EXAMPLES: [Example; 5] = [
    Example {
        name: "proportion",
        parameters: "p ~ beta(1, 1)",
        record: "yes ~ bernoulli(p)",
        statistics: &["yes"],
        theta: &[0.3],
    },
    Example {
        name: "Poisson, clamped at 15",
        parameters: "rate ~ gamma(2, 0.5)",
        record: "visits ~ poisson(rate)",
        statistics: &["clamp(visits, 0, 15)"],
        theta: &[3.2],
    },
    Example {
        name: "negative binomial, clamped at 30",
        parameters: "mu ~ gamma(2, 0.5)\nsize ~ gamma(2, 1)",
        record: "visits ~ negative_binomial(mu, size)",
        statistics: &["clamp(visits, 0, 30)", "visits == 0"],
        theta: &[3.0, 1.2],
    },
    Example {
        name: "logistic regression on 5 levels",
        parameters: "a ~ normal(0, 2)\nb ~ normal(0, 1)",
        record: "k ~ categorical([1, 2, 3, 2, 1])\nv ~ bernoulli(logistic(a + b * (k - 3)))",
        statistics: &["v", "(k - 3) * v", "k"],
        theta: &[-0.4, 0.6],
    },
    Example {
        name: "normal, two thresholds",
        parameters: "m ~ normal(0, 3)\ns ~ half_normal(3)",
        record: "x ~ normal(m, s)",
        statistics: &["x > 0", "x > 1.5"],
        theta: &[0.4, 1.3],
    },
];

impl Example {
    /// The problem of noisy sums over `n` records, near their means at theta.
    fn problem(&self, n: usize, sd: f64) -> CountProblem {
        let model = Text::new(self.parameters, self.record, &Default::default()).unwrap();
        let texts: Vec<String> = self.statistics.iter().map(|text| text.to_string()).collect();
        let query = Arc::new(query::Text::new(&texts, model.text()).unwrap());
        let problem = |values: Vec<f64>| {
            let noise = Mechanism::new(Noise::Gaussian, vec![sd; values.len()]).unwrap();
            let release = Release::new(query.clone(), noise, Aggregate::Sum, n, values).unwrap();
            let partition = model.partition(&release).unwrap().unwrap();
            CountProblem::of_partition(&release, partition).unwrap()
        };
        let zero = problem(vec![0.0; texts.len()]);
        let Shares::Model(cells) = zero.shares() else { panic!("a model") };
        let (mut free, mut logs) = (self.theta.to_vec(), vec![0.0; cells.cells()]);
        model.transport().unwrap().unconstrain(self.theta, &mut free);
        cells.log_shares(&free, &mut logs);
        let shares: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
        let counts = apportion(n as i64, &shares);
        let mut rng = stream(12, n as u64);
        let sum =
            |row: &Published| row.cells.iter().map(|&(cell, w)| w * counts[cell]).sum::<i64>();
        let noisy = |row: &Published| sum(row) as f64 + Noise::Gaussian.sample(sd, &mut rng);
        problem(zero.published().iter().map(noisy).collect())
    }
}

/// The figures of the book.
///
/// `cargo test --release -p soma-mcmc --lib counts::tests::texts::effective -- --ignored --nocapture`
#[test]
#[ignore = "prints figures; a minute"]
fn effective_draws_of_models_as_text() {
    header();
    for example in &EXAMPLES {
        for n in [100, 10_000, 1_000_000] {
            for sd in [2.0, 200.0] {
                print(&example.problem(n, sd), &format!("{} n {n} sd {sd}", example.name));
            }
        }
    }
}

/// At the default settings chains agree, whatever n.
#[test]
fn chains_mix_whatever_n_is() {
    for example in &EXAMPLES[1..4] {
        for n in [100, 10_000, 1_000_000] {
            let Figures { ess, rhat, .. } = figures(&example.problem(n, 10.0));
            let fine = ess.0 >= 0.2 * 4000.0 && rhat.0 < 1.01;
            assert!(fine, "{} n {n}: {ess:?} effective draws, R-hat {rhat:?}", example.name);
        }
    }
}
