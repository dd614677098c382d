//! What the parts of the moves take, in units of about ten nanoseconds.
//!
//! Read off `cargo test --release -p soma-mcmc --lib prices_of_the_moves -- --ignored --nocapture`,
//! which prints times beside them.

use crate::chain::theta::bridge::{self, Bridge, PARTICLES};
use crate::chain::theta::coordinates::sums::Sums;
use crate::chain::theta::coordinates::synthetic;
use crate::chain::theta::ridge;

/// A statistic computed of a record that was built.
const STATISTIC: f64 = 1.0;

/// What is found of the residual at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::chain) enum Part {
    Residual,
    /// And the gradient of a function of it.
    Gradient,
    /// And its derivatives.
    Slope,
}

impl Sums<'_> {
    /// The work of one evaluation, without the algebra on few numbers.
    pub(in crate::chain) fn pass(&self, part: Part) -> f64 {
        let (n, d) = (self.n as f64, self.d as f64);
        if self.has_quick_slopes() {
            return match part {
                Part::Residual => 0.014 * d * d * n,
                Part::Gradient => 0.032 * d * d * n,
                Part::Slope => 0.04 * d * d * n,
            };
        }
        let built = (self.model.price(self.n).build + STATISTIC) * n;
        match part {
            Part::Residual => built,
            // Differences are taken to both sides where records jump.
            Part::Gradient | Part::Slope if self.jumps => {
                (1 + 2 * (self.p + self.d)) as f64 * built
            }
            Part::Gradient | Part::Slope => (1 + self.p + self.d) as f64 * built,
        }
    }

    /// The work of splitting all records into Bartlett factors and standardised noise, and of
    /// building them again.
    pub(in crate::chain) fn hold(&self) -> f64 {
        let (n, d, k) = (self.n as f64, self.d as f64, self.k as f64);
        let price = self.model.price(self.n);
        let each = match self.has_quick_slopes() {
            true => 0.4 + 0.23 * d + 0.045 * k,
            false => price.inverse + price.build + STATISTIC,
        };
        60.0 + each * n
    }

    /// The work of a gradient on few numbers: a part that is the same whatever they are, and the
    /// algebra of all coordinates.
    pub(in crate::chain) fn gradient_algebra(&self, on_chart: bool) -> f64 {
        let square = (self.dim() * self.dim()) as f64;
        25.0 + 0.5 * square + if on_chart { 0.05 * self.k as f64 * square } else { 0.0 }
    }

    /// The work of so many feet of a ridge.
    pub(in crate::chain) fn ridge(&self, feet: u64) -> f64 {
        feet as f64 * ridge::EVALUATIONS * (12.0 + self.pass(Part::Residual))
    }

    /// The work of so many proposals of a bridge, and of the path to the state.
    pub(in crate::chain) fn bridge(&self, times: u64) -> f64 {
        let (n, d, k) = (self.n as f64, self.d as f64, self.k as f64);
        let price = self.model.price(self.n);
        let built = price.build + STATISTIC;
        let path = bridge::candidates(self.n) as f64 * (built + 3.0 * d + 0.1 * k * k + 3.0);
        let (steps, p) = (bridge::STEPS as f64, self.p as f64);
        let density = if Bridge::has_density(self) { PARTICLES as f64 } else { 0.0 };
        let vectors = synthetic::vectors(self.n) as f64;
        let walk = steps * (vectors * (built + 0.1 * k * k) + density * (2.0 + 0.1 * p * p));
        let begin = (price.inverse + d) * n;
        begin + path + times as f64 * (path + walk + built * n)
    }

    /// The work of fresh standardised noise and of the two laws of an independence update.
    pub(in crate::chain) fn refresh(&self) -> f64 {
        let fresh = 0.47 * (self.n * self.d) as f64;
        300.0 + 1.4 * (self.k * self.dim() * self.dim()) as f64 + fresh
    }
}
