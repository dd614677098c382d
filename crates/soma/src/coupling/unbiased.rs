//! Unbiased estimates of posterior means from coupled chains.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::meetings::mean_and_error;
use crate::error::Invalid;

/// The iterations k to m of X over which an estimate averages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    k: u64,
    m: u64,
}

impl Window {
    /// The window from k to m, inclusive.
    pub fn new(k: u64, m: u64) -> Result<Self, Invalid> {
        if k > m {
            return Err(Invalid::new(
                "k",
                "the window is empty",
                format!("k = {k}, m = {m}"),
                "k <= m",
            ));
        }
        Ok(Window { k, m })
    }

    /// The first iteration averaged.
    pub fn k(&self) -> u64 {
        self.k
    }

    /// The last iteration averaged.
    pub fn m(&self) -> u64 {
        self.m
    }

    fn len(&self) -> f64 {
        (self.m - self.k + 1) as f64
    }

    /// How often the difference of X_t and Y_(t - lag) enters the sum over the window.
    fn multiplicity(&self, t: u64, lag: u64) -> f64 {
        if t < self.k + lag {
            return 0.0;
        }
        let most = (t - self.k) / lag;
        let least = t.saturating_sub(self.m).max(lag).div_ceil(lag);
        (most + 1).saturating_sub(least) as f64
    }
}

/// The estimates from one pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// H_(k:m) of each function, which is unbiased for the posterior mean.
    pub unbiased: Vec<f64>,
    /// The average of X_k, ..., X_m of each function.
    pub plain: Vec<f64>,
}

/// Accumulates H_(k:m) (Jacob, O'Leary and Atchade 2020, with a lag) while a pair runs.
///
/// H_(k:m) is the average of h(X_t) over t = k, ..., m, plus corrections: for every t < tau the
/// difference h(X_t) - h(Y_(t - lag)), once for each representation t = l + j lag with l in the
/// window and j >= 1, divided by the length of the window.
#[derive(Debug, Clone)]
pub struct Accumulator {
    window: Window,
    plain: Vec<f64>,
    correction: Vec<f64>,
}

impl Accumulator {
    /// For `functions` functions over `window`.
    pub fn new(window: Window, functions: usize) -> Self {
        Accumulator { window, plain: vec![0.0; functions], correction: vec![0.0; functions] }
    }

    /// Adds h(X_t).
    pub fn add(&mut self, t: u64, x: &[f64]) {
        if (self.window.k..=self.window.m).contains(&t) {
            self.plain.iter_mut().zip(x).for_each(|(sum, h)| *sum += h);
        }
    }

    /// Adds the correction h(X_t) - h(Y_(t - lag)), for t before the meeting.
    pub fn correct(&mut self, t: u64, lag: u64, x: &[f64], y: &[f64]) {
        let times = self.window.multiplicity(t, lag);
        if times > 0.0 {
            let differences = x.iter().zip(y).map(|(a, b)| a - b);
            self.correction.iter_mut().zip(differences).for_each(|(sum, d)| *sum += times * d);
        }
    }

    /// The estimate, after the end of the window and the meeting.
    pub fn finish(self) -> Estimate {
        let length = self.window.len();
        let plain: Vec<f64> = self.plain.iter().map(|sum| sum / length).collect();
        let corrections = self.correction.iter().map(|sum| sum / length);
        Estimate { unbiased: plain.iter().zip(corrections).map(|(a, b)| a + b).collect(), plain }
    }
}

/// The posterior mean of one function, from independent pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PosteriorMean {
    /// The name of the function.
    pub name: String,
    /// The estimate.
    pub mean: f64,
    /// Its standard error.
    pub se: f64,
    /// The lower end of the 95% interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The relative efficiency: the variance of a plain average over that of this estimate, at
    /// equal cost in iterations of one chain.
    pub efficiency: f64,
}

/// Posterior means of functions from the estimates of independent pairs, which cost `costs`
/// iterations of one chain each. Needs at least two pairs.
pub fn posterior_means(
    names: &[String],
    estimates: &[Estimate],
    costs: &[u64],
    window: Window,
) -> Vec<PosteriorMean> {
    let pairs = estimates.len() as f64;
    let cost = costs.iter().sum::<u64>() as f64 / costs.len().max(1) as f64;
    let quantile = StudentsT::new(0.0, 1.0, (pairs - 1.0).max(1.0))
        .map_or(f64::INFINITY, |law| law.inverse_cdf(0.975));
    let summary = |(f, name): (usize, &String)| {
        let of = |part: fn(&Estimate) -> &[f64]| {
            mean_and_error(&estimates.iter().map(|e| part(e)[f]).collect::<Vec<_>>())
        };
        let (mean, se) = of(|e| &e.unbiased);
        let (_, plain) = of(|e| &e.plain);
        // n times the variance of an average of n draws is nearly constant in n if the window is
        // long compared with the autocorrelation time.
        let efficiency = plain * plain * window.len() / (se * se * cost);
        let half = quantile * se;
        PosteriorMean {
            name: name.clone(),
            mean,
            se,
            low: mean - half,
            high: mean + half,
            efficiency,
        }
    };
    names.iter().enumerate().map(summary).collect()
}
