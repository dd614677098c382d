//! Effective draws per second and per iteration, from small to large noise and from small to large
//! n. Seconds are those that the thread ran, so that a busy machine does not matter.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};

use super::*;
use crate::counts::models::{LogLinear, NormalCells};
use crate::diagnostics::{ess_bulk, rhat};
use crate::rng::stream;

const CELLS: usize = 24;

/// Counts of 24 cells with exponentially distributed shares.
fn truth(n: i64) -> Vec<i64> {
    let mut rng = stream(5, n as u64);
    let shares: Vec<f64> = (0..CELLS).map(|_| rng.sample::<f64, _>(Exp1)).collect();
    super::super::start::apportion(n, &shares)
}

/// The seconds that this thread ran on a core; where the system does not count them, the seconds
/// since the first call.
fn seconds() -> f64 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let began = *BEGAN;
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.map_or_else(|| began.elapsed().as_secs_f64(), |count| 1e-9 * count)
}

/// Four chains with 1,000 iterations of warm-up and 1,000 draws, one after the other: the smallest
/// ESS per second (including warm-up), the smallest ESS per iteration and the largest R-hat, with
/// the columns of both.
pub(super) struct Figures {
    seconds: f64,
    pub ess: (f64, usize),
    pub rhat: (f64, usize),
    moves: CountMoves,
}

pub(super) fn figures(problem: &CountProblem) -> Figures {
    let outputs = problem.outputs().len();
    let mut draws: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); 4]; outputs];
    let began = seconds();
    let mut moves = CountMoves::default();
    for index in 0..4 {
        let mut chain = CountChain::new(problem, 1, index, 1000);
        for iteration in 0..2000 {
            chain.step().unwrap();
            if iteration >= 1000 {
                for (column, value) in draws.iter_mut().zip(chain.draw()) {
                    column[index as usize].push(value);
                }
            }
        }
        moves = chain.moves();
    }
    let seconds = seconds() - began;
    // Neither is defined for a column that is constant.
    let each = |f: fn(&[Vec<f64>]) -> f64| {
        let values = draws.iter().enumerate().map(move |(at, column)| (f(column), at));
        values.filter(|(value, _)| !value.is_nan())
    };
    let ess = each(ess_bulk).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    let rhat = each(rhat).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    Figures { seconds, ess, rhat, moves }
}

pub(super) fn print(problem: &CountProblem, what: &str) {
    let Figures { seconds, ess, rhat, moves } = figures(problem);
    let (second, iteration) = (ess.0 / seconds, ess.0 / 4000.0);
    let names = problem.outputs();
    let rates: Vec<String> = moves
        .named()
        .iter()
        .filter(|(_, counts)| counts.proposed > 0)
        .map(|(name, counts)| format!("{name} {:.2}", counts.acceptance_rate()))
        .collect();
    let (least, most) = (&names[ess.1], &names[rhat.1]);
    println!(
        "{what:44} {seconds:7.2} {second:9.0} {iteration:6.2} {:7.4}  {}; {least}, {most}",
        rhat.0,
        rates.join(", ")
    );
}

pub(super) fn header() {
    println!("{:44} {:>7} {:>9} {:>6} {:>7}", "", "seconds", "ESS/s", "ESS/it", "R-hat");
}

/// `cargo test --release -p soma-mcmc --lib counts::tests::grid::effective -- --ignored --nocapture`
#[test]
#[ignore = "prints figures; a minute"]
fn effective_draws_of_24_cells() {
    header();
    for known in [true, false] {
        for noise in [Noise::DiscreteLaplace, Noise::DiscreteGaussian] {
            for n in [100, 10_000, 1_000_000, 100_000_000] {
                for sd in [0.5, 8.0, 200.0, 2000.0] {
                    let gaussian = noise == Noise::DiscreteGaussian;
                    let scale = if gaussian { sd } else { sd / std::f64::consts::SQRT_2 };
                    let mut rng = stream(6, n as u64);
                    let noisy = |&count: &i64| count as f64 + noise.sample(scale, &mut rng);
                    let values: Vec<f64> = truth(n).iter().map(noisy).collect();
                    let rows = published_cells(noise, scale, &values);
                    let total =
                        if known { Total::Known(n) } else { Total::Unknown(SizePrior::Flat) };
                    let problem = CountProblem::new(list(CELLS), rows, total, flat(CELLS)).unwrap();
                    let size = if known { "known" } else { "unknown" };
                    print(&problem, &format!("{} n {size} {n} sd {sd}", noise.name()));
                }
            }
        }
    }
}

/// Adds noise to every sum of each margin of `table`.
fn measured(
    table: &Table,
    truth: &[i64],
    margins: &[(&[usize], f64)],
    noise: Noise,
) -> Vec<Published> {
    let mut rng = stream(8, 0);
    let mut rows = Vec::new();
    for (kept, scale) in margins {
        for margin in table.margin(kept).unwrap() {
            let sum: i64 = margin.cells.iter().map(|&cell| truth[cell]).sum();
            let value = sum as f64 + noise.sample(*scale, &mut rng);
            let law = Likelihood::new(noise, *scale, value).unwrap();
            rows.push(Published::sum(format!("{kept:?} {}", margin.label), &margin.cells, law));
        }
    }
    rows
}

/// `cargo test --release -p soma-mcmc --lib counts::tests::grid::margins -- --ignored --nocapture`
#[test]
#[ignore = "prints figures; a minute"]
fn margins_and_models_of_24_cells() {
    header();
    let table = cross(&[4, 3, 2]);
    for n in [100, 10_000, 1_000_000, 100_000_000] {
        for (fine, coarse) in [(2.0, 2.0), (200.0, 2.0), (2000.0, 200.0), (2.0, 200.0)] {
            let margins: [(&[usize], f64); 5] = [
                (&[], coarse),
                (&[0], coarse),
                (&[1], coarse),
                (&[0, 1], coarse),
                (&[0, 1, 2], fine),
            ];
            let rows = measured(&table, &truth(n), &margins, Noise::DiscreteGaussian);
            let terms = [(vec![0], 1.0), (vec![1], 1.0), (vec![2], 1.0), (vec![0, 1], 0.5)];
            let model = LogLinear::new(&table, &terms).unwrap();
            for (name, shares) in
                [("dirichlet", flat(CELLS)), ("log-linear", Shares::Model(Arc::new(model)))]
            {
                let total = Total::Unknown(SizePrior::Flat);
                let problem =
                    CountProblem::new(table.clone(), rows.clone(), total, shares).unwrap();
                print(&problem, &format!("{name} n {n} cells {fine} margins {coarse}"));
            }
        }
    }
    for n in [100, 10_000, 1_000_000, 100_000_000] {
        for sd in [0.5, 8.0, 200.0, 2000.0] {
            let cuts: Vec<f64> = (0..CELLS - 1).map(|k| 0.25 * (k as f64 - 11.0)).collect();
            let model = NormalCells::new(cuts, 0.0, 0.1, 2.0, 2.0).unwrap();
            let mut logs = vec![0.0; CELLS];
            model.log_shares(&[0.3, -0.2], &mut logs);
            let shares: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
            let truth = super::super::start::apportion(n, &shares);
            let rows = measured(&list(CELLS), &truth, &[(&[0][..], sd)], Noise::DiscreteGaussian);
            let shares = Shares::Model(Arc::new(model));
            let problem = CountProblem::new(list(CELLS), rows, Total::Known(n), shares).unwrap();
            print(&problem, &format!("normal n known {n} sd {sd}"));
        }
    }
}

/// The tables of a redistricting file for one tract: 8 x 2 x 2 x 63 cells.
///
/// `cargo test --release -p soma-mcmc --lib counts::tests::grid::census -- --ignored --nocapture`
#[test]
#[ignore = "prints figures; two minutes"]
fn census_tract() {
    header();
    let table = cross(&[8, 2, 2, 63]);
    let mut rng = stream(9, 0);
    let weights: Vec<f64> =
        (0..table.cells()).map(|_| (3.0 * rng.sample::<f64, _>(StandardNormal)).exp()).collect();
    let truth = super::super::start::apportion(4000, &weights);
    let margins: [(&[usize], f64); 9] = [
        (&[], 1.5),
        (&[3], 6.0),
        (&[2], 4.0),
        (&[1], 4.0),
        (&[0], 6.0),
        (&[2, 3], 5.0),
        (&[1, 3], 5.0),
        (&[1, 2, 3], 4.0),
        (&[0, 1, 2, 3], 6.0),
    ];
    let rows = measured(&table, &truth, &margins, Noise::DiscreteGaussian);
    let total = Total::Unknown(SizePrior::Flat);
    for alpha in [0.1, 1.0] {
        let shares = Shares::Dirichlet(vec![alpha; table.cells()]);
        let problem = CountProblem::new(table.clone(), rows.clone(), total, shares).unwrap();
        print(&problem, &format!("8 x 2 x 2 x 63, n unknown, alpha {alpha}"));
    }
}
