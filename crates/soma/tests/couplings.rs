//! Meeting times compared with quadrature: two records between 0 and 1 with a private mean.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use nalgebra::DMatrix;
use soma::chain::{Chain, Problem, Summary};
use soma::coupling::{Meetings, PairRun, PairSettings, Window, posterior_means, run_pairs};
use soma::kernel::{KernelChoice, Subset};
use soma::model::{Beta, GammaPrior, NormalInverseGamma, Regression};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::{Aggregate, Release, query};
use soma::theory;

/// Beta(10, 10) records with a mean released as `value` with Laplace noise of scale 1 / (2
/// epsilon): epsilon-DP.
fn private_mean(epsilon: f64, value: f64) -> Problem {
    let query = Arc::new(query::Mean::new(vec![(0.0, 1.0)]).unwrap());
    let mechanism = Mechanism::new(Noise::Laplace, vec![0.5 / epsilon]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Mean, 2, vec![value]).unwrap();
    let prior = GammaPrior::new(1.0, 1.0).unwrap();
    let problem = Problem::new(release, Arc::new(Beta::new(prior, prior))).unwrap();
    problem.with_fixed(vec![10.0, 10.0], vec![Summary::Mean]).unwrap()
}

/// The same problem on a grid of midpoints.
struct Grid {
    points: Vec<f64>,
    /// The distribution of one record.
    law: Vec<f64>,
    /// eta at two records.
    eta: Vec<Vec<f64>>,
}

impl Grid {
    fn new(epsilon: f64, value: f64, size: usize) -> Self {
        let points: Vec<f64> =
            (0..size).map(|i| 0.06 + 0.88 * (i as f64 + 0.5) / size as f64).collect();
        let density = |x: f64| (x * (1.0 - x)).powi(9);
        let total: f64 = points.iter().map(|&x| density(x)).sum();
        let law = points.iter().map(|&x| density(x) / total).collect();
        let eta = |x: f64, y: f64| (-2.0 * epsilon * (0.5 * (x + y) - value).abs()).exp();
        let eta = points.iter().map(|&x| points.iter().map(|&y| eta(x, y)).collect()).collect();
        Grid { points, law, eta }
    }

    /// A distribution of the two records from a weight of each pair.
    fn normalised(&self, weight: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
        let size = self.points.len();
        let mut law: Vec<Vec<f64>> = (0..size)
            .map(|i| (0..size).map(|j| self.law[i] * self.law[j] * weight(i, j)).collect())
            .collect();
        let total: f64 = law.iter().flatten().sum();
        law.iter_mut().flatten().for_each(|p| *p /= total);
        law
    }

    fn start(&self) -> Vec<Vec<f64>> {
        self.normalised(|_, _| 1.0)
    }

    fn target(&self) -> Vec<Vec<f64>> {
        self.normalised(|i, j| self.eta[i][j])
    }

    /// The distribution after a move at each of `places` with equal probability, or by SOMA.
    fn step(&self, law: &[Vec<f64>], places: Option<&[usize]>) -> Vec<Vec<f64>> {
        let size = self.points.len();
        let mut after = vec![vec![0.0; size]; size];
        for i in 0..size {
            for j in 0..size {
                let (current, mut stay) = (self.eta[i][j], 0.0);
                for (y, proposed) in self.law.iter().enumerate() {
                    let mass = law[i][j] * proposed;
                    let weights = [self.eta[y][j], self.eta[i][y]];
                    let total = weights[0] + weights[1];
                    let mut moves = [0.0; 2];
                    match places {
                        None => {
                            for place in 0..2 {
                                let back = total + current - weights[place];
                                moves[place] = weights[place] / total * (total / back).min(1.0);
                            }
                        }
                        Some(places) => {
                            for &place in places {
                                let accept = (weights[place] / current).min(1.0);
                                moves[place] = accept / places.len() as f64;
                            }
                        }
                    }
                    after[y][j] += mass * moves[0];
                    after[i][y] += mass * moves[1];
                    stay += mass * (1.0 - moves[0] - moves[1]);
                }
                after[i][j] += stay;
            }
        }
        after
    }

    fn sweep(&self, law: &[Vec<f64>], kernel: KernelChoice) -> Vec<Vec<f64>> {
        let places: [Option<&[usize]>; 2] = match kernel {
            KernelChoice::SysImwg => [Some(&[0]), Some(&[1])],
            KernelChoice::RanImwg => [Some(&[0, 1]); 2],
            KernelChoice::SomaSubset { size: 1, .. } => [Some(&[0, 1]); 2],
            _ => [None; 2],
        };
        self.step(&self.step(law, places[0]), places[1])
    }

    fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
        let gaps = a.iter().flatten().zip(b.iter().flatten()).map(|(p, q)| (p - q).abs());
        0.5 * gaps.sum::<f64>()
    }
}

const KERNELS: [KernelChoice; 4] = [
    KernelChoice::Soma,
    KernelChoice::RanImwg,
    KernelChoice::SysImwg,
    KernelChoice::SomaSubset { size: 1, subset: Subset::Random },
];

fn run(problem: &Problem, settings: &PairSettings, pairs: u64, threads: usize) -> Vec<PairRun> {
    let runs = Mutex::new(Vec::new());
    let functions = |draw: &[f64]| {
        let squares = draw.iter().map(|x| x * x);
        draw.iter().copied().chain(squares).collect()
    };
    let keep = |run| runs.lock().unwrap().push(run);
    let indices: Vec<u64> = (0..pairs).collect();
    let stop = AtomicBool::new(false);
    run_pairs(problem, settings, &indices, threads, &functions, &keep, &stop).unwrap();
    let mut runs = runs.into_inner().unwrap();
    runs.sort_by_key(|run| run.index);
    runs
}

fn meetings(problem: &Problem, kernel: KernelChoice, lag: u64, pairs: u64) -> Meetings {
    let settings = PairSettings { kernel, lag, max_iterations: 100_000, seed: 3, window: None };
    let times = run(problem, &settings, pairs, 2).into_iter().map(|run| run.met).collect();
    Meetings::new(lag, settings.max_iterations, times)
}

/// At every iteration the bound is above the distance to the posterior, and not trivial.
#[test]
fn bounds_lie_above_the_distance() {
    let (epsilon, value) = (20.0, 0.5);
    let problem = private_mean(epsilon, value);
    let grid = Grid::new(epsilon, value, 80);
    let target = grid.target();
    for kernel in KERNELS {
        let all = meetings(&problem, kernel, 20, 4_000);
        assert!(all.all_met());
        let mut law = grid.start();
        for t in 0..14 {
            let distance = Grid::distance(&law, &target);
            let bound = all.bound(t);
            println!("{kernel:?}, t = {t}: {distance:.4} <= {:.4}", bound.bound);
            assert!(
                bound.bound + 4.0 * bound.se + 0.003 > distance,
                "{kernel:?}: {bound:?}, and the distance is {distance}"
            );
            assert!(t == 0 || bound.bound < 1.0, "{kernel:?}: {bound:?} says nothing");
            law = grid.sweep(&law, kernel);
        }
        assert!(all.bound(13).bound < 0.15 && all.first_under(0.01, 2.0).unwrap() < 50);
    }
}

/// The rate of the meetings is below the paper's bounds for n = 2, which are per move.
#[test]
fn rates_are_under_the_paper_s_bounds() {
    for epsilon in [1.0, 2.0, 4.0] {
        let problem = private_mean(epsilon, 0.5);
        let bounds = [
            (KernelChoice::Soma, theory::soma_rate(epsilon)),
            (KernelChoice::RanImwg, theory::ran_rate(epsilon)),
            (KernelChoice::SysImwg, theory::sys_rate(epsilon)),
        ];
        for (kernel, bound) in bounds {
            let rate = meetings(&problem, kernel, 1, 4_000).rate(1).unwrap();
            let bound = bound.value().powi(2);
            assert!(rate.high < bound, "{kernel:?} at {epsilon}: {rate:?}, bound {bound}");
        }
    }
}

/// Estimates with a very short window are unbiased for the posterior mean; the plain averages of
/// the same draws are not.
#[test]
fn estimates_have_no_bias() {
    let (epsilon, value) = (20.0, 0.62);
    let problem = private_mean(epsilon, value);
    let grid = Grid::new(epsilon, value, 400);
    let target = grid.target();
    let mean_of = |h: fn(f64) -> f64| -> f64 {
        let rows = target.iter().zip(&grid.points);
        rows.map(|(row, x)| {
            let cells = row.iter().zip(&grid.points);
            cells.map(|(p, y)| p * h(0.5 * (x + y))).sum::<f64>()
        })
        .sum()
    };
    let truth = [mean_of(|x| x), mean_of(|x| x * x)];
    for (kernel, lag) in KERNELS.into_iter().zip([1, 2, 3, 1]) {
        let window = Window::new(1, 3).unwrap();
        let settings =
            PairSettings { kernel, lag, max_iterations: 100_000, seed: 5, window: Some(window) };
        let runs = run(&problem, &settings, 20_000, 2);
        let estimates: Vec<_> = runs.iter().filter_map(|run| run.estimate.clone()).collect();
        assert_eq!(estimates.len(), runs.len());
        let costs: Vec<u64> = runs.iter().map(|run| run.cost).collect();
        let names = ["mean".to_string(), "square".to_string()];
        let means = posterior_means(&names, &estimates, &costs, window);
        for (f, (mean, truth)) in means.iter().zip(truth).enumerate() {
            let gap = (mean.mean - truth) / mean.se;
            assert!(gap.abs() < 4.5, "{kernel:?}: {mean:?}, truth {truth}");
            let plain: f64 =
                estimates.iter().map(|e| e.plain[f]).sum::<f64>() / estimates.len() as f64;
            assert!((plain - truth).abs() > 6.0 * mean.se, "{kernel:?}: {plain} for {truth}");
        }
    }
}

/// Couplings work on slots as on records: the estimate of n, where it is unknown, has no bias. The
/// exact answer is by enumeration.
#[test]
fn estimates_of_an_unknown_n_have_no_bias() {
    let text = r#"
        [release]
        n = "unknown"
        statistic = "sum"
        values = [12, 3]
        query = { kind = "categories", labels = ["a", "b"] }
        mechanism = { kind = "discrete-laplace", scale = 2.0 }
        [model]
        kind = "categorical"
        prior = { kind = "dirichlet", alpha = 1.0 }
    "#;
    let problem = soma::spec::Spec::parse(text).unwrap().problem;
    let names = problem.outputs();
    let at = names.iter().position(|name| name == "n").unwrap();
    let window = Window::new(5, 25).unwrap();
    let settings = PairSettings {
        kernel: KernelChoice::Soma,
        lag: 2,
        max_iterations: 100_000,
        seed: 5,
        window: Some(window),
    };
    let runs = run(&problem, &settings, 1000, 2);
    let estimates: Vec<_> = runs.iter().filter_map(|run| run.estimate.clone()).collect();
    assert_eq!(estimates.len(), runs.len());
    let costs: Vec<u64> = runs.iter().map(|run| run.cost).collect();
    // The squares of all outputs are estimated too.
    let n = &posterior_means(&[names.clone(), names].concat(), &estimates, &costs, window)[at];
    assert!((n.mean - 14.65882).abs() < 4.5 * n.se && n.se < 0.2, "{n:?}");
}

/// The result of a pair depends on its index, and not on the threads or on other pairs.
#[test]
fn threads_do_not_matter() {
    let problem = regression();
    let window = Some(Window::new(2, 30).unwrap());
    let kernel = KernelChoice::Soma;
    let settings = PairSettings { kernel, lag: 4, max_iterations: 10_000, seed: 9, window };
    assert_eq!(run(&problem, &settings, 12, 1), run(&problem, &settings, 12, 3));
    let short = PairSettings { max_iterations: 10, ..settings };
    let unmet = run(&problem, &short, 12, 2);
    assert!(unmet.iter().any(|run| run.met.is_none() && run.estimate.is_none()));
}

/// The paper's regression example with n = 10 and epsilon = 30.
fn regression() -> Problem {
    let values = vec![
        -0.386814, -0.092594, 0.080579, 0.260286, 0.128111, -0.208630, 0.068639, -0.033586,
        0.066447,
    ];
    let query = Arc::new(query::Gram::with_range(2, (-6.0, 6.0)).unwrap());
    let mechanism = Mechanism::new(Noise::Laplace, vec![13.0 / 300.0; 9]).unwrap();
    let release = Release::new(query, mechanism, Aggregate::Mean, 10, values).unwrap();
    let precision = DMatrix::identity(3, 3) * 0.5;
    let prior = NormalInverseGamma::new(vec![0.0; 3], &precision, 10.0, 10.0).unwrap();
    let model = Regression::new(vec![0.9, -1.17], None, prior).unwrap();
    Problem::new(release, Arc::new(model)).unwrap()
}

/// Over 200 repetitions of 50 pairs each, 95% intervals have their nominal coverage of the long-run
/// values, with windows so short that a bias would show. Takes a few minutes: `cargo test --release
/// -p soma-mcmc --test couplings -- --ignored --nocapture`.
#[test]
#[ignore = "a simulation study of a few minutes"]
fn intervals_cover() {
    let problem = regression();
    let (chains, draws) = (8, 120_000);
    let mut truth = [0.0; 4];
    for index in 0..chains {
        let mut chain = Chain::new(&problem, KernelChoice::Soma, 77, index).unwrap();
        for iteration in 0..draws + 2_000 {
            chain.step().unwrap();
            if iteration >= 2_000 {
                truth.iter_mut().zip(chain.theta()).for_each(|(sum, x)| *sum += x);
            }
        }
    }
    truth.iter_mut().for_each(|sum| *sum /= (chains * draws) as f64);
    let names = soma::model::Model::parameters(problem.model());
    for kernel in [KernelChoice::Soma, KernelChoice::RanImwg, KernelChoice::SysImwg] {
        let window = Window::new(5, 40).unwrap();
        let settings = PairSettings {
            kernel,
            lag: 5,
            max_iterations: 1_000_000,
            seed: 11,
            window: Some(window),
        };
        let runs = run(&problem, &settings, 200 * 50, 2);
        let mut covered = [0; 4];
        let mut plain_covered = [0; 4];
        for repetition in runs.chunks(50) {
            let estimates: Vec<_> =
                repetition.iter().filter_map(|run| run.estimate.clone()).collect();
            let costs: Vec<u64> = repetition.iter().map(|run| run.cost).collect();
            let plain: Vec<_> = estimates
                .iter()
                .map(|e| soma::coupling::Estimate { unbiased: e.plain.clone(), ..e.clone() })
                .collect();
            let covers = |covered: &mut [i32; 4], estimates: &[soma::coupling::Estimate]| {
                let means = posterior_means(&names, estimates, &costs, window);
                for (c, mean) in means.iter().enumerate() {
                    covered[c] += i32::from(mean.low <= truth[c] && truth[c] <= mean.high);
                }
            };
            covers(&mut covered, &estimates);
            covers(&mut plain_covered, &plain);
        }
        println!("{kernel:?}: {names:?} covered {covered:?} of 200; plain {plain_covered:?}");
        assert!(covered.iter().all(|&c| (176..=200).contains(&c)), "{kernel:?}: {covered:?}");
    }
}
