//! A built-in model in numbers, for code that is generated from it.

/// All that a built-in model is made of: what another machine needs to draw its records and theta.
#[derive(Debug, Clone, PartialEq)]
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
}
