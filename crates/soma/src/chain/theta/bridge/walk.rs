//! A walk of theta on the synthetic posterior.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::density::Density;
use crate::chain::theta::coordinates::sums::Sums;
use crate::chain::theta::coordinates::surrogate::{Surrogate, fill_normals};
use crate::chain::theta::coordinates::synthetic::Synthetic;
use crate::error::Outcome;
use crate::numeric::accept::accepts;
use crate::numeric::cholesky;
use crate::numeric::dense;
use crate::rng::Rng;

/// The number of steps.
pub(in crate::chain) const STEPS: usize = 24;

/// The share of independence proposals, if there is a density to draw them from.
const INDEPENDENT: f64 = 0.6;

/// The shortest and the longest step of a random walk, in standard deviations of theta; of all p
/// parameters together these over the square root of p.
const SHORTEST: f64 = 0.1;
const LONGEST: f64 = 3.0;

/// What the walk is made with: all of it fixed after warm-up.
pub(in crate::chain::theta) struct Guide<'a> {
    pub(super) sums: &'a Sums<'a>,
    pub(super) surrogate: &'a Surrogate,
    pub(super) density: Option<&'a Density>,
}

impl Guide<'_> {
    /// Walks from the unconstrained theta `free` by Metropolis-Hastings steps on the synthetic
    /// posterior pi_S given these precisions. A coin decides whether a step is a random walk or an
    /// independence proposal from the density. Each step is reversible
    /// with respect to pi_S and has the same law, so the walk is reversible as a whole: pi_S(a)
    /// q(b | a) = pi_S(b) q(a | b). `false` if pi_S is zero at the start.
    pub(in crate::chain::theta) fn walk(
        &self,
        free: &mut Vec<f64>,
        precisions: &[f64],
        synthetic: &mut Synthetic,
        rng: &mut Rng,
    ) -> Outcome<bool> {
        let p = self.sums.p;
        let mut current = synthetic.log_posterior(self.sums, free, precisions)?;
        if !current.is_finite() {
            return Ok(false);
        }
        let mut next = vec![0.0; p];
        // The log of the density at the current theta, once it is known.
        let mut log_here = None;
        for _ in 0..STEPS {
            let density = self.density.filter(|_| rng.random_bool(INDEPENDENT));
            let mut ratio = 0.0;
            let mut log_there = None;
            if let Some(density) = density {
                density.sample(&mut next, rng)?;
                let there = density.log(&next);
                ratio = *log_here.get_or_insert_with(|| density.log(free)) - there;
                log_there = Some(there);
            } else {
                step(&self.surrogate.theta_spread, free, &mut next, rng);
            }
            let there = synthetic.log_posterior(self.sums, &next, precisions)?;
            if accepts(there - current + ratio, rng) {
                std::mem::swap(free, &mut next);
                (current, log_here) = (there, log_there);
            }
        }
        Ok(true)
    }
}

/// A symmetric step of log-uniform length, in units of the spread of theta, whose lower Cholesky
/// factor is `spread`: of all parameters together, or of one of them. The latter goes far where one
/// parameter hardly matters given the others, as a small scale does.
pub(super) fn step(spread: &[f64], from: &[f64], next: &mut [f64], rng: &mut Rng) {
    let p = from.len();
    let share: f64 = rng.random();
    let length = SHORTEST * (LONGEST / SHORTEST).powf(share);
    if rng.random_bool(0.5) {
        let i = rng.random_range(0..p);
        let row = &spread[i * p..][..=i];
        let normal: f64 = rng.sample(StandardNormal);
        next.copy_from_slice(from);
        next[i] += length * dense::dot(row, row).sqrt() * normal;
    } else {
        let mut normals = vec![0.0; p];
        fill_normals(&mut normals, rng);
        cholesky::times_lower(spread, &normals, next);
        let length = length / (p as f64).sqrt();
        next.iter_mut().zip(from).for_each(|(step, x)| *step = x + length * *step);
    }
}
