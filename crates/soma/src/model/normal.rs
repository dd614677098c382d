//! Normal records with unknown mean and variance.

use nalgebra::allocator::Allocator;
use nalgebra::{Const, DefaultAllocator, Dim, Dyn, OMatrix, OVector};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::CoupledUpdate;
use super::{Model, NormalInverseGamma, PlugInFit, Price, Recipe, Transport, plug_in};
use crate::counts::Shares;
use crate::counts::models::NormalCells;
use crate::error::{Invalid, Outcome, finite, positive};
use crate::release::Release;
use crate::release::query::Axis;
use crate::rng::Rng;

/// x ~ N(mu, sigma2), with the conjugate prior sigma2 ~ InverseGamma(a, b) and
/// mu given sigma2 ~ N(m, sigma2 / lambda).
#[derive(Debug, Clone)]
pub struct Normal {
    mean: f64,
    lambda: f64,
    shape: f64,
    rate: f64,
}

impl Normal {
    /// The model with prior mean `mean` worth `lambda` records, and the shape and rate of the
    /// inverse gamma prior of the variance.
    pub fn new(mean: f64, lambda: f64, shape: f64, rate: f64) -> Result<Self, Invalid> {
        Ok(Normal {
            mean: finite("prior.mean", mean)?,
            lambda: positive("prior.lambda", lambda)?,
            shape: positive("prior.shape", shape)?,
            rate: positive("prior.rate", rate)?,
        })
    }

    /// The conditional of theta given records, from which [`update`](Model::update) draws.
    pub fn posterior(&self, records: &[f64]) -> NormalInverseGamma {
        self.posterior_sized(Dyn(1), records)
    }

    fn posterior_sized<D: Dim>(&self, one: D, records: &[f64]) -> NormalInverseGamma<D>
    where
        DefaultAllocator: Allocator<D> + Allocator<D, D>,
    {
        let n = records.len() as f64;
        // Distances from one of the records: no cancellation far from zero.
        let origin = records.first().copied().unwrap_or(0.0);
        let mean = origin + records.iter().map(|x| x - origin).sum::<f64>() / n.max(1.0);
        let squares: f64 = records.iter().map(|x| (x - mean) * (x - mean)).sum();
        self.given(one, n, mean, squares)
    }

    /// The conditional given n records with this mean and sum of squared deviations; the prior if n
    /// = 0. `one` is the number of coefficients, as a type.
    fn given<D: Dim>(&self, one: D, n: f64, mean: f64, squares: f64) -> NormalInverseGamma<D>
    where
        DefaultAllocator: Allocator<D> + Allocator<D, D>,
    {
        let lambda = self.lambda + n;
        let gap = mean - self.mean;
        let centre = self.mean + n / lambda * gap;
        NormalInverseGamma {
            mean: OVector::from_element_generic(one, Const::<1>, centre),
            factor: OMatrix::from_element_generic(one, one, lambda.sqrt()),
            shape: self.shape + 0.5 * n,
            rate: self.rate + 0.5 * (squares + self.lambda * n / lambda * gap * gap),
        }
    }

    fn prior(&self) -> NormalInverseGamma<Const<1>> {
        self.given(Const::<1>, 0.0, self.mean, 0.0)
    }
}

impl Model for Normal {
    fn kind(&self) -> &'static str {
        "normal"
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn parameters(&self) -> Vec<String> {
        vec!["mu".into(), "sigma2".into()]
    }

    fn check_theta(&self, theta: &[f64]) -> Result<(), Invalid> {
        finite("mu", theta[0])?;
        positive("sigma2", theta[1])?;
        Ok(())
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        self.prior().sample(theta, rng)
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        Ok(self.prior().log_density(theta))
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        let (mu, sigma) = (theta[0], theta[1].sqrt());
        for x in records {
            let z: f64 = rng.sample(StandardNormal);
            *x = mu + sigma * z;
        }
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        let z = record[0] - theta[0];
        Ok(-0.5 * (z * z / theta[1] + (2.0 * std::f64::consts::PI * theta[1]).ln()))
    }

    fn log_ratios(&self, from: &[f64], to: &[f64], records: &[f64], ratios: &mut [f64]) -> Outcome {
        let constant = 0.5 * (from[1] / to[1]).ln();
        for (ratio, x) in ratios.iter_mut().zip(records) {
            let (a, b) = (x - from[0], x - to[0]);
            *ratio = constant + 0.5 * (a * a / from[1] - b * b / to[1]);
        }
        Ok(())
    }

    fn cell_shares(&self, axes: &[Axis]) -> Option<Shares> {
        let cuts = super::only_cuts(axes)?;
        NormalCells::new(cuts, self.mean, self.lambda, self.shape, self.rate).ok().map(Shares::of)
    }

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        self.posterior_sized(Const::<1>, records).sample(theta, rng)
    }

    /// A draw given a quarter of the records that the release is worth, with the released mean and,
    /// if released, the variance; otherwise the variance is the prior's.
    fn start(&self, release: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        let Some(moments) = release.query().moments(&release.plausible_means()) else {
            return self.sample_prior(theta, rng);
        };
        let n = 0.25 * release.worth();
        if let Some(covariance) = moments.covariance {
            let squares = n * covariance[(0, 0)].max(0.0);
            return self.given(Const::<1>, n, moments.mean[0], squares).sample(theta, rng);
        }
        self.sample_prior(theta, rng)?;
        let near = self.given(Const::<1>, n, moments.mean[0], 0.0);
        let sigma2 = theta[1];
        near.sample_coefficients(sigma2, &mut theta[..1], rng);
        Ok(())
    }

    fn plug_in(&self, release: &Release) -> PlugInFit {
        let sigma2 = self.rate / if self.shape > 1.0 { self.shape - 1.0 } else { self.shape };
        plug_in::normal(release, sigma2)
    }

    fn price(&self, _: usize) -> Price {
        Price { draw: 0.5, ..Price::PLAIN }
    }

    fn coupled(&self) -> Option<&dyn CoupledUpdate> {
        Some(self)
    }

    fn transport(&self) -> Option<&dyn Transport> {
        Some(self)
    }

    fn recipe(&self) -> Option<Recipe> {
        Some(Recipe::Regression {
            centre: Vec::new(),
            factor: Vec::new(),
            prior_mean: vec![self.mean],
            prior_precision: vec![self.lambda],
            shape: self.shape,
            rate: self.rate,
        })
    }
}

/// x = mu + sigma e; the unconstrained theta is (mu, log sigma2).
impl Transport for Normal {
    fn unconstrain(&self, theta: &[f64], free: &mut [f64]) {
        free[0] = theta[0];
        free[1] = theta[1].ln();
    }

    fn constrain(&self, free: &[f64], theta: &mut [f64]) {
        theta[0] = free[0];
        theta[1] = free[1].exp();
    }

    fn log_prior_free(&self, free: &[f64]) -> f64 {
        self.prior().log_density_free(&free[..1], free[1])
    }

    fn log_prior_free_gradient(&self, free: &[f64], gradient: &mut [f64]) {
        self.prior().log_density_free_gradient(free, gradient);
    }

    fn affine(&self, theta: &[f64], shift: &mut [f64], factor: &mut [f64]) -> bool {
        (shift[0], factor[0]) = (theta[0], theta[1].sqrt());
        true
    }

    fn forward(&self, theta: &[f64], noise: &[f64], records: &mut [f64]) -> Outcome {
        let sigma = theta[1].sqrt();
        records.iter_mut().zip(noise).for_each(|(x, e)| *x = theta[0] + sigma * e);
        Ok(())
    }

    fn inverse(&self, theta: &[f64], records: &[f64], noise: &mut [f64]) -> Outcome {
        let sigma = theta[1].sqrt();
        noise.iter_mut().zip(records).for_each(|(e, x)| *e = (x - theta[0]) / sigma);
        Ok(())
    }
}

impl CoupledUpdate for Normal {
    fn update_pair(&self, theta: [&mut [f64]; 2], records: [&[f64]; 2], rng: &mut Rng) -> Outcome {
        let laws = records.map(|records| self.posterior_sized(Const::<1>, records));
        NormalInverseGamma::sample_pair(&laws, theta, rng).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::testing::*;
    use crate::release::mechanism::Noise;
    use crate::release::query::{Histogram, Mean};
    use crate::release::{Aggregate, Mechanism, Query};
    use crate::rng::stream;

    fn model() -> Normal {
        Normal::new(1.0, 0.5, 5.0, 4.0).unwrap()
    }

    #[test]
    fn coupled_updates_follow_prior_times_density() {
        let model = Normal::new(0.4, 1.5, 3.0, 2.0).unwrap();
        let records: [&[f64]; 2] = [&[0.3, 2.0, -0.9, 0.1], &[0.5, 2.0, -0.7, 0.1]];
        assert_coupled_update(&model, &[0.0, 1.0], records);
    }

    #[test]
    fn prior_and_updates_follow_their_densities() {
        assert_prior(&model(), 50_000);
        assert_update(&model(), &[0.0, 1.0], &[0.3, -2.0, 0.9, 1.1], 50_000);
        assert_update(&model(), &[0.0, 1.0], &[7.0], 50_000);
    }

    #[test]
    fn density_integrates_to_one_and_proposals_follow_it() {
        let theta = [0.7, 2.3];
        let mass = integral(-20.0, 20.0, |x| model().log_density(&theta, &[x]).unwrap().exp());
        assert!((mass - 1.0).abs() < 1e-9);
        let mut records = vec![0.0; 20_000];
        model().propose(&theta, &mut records, &mut stream(2, 0)).unwrap();
        assert_follows("records", &mut records, |x| normal_cdf((x - 0.7) / 2.3f64.sqrt()));
    }

    #[test]
    fn transport_is_one_to_one_and_gives_standard_noise() {
        assert_transport(&model(), &[0.7, 2.3], &mut stream(3, 0));
        assert_jacobian(&model(), &[vec![0.7, 2.3], vec![-1.0, 0.2]]);
    }

    fn release(query: impl Query + 'static, value: f64, scale: f64) -> Release {
        let k = query.dim();
        let mechanism = Mechanism::new(Noise::Gaussian, vec![scale; k]).unwrap();
        Release::new(Arc::new(query), mechanism, Aggregate::Mean, 400, vec![value; k]).unwrap()
    }

    #[test]
    fn starts_are_near_a_release_and_sane_for_absurd_ones() {
        let mean = || Mean::new(vec![(-10.0, 10.0)]).unwrap();
        let bins = || Histogram::with_equal_bins(&[((-10.0, 10.0), 10)]).unwrap();
        let near = starts(&model(), &release(mean(), 3.0, 1e-3));
        let mu: Vec<f64> = near.iter().map(|theta| theta[0]).collect();
        assert!((mean_and_error(&mu).0 - 3.0).abs() < 0.1 && mean_and_error(&mu).1 > 1e-3);
        for value in [-1e300, 0.0, 1e300] {
            for scale in [1e-9, 1e9] {
                starts(&model(), &release(mean(), value, scale));
                starts(&model(), &release(bins(), value, scale));
            }
        }
    }

    #[test]
    fn bad_input_is_refused() {
        assert_eq!(Normal::new(0.0, 0.0, 1.0, 1.0).unwrap_err().field, "prior.lambda");
        assert_eq!(model().check_theta(&[0.0, -1.0]).unwrap_err().field, "sigma2");
    }

    #[test]
    fn draws_are_pinned() {
        assert_pinned(
            &first_draws(&model(), &[0.7, 2.3]),
            &[
                1.460859202826433,
                0.9575101638621174,
                -1.0088257384562829,
                0.1937183645716244,
                -0.6238646295855343,
                0.6180891549010086,
            ],
        );
    }
}
