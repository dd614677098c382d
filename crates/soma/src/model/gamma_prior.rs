//! The gamma distribution, as the prior of a positive parameter.

use rand_distr::{Distribution, Gamma};
use statrs::function::gamma::ln_gamma;

use crate::distribution::Law;
use crate::error::{Invalid, Outcome, positive};
use crate::rng::Rng;

/// Density proportional to x^(shape - 1) exp(-rate x), with mean shape / rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GammaPrior {
    /// The shape.
    pub shape: f64,
    /// The rate, one over the scale.
    pub rate: f64,
}

impl GammaPrior {
    /// The prior with this shape and rate.
    pub fn new(shape: f64, rate: f64) -> Result<Self, Invalid> {
        Ok(GammaPrior { shape: positive("shape", shape)?, rate: positive("rate", rate)? })
    }

    /// A draw; positive even if a tiny shape underflows.
    pub(crate) fn sample(&self, rng: &mut Rng) -> Outcome<f64> {
        let draw = Gamma::new(self.shape, 1.0 / self.rate)?.sample(rng);
        Ok(draw.clamp(f64::MIN_POSITIVE, f64::MAX))
    }

    /// The normalised log density.
    pub(crate) fn log_density(&self, x: f64) -> f64 {
        if x.is_nan() || x <= 0.0 {
            return f64::NEG_INFINITY;
        }
        self.shape * self.rate.ln() - ln_gamma(self.shape) - x.ln() + self.log_density_free(x.ln())
    }

    /// The log density of log x, up to a constant.
    pub(super) fn log_density_free(&self, log_x: f64) -> f64 {
        self.shape * log_x - self.rate * log_x.exp()
    }
}

impl Law for GammaPrior {
    type Point = f64;

    fn sample(&self, rng: &mut Rng) -> Outcome<f64> {
        GammaPrior::sample(self, rng)
    }

    fn log_density(&self, x: &f64) -> f64 {
        GammaPrior::log_density(self, *x)
    }
}
