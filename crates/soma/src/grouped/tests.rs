//! Groups one by one and pooled: calibration, and what is refused.
//!
//! 1,000 replications: `cargo test --release -p soma-mcmc --lib grouped -- --ignored --nocapture`

use std::num::NonZeroUsize;

use rand::RngExt;

use super::*;
use crate::counts::Shares;
use crate::counts::{
    CountProblem, Likelihood, PooledChain, PooledProblem, Published, SharedPrior, SizePrior, Table,
    Total,
};
use crate::release::mechanism::{Noise, Publishing};
use crate::rng::{Rng, stream};

fn entry(group: &str, cell: &str, value: f64, n: Option<u64>) -> Entry {
    let publishing = Publishing::default();
    let size = n.map_or(Size::Unknown, Size::Public);
    Entry { group: group.into(), cell: cell.into(), value, scale: 2.0, publishing, size }
}

/// A count that was published with discrete Gaussian noise of this scale, and not below `low`.
fn ended(group: &str, cell: &str, value: f64, scale: f64, low: f64) -> Entry {
    let publishing = Publishing { low, ..Publishing::default() };
    Entry { scale, publishing, ..entry(group, cell, value, None) }
}

fn table(entries: &[Entry]) -> GroupTable {
    GroupTable::new(entries, Noise::DiscreteLaplace, 1.0).unwrap()
}

/// The oracle of two categories, y = (12, 3) with discrete Laplace noise of scale 2: n unknown, and
/// n = 15.
#[test]
fn groups_agree_with_enumeration() {
    let entries = [
        entry("north", "a", 12.0, None),
        entry("south", "b", 3.0, Some(15)),
        entry("north", "b", 3.0, None),
        entry("south", "a", 12.0, Some(15)),
    ];
    let plan = Plan { draws: 5000, ..Plan::default() };
    let fitted = fit(&table(&entries), &plan, NonZeroUsize::new(2).unwrap(), &Quiet).unwrap();
    let found: Vec<&str> = fitted.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(found, ["north", "south"]);
    for (group, expected) in fitted.iter().zip([0.74876, 0.76105]) {
        assert!(group.verdict.is_trusted(), "{}", group.verdict);
        let share = &group.columns[0];
        assert_eq!(share.name, "p[a]");
        let error = 4.5 * share.summary.mcse_mean;
        assert!((share.summary.mean - expected).abs() < error, "{}", share.summary.mean);
    }
    assert_eq!(fitted[0].columns.last().unwrap().name, "n");
    // The same draws on one thread.
    let again = fit(&table(&entries), &plan, NonZeroUsize::MIN, &Quiet).unwrap();
    assert_eq!(again[1].columns[0].summary.mean, fitted[1].columns[0].summary.mean);
}

/// The oracle of the same counts with a noisy n of 18, with discrete Laplace noise of scale 1.
#[test]
fn a_noisy_n_agrees_with_enumeration() {
    let size = Size::Noisy { value: 18.0, scale: 1.0 };
    let entries = [("a", 12.0), ("b", 3.0)]
        .map(|(cell, value)| Entry { size, ..entry("north", cell, value, None) });
    let plan = Plan { draws: 10_000, ..Plan::default() };
    let fitted = fit(&table(&entries), &plan, NonZeroUsize::MIN, &Quiet).unwrap();
    for (name, expected) in [("p[a]", 0.72971), ("n", 17.49698)] {
        let column = fitted[0].columns.iter().find(|column| column.name == name).unwrap();
        let error = 4.5 * column.summary.mcse_mean + 1e-5;
        assert!((column.summary.mean - expected).abs() < error, "{name}: {}", column.summary.mean);
    }
}

/// The oracles of counts clamped at zero, y = (12, 0) with discrete Gaussian noise of scale 3, and of a
/// count that is not shown up to 90 beside 95, with scale 10.
#[test]
fn censored_groups_agree_with_enumeration() {
    let entries = [
        ended("clamped", "a", 12.0, 3.0, 0.0),
        ended("clamped", "b", 0.0, 3.0, 0.0),
        ended("hidden", "a", 95.0, 10.0, 90.0),
        ended("hidden", "b", 90.0, 10.0, 90.0),
    ];
    let table = GroupTable::new(&entries, Noise::DiscreteGaussian, 1.0).unwrap();
    let plan = Plan { draws: 10_000, ..Plan::default() };
    let fitted = fit(&table, &plan, NonZeroUsize::MIN, &Quiet).unwrap();
    for (group, [share, size]) in fitted.iter().zip([[0.83629, 12.72071], [0.72406, 134.42127]]) {
        assert!(group.verdict.is_trusted(), "{}: {}", group.name, group.verdict);
        for (name, expected) in [("p[a]", share), ("n", size)] {
            let column = group.columns.iter().find(|column| column.name == name).unwrap();
            let error = 4.5 * column.summary.mcse_mean + 1e-5;
            let found = column.summary.mean;
            assert!((found - expected).abs() < error, "{} {name}: {found}", group.name);
        }
    }
}

#[test]
fn bad_tables_are_refused() {
    let new = |entries: &[Entry]| GroupTable::new(entries, Noise::DiscreteLaplace, 1.0);
    let (a, b) = (entry("x", "a", 1.0, None), entry("x", "b", 1.0, None));
    let twice = new(&[a.clone(), b.clone(), a.clone()]).unwrap_err();
    assert_eq!(twice.field, "row 3");
    let missing = new(&[a.clone(), b.clone(), entry("y", "a", 1.0, None)]).unwrap_err();
    assert!(missing.problem.contains("group y") && missing.given == "b", "{missing}");
    let half = new(&[a.clone(), entry("x", "b", 1.5, None)]).unwrap_err();
    assert_eq!(half.field, "row 2.value");
    let sizes = new(&[a.clone(), entry("x", "b", 1.0, Some(3))]).unwrap_err();
    assert_eq!(sizes.field, "row 2: n");
    assert!(new(&[a]).is_err(), "one cell is no table");
}

/// A pooled problem of four groups with these published values, and a proper prior of n in two.
fn pooled(
    values: Option<&[Vec<f64>]>,
    noise: Noise,
    scale: f64,
    publishing: Publishing,
) -> PooledProblem {
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let group = |number: usize| {
        let row = |cell: usize| {
            let value = values.map_or(5.0, |values| values[number][cell]);
            let law = Likelihood::processed(noise, scale, publishing, value).unwrap();
            Published::sum(names[cell].clone(), &[cell], law)
        };
        let total = match number % 2 {
            0 => Total::Known(20 + 10 * number as i64),
            _ => Total::Unknown(SizePrior::Poisson { mean: 25.0 }),
        };
        let rows = (0..3).map(row).collect();
        let shares = Shares::Dirichlet(vec![1.0; 3]);
        CountProblem::new(Table::list(names.clone()).unwrap(), rows, total, shares).unwrap()
    };
    let prior = SharedPrior { median: 10.0, sd: 1.0, shares: 2.0 };
    PooledProblem::new((0..4).map(group).collect(), prior).unwrap()
}

/// How counts are made public, and what is assumed of it.
#[derive(Clone, Copy)]
struct Made {
    noise: Noise,
    scale: f64,
    low: f64,
    assumed_scale: f64,
    assumed_low: f64,
}

impl Made {
    /// As it is assumed.
    fn known(noise: Noise, scale: f64, low: f64) -> Self {
        Made { noise, scale, low, assumed_scale: scale, assumed_low: low }
    }
}

/// The ranks, among 99 draws, of the common prior and of some quantities of the groups.
fn ranks(replication: u64, made: Made) -> Vec<usize> {
    const DRAWS: usize = 99;
    let Made { noise, scale, low, assumed_scale, assumed_low } = made;
    let mut rng: Rng = stream(11, replication);
    let plain = Publishing::default();
    let (shared, truths) = pooled(None, noise, scale, plain).simulate(&mut rng).unwrap();
    let noisy = |truth: &crate::counts::Truth| {
        let published = |&sum: &i64| (sum as f64 + noise.sample(scale, &mut rng)).max(low);
        truth.sums.iter().map(published).collect()
    };
    let values: Vec<Vec<f64>> = truths.iter().map(noisy).collect();
    let publishing = Publishing { low: assumed_low, ..plain };
    let problem = pooled(Some(&values), noise, assumed_scale, publishing);
    let mut chain = PooledChain::new(&problem, 12, replication, 300);
    (0..300).for_each(|_| chain.step().unwrap());
    let of = |shared: &[f64], groups: &[Vec<f64>]| {
        let mut all = shared.to_vec();
        groups.iter().for_each(|group| all.extend_from_slice(group));
        all
    };
    let groups: Vec<Vec<f64>> = truths.into_iter().map(|truth| truth.values).collect();
    let truth = of(&shared, &groups);
    let (mut below, mut equal) = (vec![0usize; truth.len()], vec![0usize; truth.len()]);
    for _ in 0..DRAWS {
        (0..8).for_each(|_| chain.step().unwrap());
        let groups: Vec<Vec<f64>> = (0..4).map(|group| chain.group(group)).collect();
        for (place, drawn) in of(&chain.shared(), &groups).into_iter().enumerate() {
            below[place] += usize::from(drawn < truth[place]);
            equal[place] += usize::from(drawn == truth[place]);
        }
    }
    // Among equal draws, of counts, every place is as likely.
    below.iter().zip(equal).map(|(below, equal)| below + rng.random_range(0..=equal)).collect()
}

/// The largest chi-squared statistic of ranks in ten bins, over all quantities.
fn worst(replications: u64, made: Made) -> f64 {
    let all: Vec<Vec<usize>> = (0..replications).map(|r| ranks(r, made)).collect();
    let statistic = |quantity: usize| {
        let mut bins = [0.0; 10];
        all.iter().for_each(|ranks| bins[ranks[quantity] / 10] += 1.0);
        let expected = replications as f64 / 10.0;
        bins.iter().map(|count| (count - expected).powi(2) / expected).sum::<f64>()
    };
    (0..all[0].len()).map(statistic).fold(0.0, f64::max)
}

/// 30 quantities: a chi-squared statistic with 9 degrees of freedom exceeds 39 with probability
/// 1.2e-5.
#[test]
fn pooled_groups_are_calibrated() {
    let found = worst(100, Made::known(Noise::DiscreteLaplace, 2.0, f64::NEG_INFINITY));
    assert!(found < 39.0, "chi-squared {found}");
}

/// The same of counts that are not shown up to 5: so are about a third.
#[test]
fn pooled_groups_with_suppressed_counts_are_calibrated() {
    let found = worst(100, Made::known(Noise::DiscreteGaussian, 3.0, 5.0));
    assert!(found < 39.0, "chi-squared {found}");
}

/// `cargo test --release -p soma-mcmc --lib grouped -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn pooled_groups_are_calibrated_finely() {
    for noise in [Noise::DiscreteLaplace, Noise::DiscreteGaussian] {
        for scale in [0.8, 6.0] {
            for low in [f64::NEG_INFINITY, 0.0, 5.0] {
                let found = worst(1000, Made::known(noise, scale, low));
                let name = noise.name();
                println!(
                    "{name} {scale}, not below {low}: largest chi-squared {found:.1} of 9 degrees"
                );
                assert!(found < 39.0, "{name} {scale} {low}: chi-squared {found}");
            }
        }
    }
}

/// The power: noise that is assumed half as large as it is gets caught, and so are thresholds taken
/// for counts.
#[test]
fn mistaken_noise_of_groups_is_caught() {
    let right = Made::known(Noise::DiscreteGaussian, 6.0, f64::NEG_INFINITY);
    let found = worst(100, Made { assumed_scale: 3.0, ..right });
    assert!(found > 39.0, "chi-squared {found}");
    let right = Made::known(Noise::DiscreteGaussian, 3.0, 5.0);
    let found = worst(100, Made { assumed_low: f64::NEG_INFINITY, ..right });
    assert!(found > 39.0, "chi-squared {found}");
}
