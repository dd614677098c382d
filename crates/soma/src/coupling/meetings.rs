//! Estimates from meeting times: the survival curve, its rate, and bounds of the distance to the
//! posterior.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::unbiased::Window;
use crate::error::Invalid;
use crate::rng;

/// The meeting times of independent pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meetings {
    lag: u64,
    times: Vec<Option<u64>>,
    limit: u64,
}

/// An upper bound of the total variation distance at one iteration, with its Monte Carlo error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The iteration.
    pub t: u64,
    /// The bound.
    pub bound: f64,
    /// Its standard error over pairs.
    pub se: f64,
}

/// The factor by which P(tau > t) falls in one iteration, with a 95% interval over pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// The estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Bootstrap resamples for the interval of the rate.
const RESAMPLES: usize = 400;

/// The rate is fitted to the survival curve while at least this many pairs are left.
const FEWEST: usize = 10;

impl Meetings {
    /// The meeting times of pairs with this lag; `None` for a pair that had not met by iteration
    /// `limit`.
    pub fn new(lag: u64, limit: u64, times: Vec<Option<u64>>) -> Self {
        Meetings { lag, times, limit }
    }

    /// The lag.
    pub fn lag(&self) -> u64 {
        self.lag
    }

    /// The meeting times, in the order of the pairs.
    pub fn times(&self) -> &[Option<u64>] {
        &self.times
    }

    /// How many pairs met.
    pub fn met(&self) -> usize {
        self.times.iter().flatten().count()
    }

    /// Whether every pair met, so that the bounds are valid.
    pub fn all_met(&self) -> bool {
        !self.times.is_empty() && self.met() == self.times.len()
    }

    /// The delays tau - lag, sorted. The delay of a pair that did not meet is censored: it is set
    /// to the smallest possible value, just after the limit.
    fn delays(&self) -> Vec<u64> {
        let mut delays: Vec<u64> = self
            .times
            .iter()
            .map(|time| time.unwrap_or(self.limit + 1).saturating_sub(self.lag))
            .collect();
        delays.sort_unstable();
        delays
    }

    /// The quantile of tau - lag at probability `p`; `None` if it is censored.
    pub fn delay_quantile(&self, p: f64) -> Option<u64> {
        let rank = ((p * self.times.len() as f64).ceil() as usize).max(1);
        (rank <= self.met()).then(|| self.delays()[rank - 1])
    }

    /// The lag to use, with these pairs as a pilot: the 0.9 quantile of the delay. A longer lag
    /// hardly sharpens the bounds, and costs iterations of X alone.
    pub fn suggested_lag(&self) -> u64 {
        let delays = self.delays();
        delays.get((0.9 * delays.len() as f64) as usize).map_or(1, |&delay| delay.max(1))
    }

    /// The window for unbiased estimates, with these pairs as a pilot: k is the largest delay, so
    /// that corrections are rare, and the window is five times as long, so that the iterations
    /// before it are a small part of the cost.
    pub fn suggested_window(&self) -> Result<Window, Invalid> {
        let k = self.delays().last().copied().unwrap_or(1);
        Window::new(k, k.saturating_mul(6))
    }

    /// The mean of tau - lag with its standard error; a lower estimate if some pairs have not met.
    pub fn mean_delay(&self) -> (f64, f64) {
        mean_and_error(&self.delays().iter().map(|&delay| delay as f64).collect::<Vec<_>>())
    }

    /// The proportion of pairs with tau - lag > t, for every t at which it changes.
    pub fn survival(&self) -> Vec<(u64, f64)> {
        let delays = self.delays();
        let n = delays.len() as f64;
        let mut curve = vec![(0, 1.0)];
        for (rank, &delay) in delays[..self.met()].iter().enumerate() {
            let share = 1.0 - (rank + 1) as f64 / n;
            match curve.last_mut() {
                Some(last) if last.0 == delay => last.1 = share,
                _ => curve.push((delay, share)),
            }
        }
        curve
    }

    /// The bound of the total variation distance between the distribution of the chain at iteration
    /// t and the posterior: the mean over pairs of max(0, ceil((tau - lag - t) / lag)) (Biswas,
    /// Jacob and Vanetti 2019), truncated at 1. If some pairs have not met it is a lower estimate
    /// and not a bound.
    pub fn bound(&self, t: u64) -> Bound {
        let terms: Vec<f64> = self
            .delays()
            .iter()
            .map(|delay| delay.saturating_sub(t).div_ceil(self.lag) as f64)
            .collect();
        let (mean, se) = mean_and_error(&terms);
        if mean >= 1.0 { Bound { t, bound: 1.0, se: 0.0 } } else { Bound { t, bound: mean, se } }
    }

    /// The bound at up to `points` iterations, from 0 to the first at which it is zero.
    pub fn bounds(&self, points: u64) -> Vec<Bound> {
        let last = self.delays().last().copied().unwrap_or(0);
        let step = last.div_ceil(points.max(2) - 1).max(1);
        (0..=last.div_ceil(step)).map(|i| self.bound(i * step)).collect()
    }

    /// The first iteration from which the bound plus `errors` standard errors is below `level`.
    /// `None` if some pairs have not met, since there is no valid bound then.
    pub fn first_under(&self, level: f64, errors: f64) -> Option<u64> {
        if !self.all_met() {
            return None;
        }
        // The bound is decreasing in t, and the bound and its error change only where t passes a
        // delay modulo the lag: bisection.
        let under = |t| {
            let Bound { bound, se, .. } = self.bound(t);
            bound + errors * se < level
        };
        let (mut low, mut high) = (0, self.delays().last().copied()?);
        while low < high {
            let middle = low + (high - low) / 2;
            if under(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(low)
    }

    /// The rate, from a regression of log P(tau - lag > t) on t, as in the paper. It uses those t
    /// at which at most three quarters of the pairs are left, and at least ten (a quarter if there
    /// are fewer than 40 pairs): earlier the curve has not settled, later it is noise. The interval
    /// is a bootstrap over pairs. `None` if too few distinct times are left.
    pub fn rate(&self, seed: u64) -> Option<Rate> {
        let delays = self.delays();
        let n = delays.len();
        let estimate = slope(&delays, self.met())?.exp();
        let mut rng = rng::stream(seed, 0);
        let mut rates: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| {
                let mut sample: Vec<usize> = (0..n).map(|_| rng.random_range(0..n)).collect();
                sample.sort_unstable();
                let met = sample.partition_point(|&rank| rank < self.met());
                let sample: Vec<u64> = sample.into_iter().map(|rank| delays[rank]).collect();
                slope(&sample, met).map(f64::exp)
            })
            .collect();
        rates.sort_unstable_by(f64::total_cmp);
        let at = |p: f64| rates.get((p * rates.len() as f64) as usize).copied();
        Some(Rate { estimate, low: at(0.025)?, high: at(0.975)? })
    }
}

/// The slope of the least-squares line of log P(delay > t) over t = 1, 2, 3, ...; delays are
/// sorted, and those from index `met` on are censored.
fn slope(delays: &[u64], met: usize) -> Option<f64> {
    let n = delays.len();
    let fewest = FEWEST.min(n.div_ceil(4)).max(1).max(n - met);
    let (from, to) = (n.div_ceil(4), n.checked_sub(fewest)?);
    // At every t in [delays[rank - 1], delays[rank]) there are n - rank pairs left.
    let mut line = Line::default();
    for rank in from..=to {
        let low = if rank == from { rank_start(delays, rank) } else { delays[rank - 1] };
        let high = if rank < n { delays[rank] } else { low + 1 };
        if rank > 0 && low < high {
            line.add(low, high, ((n - rank) as f64 / n as f64).ln());
        }
    }
    line.slope()
}

/// The iteration at which `rank` delays have passed.
fn rank_start(delays: &[u64], rank: usize) -> u64 {
    if rank == 0 { 0 } else { delays[rank - 1] }
}

/// Sums for a least-squares line through points at integers.
#[derive(Default)]
struct Line {
    count: f64,
    t: f64,
    tt: f64,
    y: f64,
    ty: f64,
    /// Whether the points have at least two different heights.
    falls: bool,
}

impl Line {
    /// Points at t = low, ..., high - 1, all at height y.
    fn add(&mut self, low: u64, high: u64, y: f64) {
        let count = (high - low) as f64;
        let mean = 0.5 * (low + high - 1) as f64;
        let t = count * mean;
        self.falls |= self.count > 0.0 && self.y != self.count * y;
        self.count += count;
        self.t += t;
        self.tt += count * (mean * mean + (count * count - 1.0) / 12.0);
        self.y += count * y;
        self.ty += t * y;
    }

    fn slope(&self) -> Option<f64> {
        let spread = self.tt - self.t * self.t / self.count;
        let slope = (self.ty - self.t * self.y / self.count) / spread;
        (self.falls && slope.is_finite()).then_some(slope)
    }
}

/// The mean and its standard error.
pub(super) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (mean, (squares / ((n - 1.0).max(1.0) * n)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, Geometric};

    fn meetings() -> Meetings {
        Meetings::new(2, 100, [3, 4, 4, 7, 12].map(Some).to_vec())
    }

    #[test]
    fn bounds_are_those_of_the_formula() {
        let all = meetings();
        // tau - lag is 1, 2, 2, 5, 10.
        let means = [(0, 1.0), (1, 7.0 / 5.0), (4, 4.0 / 5.0), (9, 1.0 / 5.0), (10, 0.0)];
        for (t, mean) in means {
            assert!((all.bound(t).bound - f64::min(mean, 1.0)).abs() < 1e-12, "at {t}");
        }
        assert_eq!(all.first_under(0.5, 0.0), Some(6));
        assert_eq!(all.first_under(0.01, 0.0), Some(10));
        let curve = [(0, 1.0), (1, 0.8), (2, 0.4), (5, 0.2), (10, 0.0)];
        for ((t, share), (u, expected)) in all.survival().into_iter().zip(curve) {
            assert!(t == u && (share - expected).abs() < 1e-12, "{share} at {t}");
        }
        assert_eq!(all.survival().len(), curve.len());
    }

    /// Pairs that have not met count in every estimate, and no iteration is certified.
    #[test]
    fn pairs_that_have_not_met_are_not_dropped() {
        let some = Meetings::new(1, 50, vec![Some(3), None, Some(5), None]);
        assert_eq!((some.met(), some.all_met()), (2, false));
        assert_eq!(some.first_under(0.01, 0.0), None);
        assert!(some.bound(40).bound >= 0.5);
        assert_eq!(some.survival().last(), Some(&(4, 0.5)));
        assert_eq!(some.delay_quantile(0.75), None);
        assert_eq!(some.mean_delay().0, (2.0 + 50.0 + 4.0 + 50.0) / 4.0);
        // One step of the survival curve does not determine a rate.
        assert_eq!(Meetings::new(1, 50, vec![Some(3), None, None, None]).rate(1), None);
    }

    /// For geometric times the rate is known; its interval covers it.
    #[test]
    fn rate_of_geometric_times() {
        let mut rng = rng::stream(8, 0);
        let mut covered = 0;
        for repetition in 0..100 {
            let law = Geometric::new(0.05).unwrap();
            let times = (0..400).map(|_| Some(2 + law.sample(&mut rng))).collect();
            let rate = Meetings::new(1, 10_000, times).rate(repetition).unwrap();
            assert!((rate.estimate - 0.95).abs() < 0.015, "{rate:?}");
            covered += usize::from(rate.low <= 0.95 && 0.95 <= rate.high);
        }
        assert!((85..=100).contains(&covered), "covered {covered} times of 100");
    }
}
