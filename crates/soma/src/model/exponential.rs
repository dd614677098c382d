//! Waiting times.

use std::f64::consts::{PI, SQRT_2};

use rand::RngExt;
use rand_distr::Exp1;
use statrs::function::erf::{erfc, erfc_inv};

use super::CoupledUpdate;
use super::{GammaPrior, Model, PlugInFit, Price, Recipe, Transport, plug_in};
use crate::counts::Shares;
use crate::counts::models::ExponentialCells;
use crate::distribution::maximal;
use crate::error::{Invalid, Outcome, positive};
use crate::release::Release;
use crate::release::query::Axis;
use crate::rng::Rng;

/// x ~ Exponential(rate), with density rate exp(-rate x); the rate has a conjugate gamma prior.
#[derive(Debug, Clone)]
pub struct Exponential {
    prior: GammaPrior,
}

impl Exponential {
    /// The model with the prior of the rate.
    pub fn new(prior: GammaPrior) -> Self {
        Exponential { prior }
    }

    /// The conditional of the rate given records, from which [`update`](Model::update) draws.
    pub fn posterior(&self, records: &[f64]) -> GammaPrior {
        self.given(records.len() as f64, records.iter().sum())
    }

    fn given(&self, n: f64, sum: f64) -> GammaPrior {
        GammaPrior { shape: self.prior.shape + n, rate: self.prior.rate + sum }
    }
}

impl Model for Exponential {
    fn kind(&self) -> &'static str {
        "exponential"
    }

    fn record_dim(&self) -> usize {
        1
    }

    fn parameters(&self) -> Vec<String> {
        vec!["rate".into()]
    }

    fn check_theta(&self, theta: &[f64]) -> Result<(), Invalid> {
        positive("rate", theta[0])?;
        Ok(())
    }

    fn check_release(&self, release: &Release) -> Result<(), Invalid> {
        release.check_reach_of(self.kind(), &[(0.0, f64::INFINITY)])
    }

    fn supports(&self, record: &[f64]) -> bool {
        record.iter().all(|x| x.is_finite() && *x >= 0.0)
    }

    fn sample_prior(&self, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        theta[0] = self.prior.sample(rng)?;
        Ok(())
    }

    fn log_prior(&self, theta: &[f64]) -> Outcome<f64> {
        Ok(self.prior.log_density(theta[0]))
    }

    fn propose(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> Outcome {
        let scale = 1.0 / theta[0];
        records.iter_mut().for_each(|x| *x = scale * rng.sample::<f64, _>(Exp1));
        Ok(())
    }

    fn log_density(&self, theta: &[f64], record: &[f64]) -> Outcome<f64> {
        let x = record[0];
        Ok(if x < 0.0 { f64::NEG_INFINITY } else { theta[0].ln() - theta[0] * x })
    }

    fn cell_shares(&self, axes: &[Axis]) -> Option<Shares> {
        let GammaPrior { shape, rate } = self.prior;
        ExponentialCells::new(super::only_cuts(axes)?, shape, rate).ok().map(Shares::of)
    }

    fn update(&self, theta: &mut [f64], records: &[f64], rng: &mut Rng) -> Outcome {
        theta[0] = self.posterior(records).sample(rng)?;
        Ok(())
    }

    /// A draw given a quarter of the records that the release is worth, with the released mean.
    fn start(&self, release: &Release, theta: &mut [f64], rng: &mut Rng) -> Outcome {
        let n = 0.25 * release.worth();
        let moments = release.query().moments(&release.plausible_means());
        theta[0] = match moments {
            Some(moments) => self.given(n, n * moments.mean[0].max(0.0)).sample(rng)?,
            None => self.prior.sample(rng)?,
        };
        Ok(())
    }

    fn plug_in(&self, release: &Release) -> PlugInFit {
        plug_in::exponential(release)
    }

    fn price(&self, _: usize) -> Price {
        Price { draw: 0.5, update: 0.1, build: 1.7, inverse: 2.1 }
    }

    fn coupled(&self) -> Option<&dyn CoupledUpdate> {
        Some(self)
    }

    fn transport(&self) -> Option<&dyn Transport> {
        Some(self)
    }

    fn recipe(&self) -> Option<Recipe> {
        Some(Recipe::Exponential { shape: self.prior.shape, rate: self.prior.rate })
    }
}

/// Beyond this the upper tail of the normal underflows, and its asymptotic expansion is exact.
const FAR: f64 = 30.0;

/// -log Phi(-e): a standard exponential, if e is standard normal.
fn exponential(e: f64) -> f64 {
    if e < 0.0 {
        -(-0.5 * erfc(-e / SQRT_2)).ln_1p()
    } else if e < FAR {
        -(0.5 * erfc(e / SQRT_2)).ln()
    } else {
        let inverse = 1.0 / (e * e);
        let series = -inverse * (1.0 - inverse * (3.0 - inverse * (15.0 - 105.0 * inverse)));
        0.5 * e * e + (e * (2.0 * PI).sqrt()).ln() - series.ln_1p()
    }
}

/// The inverse of [`exponential`].
fn normal(y: f64) -> f64 {
    if y < std::f64::consts::LN_2 {
        -SQRT_2 * erfc_inv(-2.0 * (-y).exp_m1())
    } else if y < exponential(FAR) {
        SQRT_2 * erfc_inv(2.0 * (-y).exp())
    } else {
        // The derivative of -log Phi(-e) is about e + 1/e.
        (0..8).fold((2.0 * y).sqrt(), |e, _| e + (y - exponential(e)) / (e + 1.0 / e))
    }
}

/// x = -log Phi(-e) / rate; the unconstrained theta is log rate.
impl Transport for Exponential {
    fn unconstrain(&self, theta: &[f64], free: &mut [f64]) {
        free[0] = theta[0].ln();
    }

    fn constrain(&self, free: &[f64], theta: &mut [f64]) {
        theta[0] = free[0].exp();
    }

    fn log_prior_free(&self, free: &[f64]) -> f64 {
        self.prior.log_density_free(free[0])
    }

    fn forward(&self, theta: &[f64], noise: &[f64], records: &mut [f64]) -> Outcome {
        let scale = 1.0 / theta[0];
        records.iter_mut().zip(noise).for_each(|(x, e)| *x = scale * exponential(*e));
        Ok(())
    }

    fn inverse(&self, theta: &[f64], records: &[f64], noise: &mut [f64]) -> Outcome {
        let floor = f64::MIN_POSITIVE;
        noise.iter_mut().zip(records).for_each(|(e, x)| *e = normal((theta[0] * x).max(floor)));
        Ok(())
    }
}

impl CoupledUpdate for Exponential {
    fn update_pair(&self, theta: [&mut [f64]; 2], records: [&[f64]; 2], rng: &mut Rng) -> Outcome {
        let laws = records.map(|records| self.posterior(records));
        (theta[0][0], theta[1][0], _) = maximal(&laws[0], &laws[1], rng)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::testing::*;
    use crate::release::mechanism::Noise;
    use crate::release::query::Mean;
    use crate::release::{Aggregate, Mechanism};
    use crate::rng::stream;

    fn model() -> Exponential {
        Exponential::new(GammaPrior::new(3.0, 2.0).unwrap())
    }

    #[test]
    fn coupled_updates_follow_their_densities() {
        assert_coupled_update(&model(), &[1.0], [&[0.3, 2.0, 0.9, 0.1], &[0.5, 2.0, 0.9, 0.7]]);
    }

    #[test]
    fn prior_and_updates_follow_their_densities() {
        assert_prior(&model(), 50_000);
        assert_update(&model(), &[1.0], &[0.3, 2.0, 0.9, 0.1], 50_000);
    }

    #[test]
    fn density_integrates_to_one_and_proposals_follow_it() {
        let mass = integral(0.0, 30.0, |x| model().log_density(&[1.7], &[x]).unwrap().exp());
        assert!((mass - 1.0).abs() < 1e-9);
        assert_eq!(model().log_density(&[1.7], &[-0.1]).unwrap(), f64::NEG_INFINITY);
        let mut records = vec![0.0; 20_000];
        model().propose(&[1.7], &mut records, &mut stream(2, 0)).unwrap();
        assert_follows("records", &mut records, |x| -(-1.7 * x).exp_m1());
    }

    #[test]
    fn transport_is_one_to_one_and_gives_standard_noise() {
        assert_transport(&model(), &[1.7], &mut stream(3, 0));
        assert_jacobian(&model(), &[vec![1.7], vec![0.01]]);
        for step in -360..=1000 {
            let e = step as f64 / 10.0 + 0.01;
            assert!((normal(exponential(e)) - e).abs() < 1e-9 * (1.0 + e.abs()), "{e}");
        }
        assert!((exponential(FAR - 1e-9) - exponential(FAR)).abs() < 1e-6);
    }

    #[test]
    fn starts_are_near_a_release_and_sane_for_absurd_ones() {
        let release = |value: f64, scale: f64| {
            let query = Mean::new(vec![(0.0, 10.0)]).unwrap();
            let mechanism = Mechanism::new(Noise::Gaussian, vec![scale]).unwrap();
            Release::new(Arc::new(query), mechanism, Aggregate::Mean, 400, vec![value]).unwrap()
        };
        let near: Vec<f64> =
            starts(&model(), &release(0.5, 1e-3)).iter().map(|theta| theta[0]).collect();
        assert!((mean_and_error(&near).0 - 2.0).abs() < 0.2);
        for value in [-1e15, 0.0, 1e15] {
            for scale in [1e-9, 1e9] {
                starts(&model(), &release(value, scale));
            }
        }
    }

    #[test]
    fn bad_theta_is_refused() {
        assert_eq!(model().check_theta(&[-1.0]).unwrap_err().field, "rate");
    }

    #[test]
    fn draws_are_pinned() {
        assert_pinned(
            &first_draws(&model(), &[1.7]),
            &[1.1506268182006618, 0.7145871844692596, 0.34143289084191086, 1.303007400745345],
        );
    }
}
