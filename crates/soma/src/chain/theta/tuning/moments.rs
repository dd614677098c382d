//! The mean and covariance of what a chain has passed through in warm-up.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use serde::{Deserialize, Serialize};

use crate::stored::{Check, MOST_COUNTED, ensure, finite};

/// A running mean and covariance, begun anew each time that the number of states has doubled, so
/// that what the chain did on its way from the start is forgotten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::chain) struct Moments {
    count: u64,
    window: u64,
    mean: DVector<f64>,
    #[serde(with = "crate::stored::matrix")]
    scatter: DMatrix<f64>,
}

/// How many states the first window has.
const FIRST_WINDOW: u64 = 20;

impl Moments {
    /// Nothing learned yet of vectors of length `dim`.
    pub(in crate::chain) fn new(dim: usize) -> Self {
        Moments {
            count: 0,
            window: FIRST_WINDOW,
            mean: DVector::zeros(dim),
            scatter: DMatrix::zeros(dim, dim),
        }
    }

    /// One more state. Returns whether a window is complete: its mean and covariance should be
    /// read now, since the next window begins with the next state.
    pub(in crate::chain) fn push(&mut self, state: &DVector<f64>) -> bool {
        if self.count == self.window {
            let dim = self.mean.len();
            let window = 2 * self.window;
            *self = Moments { window, ..Moments::new(dim) };
        }
        self.count += 1;
        let before = state - &self.mean;
        self.mean += &before / self.count as f64;
        let after = state - &self.mean;
        self.scatter.ger(1.0, &before, &after, 1.0);
        self.count == self.window
    }

    /// Whether this was learned of vectors of length `dim`.
    pub(in crate::chain) fn check(&self, dim: usize) -> Check {
        let counts = self.count <= self.window && self.window < MOST_COUNTED;
        ensure(counts && self.scatter.shape() == (dim, dim), "what was learned does not fit")?;
        finite("the mean", dim, self.mean.as_slice())?;
        finite("the scatter", dim * dim, self.scatter.as_slice())
    }

    /// The mean.
    pub(in crate::chain) fn mean(&self) -> &DVector<f64> {
        &self.mean
    }

    /// The covariance, drawn a little towards `prior`.
    pub(in crate::chain) fn covariance(&self, prior: &DMatrix<f64>) -> DMatrix<f64> {
        let weight = self.mean.len() as f64 + 1.0;
        let symmetric = (&self.scatter + self.scatter.transpose()) * 0.5;
        (symmetric + prior * weight) / (self.count as f64 - 1.0 + weight)
    }
}

/// The lower Cholesky factor of a covariance, if it has one.
pub(in crate::chain) fn factor(covariance: DMatrix<f64>) -> Option<DMatrix<f64>> {
    let factor = Cholesky::<f64, Dyn>::new(covariance)?.unpack();
    factor.iter().all(|x| x.is_finite()).then_some(factor)
}
