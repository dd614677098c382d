//! Linear regression on normal predictors.

mod conjugate;
#[cfg(test)]
mod tests;

use nalgebra::allocator::Allocator;
use nalgebra::{Cholesky, Const, DMatrix, DefaultAllocator, Dim, Dyn, OVector};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::CoupledUpdate;
use super::nig::cholesky;
use super::{Model, NormalInverseGamma, PlugInFit, Recipe, Transport, plug_in};
use crate::error::{Invalid, Outcome, finite, positive};
use crate::release::Release;
use crate::rng::Rng;

/// A record is (x1, ..., xp, y) with x ~ N(m, Sigma), m and Sigma known, and y ~
/// N(beta0 + beta1 x1 + ... + betap xp, sigma2). theta is (beta0, ..., betap, sigma2), with a
/// conjugate normal-inverse-gamma prior, so its update is an exact draw.
///
/// The update uses the imputed records before clamping.
#[derive(Debug, Clone)]
pub struct Regression {
    prior: NormalInverseGamma,
    /// The prior of the intercept at the mean of the predictors, and its precision at sigma2 = 1.
    centred_prior: NormalInverseGamma,
    prior_precision: DMatrix<f64>,
    centre: Vec<f64>,
    /// The Cholesky factor of Sigma and its inverse, row by row.
    factor: Vec<f64>,
    inverse_factor: Vec<f64>,
    log_determinant: f64,
}

impl Regression {
    /// The model with predictors of mean `centre` and covariance `covariance` (the identity if
    /// `None`), and a prior of 1 + p coefficients and the variance.
    pub fn new(
        centre: Vec<f64>,
        covariance: Option<DMatrix<f64>>,
        prior: NormalInverseGamma,
    ) -> Result<Self, Invalid> {
        let p = centre.len();
        if p < 1 {
            return Err(Invalid::new(
                "predictors.mean",
                "there must be a predictor",
                "[]",
                "the mean of each predictor",
            ));
        }
        for (k, &value) in centre.iter().enumerate() {
            finite(&format!("predictors.mean[{k}]"), value)?;
        }
        if prior.mean.len() != p + 1 {
            return Err(Invalid::new(
                "prior.mean",
                "the number of coefficients does not fit the predictors",
                format!("{} coefficients", prior.mean.len()),
                format!("{}: an intercept, and one for each of {p} predictors", p + 1),
            ));
        }
        let covariance = covariance.unwrap_or_else(|| DMatrix::identity(p, p));
        let factor = cholesky("predictors.covariance", &covariance, p)?;
        let inverse = factor
            .solve_lower_triangular(&DMatrix::identity(p, p))
            .filter(|inverse| inverse.iter().all(|value| value.is_finite()))
            .ok_or_else(|| {
                let problem = "the matrix has no inverse in floating point";
                Invalid::new(
                    "predictors.covariance",
                    problem,
                    covariance.amax(),
                    "larger variances",
                )
            })?;
        let centred_prior = conjugate::centred(&prior, &centre);
        Ok(Regression {
            prior_precision: &centred_prior.factor * centred_prior.factor.transpose(),
            centred_prior,
            prior,
            centre,
            log_determinant: 2.0 * factor.diagonal().iter().map(|l| l.ln()).sum::<f64>(),
            factor: factor.transpose().as_slice().to_vec(),
            inverse_factor: inverse.transpose().as_slice().to_vec(),
        })
    }

    fn update_pair_sized<D: Dim>(
        &self,
        q: D,
        theta: [&mut [f64]; 2],
        [first, second]: [&[f64]; 2],
        rng: &mut Rng,
    ) -> Outcome
    where
        DefaultAllocator: Allocator<D> + Allocator<D, D>,
    {
        let laws = [self.posterior_sized(q, first)?, self.posterior_sized(q, second)?];
        NormalInverseGamma::sample_pair(&laws, theta, rng).map(|_| ())
    }

    /// beta'm: the contribution of the slopes, `theta[1..]`, to the intercept at m.
    fn at_centre(&self, theta: &[f64]) -> f64 {
        theta[1..].iter().zip(&self.centre).map(|(beta, m)| beta * m).sum()
    }

    /// [`Model::log_ratios`], unrolled if `p` is known.
    #[inline(always)]
    fn ratios(&self, p: usize, from: &[f64], to: &[f64], records: &[f64], ratios: &mut [f64]) {
        let (from, to) = (&from[..p + 2], &to[..p + 2]);
        let constant = 0.5 * (from[p + 1] / to[p + 1]).ln();
        let halves = [0.5 / from[p + 1], 0.5 / to[p + 1]];
        for (ratio, record) in ratios.iter_mut().zip(records.chunks_exact(p + 1)) {
            let mut gaps = [record[p] - from[0], record[p] - to[0]];
            for (j, x) in record[..p].iter().enumerate() {
                gaps[0] -= from[1 + j] * x;
                gaps[1] -= to[1 + j] * x;
            }
            *ratio = constant + halves[0] * gaps[0] * gaps[0] - halves[1] * gaps[1] * gaps[1];
        }
    }

    /// Transforms standard normals to records, in place. If `p` is known at the call, the compiler
    /// unrolls the inner loops.
    #[inline(always)]
    fn transform(&self, p: usize, theta: &[f64], rows: &mut [f64]) {
        let (centre, factor) = (&self.centre[..p], &self.factor[..p * p]);
        let (beta, sigma) = (&theta[..=p], theta[p + 1].sqrt());
        for row in rows.chunks_exact_mut(p + 1) {
            let mut y = beta[0] + sigma * row[p];
            for i in (0..p).rev() {
                let mut x = centre[i];
                for j in 0..=i {
                    x += factor[i * p + j] * row[j];
                }
                row[i] = x;
                y += beta[1 + i] * x;
            }
            row[p] = y;
        }
    }

    fn transform_rows(&self, theta: &[f64], rows: &mut [f64]) {
        match self.centre.len() {
            1 => self.transform(1, theta, rows),
            2 => self.transform(2, theta, rows),
            3 => self.transform(3, theta, rows),
            p => self.transform(p, theta, rows),
        }
    }

    /// Transforms records to standard normals: the inverse of [`transform`](Self::transform).
    #[inline(always)]
    fn whiten(&self, p: usize, theta: &[f64], rows: &mut [f64]) {
        let (centre, inverse) = (&self.centre[..p], &self.inverse_factor[..p * p]);
        let (beta, per_sigma) = (&theta[..=p], 1.0 / theta[p + 1].sqrt());
        for row in rows.chunks_exact_mut(p + 1) {
            let mut fitted = beta[0];
            for i in (0..p).rev() {
                fitted += beta[1 + i] * row[i];
                let mut e = 0.0;
                for j in 0..=i {
                    e += inverse[i * p + j] * (row[j] - centre[j]);
                }
                row[i] = e;
            }
            row[p] = (row[p] - fitted) * per_sigma;
        }
    }
}

impl Model for Regression {
    fn kind(&self) -> &'static str {
        "regression"
    }

    fn record_dim(&self) -> usize {
        self.centre.len() + 1
    }

    fn parameters(&self) -> Vec<String> {
        let coefficients = (0..=self.centre.len()).map(|j| format!("beta{j}"));
        coefficients.chain(["sigma2".to_string()]).collect()
    }

    fn check_theta(&self, theta: &[f64]) -> Result<(), Invalid> {
        let (sigma2, beta) = theta.split_last().expect("theta has its length checked");
        for (j, &value) in beta.iter().enumerate() {
            finite(&format!("beta{j}"), value)?;
        }
        positive("sigma2", *sigma2)?;
        Ok(())
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        self.prior.sample(theta, rng)
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        Ok(self.prior.log_density(theta))
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        records.iter_mut().for_each(|e| *e = rng.sample(StandardNormal));
        self.transform_rows(theta, records);
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        let p = self.centre.len();
        let sigma2 = theta[p + 1];
        let mut squares = 0.0;
        for i in 0..p {
            let row = &self.inverse_factor[i * p..][..=i];
            let e = row.iter().zip(record).zip(&self.centre).map(|((l, x), m)| l * (x - m));
            squares += e.sum::<f64>().powi(2);
        }
        let fitted = (0..p).fold(theta[0], |sum, j| sum + theta[1 + j] * record[j]);
        let log_two_pi = (2.0 * std::f64::consts::PI).ln();
        Ok(-0.5
            * (squares
                + (record[p] - fitted).powi(2) / sigma2
                + self.log_determinant
                + sigma2.ln()
                + (p + 1) as f64 * log_two_pi))
    }

    /// The distribution of the predictors does not depend on theta: they are kept.
    fn redraw(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        let p = self.centre.len();
        let sigma = theta[p + 1].sqrt();
        for record in records.chunks_exact_mut(p + 1) {
            let fitted = (0..p).fold(theta[0], |sum, j| sum + theta[1 + j] * record[j]);
            let noise: f64 = rng.sample(StandardNormal);
            record[p] = fitted + sigma * noise;
        }
        Ok(())
    }

    fn log_ratios(&self, from: &[f64], to: &[f64], records: &[f64], ratios: &mut [f64]) -> Outcome {
        match self.centre.len() {
            1 => self.ratios(1, from, to, records, ratios),
            2 => self.ratios(2, from, to, records, ratios),
            3 => self.ratios(3, from, to, records, ratios),
            p => self.ratios(p, from, to, records, ratios),
        }
        Ok(())
    }

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        match self.centre.len() {
            1 => self.posterior_sized(Const::<2>, records)?.sample(theta, rng),
            2 => self.posterior_sized(Const::<3>, records)?.sample(theta, rng),
            3 => self.posterior_sized(Const::<4>, records)?.sample(theta, rng),
            p => self.posterior_sized(Dyn(p + 1), records)?.sample(theta, rng),
        }
    }

    /// A draw given a quarter of the records that the release is worth, with the released moments:
    /// the noisy normal equations, regularised by the prior and the known distribution of the
    /// predictors.
    fn start(&self, release: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        let moments = release.query().moments(&release.plausible_means());
        let Some((mean, covariance)) = moments.and_then(|m| Some((m.mean, m.covariance?))) else {
            return self.sample_prior(theta, rng);
        };
        let p = self.centre.len();
        let trust = release.worth() / release.n() as f64;
        let factor = DMatrix::from_row_slice(p, p, &self.factor);
        let known = &factor * factor.transpose();
        let blend = covariance.view((0, 0), (p, p)) * trust + &known * (1.0 - trust);
        let sane = Cholesky::new(&blend - &known * 0.25).is_some();
        let spread = if sane { blend } else { known };
        let centre: Vec<f64> =
            (0..p).map(|j| trust * mean[j] + (1.0 - trust) * self.centre[j]).collect();
        let n = 0.25 * release.worth();
        let z = |i: usize| if i == 0 { 1.0 } else { centre[i - 1] - self.centre[i - 1] };
        let gram = DMatrix::from_fn(p + 1, p + 1, |i, j| {
            let within = if i * j == 0 { 0.0 } else { spread[(i - 1, j - 1)] };
            n * (z(i) * z(j) + within)
        });
        let cross = OVector::<f64, Dyn>::from_fn(p + 1, |i, _| {
            if i == 0 { 0.0 } else { n * covariance[(i - 1, p)] }
        });
        let left = |_: f64, beta: &OVector<f64, Dyn>| {
            let slopes = beta.rows(1, p);
            let response = slopes.dot(&(&spread * slopes))
                - 2.0 * slopes.dot(&covariance.view((0, p), (p, 1)))
                + covariance[(p, p)];
            n * response.max(0.0)
        };
        let sums = conjugate::Sums { n, origin: mean[p], gram, cross };
        self.conjugate(Dyn(p + 1), sums, left)?.sample(theta, rng)
    }

    fn plug_in(&self, release: &Release) -> PlugInFit {
        plug_in::regression(release)
    }

    fn coupled(&self) -> Option<&dyn CoupledUpdate> {
        Some(self)
    }

    fn transport(&self) -> Option<&dyn Transport> {
        Some(self)
    }

    fn recipe(&self) -> Option<Recipe> {
        Some(Recipe::Regression {
            centre: self.centre.clone(),
            factor: self.factor.clone(),
            prior_mean: self.centred_prior.mean.as_slice().to_vec(),
            prior_precision: self.prior_precision.as_slice().to_vec(),
            shape: self.prior.shape,
            rate: self.prior.rate,
        })
    }
}

/// x = m + C e_x with C the Cholesky factor of Sigma, y = beta0 + beta'x + sigma e_y. The
/// unconstrained theta is (beta0 + beta'm, beta, log sigma2): the intercept at m is nearly
/// independent of the slopes for every m.
impl Transport for Regression {
    fn unconstrain(&self, theta: &[f64], free: &mut [f64]) {
        free.copy_from_slice(theta);
        free[0] += self.at_centre(theta);
        let last = free.len() - 1;
        free[last] = theta[last].ln();
    }

    fn constrain(&self, free: &[f64], theta: &mut [f64]) {
        theta.copy_from_slice(free);
        theta[0] -= self.at_centre(free);
        let last = theta.len() - 1;
        theta[last] = free[last].exp();
    }

    fn log_prior_free(&self, free: &[f64]) -> f64 {
        let (log_sigma2, beta) = free.split_last().expect("theta has a variance");
        self.centred_prior.log_density_free(beta, *log_sigma2)
    }

    fn log_prior_free_gradient(&self, free: &[f64], gradient: &mut [f64]) {
        self.centred_prior.log_density_free_gradient(free, gradient);
    }

    fn affine(&self, theta: &[f64], shift: &mut [f64], factor: &mut [f64]) -> bool {
        let p = self.centre.len();
        let d = p + 1;
        factor.fill(0.0);
        shift[p] = theta[0];
        for i in 0..p {
            shift[i] = self.centre[i];
            shift[p] += theta[1 + i] * self.centre[i];
            for j in 0..=i {
                let entry = self.factor[i * p + j];
                factor[i * d + j] = entry;
                factor[p * d + j] += theta[1 + i] * entry;
            }
        }
        factor[p * d + p] = theta[d].sqrt();
        true
    }

    fn forward(&self, theta: &[f64], noise: &[f64], records: &mut [f64]) -> Outcome {
        records.copy_from_slice(noise);
        self.transform_rows(theta, records);
        Ok(())
    }

    fn inverse(&self, theta: &[f64], records: &[f64], noise: &mut [f64]) -> Outcome {
        noise.copy_from_slice(records);
        match self.centre.len() {
            1 => self.whiten(1, theta, noise),
            2 => self.whiten(2, theta, noise),
            3 => self.whiten(3, theta, noise),
            p => self.whiten(p, theta, noise),
        }
        Ok(())
    }
}

impl CoupledUpdate for Regression {
    fn update_pair(&self, theta: [&mut [f64]; 2], records: [&[f64]; 2], rng: &mut Rng) -> Outcome {
        match self.centre.len() {
            1 => self.update_pair_sized(Const::<2>, theta, records, rng),
            2 => self.update_pair_sized(Const::<3>, theta, records, rng),
            3 => self.update_pair_sized(Const::<4>, theta, records, rng),
            p => self.update_pair_sized(Dyn(p + 1), theta, records, rng),
        }
    }
}
