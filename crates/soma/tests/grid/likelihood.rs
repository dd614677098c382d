//! Unbiased estimates of the density of a release given theta.

use rand::RngExt;
use soma::chain::Problem;
use soma::release::Release;
use soma::release::mechanism::Noise;
use soma::rng::Rng;
use statrs::distribution::{Beta, Continuous, ContinuousCDF, Exp, Normal};
use statrs::function::gamma::ln_gamma;

use super::importance::Likelihood;

/// The distribution of one record on the line.
#[derive(Debug, Clone, Copy)]
pub enum Line {
    Normal,
    Exponential,
    Beta,
    Uniform,
}

impl Line {
    fn cdf(self, theta: &[f64], x: f64) -> f64 {
        match self {
            Line::Normal => Normal::new(theta[0], theta[1].sqrt()).map_or(f64::NAN, |it| it.cdf(x)),
            Line::Exponential => Exp::new(theta[0]).map_or(f64::NAN, |it| it.cdf(x)),
            Line::Beta => {
                Beta::new(theta[0], theta[1]).map_or(f64::NAN, |it| it.cdf(x.clamp(0.0, 1.0)))
            }
            Line::Uniform => x.clamp(0.0, 1.0),
        }
    }

    fn density(self, theta: &[f64], x: f64) -> f64 {
        match self {
            Line::Normal => Normal::new(theta[0], theta[1].sqrt()).map_or(f64::NAN, |it| it.pdf(x)),
            Line::Exponential => Exp::new(theta[0]).map_or(f64::NAN, |it| it.pdf(x)),
            Line::Beta => Beta::new(theta[0], theta[1]).map_or(f64::NAN, |it| it.pdf(x)),
            Line::Uniform => f64::from((0.0..=1.0).contains(&x)),
        }
    }
}

/// The sum of clamped records. All records but one between the clamps are drawn from the model;
/// that one is integrated over, given that it lies there, with draws from the model and from the
/// noise in equal parts (Veach's balance heuristic). So weights do not grow with the sharpness of
/// the release, unless all records are on the clamps.
pub struct ClampedSum<'a> {
    pub problem: &'a Problem,
    pub line: Line,
    pub clamp: (f64, f64),
}

impl Likelihood for ClampedSum<'_> {
    fn estimate(&self, theta: &[f64], records: &mut [f64], rng: &mut Rng) -> f64 {
        let release = self.problem.release();
        let (low, high) = self.clamp;
        let (noise, scale) =
            (release.parts()[0].mechanism().unwrap().noise(), release.sum_scales()[0]);
        let between = records.iter().rposition(|x| low < *x && *x < high);
        let sum: f64 = records.iter().map(|x| x.clamp(low, high)).sum();
        let Some(one) = between else {
            return noise.log_density(scale, release.sums()[0] - sum).exp();
        };
        let rest = release.sums()[0] - (sum - records[one]);
        let truncated = Truncated::new(noise, scale, rest, self.clamp);
        let inside = self.line.cdf(theta, high) - self.line.cdf(theta, low);
        if truncated.mass < 1e-9 || inside < 1e-12 {
            return noise.log_density(scale, rest - records[one]).exp();
        }
        if rng.random() {
            records[one] = truncated.sample(rng);
        }
        let x = records[one];
        let (model, eta) =
            (self.line.density(theta, x) / inside, noise.log_density(scale, rest - x).exp());
        model * eta / (0.5 * model + 0.5 * eta / truncated.mass)
    }

    fn cost(&self) -> usize {
        self.problem.release().n() + 20
    }
}

/// Halvings of an interval, after which less than the error of a double is left.
const HALVINGS: usize = 50;

/// Noise around a centre, truncated to an interval.
struct Truncated {
    noise: Noise,
    scale: f64,
    centre: f64,
    below: f64,
    mass: f64,
    range: (f64, f64),
}

impl Truncated {
    fn new(noise: Noise, scale: f64, centre: f64, range: (f64, f64)) -> Self {
        let mut it = Truncated { noise, scale, centre, below: 0.0, mass: 0.0, range };
        it.below = it.cdf(range.0);
        it.mass = it.cdf(range.1) - it.below;
        it
    }

    fn cdf(&self, x: f64) -> f64 {
        self.noise.law().log_at_most(self.scale, x - self.centre).exp()
    }

    /// The quantile of a uniform number, by bisection.
    fn sample(&self, rng: &mut Rng) -> f64 {
        let p = self.below + self.mass * rng.random::<f64>();
        let (mut low, mut high) = self.range;
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if self.cdf(middle) < p { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

/// Counts of records in bins: the exact sum over all counts.
pub struct Counts {
    line: Line,
    edges: Vec<f64>,
    /// All counts, each with the logarithm of its coefficient times the density of the release.
    terms: Vec<(Vec<i32>, f64)>,
}

impl Counts {
    /// The bins between the `edges`; the outer ones are unbounded.
    pub fn new(problem: &Problem, line: Line, edges: &[f64]) -> Self {
        let release = problem.release();
        let terms = compositions(release.n(), edges.len() - 1)
            .into_iter()
            .map(|counts| {
                let residual: Vec<f64> =
                    release.values().iter().zip(&counts).map(|(v, c)| v - *c as f64).collect();
                let log = log_coefficient(&counts) + log_density(release, &residual);
                (counts.iter().map(|c| *c as i32).collect(), log)
            })
            .collect();
        Counts { line, edges: edges.to_vec(), terms }
    }
}

impl Likelihood for Counts {
    fn estimate(&self, theta: &[f64], _: &mut [f64], _: &mut Rng) -> f64 {
        let inner = &self.edges[1..self.edges.len() - 1];
        let mut below: Vec<f64> = inner.iter().map(|edge| self.line.cdf(theta, *edge)).collect();
        below.push(1.0);
        let mut before = 0.0;
        let logs: Vec<f64> = below
            .iter()
            .map(|p| {
                let share: f64 = p - before;
                before = *p;
                share.max(1e-300).ln()
            })
            .collect();
        let term = |(counts, log): &(Vec<i32>, f64)| {
            (log + counts.iter().zip(&logs).map(|(c, l)| f64::from(*c) * l).sum::<f64>()).exp()
        };
        self.terms.iter().map(term).sum()
    }

    fn cost(&self) -> usize {
        20 + self.terms.len()
    }
}

/// All records from the model, weighted by the noise: for a few records and large noise.
pub struct Plain<'a>(pub &'a Problem);

impl Likelihood for Plain<'_> {
    fn estimate(&self, _: &[f64], records: &mut [f64], _: &mut Rng) -> f64 {
        let release = self.0.release();
        let (k, unit) = (release.query().dim(), release.sum_units()[0]);
        let mut statistics = vec![0.0; release.n() * k];
        release.query().statistics(records, &mut statistics).unwrap();
        let mut residual = release.values();
        for row in statistics.chunks_exact(k) {
            residual.iter_mut().zip(row).for_each(|(r, t)| *r -= t / unit);
        }
        log_density(release, &residual).exp()
    }

    fn cost(&self) -> usize {
        10 + 4 * self.0.release().n()
    }
}

/// All compositions of n records into this many bins.
pub fn compositions(n: usize, bins: usize) -> Vec<Vec<usize>> {
    if bins == 1 {
        return vec![vec![n]];
    }
    let with_first = |first: usize| {
        let rest = compositions(n - first, bins - 1).into_iter();
        rest.map(move |rest| [vec![first], rest].concat())
    };
    (0..=n).flat_map(with_first).collect()
}

/// The logarithm of n! / (c_1! c_2! ...).
pub fn log_coefficient(counts: &[usize]) -> f64 {
    let log_factorial = |c: usize| ln_gamma(c as f64 + 1.0);
    log_factorial(counts.iter().sum()) - counts.iter().map(|c| log_factorial(*c)).sum::<f64>()
}

/// The log density of residuals, released minus true, under the noise of a release of one part.
pub fn log_density(release: &Release, residual: &[f64]) -> f64 {
    let mechanism = release.parts()[0].mechanism().unwrap();
    mechanism.log_density(residual, &vec![0.0; residual.len()])
}
