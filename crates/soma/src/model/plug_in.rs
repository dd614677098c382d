//! What an analyst would say who takes a release for the truth.
//!
//! The estimate that a textbook has for the model (maximum likelihood, least squares, the method of
//! moments), computed from the released values as if they were the exact answers of the query: the
//! noise is ignored, and so is clamping. It is the answer that the posterior is compared with, never
//! one to rely on.

use nalgebra::{DMatrix, DVector};
use statrs::function::gamma::digamma;

use super::dirichlet_conditional::trigamma;
use crate::release::Release;
use crate::release::query::Moments;

/// What the released values say of theta, if they are taken for the truth.
#[derive(Debug, Clone, PartialEq)]
pub enum PlugInFit {
    /// The model has no textbook estimate from what was released.
    Unknown,
    /// It has one, but these values have no answer: a variance that came out negative, a mean below
    /// zero.
    NoAnswer,
    /// The estimate.
    Found {
        /// theta, in the order of the parameters.
        theta: Vec<f64>,
        /// Its covariance matrix over data sets; NaN for a parameter that the release does not tell.
        covariance: DMatrix<f64>,
    },
}

impl PlugInFit {
    /// An estimate, or no answer where a number of it is not finite.
    pub fn found(theta: Vec<f64>, covariance: DMatrix<f64>) -> Self {
        if theta.iter().all(|value| value.is_finite()) {
            PlugInFit::Found { theta, covariance }
        } else {
            PlugInFit::NoAnswer
        }
    }
}

/// The moments of a record that the released values state, whatever they are.
pub(super) fn moments(release: &Release) -> Option<Moments> {
    release.query().moments(&release.stated_means())
}

/// The mean and variance of normal records. `sigma2` stands in where the release has no variance.
pub(super) fn normal(release: &Release, sigma2: f64) -> PlugInFit {
    let Some(moments) = moments(release) else { return PlugInFit::Unknown };
    let (n, mean) = (release.n() as f64, moments.mean[0]);
    let (sigma2, spread) = match moments.covariance {
        Some(covariance) if n > 1.0 => {
            let sigma2 = covariance[(0, 0)] * n / (n - 1.0);
            (sigma2, 2.0 * sigma2 * sigma2 / (n - 1.0))
        }
        _ if release.query().dim() > 1 => return PlugInFit::Unknown,
        _ => (sigma2, f64::NAN),
    };
    if sigma2 <= 0.0 {
        return PlugInFit::NoAnswer;
    }
    let covariance = DMatrix::from_diagonal(&DVector::from_vec(vec![sigma2 / n, spread]));
    PlugInFit::found(vec![mean, sigma2], covariance)
}

/// Least squares of the last coordinate of a record on the others.
pub(super) fn regression(release: &Release) -> PlugInFit {
    let Some(Moments { mean, covariance: Some(joint) }) = moments(release) else {
        return PlugInFit::Unknown;
    };
    let (n, p) = (release.n() as f64, mean.len() - 1);
    let free = n - p as f64 - 1.0;
    let predictors = joint.view((0, 0), (p, p)).into_owned();
    let (Some(factor), true) = (predictors.cholesky(), free > 0.0) else {
        return PlugInFit::NoAnswer;
    };
    let with_response = joint.view((0, p), (p, 1)).column(0).into_owned();
    let centre = DVector::from_column_slice(&mean[..p]);
    let slopes = factor.solve(&with_response);
    let sigma2 = (joint[(p, p)] - slopes.dot(&with_response)) * n / free;
    if sigma2 <= 0.0 {
        return PlugInFit::NoAnswer;
    }
    let of_slopes = factor.inverse() * (sigma2 / n);
    let across = -(&of_slopes * &centre);
    let mut covariance = DMatrix::zeros(p + 2, p + 2);
    covariance.view_mut((1, 1), (p, p)).copy_from(&of_slopes);
    covariance.view_mut((1, 0), (p, 1)).copy_from(&across);
    covariance.view_mut((0, 1), (1, p)).copy_from(&across.transpose());
    covariance[(0, 0)] = sigma2 / n - centre.dot(&across);
    covariance[(p + 1, p + 1)] = 2.0 * sigma2 * sigma2 / free;
    let mut theta = vec![mean[p] - slopes.dot(&centre)];
    theta.extend(slopes.iter());
    theta.push(sigma2);
    PlugInFit::found(theta, covariance)
}

/// One over the mean.
pub(super) fn exponential(release: &Release) -> PlugInFit {
    let Some(moments) = moments(release) else { return PlugInFit::Unknown };
    if moments.mean[0] <= 0.0 {
        return PlugInFit::NoAnswer;
    }
    let rate = 1.0 / moments.mean[0];
    PlugInFit::found(vec![rate], DMatrix::from_element(1, 1, rate * rate / release.n() as f64))
}

/// a and b of a beta distribution with the mean and variance that were released.
pub(super) fn beta(release: &Release) -> PlugInFit {
    let Some(Moments { mean, covariance: Some(covariance) }) = moments(release) else {
        return PlugInFit::Unknown;
    };
    let (mean, variance) = (mean[0], covariance[(0, 0)]);
    let total = mean * (1.0 - mean) / variance - 1.0;
    if !(0.0 < mean && mean < 1.0 && variance > 0.0 && total > 0.0) {
        return PlugInFit::NoAnswer;
    }
    with_dirichlet_spread(vec![mean * total, (1.0 - mean) * total], release.n() as f64)
}

/// The shares of categories whose first count is statistic `first`, negative counts taken as none.
pub(super) fn categorical(release: &Release, first: usize, categories: usize) -> PlugInFit {
    let means = release.stated_means();
    let Some(stated) = means.get(first..first + categories) else { return PlugInFit::Unknown };
    let shares: Vec<f64> = stated.iter().map(|share| share.max(0.0)).collect();
    let total: f64 = shares.iter().sum();
    if total <= 0.0 {
        return PlugInFit::NoAnswer;
    }
    let theta: Vec<f64> = shares.iter().map(|share| share / total).collect();
    let n = release.n() as f64;
    let covariance = DMatrix::from_fn(categories, categories, |i, j| {
        let own = if i == j { theta[i] } else { 0.0 };
        (own - theta[i] * theta[j]) / n
    });
    PlugInFit::found(theta, covariance)
}

/// Newton steps of the maximum likelihood of a Dirichlet distribution, at most.
const STEPS: usize = 200;

/// Maximum likelihood of a Dirichlet distribution from mean logarithms of the shares, which exists
/// where their exponentials sum to less than 1.
pub(super) fn dirichlet(mean_logs: &[f64], n: f64) -> PlugInFit {
    let d = mean_logs.len();
    let total: f64 = mean_logs.iter().map(|g| g.exp()).sum();
    if total >= 1.0 || !total.is_finite() {
        return PlugInFit::NoAnswer;
    }
    // For large alphas the geometric means fall short of 1 by about (d - 1) / (2 alpha_0).
    let scale = (d as f64 - 1.0) / (2.0 * (1.0 - total));
    let mut alpha: Vec<f64> = mean_logs.iter().map(|g| g.exp() / total * scale).collect();
    for _ in 0..STEPS {
        let whole: f64 = alpha.iter().sum();
        let slope: Vec<f64> =
            alpha.iter().zip(mean_logs).map(|(a, g)| digamma(whole) - digamma(*a) + g).collect();
        let curve: Vec<f64> = alpha.iter().map(|a| trigamma(*a)).collect();
        // The Hessian is -diag(curve) + trigamma(whole) 1 1'.
        let across: f64 = slope.iter().zip(&curve).map(|(s, c)| s / c).sum();
        let inverse: f64 = curve.iter().map(|c| 1.0 / c).sum();
        let shift = across / (1.0 / trigamma(whole) - inverse);
        let step: Vec<f64> = slope.iter().zip(&curve).map(|(s, c)| (s + shift) / c).collect();
        let most = step.iter().zip(&alpha).map(|(s, a)| s.abs() / a).fold(0.0, f64::max);
        // By factors, at most of 2: alphas stay positive.
        let share = (0.5 / most).min(1.0);
        alpha.iter_mut().zip(&step).for_each(|(a, s)| *a += share * s);
        if most < 1e-10 {
            return with_dirichlet_spread(alpha, n);
        }
    }
    PlugInFit::NoAnswer
}

/// The estimate `alpha` with the inverse of its Fisher information.
fn with_dirichlet_spread(alpha: Vec<f64>, n: f64) -> PlugInFit {
    let whole = trigamma(alpha.iter().sum());
    let d = alpha.len();
    let information =
        DMatrix::from_fn(d, d, |i, j| n * (if i == j { trigamma(alpha[i]) } else { 0.0 } - whole));
    match information.cholesky() {
        Some(factor) => PlugInFit::found(alpha, factor.inverse()),
        None => PlugInFit::NoAnswer,
    }
}
