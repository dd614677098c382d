//! The problems on which the program is measured: releases simulated from known parameters.

use std::fmt;
use std::sync::Arc;

use soma::chain::Problem;
use soma::error::Failure;
use soma::model::{
    Beta, Dirichlet, GammaPrior, Model, Normal, NormalInverseGamma, Regression, Uniform,
};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::query::{Gram, Histogram, LogSum, Mean};
use soma::release::{Aggregate, Query, Release};

/// One cell of the grid.
#[derive(Clone, Copy)]
pub struct Cell {
    /// The name of the problem.
    pub problem: &'static str,
    /// The number of records.
    pub n: usize,
    /// The privacy budget.
    pub epsilon: f64,
}

impl fmt::Display for Cell {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}, epsilon {}, n = {}", self.problem, self.epsilon, self.n)
    }
}

/// A release with the parameters and records that it was simulated from.
pub struct Simulated {
    /// The problem.
    pub problem: Problem,
    /// The parameters that the records were drawn from.
    pub theta: Vec<f64>,
    /// The records of the release. Given the release and theta, they are a draw from the invariant
    /// distribution of every kernel.
    pub records: Vec<f64>,
}

/// All cells on which mixing is measured.
pub fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |problem, ns: &[usize], epsilons: &[f64]| {
        for &n in ns {
            cells.extend(epsilons.iter().map(|&epsilon| Cell { problem, n, epsilon }));
        }
    };
    add("regression", &[10, 100, 1_000, 10_000], &[0.3, 1.0, 3.0, 10.0, 30.0, 100.0]);
    add("dirichlet", &[100, 3_528], &[0.1, 1.0, 10.0]);
    add("normal", &[100, 1_000], &[0.3, 3.0, 30.0]);
    add("beta", &[100, 1_000], &[0.3, 3.0, 30.0]);
    cells
}

/// The smallest share in the time use survey: one minute of a day.
const MINUTE: f64 = 0.0006944;

impl Cell {
    /// A release simulated under `seed` with Laplace noise, from the true parameters of the paper;
    /// for the Dirichlet from approximately its estimates.
    pub fn simulate(&self, seed: u64) -> Result<Simulated, Failure> {
        match self.problem {
            "regression" => {
                let precision = nalgebra::DMatrix::identity(3, 3) * 0.5;
                let prior = NormalInverseGamma::new(vec![0.0; 3], &precision, 10.0, 10.0)?;
                let model = Regression::new(vec![0.9, -1.17], None, prior)?;
                let query = Gram::with_range(2, (-6.0, 6.0))?;
                self.problem(query, 13.0, model, &[-1.79, -2.89, -0.66, 1.13], seed)
            }
            "dirichlet" => {
                let prior = GammaPrior::new(1.0, 0.1)?;
                let model = Dirichlet::new(vec![prior; 3])?;
                let query = LogSum::new(3, (MINUTE, 1.0))?;
                self.problem(query, -3.0 * MINUTE.ln(), model, &[8.0, 1.0, 11.0], seed)
            }
            "histogram" => {
                let query = Histogram::with_equal_bins(&[((0.0, 1.0), 10)])?;
                self.problem(query, 2.0, Uniform::new(vec![(0.0, 1.0)])?, &[], seed)
            }
            "normal" | "mean" => {
                let model = Normal::new(0.0, 0.1, 3.0, 3.0)?;
                self.problem(Mean::new(vec![(-3.0, 3.0)])?, 6.0, model, &[0.7, 1.5], seed)
            }
            _ => {
                let prior = GammaPrior::new(2.0, 0.5)?;
                let query = Mean::new(vec![(0.0, 1.0)])?;
                self.problem(query, 1.0, Beta::new(prior, prior), &[3.0, 5.0], seed)
            }
        }
    }

    fn problem(
        &self,
        query: impl Query + 'static,
        sensitivity: f64,
        model: impl Model + 'static,
        truth: &[f64],
        seed: u64,
    ) -> Result<Simulated, Failure> {
        let n = self.n;
        // A separate stream, far from those of the chains.
        let mut rng = soma::rng::stream(seed, 1 << 40);
        let mut records = vec![0.0; n * model.record_dim()];
        model.propose(truth, &mut records, &mut rng)?;
        let k = query.dim();
        let mut statistics = vec![0.0; n * k];
        query.statistics(&records, &mut statistics)?;
        let scale = sensitivity / (n as f64 * self.epsilon);
        let mechanism = Mechanism::new(Noise::Laplace, vec![scale; k])?;
        let mut values = mechanism.sample(&mut rng);
        for row in statistics.chunks_exact(k) {
            values.iter_mut().zip(row).for_each(|(value, t)| *value += t / n as f64);
        }
        let release = Release::new(Arc::new(query), mechanism, Aggregate::Mean, n, values)?;
        let problem = Problem::new(release, Arc::new(model))?;
        Ok(Simulated { problem, theta: truth.to_vec(), records })
    }
}
