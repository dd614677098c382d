//! Adaptation in warm-up: the variance of each count, the number of lines, the covariance of theta,
//! and step sizes.
//!
//! In windows, each twice as long as the one before, and fixed at the end of warm-up: from then on
//! the chain is a homogeneous Markov chain.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use crate::stored::MOST_COUNTED;

/// The target acceptance rate of one-dimensional random walks.
const TARGET: f64 = 0.44;

/// Lines for each cell in an iteration, if no cell is empty, and the most.
pub(super) const PASSES: usize = 2;
const MOST_PASSES: usize = 10;

/// The smallest and the largest step.
const SMALLEST: f64 = 1e-12;
const LARGEST: f64 = 1e6;

/// The adapted quantities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Tuning {
    pub(super) warmup: u64,
    /// The approximate posterior variance of each count.
    pub(super) variances: Vec<f64>,
    counts: Moments,
    /// Lines for each cell in an iteration: as many per occupied cell, whatever part of them is
    /// occupied.
    pub(super) passes: usize,
    /// The step of the move of n, with its number of adaptations.
    pub(super) size: Step,
    /// Directions for theta given the counts.
    pub(super) centred: Vec<Vec<f64>>,
    /// Directions of the joint moves of theta and the counts, and a step for each: over all cells,
    /// and within the groups of each partition.
    pub(super) joint: Vec<Vec<f64>>,
    pub(super) steps: Vec<Vec<Step>>,
    theta: Moments,
}

impl Tuning {
    pub(super) fn new(
        warmup: u64,
        variances: Vec<f64>,
        centred: Vec<Vec<f64>>,
        ways: usize,
    ) -> Self {
        let (cells, dim) = (variances.len(), centred.len());
        Tuning {
            warmup,
            variances,
            counts: Moments::new(cells, false),
            passes: PASSES,
            size: Step::new(0.3),
            joint: centred.clone(),
            steps: vec![vec![Step::new(2.4); dim]; ways],
            centred,
            theta: Moments::new(dim, true),
        }
    }

    pub(super) fn is_on(&self, iteration: u64) -> bool {
        iteration < self.warmup
    }

    /// Whether the parts have these sizes and valid values.
    pub(super) fn is_valid(&self, cells: usize, dim: usize, ways: usize) -> bool {
        let positive = |x: &f64| x.is_finite() && *x > 0.0;
        let whole = |vectors: &[Vec<f64>]| {
            vectors.len() == dim
                && vectors.iter().all(|v| v.len() == dim && v.iter().all(|x| x.is_finite()))
        };
        self.variances.len() == cells
            && self.variances.iter().all(positive)
            && self.counts.is_valid(cells, false)
            && self.theta.is_valid(dim, true)
            && (PASSES..=MOST_PASSES).contains(&self.passes)
            && self.size.is_valid()
            && self.steps.len() == ways
            && self.steps.iter().all(|steps| steps.len() == dim)
            && self.steps.iter().flatten().all(Step::is_valid)
            && whole(&self.centred)
            && whole(&self.joint)
    }

    /// Adapts to the state after iteration number `iteration`. Returns whether a window has ended.
    pub(super) fn learn(&mut self, iteration: u64, counts: &[i64], theta: &[f64]) -> bool {
        self.counts.add(counts.iter().map(|&count| count as f64));
        self.theta.add(theta.iter().copied());
        let done = iteration + 1;
        let ends = (0..5).any(|halvings| done == (self.warmup >> halvings).max(1));
        if !ends || self.counts.count < 10.0 {
            return false;
        }
        for (variance, new) in self.variances.iter_mut().zip(self.counts.variances()) {
            *variance = new.clamp(0.25, 1e24);
        }
        let occupied = counts.iter().filter(|&&count| count > 0).count().max(1);
        let passes = (PASSES * counts.len()) as f64 / occupied as f64;
        self.passes = (passes.round() as usize).min(MOST_PASSES);
        if let Some(columns) = self.theta.factor() {
            self.joint = columns;
            let anew = |step: &mut Step| *step = Step::new(2.4);
            self.steps.iter_mut().flatten().for_each(anew);
        }
        self.counts.clear();
        self.theta.clear();
        true
    }
}

/// The step size of a random walk, adapted by the Robbins-Monro recursion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) size: f64,
    trials: u64,
}

impl Step {
    /// A step of this size, which has not learned yet.
    pub(super) fn new(size: f64) -> Self {
        Step { size, trials: 0 }
    }

    fn is_valid(&self) -> bool {
        (SMALLEST..=LARGEST).contains(&self.size) && self.trials < MOST_COUNTED
    }

    pub(super) fn learn(&mut self, accepted: bool) {
        self.trials += 1;
        let gain = 2.0 / (10.0 + self.trials as f64).powf(0.7);
        let error = if accepted { 1.0 - TARGET } else { -TARGET };
        self.size = (self.size * (gain * error).exp()).clamp(SMALLEST, LARGEST);
    }
}

/// Running means, variances and, for theta, covariances (Welford 1962).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Moments {
    count: f64,
    means: Vec<f64>,
    /// Sums of squares, or all sums of products, row by row.
    squares: Vec<f64>,
    all: bool,
}

impl Moments {
    fn new(dim: usize, all: bool) -> Self {
        let squares = vec![0.0; if all { dim * dim } else { dim }];
        Moments { count: 0.0, means: vec![0.0; dim], squares, all }
    }

    fn is_valid(&self, dim: usize, all: bool) -> bool {
        let blank = Moments::new(dim, all);
        let finite = |values: &[f64]| values.iter().all(|x| x.is_finite());
        self.all == all
            && self.means.len() == blank.means.len()
            && self.squares.len() == blank.squares.len()
            && (0.0..1e15).contains(&self.count)
            && finite(&self.means)
            && finite(&self.squares)
    }

    fn clear(&mut self) {
        *self = Moments::new(self.means.len(), self.all);
    }

    fn add(&mut self, values: impl Iterator<Item = f64>) {
        self.count += 1.0;
        let dim = self.means.len();
        let mut gaps = Vec::with_capacity(if self.all { dim } else { 0 });
        for (j, value) in values.enumerate() {
            let gap = value - self.means[j];
            self.means[j] += gap / self.count;
            if self.all {
                gaps.push(gap);
            } else {
                self.squares[j] += gap * (value - self.means[j]);
            }
        }
        if self.all {
            let shrink = (self.count - 1.0) / self.count;
            for i in 0..dim {
                for j in 0..dim {
                    self.squares[i * dim + j] += gaps[i] * gaps[j] * shrink;
                }
            }
        }
    }

    fn variances(&self) -> impl Iterator<Item = f64> {
        self.squares.iter().map(|square| square / (self.count - 1.0).max(1.0))
    }

    /// The columns of the Cholesky factor of the covariance, with some shrinkage towards its
    /// diagonal.
    fn factor(&self) -> Option<Vec<Vec<f64>>> {
        let dim = self.means.len();
        if dim == 0 {
            return None;
        }
        let weight = self.count / (self.count + 5.0 + dim as f64);
        let covariance = DMatrix::from_fn(dim, dim, |i, j| {
            let value = self.squares[i * dim + j] / (self.count - 1.0);
            if i == j { value + 1e-300 } else { weight * value }
        });
        let lower = covariance.cholesky()?.l();
        let columns = (0..dim).map(|j| lower.column(j).iter().copied().collect());
        Some(columns.collect())
    }
}
