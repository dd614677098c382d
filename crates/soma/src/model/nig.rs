//! The normal-inverse-gamma distribution of coefficients and a variance.

use nalgebra::allocator::Allocator;
use nalgebra::{Cholesky, DMatrix, DVector, DefaultAllocator, Dim, Dyn, OMatrix, OVector};
use rand::RngExt;
use rand_distr::{Distribution, Gamma, StandardNormal};
use statrs::function::gamma::ln_gamma;

use crate::error::{Invalid, Outcome, finite, listed, positive};
use crate::interrupt;
use crate::numeric::accept::is_below_exp_neg;
use crate::rng::Rng;

/// sigma2 ~ InverseGamma(shape, rate), with density proportional to sigma2^(-shape - 1) exp(-rate /
/// sigma2), and beta given sigma2 ~ N(mean, sigma2 L^-T L^-1), where L is the Cholesky factor of
/// the precision matrix of beta at sigma2 = 1.
///
/// The number of coefficients is a type, so that small sizes need no allocation; `Dyn` is any
/// number.
#[derive(Debug, Clone)]
pub struct NormalInverseGamma<D: Dim = Dyn>
where
    DefaultAllocator: Allocator<D> + Allocator<D, D>,
{
    /// The mean of the coefficients.
    pub mean: OVector<f64, D>,
    /// L, lower triangular, with L L' the precision matrix at sigma2 = 1.
    pub factor: OMatrix<f64, D, D>,
    /// The shape of the variance's inverse gamma.
    pub shape: f64,
    /// The rate of the variance's inverse gamma.
    pub rate: f64,
}

impl NormalInverseGamma {
    /// The distribution with the precision matrix `precision` (at sigma2 = 1) of coefficients.
    pub fn new(
        mean: Vec<f64>,
        precision: &DMatrix<f64>,
        shape: f64,
        rate: f64,
    ) -> Result<Self, Invalid> {
        for (k, &value) in mean.iter().enumerate() {
            finite(&format!("mean[{k}]"), value)?;
        }
        Ok(NormalInverseGamma {
            factor: cholesky("precision", precision, mean.len())?,
            mean: DVector::from_vec(mean),
            shape: positive("shape", shape)?,
            rate: positive("rate", rate)?,
        })
    }
}

/// The lower Cholesky factor of `matrix`, which must be `size` by `size`, symmetric and positive
/// definite; otherwise an error that names `field`.
pub(super) fn cholesky(
    field: &str,
    matrix: &DMatrix<f64>,
    size: usize,
) -> Result<DMatrix<f64>, Invalid> {
    if matrix.shape() != (size, size) {
        return Err(Invalid::new(
            field,
            "the matrix has the wrong size",
            format!("{} x {}", matrix.nrows(), matrix.ncols()),
            format!("{size} x {size}"),
        ));
    }
    if let Some((k, &value)) = matrix.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        finite(&format!("{field}[{}][{}]", k % size, k / size), value)?;
    }
    let skew = (matrix - matrix.transpose()).amax() > 1e-9 * matrix.amax();
    let factor = if skew { None } else { Cholesky::new(matrix.clone()) };
    let factor = factor.map(|factor| factor.unpack());
    if let Some(factor) = &factor {
        check_digits(field, matrix, factor)?;
    }
    factor.ok_or_else(|| {
        let rows: Vec<String> = matrix
            .row_iter()
            .map(|row| {
                let row: Vec<String> = row.iter().map(f64::to_string).collect();
                format!("[{}]", listed(&row))
            })
            .collect();
        Invalid::new(
            field,
            "must be symmetric and positive definite",
            format!("[{}]", listed(&rows)),
            "a symmetric matrix with positive eigenvalues",
        )
    })
}

/// Rejects a matrix that is singular to working precision: a squared diagonal entry of the factor
/// is a difference, and must retain some digits.
fn check_digits(field: &str, matrix: &DMatrix<f64>, factor: &DMatrix<f64>) -> Result<(), Invalid> {
    for i in 0..matrix.nrows() {
        let left = factor[(i, i)].powi(2) / matrix[(i, i)];
        if left < 4.0 * f64::EPSILON {
            return Err(Invalid::new(
                format!("{field}[{i}][{i}]"),
                "the matrix is singular to the precision of floating point",
                format!("{left:e} of the entry does not follow from the others"),
                "at least 1e-15 of it; for predictors far from zero beside their spread, subtract \
                 a constant from predictors and clamps",
            ));
        }
    }
    Ok(())
}

impl<D: Dim> NormalInverseGamma<D>
where
    DefaultAllocator: Allocator<D> + Allocator<D, D>,
{
    /// Draws the coefficients and then the variance into `theta`.
    pub fn sample(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        let q = self.mean.len();
        let precision = Gamma::new(self.shape, 1.0 / self.rate)?.sample(rng);
        // A tiny shape can underflow to zero, an infinite variance.
        theta[q] = 1.0 / precision.max(f64::MIN_POSITIVE);
        self.sample_coefficients(theta[q], &mut theta[..q], rng);
        Ok(())
    }

    /// Draws the coefficients given the variance.
    pub fn sample_coefficients(&self, sigma2: f64, beta: &mut [f64], rng: &mut Rng) {
        let sigma = sigma2.sqrt();
        let mut z = self.mean.clone();
        z.iter_mut().for_each(|z| *z = rng.sample(StandardNormal));
        // Solves L' z = z; L has a positive diagonal.
        self.factor.tr_solve_lower_triangular_mut(&mut z);
        for ((beta, mean), z) in beta.iter_mut().zip(self.mean.iter()).zip(z.iter()) {
            *beta = mean + sigma * z;
        }
    }

    /// (beta - mean)' L L' (beta - mean).
    fn quadratic(&self, beta: &[f64]) -> f64 {
        let q = self.mean.len();
        (0..q)
            .map(|j| {
                let column = (j..q).map(|i| self.factor[(i, j)] * (beta[i] - self.mean[i]));
                column.sum::<f64>().powi(2)
            })
            .sum()
    }

    /// The log density of beta and log sigma2 (of their logarithm, not of sigma2), up to a
    /// constant.
    pub(super) fn log_density_free(&self, beta: &[f64], log_sigma2: f64) -> f64 {
        let power = self.shape + 0.5 * self.mean.len() as f64;
        -power * log_sigma2 - (self.rate + 0.5 * self.quadratic(beta)) * (-log_sigma2).exp()
    }

    /// The gradient of [`log_density_free`](Self::log_density_free) at the coefficients and the
    /// logarithm of the variance.
    pub(super) fn log_density_free_gradient(&self, free: &[f64], gradient: &mut [f64]) {
        let q = self.mean.len();
        let (beta, log_sigma2) = (&free[..q], free[q]);
        let per_sigma2 = (-log_sigma2).exp();
        gradient.fill(0.0);
        let mut quadratic = 0.0;
        for j in 0..q {
            let column = (j..q).map(|i| self.factor[(i, j)] * (beta[i] - self.mean[i]));
            let whitened: f64 = column.sum();
            quadratic += whitened * whitened;
            (j..q).for_each(|i| gradient[i] -= per_sigma2 * self.factor[(i, j)] * whitened);
        }
        let power = self.shape + 0.5 * q as f64;
        gradient[q] = (self.rate + 0.5 * quadratic) * per_sigma2 - power;
    }

    /// The normalised log density at theta: the coefficients and then the variance.
    pub fn log_density(&self, theta: &[f64]) -> f64 {
        let q = self.mean.len();
        let sigma2 = theta[q];
        if sigma2.is_nan() || sigma2 <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let constant = self.log_constant() - 0.5 * q as f64 * (2.0 * std::f64::consts::PI).ln();
        constant - ln_gamma(self.shape) - sigma2.ln()
            + self.log_density_free(&theta[..q], sigma2.ln())
    }

    /// The terms of the log density that depend on the precision matrix and the rate, but not on
    /// theta.
    fn log_constant(&self) -> f64 {
        let logs = (0..self.mean.len()).map(|i| self.factor[(i, i)].ln());
        logs.sum::<f64>() + self.shape * self.rate.ln()
    }

    /// Draws theta from a maximal coupling of two distributions, by the rejection of
    /// [`maximal`](crate::distribution::maximal). Returns whether the two are equal.
    ///
    /// All coordinates are coupled jointly. Coupled one after the other, first the variance and
    /// then the coefficients given it, the two are equal less often: on the regression example with
    /// n = 10 and epsilon = 30 SOMA then takes 90 iterations to meet instead of 81.
    pub(crate) fn sample_pair(
        laws: &[Self; 2],
        [first, second]: [&mut [f64]; 2],
        rng: &mut Rng,
    ) -> Outcome<bool> {
        let q = laws[0].mean.len();
        let shapes = [laws[0].shape, laws[1].shape];
        let mut constant = laws[1].log_constant() - laws[0].log_constant();
        if shapes[0] != shapes[1] {
            constant += ln_gamma(shapes[0]) - ln_gamma(shapes[1]);
        }
        // The log density ratio of the second to the first distribution.
        let ratio = |theta: &[f64]| {
            let per_sigma2 = 1.0 / theta[q];
            let [a, b] = [0, 1].map(|l| laws[l].rate + 0.5 * laws[l].quadratic(&theta[..q]));
            let bent =
                if shapes[0] == shapes[1] { 0.0 } else { (shapes[0] - shapes[1]) * theta[q].ln() };
            constant + bent + (a - b) * per_sigma2
        };
        laws[0].sample(first, rng)?;
        let compared = ratio(first);
        // With NaN the rejection below would not end.
        if compared.is_nan() {
            return Err("the laws of theta in two chains cannot be compared".into());
        }
        if is_below_exp_neg(rng.random(), -compared) {
            second.copy_from_slice(first);
            return Ok(true);
        }
        loop {
            interrupt::check()?;
            laws[1].sample(second, rng)?;
            let ratio = ratio(second);
            if ratio > 0.0 && !is_below_exp_neg(rng.random(), ratio) {
                return Ok(false);
            }
        }
    }
}
