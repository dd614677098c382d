//! Draws from the synthetic posterior, by sequential Monte Carlo from the prior.

use rand::RngExt;

use super::walk::step;
use crate::chain::theta::coordinates::sums::Sums;
use crate::chain::theta::coordinates::synthetic::Synthetic;
use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::numeric::cholesky;
use crate::rng::Rng;

/// The number of particles.
pub(in crate::chain) const PARTICLES: usize = 512;

/// Random-walk moves of each particle at each temperature; more of them at the last, since few
/// particles of a far tail are left there. And the most temperatures.
const MOVES: usize = 4;
const LAST_MOVES: usize = 32;
const MOST_TEMPERATURES: usize = 60;

/// Particles with the log of the synthetic likelihood at each.
struct Particles {
    p: usize,
    points: Vec<f64>,
    logs: Vec<f64>,
}

/// Unconstrained values of theta from the synthetic posterior, row by row: particles from the prior
/// that are resampled and moved at rising powers of the synthetic likelihood (Del Moral, Doucet and
/// Jasra 2006). Since they start spread out, they find all parts of a bent posterior. `None` if they
/// do not reach it.
pub(super) fn draw(
    sums: &Sums,
    synthetic: &mut Synthetic,
    rng: &mut Rng,
) -> Outcome<Option<Vec<f64>>> {
    let precisions = sums.precisions();
    let p = sums.p;
    let mut log_likelihood = |free: &[f64], log_prior: f64| -> Outcome<f64> {
        let log = synthetic.log_posterior(sums, free, &precisions)? - log_prior;
        Ok(if log.is_nan() { f64::NEG_INFINITY } else { log })
    };
    let mut all = Particles { p, points: Vec::new(), logs: Vec::new() };
    let (mut theta, mut free) = (vec![0.0; p], vec![0.0; p]);
    for _ in 0..PARTICLES {
        sums.problem.model().sample_prior(&mut theta, rng)?;
        sums.model.unconstrain(&theta, &mut free);
        all.logs.push(log_likelihood(&free, sums.log_prior_theta(&free))?);
        all.points.extend_from_slice(&free);
    }
    let mut power = 0.0;
    for _ in 0..MOST_TEMPERATURES {
        let Some(rise) = all.rise(1.0 - power) else { return Ok(None) };
        power += rise;
        all.resample(rise, rng);
        let Some(factor) = all.spread() else { return Ok(None) };
        let mut next = vec![0.0; p];
        let moves = if power >= 1.0 { LAST_MOVES } else { MOVES };
        for i in 0..PARTICLES * moves {
            let i = i % PARTICLES;
            let point = &mut all.points[i * p..][..p];
            step(&factor, point, &mut next, rng);
            let [before, after] = [&*point, &next[..]].map(|free| sums.log_prior_theta(free));
            let log = log_likelihood(&next, after)?;
            if accepts(after - before + power * (log - all.logs[i]), rng) {
                point.copy_from_slice(&next);
                all.logs[i] = log;
            }
        }
        if power >= 1.0 {
            let is_finite = all.points.iter().all(|x| x.is_finite());
            return Ok(is_finite.then_some(all.points));
        }
    }
    Ok(None)
}

impl Particles {
    /// Weights for a rise of the power, relative to the largest.
    fn weights(&self, rise: f64) -> Vec<f64> {
        let most = self.logs.iter().fold(f64::NEG_INFINITY, |most, log| most.max(*log));
        self.logs.iter().map(|log| (rise * (log - most)).exp()).collect()
    }

    /// The largest rise of the power up to `most` that leaves half of the particles effective, by
    /// bisection. `None` if it is none.
    fn rise(&self, most: f64) -> Option<f64> {
        let is_good = |rise: f64| {
            let weights = self.weights(rise);
            let (sum, squares) =
                weights.iter().fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
            sum * sum / squares >= 0.5 * PARTICLES as f64
        };
        if is_good(most) {
            return Some(most);
        }
        let (mut low, mut high) = (0.0, most);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if is_good(middle) { low = middle } else { high = middle }
        }
        // The first rise may leave fewer: those of the prior without a likelihood go.
        Some(low.max(1e-6 * most)).filter(|_| self.logs.iter().any(|log| log.is_finite()))
    }

    /// Systematic resampling.
    fn resample(&mut self, rise: f64, rng: &mut Rng) {
        let weights = self.weights(rise);
        let each = weights.iter().sum::<f64>() / PARTICLES as f64;
        let mut left = each * rng.random::<f64>();
        let (mut points, mut logs) = (Vec::new(), Vec::new());
        for (i, weight) in weights.iter().enumerate() {
            left -= weight;
            while left < 0.0 && logs.len() < PARTICLES {
                points.extend_from_slice(&self.points[i * self.p..][..self.p]);
                logs.push(self.logs[i]);
                left += each;
            }
        }
        // Rounding: the last one again.
        while logs.len() < PARTICLES && !logs.is_empty() {
            points.extend_from_within(points.len() - self.p..);
            logs.push(logs[logs.len() - 1]);
        }
        (self.points, self.logs) = (points, logs);
    }

    /// The lower Cholesky factor of the covariance.
    fn spread(&self) -> Option<Vec<f64>> {
        covariance_factor(&self.points, self.p)
    }
}

/// The lower Cholesky factor of the covariance of points. `None` if it is singular.
pub(super) fn covariance_factor(points: &[f64], p: usize) -> Option<Vec<f64>> {
    let count = (points.len() / p) as f64;
    let mut mean = vec![0.0; p];
    points.chunks_exact(p).for_each(|x| mean.iter_mut().zip(x).for_each(|(m, x)| *m += x / count));
    let mut factor = vec![0.0; p * p];
    for x in points.chunks_exact(p) {
        for i in 0..p {
            for j in 0..=i {
                factor[i * p + j] += (x[i] - mean[i]) * (x[j] - mean[j]) / count;
            }
        }
    }
    cholesky::lower(&mut factor, p).then_some(factor)
}
