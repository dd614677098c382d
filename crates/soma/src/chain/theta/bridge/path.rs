//! Records chosen one after the other, so that their sums end near the release.

use nalgebra::{DMatrix, SymmetricEigen};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::lattice::{candidates, fill};
use crate::chain::theta::coordinates::sums::Sums;
use crate::chain::theta::coordinates::synthetic::{Synthetic, variance};
use crate::error::Outcome;
use crate::interrupt;
use crate::numeric::dense;
use crate::numeric::exp::exp;
use crate::rng::Rng;

/// The normal law N(0, m Sigma + V) of the residual that is left when m records are still to come,
/// less its mean, in a basis in which V is the identity and Sigma is diagonal.
pub(in crate::chain::theta) struct Law {
    pub(super) theta: Vec<f64>,
    basis: Vec<f64>,
    /// The diagonal of Sigma.
    variances: Vec<f64>,
    mean: Vec<f64>,
    residual: Vec<f64>,
}

impl Law {
    /// The law at the unconstrained theta, with noise of these precisions.
    pub(in crate::chain::theta) fn new(
        free: &[f64],
        sums: &Sums,
        precisions: &[f64],
        synthetic: &mut Synthetic,
    ) -> Outcome<Option<Law>> {
        if !synthetic.set(sums, free)? {
            return Ok(None);
        }
        let k = sums.k;
        let roots: Vec<f64> = precisions.iter().map(|w| variance(*w).sqrt().recip()).collect();
        let entry = |i: usize, j: usize| {
            synthetic.covariance[i.max(j) * k + i.min(j)] * roots[i] * roots[j]
        };
        let matrix = DMatrix::from_fn(k, k, entry);
        if !matrix.iter().all(|x| x.is_finite()) {
            return Ok(None);
        }
        let Some(eigen) = SymmetricEigen::try_new(matrix, f64::EPSILON, MOST_ROTATIONS) else {
            return Ok(None);
        };
        let rows = (0..k).flat_map(|row| (0..k).map(move |c| (row, c)));
        let basis = rows.map(|(row, c)| eigen.eigenvectors[(c, row)] * roots[c]).collect();
        Ok(Some(Law {
            theta: synthetic.theta.clone(),
            basis,
            variances: eigen.eigenvalues.iter().map(|x| x.max(0.0)).collect(),
            mean: synthetic.mean.clone(),
            residual: synthetic.residual.clone(),
        }))
    }

    /// A vector in the basis.
    fn rotate(&self, x: &[f64], out: &mut [f64]) {
        let rows = self.basis.chunks_exact(x.len());
        out.iter_mut().zip(rows).for_each(|(to, row)| *to = dense::dot(row, x));
    }
}

/// At most so many iterations of the eigenvalue algorithm.
const MOST_ROTATIONS: usize = 500;

/// Candidates that are built at once: few enough to stay in the first-level cache.
const ROWS: usize = 512;

/// A path: the noise of the records that were chosen, and the residual that they leave.
#[derive(Debug, Clone, Default)]
pub(in crate::chain::theta) struct Path {
    pub(super) noise: Vec<f64>,
    pub(super) residual: Vec<f64>,
    candidates: Vec<f64>,
    records: Vec<f64>,
    statistics: Vec<f64>,
    rotated: Vec<f64>,
    first: Vec<f64>,
    step: Step,
}

impl Path {
    /// Chooses the noise of all records, or follows the one that is `given`. Returns
    ///
    /// log prod_i mean_j h_i(candidate j) / h_(i-1)(the one chosen before),
    ///
    /// where h_i is the density of the [law](Law) with n - i records to come. `None` if no
    /// candidate of a record has a density.
    pub(in crate::chain::theta) fn follow(
        &mut self,
        given: Option<&[f64]>,
        sums: &Sums,
        law: &Law,
        rng: &mut Rng,
    ) -> Outcome<Option<f64>> {
        let (n, d, k) = (sums.n, sums.d, sums.k);
        let Path { noise, residual, candidates: built, records, statistics, rotated, first, step } =
            self;
        noise.clear();
        residual.clone_from(&law.residual);
        step.begin(law, residual, n);
        let mut log_factors = 0.0;
        let mut slot = 0;
        while slot < n {
            interrupt::check()?;
            let (mut end, mut rows) = (slot, 0);
            built.clear();
            while end < n && (rows == 0 || rows + candidates(n, n - 1 - end) <= ROWS) {
                let count = candidates(n, n - 1 - end);
                first.clear();
                match given {
                    Some(noise) => first.extend_from_slice(&noise[end * d..][..d]),
                    None => first.extend((0..d).map(|_| rng.sample::<f64, _>(StandardNormal))),
                }
                built.resize((rows + count) * d, 0.0);
                fill(&mut built[rows * d..], first, count);
                (end, rows) = (end + 1, rows + count);
            }
            records.resize(rows * sums.problem.release().query().record_dim(), 0.0);
            statistics.resize(rows * k, 0.0);
            rotated.resize(rows * k, 0.0);
            sums.statistics(&law.theta, built, records, statistics)?;
            for (row, to) in statistics.chunks_exact_mut(k).zip(rotated.chunks_exact_mut(k)) {
                let scales = sums.units.scales();
                let centred = row.iter_mut().zip(&law.mean).zip(scales);
                centred.for_each(|((t, m), b)| *t = *t / b - m);
                law.rotate(row, to);
            }
            let mut row = 0;
            for slot in slot..end {
                let count = candidates(n, n - 1 - slot);
                let offered = &rotated[row * k..][..count * k];
                let Some(log_mean) = step.weigh(law, offered, n - 1 - slot) else {
                    return Ok(None);
                };
                log_factors += log_mean;
                let chosen = if given.is_some() { 0 } else { step.choose(rng) };
                if !step.take(chosen, &offered[chosen * k..][..k]) {
                    return Ok(None);
                }
                noise.extend_from_slice(&built[(row + chosen) * d..][..d]);
                dense::axpy(-1.0, &statistics[(row + chosen) * k..][..k], residual);
                row += count;
            }
            slot = end;
        }
        Ok(Some(log_factors))
    }

    /// The log density of the law of the noise at the end of the path.
    pub(super) fn log_end(&self) -> f64 {
        self.step.current
    }
}

/// The choice of one record.
#[derive(Debug, Clone, Default)]
struct Step {
    /// The residual in the basis, less its mean.
    gap: Vec<f64>,
    /// Its log density.
    current: f64,
    precisions: Vec<f64>,
    logs: Vec<f64>,
    /// Weights relative to the largest, and their sum.
    weights: Vec<f64>,
    total: f64,
}

impl Step {
    fn begin(&mut self, law: &Law, residual: &[f64], n: usize) {
        self.gap.resize(residual.len(), 0.0);
        law.rotate(residual, &mut self.gap);
        let norm = self.set_precisions(law, n);
        let squares = self.gap.iter().zip(&self.precisions).map(|(g, w)| g * g * w);
        self.current = norm - 0.5 * squares.sum::<f64>();
    }

    /// Sets the precisions with `left` records to come, and returns the log of the normalising
    /// constant.
    fn set_precisions(&mut self, law: &Law, left: usize) -> f64 {
        let variances = law.variances.iter().map(|v| 1.0 + left as f64 * v);
        self.precisions.clear();
        self.precisions.extend(variances.clone().map(f64::recip));
        -0.5 * variances.map(f64::ln).sum::<f64>()
    }

    /// Weighs the candidates, and returns the log of the mean of their densities over the current
    /// one. `None` if that is zero.
    fn weigh(&mut self, law: &Law, offered: &[f64], left: usize) -> Option<f64> {
        let norm = self.set_precisions(law, left);
        let Step { gap, precisions, logs, weights, .. } = self;
        logs.clear();
        logs.extend(offered.chunks_exact(gap.len()).map(|row| {
            let gaps = gap.iter().zip(row).zip(&*precisions);
            let log = norm - 0.5 * gaps.map(|((g, y), w)| (g - y) * (g - y) * w).sum::<f64>();
            if log.is_nan() { f64::NEG_INFINITY } else { log }
        }));
        let most = logs.iter().fold(f64::NEG_INFINITY, |most, log| most.max(*log));
        if most == f64::NEG_INFINITY {
            return None;
        }
        weights.clear();
        weights.extend(logs.iter().map(|log| exp(log - most)));
        self.total = weights.iter().sum();
        Some(most + (self.total / logs.len() as f64).ln() - self.current)
    }

    /// One of the candidates, with probabilities proportional to their weights.
    fn choose(&self, rng: &mut Rng) -> usize {
        let mut left = self.total * rng.random::<f64>();
        for (j, weight) in self.weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return j;
            }
        }
        // Rounding: the largest.
        self.weights.iter().position(|weight| *weight == 1.0).unwrap_or(0)
    }

    /// Takes a candidate. `false` if it has no density.
    fn take(&mut self, chosen: usize, rotated: &[f64]) -> bool {
        self.current = self.logs[chosen];
        dense::axpy(-1.0, rotated, &mut self.gap);
        self.current.is_finite()
    }
}
