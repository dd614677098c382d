//! SOMA for any permutation-invariant target: the paper's Corollary on proper weights.

use rand::RngExt;

use super::Counts;
use crate::error::Outcome;
use crate::rng::Rng;

/// A density pi of n points that does not depend on their order, with a proposal q of one point.
///
/// Proposed a point y, SOMA needs the proper weights
///
/// w_0 = pi(x) / prod_j q(x_j),  w_i = pi(x with y in the place of x_i) / (q(y) prod_{j != i}
/// q(x_j)),
///
/// and these only up to a common factor: a target tells log(w_i / w_0), in which what does not
/// involve x_i and y cancels.
pub trait Target {
    /// A point.
    type Point;

    /// Draws a point from q.
    fn propose(&mut self, rng: &mut Rng) -> Outcome<Self::Point>;

    /// log(w_i / w_0) for `proposal` in the place of point `i`:
    /// log pi(x with the proposal at i) - log pi(x) + log q(x_i) - log q(proposal).
    /// Minus infinity where the density would be 0; never NaN or plus infinity.
    fn log_weight(&self, points: &[Self::Point], i: usize, proposal: &Self::Point) -> f64;

    /// All log(w_i / w_0), into `out`. One by one, unless the target knows how they share work.
    fn log_weights(&self, points: &[Self::Point], proposal: &Self::Point, out: &mut [f64]) {
        for (i, weight) in out.iter_mut().enumerate() {
            *weight = self.log_weight(points, i, proposal);
        }
    }

    /// Called after a proposal was put in the place of point `i`, which was `old`: the time to
    /// bring up to date what the target keeps beside the points.
    fn replaced(&mut self, points: &[Self::Point], i: usize, old: &Self::Point) {
        let _ = (points, i, old);
    }
}

/// n points moved by SOMA so that a [`Target`] stays invariant.
///
/// Reversible with respect to pi, by the algebra of [`SomaScan`](super::SomaScan) with pi / q in
/// the place of eta: from x' = x with y at I, the weights of the way back are w_0 at I and w_j at
/// each other j, and pi(x') q(x_I) w_0 = pi(x) q(y) w_I. A move costs one call of
/// [`Target::log_weights`].
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

    /// The target, with what it keeps.
    pub fn target(&self) -> &T {
        &self.target
    }

    /// One move. Returns the place that the proposal took, if it did. An error if a log weight is
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

    /// As many moves as there are points.
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

/// The index I with probability w_I / W, and it only with probability min(1, W / (W + w_0 - w_I)),
/// from the log(w_i / w_0), which are used up.
///
/// Weights are taken relative to the largest, so that they can neither all vanish nor overflow.
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
    // Rounding may leave a little at the end: it belongs to the last place that has a weight.
    let chosen = chosen.or_else(|| weights.iter().rposition(|&weight| weight > 0.0))?;
    let excess = (current - weights[chosen]).max(0.0);
    (excess == 0.0 || rng.random::<f64>() < total / (total + excess)).then_some(chosen)
}
