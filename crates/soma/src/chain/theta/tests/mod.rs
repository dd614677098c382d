//! Shared by the tests of theta updates: problems, and states from their joint distribution.

mod bridge;
mod frozen;
mod laws;
mod measured;
mod mixed;
mod texts;

use std::sync::Arc;

use nalgebra::DMatrix;

use super::centred::Centred;
use super::hamiltonian::{Force, Hamiltonian};
use super::independence::Independence;
use super::ridge::Ridge;
use super::*;
use crate::kernel::{KernelChoice, ModelProposals};
use crate::model::{Beta, Dirichlet, GammaPrior, Model, Normal, NormalInverseGamma, Regression};
use crate::release::mechanism::{Mechanism, Noise};
use crate::release::query::{Gram, LogSum, Mean};
use crate::release::{Aggregate, Query, Release};
use crate::rng;

#[derive(Clone)]
struct Case {
    query: Arc<dyn Query>,
    model: Arc<dyn Model>,
    mechanism: Mechanism,
    /// The noise in units of the scales, if it is not the mechanism's.
    other_noise: Option<mixed::OtherNoise>,
    n: usize,
}

impl Case {
    fn normal(noise: Noise, scale: f64, n: usize) -> Case {
        Case {
            query: Arc::new(Mean::new(vec![(-2.0, 2.0)]).unwrap()),
            model: Arc::new(Normal::new(0.0, 1.0, 4.0, 3.0).unwrap()),
            mechanism: Mechanism::new(noise, vec![scale]).unwrap(),
            other_noise: None,
            n,
        }
    }

    fn beta(noise: Noise, scale: f64, n: usize) -> Case {
        let prior = GammaPrior::new(4.0, 2.0).unwrap();
        Case {
            query: Arc::new(Mean::new(vec![(0.2, 0.9)]).unwrap()),
            model: Arc::new(Beta::new(prior, prior)),
            mechanism: Mechanism::new(noise, vec![scale]).unwrap(),
            other_noise: None,
            n,
        }
    }

    fn regression(noise: Noise, scale: f64, n: usize) -> Case {
        let prior =
            NormalInverseGamma::new(vec![0.0; 2], &DMatrix::identity(2, 2), 5.0, 4.0).unwrap();
        Case {
            query: Arc::new(Gram::with_range(1, (-2.0, 2.0)).unwrap()),
            model: Arc::new(Regression::new(vec![0.3], None, prior).unwrap()),
            mechanism: Mechanism::new(noise, vec![scale; 5]).unwrap(),
            other_noise: None,
            n,
        }
    }

    /// The paper's regression.
    fn paper(scale: f64, n: usize) -> Case {
        let precision = DMatrix::identity(3, 3) * 0.5;
        let prior = NormalInverseGamma::new(vec![0.0; 3], &precision, 10.0, 10.0).unwrap();
        Case {
            query: Arc::new(Gram::with_range(2, (-6.0, 6.0)).unwrap()),
            model: Arc::new(Regression::new(vec![0.9, -1.17], None, prior).unwrap()),
            mechanism: Mechanism::new(Noise::Laplace, vec![scale; 9]).unwrap(),
            other_noise: None,
            n,
        }
    }

    fn dirichlet(scale: f64, n: usize) -> Case {
        let prior = GammaPrior::new(4.0, 1.0).unwrap();
        Case {
            query: Arc::new(LogSum::new(3, (7e-4, 1.0)).unwrap()),
            model: Arc::new(Dirichlet::new(vec![prior; 3]).unwrap()),
            mechanism: Mechanism::new(Noise::Laplace, vec![scale; 3]).unwrap(),
            other_noise: None,
            n,
        }
    }

    /// A problem and a state from the joint distribution of theta, records and release.
    fn draw(&self, rng: &mut Rng) -> (Problem, State) {
        let mut theta = vec![0.0; self.model.parameters().len()];
        self.model.sample_prior(&mut theta, rng).unwrap();
        let mut records = vec![0.0; self.n * self.model.record_dim()];
        self.model.propose(&theta, &mut records, rng).unwrap();
        let k = self.query.dim();
        let mut statistics = vec![0.0; self.n * k];
        self.query.statistics(&records, &mut statistics).unwrap();
        let mut values = match &self.other_noise {
            None => self.mechanism.sample(rng),
            Some(noise) => {
                let scaled = self.mechanism.scales().iter().zip((noise.sample)(rng));
                scaled.map(|(scale, z)| scale * z).collect()
            }
        };
        for row in statistics.chunks_exact(k) {
            values.iter_mut().zip(row).for_each(|(value, t)| *value += t);
        }
        let (query, mechanism) = (self.query.clone(), self.mechanism.clone());
        let mut release = Release::new(query, mechanism, Aggregate::Sum, self.n, values).unwrap();
        if let Some(noise) = &self.other_noise {
            release = release.with_potential((noise.potential)());
        }
        let records = Records::new(&release, records).unwrap();
        (Problem::new(release, self.model.clone()).unwrap(), State { theta, records })
    }

    /// The updates of `choice` after a warm-up on one release.
    fn warm(&self, choice: MovesChoice, seed: u64) -> (Problem, State, Schedule) {
        let mut rng = rng::stream(seed, 0);
        let (problem, mut state) = self.draw(&mut rng);
        let mut schedule = Schedule::new(&problem, choice, 100, &mut rng).unwrap();
        for iteration in 0..100 {
            let sweep = Some(Tally::default());
            schedule.step(&problem, &mut state, iteration, sweep, &mut rng).unwrap();
        }
        (problem, state, schedule)
    }

    fn surrogate(&self, seed: u64) -> Surrogate {
        let mut rng = rng::stream(seed, 0);
        let (problem, mut state) = self.draw(&mut rng);
        let sums = Sums::new(&problem).unwrap();
        Surrogate::begin(&sums, &mut state, &mut rng).unwrap().unwrap()
    }
}

/// Functions of theta, records and release whose means an update must preserve.
fn functions(problem: &Problem, state: &State) -> Vec<f64> {
    let mut free = state.theta.clone();
    problem.model().transport().unwrap().unconstrain(&state.theta, &mut free);
    let records = state.records.all();
    let squares: f64 = records.iter().map(|x| x * x / (1.0 + x * x)).sum();
    let products: f64 = records.windows(2).map(|x| (x[0] * x[1]).tanh()).sum();
    let residual = state.records.residual();
    let distance: f64 = residual.iter().map(|r| r.abs()).sum();
    let apart = (records[0] - records[records.len() - 1]).abs().min(4.0);
    let mut all = vec![squares, products, distance, distance.sqrt(), apart];
    for t in free {
        all.extend([t, t * t, t * squares, t * distance, t * residual[0]]);
    }
    all
}

/// The largest of |mean change| / standard error over all functions, and the acceptance rate.
fn largest_change(
    case: &Case,
    surrogate: Option<&Surrogate>,
    made: &mut dyn ThetaMove,
    draws: usize,
    seed: u64,
) -> (f64, f64) {
    let mut rng = rng::stream(seed, 1);
    let mut sums: Vec<[f64; 2]> = Vec::new();
    let mut tally = Tally::default();
    for _ in 0..draws {
        let (problem, mut state) = case.draw(&mut rng);
        let before = functions(&problem, &state);
        let at = Setting::new(&problem, surrogate);
        let mut held = Held::default();
        tally += made.step(&at, &mut state, &mut held, 1, &mut rng).unwrap();
        held.land(&at, &mut state).unwrap();
        sums.resize(before.len(), [0.0; 2]);
        for ((sum, a), b) in sums.iter_mut().zip(functions(&problem, &state)).zip(before) {
            sum[0] += a - b;
            sum[1] += (a - b) * (a - b);
        }
    }
    let n = draws as f64;
    let z = |[sum, squares]: [f64; 2]| {
        (sum / n).abs() / ((squares / n - (sum / n).powi(2)) / n).sqrt().max(1e-300)
    };
    let largest = sums.into_iter().map(z).fold(0.0, f64::max);
    (largest, tally.accepted as f64 / tally.proposed as f64)
}

/// About 4.5 standard errors with twenty or thirty functions: one false alarm in 5000 cases.
const MOST: f64 = 4.5;

fn cases() -> Vec<Case> {
    vec![
        Case::normal(Noise::Laplace, 0.5, 2),
        Case::normal(Noise::Gaussian, 1.5, 4),
        Case::regression(Noise::Laplace, 0.4, 4),
        Case::regression(Noise::Gaussian, 0.3, 6),
    ]
}
