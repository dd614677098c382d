//! The conditional of the parameters alpha of a Dirichlet given records: its density, a normal
//! approximation, and an update. The beta distribution is the case of two.

use nalgebra::DVector;
use rand::RngExt;
use rand_distr::StandardNormal;
use statrs::function::gamma::{digamma, ln_gamma};

use super::GammaPrior;
use super::rank_one::RankOne;
use super::slice::slice_move;
use crate::distribution::StudentLaw;
use crate::distribution::independence;
use crate::error::Outcome;
use crate::rng::{self, Rng};

/// The unnormalised log density of phi = log alpha given n records whose logarithms have the sums
/// `log_sums`:
///
/// n (ln Gamma(sum alpha) - sum ln Gamma(alpha_k)) + sum_k (alpha_k (log_sums_k - rate_k) + shape_k
/// phi_k).
pub(super) struct DirichletConditional<'a> {
    pub priors: &'a [GammaPrior],
    pub n: f64,
    pub log_sums: &'a [f64],
}

/// A normal approximation: the mode, and the precision matrix.
pub(super) struct Approximation {
    pub mode: DVector<f64>,
    precision: RankOne,
}

impl Approximation {
    /// A Student distribution around the mode, as a proposal with heavier tails.
    fn student(&self) -> Outcome<StudentLaw> {
        StudentLaw::new(self.mode.clone(), self.precision.factor(), independence::DEGREES)
    }
}

/// Passes over all directions per update.
const PASSES: usize = 2;

/// The width of a slice, in standard deviations of the approximation.
const WIDTH: f64 = 3.0;

impl DirichletConditional<'_> {
    fn log_density(&self, phi: impl Iterator<Item = f64>) -> f64 {
        let (mut total, mut sum) = (0.0, 0.0);
        for ((phi, prior), log_sum) in phi.zip(self.priors).zip(self.log_sums) {
            let alpha = phi.exp();
            total += alpha;
            sum += alpha * (log_sum - prior.rate) + prior.shape * phi - self.n * ln_gamma(alpha);
        }
        sum + self.n * ln_gamma(total)
    }

    /// The mode by Newton's method. The Hessian is taken as if the gradient were zero: then it is
    /// positive definite everywhere, since the likelihood is log-concave in alpha. A step costs
    /// O(d).
    pub fn approximate(&self) -> Outcome<Approximation> {
        let start = |prior: &GammaPrior| (prior.shape / prior.rate).ln().clamp(-3.0, 5.0);
        let mut phi = DVector::from_iterator(self.priors.len(), self.priors.iter().map(start));
        let mut precision = self.precision(&phi)?;
        for _ in 0..40 {
            let step = precision.solve(&self.gradient(&phi));
            let longest = step.amax();
            phi += step * (1.0f64).min(1.0 / longest);
            if longest < 1e-4 {
                break;
            }
            precision = self.precision(&phi)?;
        }
        Ok(Approximation { mode: phi, precision })
    }

    fn gradient(&self, phi: &DVector<f64>) -> DVector<f64> {
        let alpha = phi.map(f64::exp);
        let common = digamma(alpha.sum());
        DVector::from_fn(phi.len(), |k, _| {
            let slope = self.n * (common - digamma(alpha[k])) + self.log_sums[k];
            alpha[k] * (slope - self.priors[k].rate) + self.priors[k].shape
        })
    }

    fn precision(&self, phi: &DVector<f64>) -> Outcome<RankOne> {
        let alpha = phi.map(f64::exp);
        let own = |(alpha, prior): (&f64, &GammaPrior)| {
            prior.shape + self.n * alpha * alpha * trigamma(*alpha)
        };
        let diagonal: Vec<f64> = alpha.iter().zip(self.priors).map(own).collect();
        let common = self.n * trigamma(alpha.sum());
        RankOne::new(&diagonal, common, alpha.as_slice())
            .ok_or_else(|| "the shares have no finite logarithms".into())
    }

    /// Slice moves along the directions of the approximation, then independent Metropolis steps
    /// from it. The approximation depends on the records but not on alpha, so each leaves the
    /// conditional invariant. Slice moves mix if the approximation is poor; the Metropolis steps
    /// let two coupled chains meet.
    pub fn update(&self, alpha: &mut [f64], rng: &mut Rng) -> Outcome {
        let near = self.approximate()?;
        let mut phi = logarithms(alpha);
        self.slice(&near, &mut phi, rng)?;
        independence::update_one(self, &near.student()?, &mut phi, rng)?;
        set_exponentials(alpha, &phi);
        Ok(())
    }

    fn slice(&self, near: &Approximation, phi: &mut DVector<f64>, rng: &mut Rng) -> Outcome {
        let mut current = self.log_density(phi.iter().copied());
        for _ in 0..PASSES {
            for k in 0..phi.len() {
                let direction = near.precision.direction(k);
                let along = |step: f64| {
                    let point = phi.iter().zip(direction.iter());
                    self.log_density(point.map(|(phi, d)| phi + step * d))
                };
                let (step, there) = slice_move(current, WIDTH, along, rng)?;
                current = there;
                phi.iter_mut().zip(direction.iter()).for_each(|(phi, d)| *phi += step * d);
            }
        }
        Ok(())
    }

    /// A draw from the normal approximation, with truncated exponents.
    pub fn sample_approximation(&self, alpha: &mut [f64], rng: &mut Rng) -> Outcome {
        let near = self.approximate()?;
        let noise = DVector::from_fn(near.mode.len(), |_, _| rng.sample(StandardNormal));
        let phi = &near.mode + near.precision.spread(&noise);
        alpha.iter_mut().zip(phi.iter()).for_each(|(alpha, phi)| *alpha = bounded_exp(*phi));
        Ok(())
    }
}

impl independence::Target for DirichletConditional<'_> {
    fn log_density(&self, phi: &DVector<f64>) -> f64 {
        DirichletConditional::log_density(self, phi.iter().copied())
    }
}

/// Updates alpha in both chains of a pair, each marginally as [`DirichletConditional::update`]: the
/// slice moves with common random numbers, which contracts the distance, and the independent
/// Metropolis steps coupled maximally, so that the chains can meet.
pub(super) fn update_pair(
    laws: [&DirichletConditional<'_>; 2],
    [first, second]: [&mut [f64]; 2],
    rng: &mut Rng,
) -> Outcome {
    let near = [laws[0].approximate()?, laws[1].approximate()?];
    let (mut x, mut y) = (logarithms(first), logarithms(second));
    let seed = rng.random();
    laws[0].slice(&near[0], &mut x, &mut rng::stream(seed, 0))?;
    laws[1].slice(&near[1], &mut y, &mut rng::stream(seed, 0))?;
    let students = [near[0].student()?, near[1].student()?];
    independence::update_pair(laws, &students, [&mut x, &mut y], rng)?;
    set_exponentials(first, &x);
    set_exponentials(second, &y);
    Ok(())
}

fn logarithms(alpha: &[f64]) -> DVector<f64> {
    DVector::from_iterator(alpha.len(), alpha.iter().map(|alpha| alpha.ln()))
}

fn set_exponentials(alpha: &mut [f64], phi: &DVector<f64>) {
    alpha.iter_mut().zip(phi.iter()).for_each(|(alpha, phi)| *alpha = phi.exp());
}

/// exp, truncated to a range in which a Dirichlet can be sampled.
fn bounded_exp(phi: f64) -> f64 {
    phi.clamp(-7.0, 14.0).exp()
}

/// The sum of the logarithms of shares, with few logarithms: shares are at most 1, so many can be
/// multiplied before the product underflows.
pub(super) fn log_sum(shares: impl Iterator<Item = f64>) -> f64 {
    const SMALL: f64 = 1e-150;
    let (mut sum, mut product) = (0.0, 1.0);
    for x in shares {
        if x < SMALL {
            sum += x.ln();
            continue;
        }
        product *= x;
        if product < SMALL {
            sum += product.ln();
            product = 1.0;
        }
    }
    sum + product.ln()
}

/// The trigamma function, by its recurrence and asymptotic series, to 1e-9; only directions depend
/// on it.
pub(super) fn trigamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 8.0 {
        below += 1.0 / (x * x);
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    below + inverse + square * (0.5 + inverse * series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigamma_is_the_derivative_of_digamma() {
        for x in [0.01, 0.3, 1.0, 4.0, 7.9, 30.0, 1e4] {
            let h = 1e-4 * x;
            let slope = (digamma(x + h) - digamma(x - h)) / (2.0 * h);
            assert!((trigamma(x) / slope - 1.0).abs() < 1e-6, "{x}");
        }
        assert!((trigamma(1.0) - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-9);
    }

    #[test]
    fn log_sum_is_the_sum_of_logarithms() {
        let share = |i: i32| ((i as f64 * 0.7).sin().abs() + 1e-9).powi(1 + i % 40).min(1.0);
        let expected: f64 = (0..3000).map(|i| share(i).ln()).sum();
        assert!((log_sum((0..3000).map(share)) / expected - 1.0).abs() < 1e-12);
        assert!(log_sum([f64::MIN_POSITIVE, 1e-200, 1e-149, 1e-149].into_iter()).is_finite());
    }
}
