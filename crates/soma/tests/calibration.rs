//! Simulation-based calibration of every model, with every kernel and noise; and a test of its
//! power: noise assumed a tenth too large is detected.
//!
//! Problems are small, so that chains mix within a few iterations and draws 20 iterations apart are
//! nearly independent, as the test requires.

use std::num::NonZeroUsize;
use std::sync::Arc;

use nalgebra::DMatrix;
use soma::calibration::{Calibration, Plan, Unobserved, calibrate, replicate};
use soma::chain::{MovesChoice, Problem};
use soma::kernel::{KernelChoice, Subset};
use soma::model::{
    Beta, Categorical, Dirichlet, Exponential, GammaPrior, Model, Normal, NormalInverseGamma,
    Regression, Uniform,
};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::query::{Categories, Gram, Histogram, LogSum, Mean};
use soma::release::{Aggregate, Query, Release};

/// A new kernel is one line here.
const KERNELS: [KernelChoice; 5] = [
    KernelChoice::Soma,
    KernelChoice::SomaSubset { size: 3, subset: Subset::Random },
    KernelChoice::SomaSubset { size: 2, subset: Subset::Cyclic },
    KernelChoice::RanImwg,
    KernelChoice::SysImwg,
];

const CONTINUOUS: [Noise; 2] = [Noise::Laplace, Noise::Gaussian];

fn problem(
    query: impl Query + 'static,
    noise: Noise,
    scale: f64,
    n: usize,
    model: impl Model + 'static,
) -> Problem {
    let mechanism = Mechanism::new(noise, vec![scale; query.dim()]).unwrap();
    let values = vec![0.0; query.dim()];
    let release = Release::new(Arc::new(query), mechanism, Aggregate::Sum, n, values).unwrap();
    Problem::new(release, Arc::new(model)).unwrap()
}

fn noise_of(problem: &Problem) -> Noise {
    problem.release().parts()[0].mechanism().unwrap().noise()
}

fn run(problem: &Problem, truth: Option<&Release>, plan: &Plan) -> Calibration {
    calibrate(problem, truth, plan, NonZeroUsize::MIN, &Unobserved).unwrap()
}

/// Every kernel is calibrated with the paper's update of theta, and SOMA with all theta updates.
fn all_kernels(problem: &Problem, plan: &Plan) {
    let centred = KERNELS.map(|kernel| (kernel, MovesChoice::Centred));
    let all = centred.into_iter().chain([(KernelChoice::Soma, MovesChoice::Auto)]);
    for (number, (kernel, moves)) in all.enumerate() {
        let plan = Plan { kernel, moves, seed: plan.seed + number as u64, ..*plan };
        let found = run(problem, None, &plan);
        let release = problem.release();
        let noise = noise_of(problem);
        for quantity in &found.quantities {
            assert!(
                quantity.uniformity.p_value() > 1e-4,
                "{} on {} with {} noise, {kernel:?}, {moves:?}: {} has {:?}",
                problem.model().kind(),
                release.query().kind(),
                noise.name(),
                quantity.name,
                quantity.uniformity
            );
        }
    }
}

fn gamma(shape: f64, rate: f64) -> GammaPrior {
    GammaPrior::new(shape, rate).unwrap()
}

#[test]
fn normal() {
    for noise in CONTINUOUS {
        let model = Normal::new(0.5, 1.0, 4.0, 3.0).unwrap();
        let query = Mean::new(vec![(-3.0, 4.0)]).unwrap();
        let problem = problem(query, noise, 1.5, 5, model);
        all_kernels(&problem, &Plan { replications: 500, ..Plan::default() });
    }
}

#[test]
fn beta() {
    for noise in CONTINUOUS {
        let model = Beta::new(gamma(6.0, 2.0), gamma(8.0, 2.0));
        let query = Mean::new(vec![(0.0, 1.0)]).unwrap();
        let problem = problem(query, noise, 0.4, 4, model);
        all_kernels(&problem, &Plan { replications: 120, warmup: 60, thin: 10, ..Plan::default() });
    }
}

#[test]
fn exponential() {
    for noise in CONTINUOUS {
        let query = Mean::new(vec![(0.0, 3.0)]).unwrap();
        let problem = problem(query, noise, 1.0, 5, Exponential::new(gamma(4.0, 3.0)));
        all_kernels(&problem, &Plan { replications: 500, ..Plan::default() });
    }
}

fn regression_problem(noise: Noise, scale: f64, n: usize) -> Problem {
    let prior =
        NormalInverseGamma::new(vec![0.0, 0.0], &DMatrix::identity(2, 2), 6.0, 6.0).unwrap();
    let model = Regression::new(vec![0.5], None, prior).unwrap();
    problem(Gram::with_range(1, (-4.0, 4.0)).unwrap(), noise, scale, n, model)
}

#[test]
fn regression() {
    for noise in CONTINUOUS {
        let problem = regression_problem(noise, 0.5, 5);
        all_kernels(&problem, &Plan { replications: 500, ..Plan::default() });
    }
}

#[test]
fn dirichlet() {
    for noise in CONTINUOUS {
        let model = Dirichlet::new(vec![gamma(6.0, 2.0), gamma(4.0, 2.0), gamma(5.0, 1.0)]);
        let query = LogSum::new(3, (0.02, 1.0)).unwrap();
        let problem = problem(query, noise, 1.5, 4, model.unwrap());
        all_kernels(&problem, &Plan { replications: 120, warmup: 60, thin: 10, ..Plan::default() });
    }
}

fn categorical_problem(noise: Noise, scale: f64, n: usize) -> Problem {
    let model = Categorical::new(vec![1.0, 2.0, 1.5]).unwrap();
    problem(Categories::new(3).unwrap(), noise, scale, n, model)
}

#[test]
fn categorical() {
    for noise in Noise::ALL {
        let problem = categorical_problem(noise, 1.0, 6);
        all_kernels(&problem, &Plan { replications: 500, ..Plan::default() });
    }
}

#[test]
fn uniform() {
    for noise in Noise::ALL {
        let query = Histogram::with_equal_bins(&[((0.0, 1.0), 4)]).unwrap();
        let model = Uniform::new(vec![(0.0, 1.0)]).unwrap();
        let problem = problem(query, noise, 0.8, 6, model);
        all_kernels(&problem, &Plan { replications: 500, ..Plan::default() });
    }
}

/// The p-value if the noise scale of the release is `factor` times the assumed one.
fn with_mistaken_noise(problem: &Problem, factor: f64, plan: &Plan) -> f64 {
    let release = problem.release();
    let scales = release.scales().iter().map(|scale| scale * factor).collect();
    let mechanism = Mechanism::new(noise_of(problem), scales).unwrap();
    let (query, values) = (release.query().clone(), release.values());
    let truth = Release::new(query, mechanism, Aggregate::Sum, release.n(), values).unwrap();
    run(problem, Some(&truth), plan).p_value()
}

/// The power of the test: noise assumed 10% too large is detected, for both kinds of noise; with
/// the right scale the test passes.
#[test]
fn noise_ten_percent_off_is_caught() {
    let problems =
        [regression_problem(Noise::Laplace, 0.5, 5), regression_problem(Noise::Gaussian, 0.5, 5)];
    for problem in problems {
        let plan =
            Plan { moves: MovesChoice::Centred, replications: 1500, seed: 77, ..Plan::default() };
        let p = with_mistaken_noise(&problem, 1.0 / 1.1, &plan);
        let noise = noise_of(&problem);
        assert!(p < 1e-4, "{} noise 10% off went unseen: p = {p}", noise.name());
        let right = run(&problem, None, &plan).p_value();
        assert!(right > 1e-3, "{} noise is right, and yet p = {right}", noise.name());
    }
}

/// The default sampler, with 1,000 replications, enough warm-up to choose the kernel and the theta
/// updates, and releases sharp enough that the updates matter. Minutes for each model; prints
/// results after every 250 replications:
///
/// `cargo test --release --workspace --test calibration -- --ignored --nocapture default_sampler`
fn finely(number: u64, problem_with: impl Fn(Noise) -> Problem) {
    for (i, noise) in CONTINUOUS.into_iter().enumerate() {
        let problem = problem_with(noise);
        let plan = Plan {
            kernel: KernelChoice::Auto,
            moves: MovesChoice::Auto,
            replications: 1000,
            warmup: 120,
            draws: 19,
            thin: 10,
            seed: 1000 + 7 * i as u64 + number,
        };
        let (model, noise) = (problem.model().kind(), noise.name());
        let mut rows = Vec::new();
        let mut p = 1.0;
        for index in 0..plan.replications {
            rows.push(replicate(&problem, None, &plan, index).unwrap());
            if rows.len() % 250 == 0 {
                p = Calibration::of(&problem, &plan, &rows).p_value();
                println!("{model} with {noise} noise: {} replications, p = {p:.3}", rows.len());
            }
        }
        assert!(p > 1e-3, "{model} with {noise} noise: p = {p}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn default_sampler_normal() {
    finely(0, |noise| {
        let model = Normal::new(0.5, 1.0, 4.0, 3.0).unwrap();
        problem(Mean::new(vec![(-3.0, 4.0)]).unwrap(), noise, 0.5, 6, model)
    });
}

#[test]
#[ignore = "takes minutes"]
fn default_sampler_beta() {
    finely(1, |noise| {
        let model = Beta::new(gamma(6.0, 2.0), gamma(8.0, 2.0));
        problem(Mean::new(vec![(0.0, 1.0)]).unwrap(), noise, 0.2, 5, model)
    });
}

#[test]
#[ignore = "takes minutes"]
fn default_sampler_exponential() {
    finely(2, |noise| {
        let model = Exponential::new(gamma(4.0, 3.0));
        problem(Mean::new(vec![(0.0, 3.0)]).unwrap(), noise, 0.5, 5, model)
    });
}

#[test]
#[ignore = "takes minutes"]
fn default_sampler_regression() {
    finely(3, |noise| regression_problem(noise, 0.3, 8));
}

#[test]
#[ignore = "takes minutes"]
fn default_sampler_dirichlet() {
    finely(4, |noise| {
        let model = Dirichlet::new(vec![gamma(6.0, 2.0), gamma(4.0, 2.0), gamma(5.0, 1.0)]);
        problem(LogSum::new(3, (0.02, 1.0)).unwrap(), noise, 0.5, 5, model.unwrap())
    });
}

#[test]
#[ignore = "takes minutes"]
fn default_sampler_categorical() {
    finely(5, |noise| categorical_problem(noise, 1.0, 6));
}

#[test]
#[ignore = "takes minutes"]
fn default_sampler_uniform() {
    finely(6, |noise| {
        let query = Histogram::with_equal_bins(&[((0.0, 1.0), 4)]).unwrap();
        problem(query, noise, 0.8, 6, Uniform::new(vec![(0.0, 1.0)]).unwrap())
    });
}
