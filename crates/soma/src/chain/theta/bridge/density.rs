//! A kernel density estimate of the synthetic posterior.

use rand::RngExt;
use rand_distr::ChiSquared;
use serde::{Deserialize, Serialize};

use super::particles::covariance_factor;
use crate::chain::theta::coordinates::surrogate::fill_normals;
use crate::error::Outcome;
use crate::numeric::cholesky;
use crate::numeric::dense;
use crate::rng::Rng;
use crate::stored::{Check, ensure, finite};

/// A mixture of Student laws of equal weight around draws of theta, each as wide as the draws near
/// it: independence proposals for a posterior of any shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Density {
    p: usize,
    centres: Vec<f64>,
    /// The inverses of the lower Cholesky factors of the scale matrices.
    inverses: Vec<f64>,
    factors: Vec<f64>,
}

/// The degrees of freedom.
const FREEDOM: f64 = 5.0;

/// The covariance of the neighbours is multiplied by this, and a share of the covariance of all
/// draws is added.
const SHRINK: f64 = 0.5;
const FLOOR: f64 = 1e-4;

impl Density {
    /// The estimate from draws of length p, row by row.
    pub(super) fn new(draws: Vec<f64>, p: usize) -> Option<Density> {
        let count = draws.len() / p;
        let neighbours = (8 + 6 * p).min(count - 1);
        let all = covariance_factor(&draws, p)?;
        let mut whitened = draws.clone();
        whitened.chunks_exact_mut(p).for_each(|x| cholesky::solve_lower(&all, x));
        let (mut factors, mut inverses) = (Vec::new(), Vec::new());
        for i in 0..count {
            let from = |j: usize| {
                let pairs = whitened[i * p..][..p].iter().zip(&whitened[j * p..][..p]);
                pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>()
            };
            let mut near: Vec<(f64, usize)> = (0..count).map(|j| (from(j), j)).collect();
            near.select_nth_unstable_by(neighbours, |a, b| a.0.total_cmp(&b.0));
            let mut factor = vec![0.0; p * p];
            for (_, j) in &near[..=neighbours] {
                for r in 0..p {
                    for c in 0..=r {
                        let gap = |c: usize| draws[j * p + c] - draws[i * p + c];
                        factor[r * p + c] += SHRINK * gap(r) * gap(c) / neighbours as f64;
                    }
                }
            }
            for r in 0..p {
                for c in 0..=r {
                    factor[r * p + c] +=
                        FLOOR * dense::dot(&all[r * p..][..=c], &all[c * p..][..=c]);
                }
            }
            if !cholesky::lower(&mut factor, p) {
                return None;
            }
            let mut inverse = vec![0.0; p * p];
            for c in 0..p {
                let mut column = vec![0.0; p];
                column[c] = 1.0;
                cholesky::solve_lower(&factor, &mut column);
                (0..p).for_each(|r| inverse[r * p + c] = column[r]);
            }
            factors.extend(factor);
            inverses.extend(inverse);
        }
        Some(Density { p, centres: draws, inverses, factors })
    }

    pub(super) fn check(&self, p: usize) -> Check {
        let count = self.centres.len() / p.max(1);
        ensure(self.p == p && count > 0, "the density is of another theta")?;
        finite("the centres of the density", count * p, &self.centres)?;
        finite("the factors of the density", count * p * p, &self.factors)?;
        finite("the inverses of the density", count * p * p, &self.inverses)
    }

    /// A draw.
    pub(super) fn sample(&self, out: &mut [f64], rng: &mut Rng) -> Outcome {
        let p = self.p;
        let i = rng.random_range(0..self.centres.len() / p);
        let mut normals = vec![0.0; p];
        fill_normals(&mut normals, rng);
        let chi: f64 = rng.sample(ChiSquared::new(FREEDOM)?);
        normals.iter_mut().for_each(|x| *x *= (FREEDOM / chi).sqrt());
        cholesky::times_lower(&self.factors[i * p * p..][..p * p], &normals, out);
        out.iter_mut().zip(&self.centres[i * p..][..p]).for_each(|(x, c)| *x += c);
        Ok(())
    }

    /// The log density, up to a constant.
    pub(super) fn log(&self, x: &[f64]) -> f64 {
        let p = self.p;
        let power = FREEDOM as i32 + p as i32;
        let (mut sum, mut gap) = (0.0, vec![0.0; p]);
        for (centre, inverse) in self.centres.chunks_exact(p).zip(self.inverses.chunks_exact(p * p))
        {
            gap.iter_mut().zip(x).zip(centre).for_each(|((gap, x), c)| *gap = x - c);
            let (mut square, mut scale) = (0.0, 1.0);
            for (r, row) in inverse.chunks_exact(p).enumerate() {
                let whitened = dense::dot(&row[..=r], &gap[..=r]);
                square += whitened * whitened;
                scale *= row[r];
            }
            sum += scale * (1.0 + square / FREEDOM).sqrt().recip().powi(power);
        }
        sum.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    /// Draws along a bent curve. The density integrates to the constant of the Student law, and
    /// its draws have it as their density: the mean of 1 / density over the draws in a box is the
    /// volume of the box.
    #[test]
    fn draws_have_the_density() {
        let mut rng = rng::stream(3, 0);
        let mut normal = || rng.sample::<f64, _>(rand_distr::StandardNormal);
        let points: Vec<f64> = (0..200)
            .flat_map(|_| {
                let x = normal();
                [x, x * x + 0.1 * normal()]
            })
            .collect();
        let density = Density::new(points, 2).unwrap();
        density.check(2).unwrap();
        // The constant of a Student law of two dimensions is 1 / (2 pi); there are 200 of them.
        let constant = 1.0 / (200.0 * 2.0 * std::f64::consts::PI);
        let mut rng = rng::stream(4, 0);
        let draws = 40_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut x = [0.0; 2];
        for _ in 0..draws {
            density.sample(&mut x, &mut rng).unwrap();
            if x[0].abs() < 1.0 && (x[1] - x[0] * x[0]).abs() < 0.1 {
                let ratio = 1.0 / (constant * density.log(&x).exp());
                sum += ratio;
                squares += ratio * ratio;
            }
        }
        let mean = sum / f64::from(draws);
        let error = ((squares / f64::from(draws) - mean * mean) / f64::from(draws)).sqrt();
        assert!((mean - 0.4).abs() < 4.5 * error && error < 0.02, "{mean} +- {error}");
    }
}
