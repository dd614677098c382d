//! Exact answers by self-normalised importance sampling over theta.
//!
//! Draws of theta come from the prior or, if few of these fit the release, from a Student
//! distribution around those that do, in unconstrained coordinates. Each is weighted by an unbiased
//! estimate of the density of the release given theta, so that the weighted draws are from the
//! posterior. The standard errors of the answers enter the comparison.

use nalgebra::{Cholesky, DMatrix, DVector};
use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, StandardNormal};
use soma::chain::Problem;
use soma::rng::{Rng, stream};

use super::answer::{Answer, Weighted, effective};

/// An unbiased estimate of the density of the release given theta. It may write records that fit
/// the release better than those of the model: with this weight they are draws from the posterior.
pub trait Likelihood {
    fn estimate(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> f64;

    /// Its cost, in draws of a record.
    fn cost(&self) -> usize;
}

/// The smallest and the target effective sample size of an answer.
const LEAST_EFFECTIVE: f64 = 3000.0;
const ENOUGH_EFFECTIVE: f64 = 20_000.0;

/// The draws of a first pass, and the largest number of record draws of an answer.
const PASS: usize = 20_000;
const MOST: usize = 12_000_000;

/// The prior's draws are used if their relative efficiency is above this.
const GOOD_SHARE: f64 = 0.1;

/// The degrees of freedom of the Student distribution, and its width relative to the posterior.
const FREEDOM: f64 = 4.0;
const WIDER: f64 = 1.3;

/// Weighted draws of all outputs, and of the unconstrained parameters.
#[derive(Default)]
struct Draws {
    outputs: Vec<Vec<f64>>,
    free: Vec<Vec<f64>>,
    weights: Vec<f64>,
}

/// A multivariate Student distribution.
struct Student {
    centre: DVector<f64>,
    factor: DMatrix<f64>,
}

impl Student {
    /// Fitted to weighted points, somewhat wider.
    fn around(points: &[Vec<f64>], weights: &[f64]) -> Option<Self> {
        let p = points.first()?.len();
        let total: f64 = weights.iter().sum();
        let mut centre = DVector::zeros(p);
        for (point, w) in points.iter().zip(weights) {
            centre += DVector::from_column_slice(point) * (w / total);
        }
        let mut covariance = DMatrix::zeros(p, p);
        for (point, w) in points.iter().zip(weights) {
            let gap = DVector::from_column_slice(point) - &centre;
            covariance += &gap * gap.transpose() * (w / total);
        }
        for k in 0..p {
            covariance[(k, k)] = covariance[(k, k)] * WIDER * WIDER + 1e-12;
        }
        Some(Student { centre, factor: Cholesky::new(covariance)?.unpack() })
    }

    fn sample(&self, rng: &mut Rng) -> Vec<f64> {
        let p = self.centre.len();
        let normal = DVector::from_fn(p, |_, _| rng.sample::<f64, _>(StandardNormal));
        let chi: f64 = ChiSquared::new(FREEDOM).unwrap().sample(rng);
        (&self.centre + &self.factor * normal * (FREEDOM / chi).sqrt()).as_slice().to_vec()
    }

    /// Unnormalised.
    fn log_density(&self, point: &[f64]) -> f64 {
        let gap = DVector::from_column_slice(point) - &self.centre;
        let z = self.factor.solve_lower_triangular(&gap).expect("a factor with an inverse");
        let p = self.centre.len() as f64;
        -0.5 * (FREEDOM + p) * (z.norm_squared() / FREEDOM).ln_1p()
    }
}

/// `count` draws of theta from the distribution, or from the prior, with their weights.
fn pass(
    problem: &Problem,
    likelihood: &dyn Likelihood,
    law: Option<&Student>,
    count: usize,
    rng: &mut Rng,
) -> Draws {
    let model = problem.model();
    let p = model.parameters().len();
    let (mut theta, mut free) = (vec![0.0; p], vec![0.0; p]);
    let mut records = vec![0.0; problem.release().n() * model.record_dim()];
    let mut draws = Draws::default();
    let mut logs = Vec::with_capacity(count);
    for _ in 0..count {
        let mut log_weight = 0.0;
        match (law, model.transport()) {
            (Some(law), Some(transport)) => {
                free = law.sample(rng);
                transport.constrain(&free, &mut theta);
                log_weight = transport.log_prior_free(&free) - law.log_density(&free);
            }
            (_, transport) => {
                match problem.fixed() {
                    Some(fixed) => theta.copy_from_slice(fixed),
                    None => model.sample_prior(&mut theta, rng).unwrap(),
                }
                free.copy_from_slice(&theta);
                transport.into_iter().for_each(|it| it.unconstrain(&theta, &mut free));
            }
        }
        if theta.iter().any(|x| !x.is_finite()) || model.propose(&theta, &mut records, rng).is_err()
        {
            continue;
        }
        log_weight += likelihood.estimate(&theta, &mut records, rng).ln();
        if log_weight.is_finite() {
            logs.push(log_weight);
            draws.outputs.push(outputs(problem, &theta, &records));
            draws.free.push(free.clone());
        }
    }
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    draws.weights = logs.iter().map(|log| (log - most).exp()).collect();
    draws
}

/// The outputs of a chain: theta or, if it is fixed, the mean and the standard deviation of the
/// records.
fn outputs(problem: &Problem, theta: &[f64], records: &[f64]) -> Vec<f64> {
    if problem.fixed().is_none() {
        return theta.to_vec();
    }
    let n = records.len() as f64;
    let mean = records.iter().sum::<f64>() / n;
    let squares: f64 = records.iter().map(|x| (x - mean) * (x - mean)).sum();
    vec![mean, (squares / (n - 1.0).max(1.0)).sqrt()]
}

/// The answers for all outputs of a problem; `None` if too few draws fit the release.
pub fn answers(problem: &Problem, likelihood: &dyn Likelihood, seed: u64) -> Option<Vec<Answer>> {
    let mut rng = stream(seed, 1 << 32);
    let is_fixed = problem.fixed().is_some();
    let most = (MOST / likelihood.cost()).min(1_000_000);
    let first = pass(problem, likelihood, None, PASS.min(most), &mut rng);
    let share = |draws: &Draws, count: usize| effective(&draws.weights) / count as f64;
    let (mut law, mut best) = (None, share(&first, PASS));
    let mut last = first;
    for _ in 0..3 {
        if is_fixed || best > GOOD_SHARE || effective(&last.weights) < 5.0 {
            break;
        }
        let next = Student::around(&last.free, &last.weights)?;
        last = pass(problem, likelihood, Some(&next), PASS, &mut rng);
        let found = share(&last, PASS);
        if found > best {
            (law, best) = (Some(next), found);
        }
    }
    let count = ((1.3 * ENOUGH_EFFECTIVE / best.max(1e-6)) as usize).clamp(PASS.min(most), most);
    let draws = pass(problem, likelihood, law.as_ref(), count, &mut rng);
    // A few dominant weights: the tail of the weights has not been sampled.
    let (sum, largest) =
        draws.weights.iter().fold((0.0, 0.0_f64), |(sum, most), w| (sum + w, most.max(*w)));
    if effective(&draws.weights) < LEAST_EFFECTIVE || largest > 0.005 * sum {
        return None;
    }
    let column = |rows: &[Vec<f64>], c: usize| rows.iter().map(|row| row[c]).collect::<Vec<_>>();
    let answer = |c: usize| {
        let values = column(&draws.outputs, c);
        let frees = if is_fixed { values.clone() } else { column(&draws.free, c) };
        let weighted = Weighted { values: &values, weights: &draws.weights };
        let free = Weighted { values: &frees, weights: &draws.weights };
        Answer { mean: weighted.mean(), free_sd: free.sd(), quantiles: weighted.quantiles() }
    };
    Some((0..draws.outputs[0].len()).map(answer).collect())
}
