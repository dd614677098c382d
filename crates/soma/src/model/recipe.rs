//! A model as numbers or programs, for code that is generated from it.

use std::sync::Arc;

/// All that a model is made of: what another machine needs to draw its records and theta.
#[derive(Debug, Clone)]
pub enum Recipe {
    /// x ~ N(centre, C C') and y ~ N(alpha + beta'(x - centre), sigma2), with a
    /// normal-inverse-gamma prior of (alpha, beta) and sigma2. theta is (alpha - beta' centre, beta,
    /// sigma2). Without predictors it is the normal model.
    Regression {
        /// The means of the predictors.
        centre: Vec<f64>,
        /// C, the lower Cholesky factor of their covariance, row after row.
        factor: Vec<f64>,
        /// The prior mean of alpha and beta.
        prior_mean: Vec<f64>,
        /// Their prior precision at sigma2 = 1, row after row.
        prior_precision: Vec<f64>,
        /// The shape of the variance's inverse gamma prior.
        shape: f64,
        /// Its rate.
        rate: f64,
    },
    /// x ~ Exponential(rate), with a gamma prior of the rate.
    Exponential {
        /// The shape of the prior.
        shape: f64,
        /// The rate of the prior.
        rate: f64,
    },
    /// A record is a category from 0 up, with a Dirichlet prior of their probabilities.
    Categorical {
        /// The parameters of the prior.
        prior: Vec<f64>,
    },
    /// x ~ Beta(a, b), with gamma priors of a and b.
    Beta {
        /// The shape and the rate of each prior.
        priors: [(f64, f64); 2],
    },
    /// A model written as text, with its compiled programs.
    Text(Arc<soma_language::Model>),
}
