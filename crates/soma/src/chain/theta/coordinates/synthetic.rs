//! The normal approximation of the sums given theta: the synthetic likelihood.

use soma_language::special::normal_quantile;

use crate::chain::theta::coordinates::sums::Sums;
use crate::error::Outcome;
use crate::interrupt;
use crate::numeric::cholesky;
use crate::numeric::dense;

/// The mean and the covariance of a record's statistics at theta, from a fixed set of noise
/// vectors.
///
/// The vectors fill the space evenly: the additive recurrence with the powers of 1 / phi, where phi
/// is the positive root of phi^(D + 1) = phi + 1, through the normal quantile function. Means over
/// them have an error of about one over their number; for random draws it is one over its square
/// root. The set depends on D and n alone, so whatever is computed from it is a fixed function of theta.
#[derive(Debug, Clone, Default)]
pub(in crate::chain) struct Synthetic {
    noise: Vec<f64>,
    records: Vec<f64>,
    statistics: Vec<f64>,
    pub(in crate::chain) theta: Vec<f64>,
    /// The mean of a record's statistics, less their centres, in noise units.
    pub(in crate::chain) mean: Vec<f64>,
    /// The lower triangle of their covariance.
    pub(in crate::chain) covariance: Vec<f64>,
    /// The mean residual of n records.
    pub(in crate::chain) residual: Vec<f64>,
    factor: Vec<f64>,
    whitened: Vec<f64>,
}

/// The number of noise vectors for n records. The mean of the sums has an error of about n over it
/// in standard deviations of a record, which is small beside the sqrt(n) of the sums themselves.
pub(in crate::chain) fn vectors(n: usize) -> usize {
    if n < FEW_RECORDS { 64 } else { 512 }
}

const FEW_RECORDS: usize = 100;

/// The variance that replaces an infinite one, if the noise of a statistic has precision 0.
const VAGUE: f64 = 1e12;

/// The variance of noise with this precision.
pub(in crate::chain) fn variance(precision: f64) -> f64 {
    if precision > 0.0 { (1.0 / precision).min(VAGUE) } else { VAGUE }
}

impl Synthetic {
    fn prepare(&mut self, vectors: usize, d: usize) {
        if self.noise.len() == vectors * d {
            return;
        }
        let mut phi: f64 = 2.0;
        for _ in 0..60 {
            phi = (1.0 + phi).powf(1.0 / (d as f64 + 1.0));
        }
        let uniform = |i: usize, j: usize| {
            (0.5 + (i + 1) as f64 * phi.powi(-(j as i32 + 1))).fract().clamp(1e-9, 1.0 - 1e-9)
        };
        let points = (0..vectors).flat_map(|i| (0..d).map(move |j| (i, j)));
        self.noise = points.map(|(i, j)| normal_quantile(uniform(i, j))).collect();
    }

    /// Computes mean and covariance at the unconstrained theta. `false` if it is not in the support
    /// of the prior, or a statistic overflows.
    pub(in crate::chain) fn set(&mut self, sums: &Sums, free: &[f64]) -> Outcome<bool> {
        interrupt::check()?;
        let vectors = vectors(sums.n);
        self.prepare(vectors, sums.d);
        if !sums.log_prior_theta(free).is_finite() {
            return Ok(false);
        }
        let k = sums.k;
        let Synthetic { noise, records, statistics, theta, mean, covariance, residual, .. } = self;
        theta.resize(sums.p, 0.0);
        sums.model.constrain(free, theta);
        records.resize(vectors * sums.problem.release().query().record_dim(), 0.0);
        statistics.resize(vectors * k, 0.0);
        sums.statistics(theta, noise, records, statistics)?;
        mean.clear();
        mean.resize(k, 0.0);
        statistics.chunks_exact(k).for_each(|row| dense::axpy(1.0 / vectors as f64, row, mean));
        residual.clear();
        residual.extend(mean.iter().map(|m| sums.n as f64 * m));
        sums.to_residual(residual);
        let scales = sums.units.scales();
        mean.iter_mut().zip(scales).for_each(|(m, b)| *m /= b);
        covariance.clear();
        covariance.resize(k * k, 0.0);
        for row in statistics.chunks_exact_mut(k) {
            row.iter_mut().zip(&*mean).zip(scales).for_each(|((t, m), b)| *t = *t / b - m);
            for i in 0..k {
                let each = row[i] / vectors as f64;
                dense::axpy(each, &row[..=i], &mut covariance[i * k..][..=i]);
            }
        }
        Ok(residual.iter().chain(&*covariance).all(|x| x.is_finite()))
    }

    /// The log density of the synthetic posterior at the unconstrained theta, up to a constant: the
    /// prior times N(s_dp; n mu, n Sigma + V), where mu and Sigma are mean and covariance of a
    /// record's statistics, and V has the variances of the noise (Wood 2010).
    pub(in crate::chain) fn log_posterior(
        &mut self,
        sums: &Sums,
        free: &[f64],
        precisions: &[f64],
    ) -> Outcome<f64> {
        if !self.set(sums, free)? {
            return Ok(f64::NEG_INFINITY);
        }
        let k = sums.k;
        let Synthetic { covariance, residual, factor, whitened, .. } = self;
        factor.clear();
        factor.extend(covariance.iter().map(|c| sums.n as f64 * c));
        for (i, w) in precisions.iter().enumerate() {
            factor[i * (k + 1)] += variance(*w);
        }
        if !cholesky::lower(factor, k) {
            return Ok(f64::NEG_INFINITY);
        }
        whitened.clone_from(residual);
        cholesky::solve_lower(factor, whitened);
        let log_likelihood =
            -0.5 * dense::dot(whitened, whitened) - cholesky::log_diagonal(factor, k);
        Ok(sums.log_prior_theta(free) + log_likelihood)
    }
}
