//! Noisy counts that were not published: behind synthetic records they are imputed.
//!
//! Synthetic records s are drawn from noisy counts y = c + noise, clamped at zero. y is part of the
//! state: given y the true counts have the usual target with y as what was published, and
//!
//! - *noise*: y_i given all else has the density f(y_i - c_i) Multinomial(s | y+ / sum y+), a slice
//!   move over the whole numbers, or the reals where the noise is continuous;
//! - *shift*: c and y of two cells move together, c_i + t, c_j - t, y_i + t, y_j - t. The noise stays as
//!   it is, the prior of c and the multinomial change: a slice move of t over the whole numbers, for
//!   noise that is so sharp that y holds c fast;
//! - *stretch*, for continuous noise: y to y e^z, with a normal z. Shares stay as they are, so that the
//!   multinomial does too, and the Jacobian is e^(B z): a Metropolis move, for noise so blunt that the
//!   size of y is hardly known.
//!
//! Each leaves the joint target of c and y invariant (Neal 2003 for the slices).

use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};

use super::line::within;
use super::problem::CountProblem;
use super::published::Likelihood;
use super::shared::slice;
use super::state::State;
use crate::error::Outcome;
use crate::interrupt;
use crate::release::law::SyntheticRecords;
use crate::rng::Rng;

/// The most steps out of one slice move.
const STEPS: u64 = 64;

/// Synthetic records, and the law that they were drawn by.
#[derive(Debug, Clone)]
pub struct Synthetic {
    /// How many are in each cell.
    pub(super) counts: Vec<i64>,
    /// Their law.
    pub(super) law: SyntheticRecords,
}

impl Synthetic {
    /// The log probability of the synthetic records if the true counts, with one half more in each
    /// cell, had been what they were drawn from: a figure to watch a chain by.
    pub(super) fn log_density(&self, counts: &[i64]) -> f64 {
        let counts: Vec<f64> = counts.iter().map(|&count| count as f64 + 0.5).collect();
        self.law.log_probability(&self.counts, &counts)
    }

    /// Noisy counts that explain the synthetic records of true counts.
    pub(super) fn start(&self, counts: &[i64], rng: &mut Rng) -> Vec<f64> {
        let (noise, scale) = self.law.noise();
        let near = |(&count, &seen): (&i64, &i64)| {
            let noisy = count as f64 + noise.sample(scale, rng).clamp(-4.0 * scale, 4.0 * scale);
            if seen > 0 { noisy.max(1.0) } else { noisy }
        };
        counts.iter().zip(&self.counts).map(near).collect()
    }

    /// Whether noisy counts, finite ones, can be behind the synthetic records.
    pub(super) fn holds(&self, noisy: &[f64]) -> bool {
        let is_whole = self.law.noise().0.is_discrete();
        let lattice = |y: &f64| !is_whole || y.fract() == 0.0;
        let log = self.law.log_probability(&self.counts, noisy);
        noisy.iter().all(lattice) && log > f64::NEG_INFINITY
    }

    /// The law of a true count, given its noisy one.
    pub(super) fn likelihood(&self, noisy: f64) -> Likelihood {
        let (noise, scale) = self.law.noise();
        // The scale is positive, the noisy count finite, and whole where the noise is.
        Likelihood::new(noise, scale, noisy).unwrap_or_else(|invalid| unreachable!("{invalid}"))
    }

    /// All moves of the noisy counts, once for each cell.
    pub(super) fn run(
        &self,
        problem: &mut CountProblem,
        state: &mut State,
        rng: &mut Rng,
    ) -> Outcome {
        let cells = state.counts.len();
        for cell in 0..cells {
            interrupt::check()?;
            self.noise(state, cell, rng);
            problem.set_law(cell, self.likelihood(state.noisy[cell]));
            let first = rng.random_range(0..cells);
            let second = rng.random_range(0..cells - 1);
            let second = second + usize::from(second >= first);
            self.shift(problem, state, (first, second), rng);
        }
        if !self.law.noise().0.is_discrete() {
            self.stretch(state, rng);
        }
        for cell in 0..cells {
            problem.set_law(cell, self.likelihood(state.noisy[cell]));
        }
        Ok(())
    }

    /// Terms of the multinomial: the sum of what is above zero without some cells, and each cell's own.
    fn log_multinomial(&self, rest: f64, changed: &[(usize, f64)]) -> f64 {
        let sum = rest + changed.iter().map(|(_, y)| y.max(0.0)).sum::<f64>();
        let records: i64 = self.counts.iter().sum();
        if sum <= 0.0 {
            return -(records as f64) * (self.counts.len() as f64).ln();
        }
        let mut log = -(records as f64) * sum.ln();
        for &(cell, y) in changed {
            if self.counts[cell] > 0 {
                log += self.counts[cell] as f64 * y.max(0.0).ln();
            }
        }
        log
    }

    fn rest(&self, state: &State, without: &[usize]) -> f64 {
        let kept = state.noisy.iter().enumerate().filter(|(cell, _)| !without.contains(cell));
        kept.map(|(_, y)| y.max(0.0)).sum()
    }

    fn noise(&self, state: &mut State, cell: usize, rng: &mut Rng) {
        let (noise, scale) = self.law.noise();
        let rest = self.rest(state, &[cell]);
        let (from, count) = (state.noisy[cell], state.counts[cell] as f64);
        let log_density = |t: f64| {
            let y = from + t;
            noise.log_density(scale, y - count) + self.log_multinomial(rest, &[(cell, y)])
        };
        let width = 2.5 * noise.variance(scale).sqrt();
        if !noise.is_discrete() {
            state.noisy[cell] += slice(log_density, width, rng);
            return;
        }
        let level = log_density(0.0) - rng.sample::<f64, _>(Exp1);
        let bounds = (-(1i64 << 40), 1i64 << 40);
        let inside = |t: i64| log_density(t as f64) >= level;
        state.noisy[cell] += within(bounds, width.ceil() as i64, STEPS, inside, rng) as f64;
    }

    fn shift(
        &self,
        problem: &mut CountProblem,
        state: &mut State,
        (first, second): (usize, usize),
        rng: &mut Rng,
    ) {
        let (least, most) = (-state.counts[first], state.counts[second]);
        if least == most {
            return;
        }
        let rest = self.rest(state, &[first, second]);
        let y = [state.noisy[first], state.noisy[second]];
        let by = {
            let terms = problem.terms(&state.log_shares);
            let log_density = |t: i64| {
                let changed = [(first, y[0] + t as f64), (second, y[1] - t as f64)];
                terms.cell(first, state.counts[first], t)
                    + terms.cell(second, state.counts[second], -t)
                    + self.log_multinomial(rest, &changed)
            };
            let level = log_density(0) - rng.sample::<f64, _>(Exp1);
            // The sum of the two counts stays, and with it the width.
            let seen = (state.counts[first] + state.counts[second]) as f64;
            let width = (2.5 * seen.sqrt()).ceil().max(1.0) as i64;
            within((least, most), width, STEPS, |t| log_density(t) >= level, rng)
        };
        state.shift(first, second, by);
        state.noisy[first] += by as f64;
        state.noisy[second] -= by as f64;
        for cell in [first, second] {
            problem.set_law(cell, self.likelihood(state.noisy[cell]));
        }
    }

    /// The size of the step is drawn without a look at the state: from one part in a thousand up.
    fn stretch(&self, state: &mut State, rng: &mut Rng) {
        let (noise, scale) = self.law.noise();
        let step = rng.random_range(-7.0..0.0_f64).exp();
        let z = step * rng.sample::<f64, _>(StandardNormal);
        let factor = z.exp();
        let mut ratio = state.noisy.len() as f64 * z;
        for (y, &count) in state.noisy.iter().zip(&state.counts) {
            let count = count as f64;
            ratio += noise.log_density(scale, y * factor - count);
            ratio -= noise.log_density(scale, y - count);
        }
        if rng.random::<f64>() < ratio.exp() {
            state.noisy.iter_mut().for_each(|y| *y *= factor);
        }
    }
}
