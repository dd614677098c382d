//! A model as data, from which code for another machine is generated (`soma-gpu`).

use std::sync::Arc;

/// The distribution of a record given theta, and the prior of theta, as numbers or compiled programs.
#[derive(Debug, Clone)]
pub enum Recipe {
    /// Predictors x ~ N(centre, C C') and response y ~ N(alpha + beta'(x - centre), sigma2), with a
    /// normal-inverse-gamma prior of (alpha, beta) and sigma2. theta is (alpha - beta' centre, beta,
    /// sigma2). Without predictors this is the normal model.
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
        /// The rate of that prior.
        rate: f64,
    },
    /// x ~ Exponential(rate), with a gamma prior of the rate.
    Exponential {
        /// The shape of the prior.
        shape: f64,
        /// The rate of the prior.
        rate: f64,
    },
    /// A record is a category, numbered from 0, with a Dirichlet prior of the probabilities.
    Categorical {
        /// The parameters of the Dirichlet prior.
        prior: Vec<f64>,
    },
    /// x ~ Beta(a, b), with gamma priors of a and b.
    Beta {
        /// The shape and the rate of each prior.
        priors: [(f64, f64); 2],
    },
    /// A record is a composition, Dirichlet(alpha), with gamma priors of the alphas.
    Dirichlet {
        /// The shape and the rate of each prior.
        priors: Vec<(f64, f64)>,
    },
    /// Each coordinate of a record is uniform on its range. There are no parameters.
    Uniform {
        /// The range of each coordinate.
        ranges: Vec<(f64, f64)>,
    },
    /// A model as text, with its compiled programs.
    Text(Arc<soma_language::Model>),
}
