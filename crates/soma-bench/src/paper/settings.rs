//! The problems of the paper's experiments, with its constants.

use std::sync::Arc;

use nalgebra::DMatrix;
use rand_distr::Distribution;
use soma::chain::{Chain, Problem};
use soma::model::{
    Beta, Dirichlet, Exponential, GammaPrior, Model, NormalInverseGamma, Regression, Uniform,
};
use soma::release::mechanism::{Mechanism, Noise};
use soma::release::query::{Gram, Histogram, LogSum, Mean, Query};
use soma::release::{Aggregate, Release};
use soma::rng::Rng;
use soma::{Invalid, Outcome};

use crate::paper::Sampler;

/// The authors' sensitivity of the Gram statistics at p = 2: p^2 + 3p + 3.
pub(crate) const GRAM_SENSITIVITY: f64 = 13.0;

/// A release of the regression experiment. The paper prints those for n = 100; its table at n = 10
/// was computed with the other two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RegressionRelease {
    pub(crate) n: usize,
    pub(crate) epsilon: f64,
    values: [f64; 9],
}

pub(crate) const REGRESSION_100_30: RegressionRelease = RegressionRelease {
    n: 100,
    epsilon: 30.0,
    values: [
        -0.5359438, -0.1340048, 0.0850866, 0.4365204, 0.1517195, -0.1786854, 0.0483186, -0.0279875,
        0.0599539,
    ],
};

pub(crate) const REGRESSION_10_30: RegressionRelease = RegressionRelease {
    n: 10,
    epsilon: 30.0,
    values: [
        -0.386814, -0.092594, 0.080579, 0.260286, 0.128111, -0.208630, 0.068639, -0.033586,
        0.066447,
    ],
};

pub(crate) const REGRESSION_10_3: RegressionRelease = RegressionRelease {
    n: 10,
    epsilon: 3.0,
    values: [
        0.677823, -0.017793, 0.197610, 0.316173, -0.236184, -0.120962, 0.055664, -0.612786,
        0.097436,
    ],
};

/// The true parameters of the paper's releases: beta and sigma2.
pub(crate) const TRUE_THETA: [f64; 4] = [-1.79, -2.89, -0.66, 1.13];

/// A regression problem of any size, its release simulated from the same parameters.
pub(crate) fn regression_simulated(n: usize, epsilon: f64, rng: &mut Rng) -> Outcome<Problem> {
    let query = Arc::new(Gram::with_range(2, (-6.0, 6.0))?);
    let model = regression_model()?;
    let mechanism =
        Mechanism::new(Noise::Laplace, vec![GRAM_SENSITIVITY / (n as f64 * epsilon); 9])?;
    let mut records = vec![0.0; 3 * n];
    model.propose(&TRUE_THETA, &mut records, rng)?;
    let mut means = sums(query.as_ref(), &records)?;
    means.iter_mut().zip(mechanism.sample(rng)).for_each(|(m, noise)| *m = *m / n as f64 + noise);
    let release = Release::new(query, mechanism, Aggregate::Mean, n, means)?;
    Ok(Problem::new(release, Arc::new(model))?)
}

/// The sum of a query's statistics over records.
fn sums(query: &dyn Query, records: &[f64]) -> Outcome<Vec<f64>> {
    let k = query.dim();
    let mut statistics = vec![0.0; records.len() / query.record_dim() * k];
    query.statistics(records, &mut statistics)?;
    Ok((0..k).map(|j| statistics.iter().skip(j).step_by(k).sum()).collect())
}

/// The regression problem of section 5.2.
pub(crate) fn regression(release: RegressionRelease) -> Result<Problem, Invalid> {
    let RegressionRelease { n, epsilon, values } = release;
    let query = Arc::new(Gram::with_range(2, (-6.0, 6.0))?);
    let scale = GRAM_SENSITIVITY / (n as f64 * epsilon);
    let mechanism = Mechanism::new(Noise::Laplace, vec![scale; 9])?;
    let release = Release::new(query, mechanism, Aggregate::Mean, n, values.to_vec())?;
    Problem::new(release, Arc::new(regression_model()?))
}

/// Its model: predictors of mean (0.9, -1.17), prior NIG(0, 0.5 I, 10, 10).
pub(crate) fn regression_model() -> Result<Regression, Invalid> {
    let precision = DMatrix::identity(3, 3) * 0.5;
    let prior = NormalInverseGamma::new(vec![0.0; 3], &precision, 10.0, 10.0)?;
    Regression::new(vec![0.9, -1.17], None, prior)
}

/// The paper's chain: theta from the prior, the records from the model, and one update of theta
/// given the records after each sweep.
pub(crate) fn chain_from_prior<'a>(
    problem: &'a Problem,
    sampler: Sampler,
    mut rng: Rng,
) -> Outcome<Chain<'a>> {
    let model = problem.model();
    let mut theta = vec![0.0; model.parameters().len()];
    model.sample_prior(&mut theta, &mut rng)?;
    let mut records = vec![0.0; problem.release().n() * model.record_dim()];
    model.propose(&theta, &mut records, &mut rng)?;
    Chain::at(problem, sampler.choice(), theta, records, rng)
}

/// The two halves of the time-use data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sex {
    Female,
    Male,
}

impl Sex {
    pub(crate) const BOTH: [Sex; 2] = [Sex::Female, Sex::Male];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Sex::Female => "female",
            Sex::Male => "male",
        }
    }

    pub(crate) fn records(self) -> usize {
        match self {
            Sex::Female => 3528,
            Sex::Male => 3128,
        }
    }

    /// The released means of the logarithms.
    fn released(self) -> [f64; 3] {
        match self {
            Sex::Female => [-0.9118530751, -3.3123451150, -0.6333451163],
            Sex::Male => [-0.9616417086, -3.3036630542, -0.5971482993],
        }
    }
}

/// One minute of a day: the clamp of a share in the experiments (0.0006 in the text).
pub(crate) const ATUS_CLAMP: f64 = 0.0006944;

/// The time-use problem of section 6, epsilon 10.
pub(crate) fn atus(sex: Sex) -> Result<Problem, Invalid> {
    let n = sex.records();
    let query = Arc::new(LogSum::new(3, (ATUS_CLAMP, 1.0))?);
    let scale = -3.0 * ATUS_CLAMP.ln() / (n as f64 * 10.0);
    let mechanism = Mechanism::new(Noise::Laplace, vec![scale; 3])?;
    let release = Release::new(query, mechanism, Aggregate::Mean, n, sex.released().to_vec())?;
    let prior = GammaPrior::new(1.0, 0.1)?;
    Problem::new(release, Arc::new(Dirichlet::new(vec![prior; 3])?))
}

/// The paper's initial state: alpha proportional to exp(released), with sum 30, and records drawn
/// at it.
pub(crate) fn atus_start(problem: &Problem, rng: &mut Rng) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let shares: Vec<f64> = problem.release().values().iter().map(|value| value.exp()).collect();
    let total: f64 = shares.iter().sum();
    let alpha: Vec<f64> = shares.iter().map(|share| 30.0 * share / total).collect();
    let mut records = vec![0.0; problem.release().n() * 3];
    problem.model().propose(&alpha, &mut records, rng)?;
    Ok((alpha, records))
}

/// The paper's chain on it.
pub(crate) fn atus_chain<'a>(
    problem: &'a Problem,
    sampler: Sampler,
    mut rng: Rng,
) -> Outcome<Chain<'a>> {
    let (alpha, records) = atus_start(problem, &mut rng)?;
    Chain::at(problem, sampler.choice(), alpha, records, rng)
}

/// The distribution of the two records of a private mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MeanRecords {
    /// Beta(10, 10).
    Beta,
    /// Exponential with mean 1: unbounded, so that no Laplace noise gives epsilon-DP.
    Exponential,
}

/// The private mean of section 5.1 with noise of scale 0.5 / epsilon, as in the authors' runs: on
/// the mean of two records in [0, 1], whose sensitivity is 0.5, that is epsilon-DP. The text
/// writes 1 / epsilon, and a density that means 2 / epsilon.
pub(crate) fn private_mean(records: MeanRecords, epsilon: f64) -> Result<Problem, Invalid> {
    private_mean_with_scale(records, 0.5 / epsilon)
}

/// The private mean of two records, released as 0.5, with Laplace noise of any scale.
pub(crate) fn private_mean_with_scale(
    records: MeanRecords,
    scale: f64,
) -> Result<Problem, Invalid> {
    let prior = GammaPrior::new(1.0, 1.0)?;
    let (model, theta, high): (Arc<dyn Model>, _, _) = match records {
        MeanRecords::Beta => (Arc::new(Beta::new(prior, prior)), vec![10.0, 10.0], 1.0),
        // No exponential of mean 1 reaches this clamp.
        MeanRecords::Exponential => (Arc::new(Exponential::new(prior)), vec![1.0], 1000.0),
    };
    let query = Arc::new(Mean::new(vec![(0.0, high)])?);
    let mechanism = Mechanism::new(Noise::Laplace, vec![scale])?;
    let release = Release::new(query, mechanism, Aggregate::Mean, 2, vec![0.5])?;
    Problem::new(release, model)?.with_fixed(theta, Vec::new())
}

/// The number of bins of the perturbed histogram.
pub(crate) const BINS: usize = 10;

/// `n` confidential records from Beta(10, 10).
pub(crate) fn beta_records(n: usize, rng: &mut Rng) -> Outcome<Vec<f64>> {
    let beta = rand_distr::Beta::new(10.0, 10.0)?;
    Ok((0..n).map(|_| beta.sample(rng)).collect())
}

/// Counts of ten equal bins on (0, 1) and the same with Laplace(2 / epsilon) noise.
pub(crate) fn perturbed_counts(
    records: &[f64],
    epsilon: f64,
    rng: &mut Rng,
) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let counts = sums(&histogram_query()?, records)?;
    let noise = Mechanism::new(Noise::Laplace, vec![2.0 / epsilon; BINS])?.sample(rng);
    let noisy = counts.iter().zip(noise).map(|(count, noise)| count + noise).collect();
    Ok((counts, noisy))
}

fn histogram_query() -> Result<Histogram, Invalid> {
    Histogram::new(vec![(0..=BINS).map(|k| k as f64 / BINS as f64).collect()])
}

/// The perturbed histogram of appendix B.1: data from Beta(10, 10), proposals uniform.
pub(crate) fn histogram(n: usize, epsilon: f64, rng: &mut Rng) -> Outcome<Problem> {
    let records = beta_records(n, rng)?;
    let (_, noisy) = perturbed_counts(&records, epsilon, rng)?;
    let mechanism = Mechanism::new(Noise::Laplace, vec![2.0 / epsilon; BINS])?;
    let release = Release::new(Arc::new(histogram_query()?), mechanism, Aggregate::Sum, n, noisy)?;
    let model = Arc::new(Uniform::new(vec![(0.0, 1.0)])?);
    Ok(Problem::new(release, model)?.with_fixed(Vec::new(), Vec::new())?)
}
