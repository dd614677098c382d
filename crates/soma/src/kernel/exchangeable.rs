//! SOMA for any permutation-invariant target: the paper's Corollary on proper weights.

use rand::RngExt;

use super::Counts;
use crate::error::Outcome;
use crate::rng::Rng;

/// An exchangeable density pi of n points, with a proposal density q of one point.
///
/// For a proposal y, SOMA needs the proper weights
///
/// w_0 = pi(x) / prod_j q(x_j),  w_i = pi(x with y in the place of x_i) / (q(y) prod_{j != i}
/// q(x_j)),
///
/// up to a common factor. A target provides log(w_i / w_0), in which all factors without x_i and y
/// cancel.
pub trait Target {
    /// A point.
    type Point;

    /// Draws a point from q.
    fn propose(&mut self, rng: &mut Rng) -> Outcome<Self::Point>;

    /// log(w_i / w_0) for `proposal` in the place of point `i`:
    /// log pi(x with the proposal at i) - log pi(x) + log q(x_i) - log q(proposal).
    /// Minus infinity where the density would be 0; never NaN or plus infinity.
    fn log_weight(&self, points: &[Self::Point], i: usize, proposal: &Self::Point) -> f64;

    /// Writes all log(w_i / w_0) to `out`. Override it if the weights share work.
    fn log_weights(&self, points: &[Self::Point], proposal: &Self::Point, out: &mut [f64]) {
        for (i, weight) in out.iter_mut().enumerate() {
            *weight = self.log_weight(points, i, proposal);
        }
    }

    /// Called after a proposal has replaced point `i`, which was `old`. Updates what the target
    /// caches.
    fn replaced(&mut self, points: &[Self::Point], i: usize, old: &Self::Point) {
        let _ = (points, i, old);
    }
}

/// n points moved by SOMA so that a [`Target`] is invariant.
///
/// Reversible with respect to pi, by the algebra of [`SomaScan`](super::SomaScan) with pi / q for
/// eta: from x' = x with y at I, the weights of the reverse move are w_0 at I and w_j at each other
/// j, and pi(x') q(x_I) w_0 = pi(x) q(y) w_I. A move costs one call of [`Target::log_weights`].
#[derive(Debug, Clone)]
pub struct TargetChain<T: Target> {
    target: T,
    points: Vec<T::Point>,
    weights: Vec<f64>,
}

impl<T: Target> TargetChain<T> {
    /// A chain that starts at `points`, where the density must be positive.
    pub fn new(target: T, points: Vec<T::Point>) -> Self {
        let weights = vec![0.0; points.len()];
        TargetChain { target, points, weights }
    }

    /// The points.
    pub fn points(&self) -> &[T::Point] {
        &self.points
    }

    /// The target, with its caches.
    pub fn target(&self) -> &T {
        &self.target
    }

    /// One move. Returns the place of the proposal if it is accepted. An error if a log weight is
    /// NaN or plus infinity.
    pub fn step(&mut self, rng: &mut Rng) -> Outcome<Option<usize>> {
        let proposal = self.target.propose(rng)?;
        self.target.log_weights(&self.points, &proposal, &mut self.weights);
        if let Some(i) = self.weights.iter().position(|w| w.is_nan() || *w == f64::INFINITY) {
            let weight = self.weights[i];
            return Err(format!(
                "the log weight of place {i} is {weight}: it must be a number or minus infinity"
            )
            .into());
        }
        let taken = choose(&mut self.weights, rng);
        if let Some(i) = taken {
            let old = std::mem::replace(&mut self.points[i], proposal);
            self.target.replaced(&self.points, i, &old);
        }
        Ok(taken)
    }

    /// n moves.
    pub fn sweep(&mut self, rng: &mut Rng) -> Outcome<Counts> {
        let n = self.points.len() as u64;
        let mut counts = Counts::default();
        for _ in 0..n {
            let taken = self.step(rng)?.is_some();
            counts += Counts { moves: 1, accepted: u64::from(taken), evaluations: n };
        }
        Ok(counts)
    }
}

/// Selects I with probability w_I / W, and accepts it with probability min(1, W / (W + w_0 - w_I)).
/// Takes the log(w_i / w_0), and overwrites them.
///
/// Weights are relative to the largest, so that they neither all underflow nor overflow.
fn choose(weights: &mut [f64], rng: &mut Rng) -> Option<usize> {
    let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return None;
    }
    let mut total = 0.0;
    for weight in weights.iter_mut() {
        *weight = (*weight - top).exp();
        total += *weight;
    }
    let current = (-top).exp();
    let mut left = rng.random::<f64>() * total;
    let chosen = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    // If rounding leaves a remainder: the last place of positive weight.
    let chosen = chosen.or_else(|| weights.iter().rposition(|&weight| weight > 0.0))?;
    let excess = (current - weights[chosen]).max(0.0);
    (excess == 0.0 || rng.random::<f64>() < total / (total + excess)).then_some(chosen)
}
