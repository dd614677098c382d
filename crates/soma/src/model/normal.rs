//! Normal records with unknown mean and variance.

use rand::RngExt;
use rand_distr::{Distribution, Gamma, StandardNormal};
use statrs::function::gamma::ln_gamma;

use super::{Model, Transport};
use crate::error::{Invalid, Outcome, finite, positive};
use crate::release::Release;
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
    /// The model with prior mean `mean` worth `lambda` records, and shape and rate of the
    /// variance's inverse gamma prior.
    pub fn new(mean: f64, lambda: f64, shape: f64, rate: f64) -> Result<Self, Invalid> {
        Ok(Normal {
            mean: finite("prior.mean", mean)?,
            lambda: positive("prior.lambda", lambda)?,
            shape: positive("prior.shape", shape)?,
            rate: positive("prior.rate", rate)?,
        })
    }

    fn draw(
        mean: f64,
        lambda: f64,
        shape: f64,
        rate: f64,
        theta: &mut [f64],
        rng: &mut Rng,
    ) -> Outcome {
        let precision = Gamma::new(shape, 1.0 / rate)?.sample(rng).max(f64::MIN_POSITIVE);
        theta[1] = 1.0 / precision;
        let z: f64 = rng.sample(StandardNormal);
        theta[0] = mean + z * (theta[1] / lambda).sqrt();
        Ok(())
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

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        Normal::draw(self.mean, self.lambda, self.shape, self.rate, theta, rng)
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        let (mu, sigma2) = (theta[0], theta[1]);
        if sigma2 <= 0.0 {
            return Ok(f64::NEG_INFINITY);
        }
        let z = mu - self.mean;
        Ok(self.shape * self.rate.ln()
            - ln_gamma(self.shape)
            - (self.shape + 1.5) * sigma2.ln()
            - (self.rate + 0.5 * self.lambda * z * z) / sigma2)
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

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        let n = records.len() as f64;
        let mean = records.iter().sum::<f64>() / n;
        let squares: f64 = records.iter().map(|x| (x - mean) * (x - mean)).sum();
        let lambda = self.lambda + n;
        let gap = mean - self.mean;
        let rate = self.rate + 0.5 * (squares + self.lambda * n / lambda * gap * gap);
        let centre = (self.lambda * self.mean + n * mean) / lambda;
        Normal::draw(centre, lambda, self.shape + 0.5 * n, rate, theta, rng)
    }

    fn start(&self, release: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        self.sample_prior(theta, rng)?;
        if release.query().kind() == "mean" {
            let z: f64 = rng.sample(StandardNormal);
            let n = release.n() as f64;
            let spread = theta[1] / n + (release.sum_scales()[0] / n).powi(2);
            theta[0] = release.sums()[0] / n + 2.0 * z * spread.sqrt();
        }
        Ok(())
    }

    fn transport(&self) -> Option<&dyn Transport> {
        Some(self)
    }
}

/// x = mu + sigma e; theta is free as (mu, log sigma2).
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
        let z = free[0] - self.mean;
        -(self.shape + 0.5) * free[1] - (self.rate + 0.5 * self.lambda * z * z) * (-free[1]).exp()
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
