//! The potential of a processed answer.

use super::super::Noise;
use super::{Publishing, on_lattice};
use crate::release::potential::{Curve, Joint};

/// Minus the log density as a function of the residual (published minus true value) / scale. It is
/// unimodal: the noise is log-concave, and the lattice and the clamp preserve that.
#[derive(Debug)]
pub(super) struct Processed {
    publishing: Publishing,
    noise: Noise,
    scale: f64,
    published: f64,
    /// For discrete noise at an end of the clamp: the costs at true answers -T, ..., T lattice
    /// steps away, since the tail probabilities of some distributions are long sums.
    costs: Vec<f64>,
}

/// The largest number of tabulated steps to either side.
const MOST_COSTS: f64 = 10_000.0;

impl Processed {
    pub(super) fn new(publishing: Publishing, noise: Noise, scale: f64, published: f64) -> Self {
        let mut curve = Processed { publishing, noise, scale, published, costs: Vec::new() };
        let is_end = published <= publishing.low || published >= publishing.high;
        if noise.is_discrete() && is_end {
            let g = curve.step();
            let reach = (12.0 * scale / g).ceil().min(MOST_COSTS) as i64;
            let truth = |steps: i64| (on_lattice(published, g) + steps as f64) * g;
            curve.costs = (-reach..=reach).map(|steps| curve.computed(truth(steps))).collect();
        }
        curve
    }

    fn step(&self) -> f64 {
        self.publishing.granularity.unwrap_or(1.0)
    }

    fn computed(&self, truth: f64) -> f64 {
        -self.publishing.log_density(self.noise, self.scale, self.published, truth)
    }
}

impl Joint for Processed {
    fn cost(&self, residual: &[f64]) -> f64 {
        Curve::cost(self, residual[0])
    }
}

impl Curve for Processed {
    fn cost(&self, residual: f64) -> f64 {
        let truth = self.published - residual * self.scale;
        if !self.costs.is_empty() {
            let g = self.step();
            let steps = on_lattice(truth, g) - on_lattice(self.published, g);
            let at = steps + (self.costs.len() / 2) as f64;
            if let Some(&cost) = self.costs.get(at as usize).filter(|_| at >= 0.0) {
                return cost;
            }
        }
        self.computed(truth)
    }

    fn mode(&self) -> f64 {
        if self.published <= self.publishing.low {
            f64::INFINITY
        } else if self.published >= self.publishing.high {
            f64::NEG_INFINITY
        } else {
            0.0
        }
    }
}
