//! The common prior of pooled groups: the concentration and the mean shares.
//!
//! On the scale u_i = ln alpha_i, alpha = k m. With ln k ~ Normal(ln median, sd^2) and m ~
//! Dirichlet(a, ..., a) the density of u is Normal(ln k) x product of m_i^a, since
//! d(ln k) dm = product of m_i du. Given the counts of all groups, with the groups' shares
//! integrated out, the log density is that plus
//!
//! sum_g [ln Gamma(k) - ln Gamma(n_g + k)] + sum_i sum_g [ln Gamma(c_gi + alpha_i) - ln Gamma(alpha_i)].
//!
//! Each u_i moves alone, and all together (k with m fixed), by slice moves (Neal 2003) with widths
//! learned in warm-up. Equal counts of different groups are evaluated once.

use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};

use super::pooled::Member;
use super::shares::{log_gamma_draw, sample_shares};
use crate::error::{Invalid, Outcome, positive};
use crate::interrupt;
use crate::numeric::ln_gamma_shift::ln_gamma_shift;
use crate::rng::Rng;

/// The most steps out of one slice move.
const STEPS: u64 = 64;

/// What is believed of the common prior.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedPrior {
    /// The median of the concentration, which is log-normal.
    pub median: f64,
    /// The standard deviation of the logarithm of the concentration.
    pub sd: f64,
    /// The Dirichlet parameter of the mean shares, the same for each cell.
    pub shares: f64,
}

impl Default for SharedPrior {
    /// The concentration from 0.6 to 1,500 with probability 0.95; any mean shares.
    fn default() -> Self {
        SharedPrior { median: 30.0, sd: 2.0, shares: 1.0 }
    }
}

impl SharedPrior {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        positive("prior.median", self.median)?;
        positive("prior.sd", self.sd)?;
        positive("prior.shares", self.shares).map(|_| ())
    }
}

/// Where a chain is: u, and the widths of its slices.
#[derive(Debug)]
pub(super) struct Shared {
    prior: SharedPrior,
    /// The logarithms of the Dirichlet parameters of the groups.
    pub(super) log_alpha: Vec<f64>,
    /// A width for each cell, and one for all together.
    widths: Vec<f64>,
}

impl Shared {
    /// Drawn from the prior.
    pub(super) fn sample(prior: &SharedPrior, cells: usize, rng: &mut Rng) -> Self {
        let logs: Vec<f64> = (0..cells).map(|_| log_gamma_draw(prior.shares, rng)).collect();
        Shared::at(prior, logs, rng)
    }

    /// The concentration from the prior, and mean shares near those of the groups.
    pub(super) fn start(prior: &SharedPrior, members: &[Member], rng: &mut Rng) -> Self {
        let cells = members[0].state.counts.len();
        let mut sums = vec![0i64; cells];
        for member in members {
            sums.iter_mut().zip(&member.state.counts).for_each(|(sum, count)| *sum += count);
        }
        // As if so few records had been seen that chains begin apart.
        let scale = 100.0 / sums.iter().sum::<i64>().max(100) as f64;
        let few: Vec<i64> = sums.iter().map(|&sum| (sum as f64 * scale).round() as i64).collect();
        let mut shares = vec![0.0; cells];
        sample_shares(&vec![0.5; cells], &few, &mut shares, rng);
        let logs = shares.iter().map(|share| share.max(1e-9).ln()).collect();
        Shared::at(prior, logs, rng)
    }

    /// Mean shares proportional to exp(logs), and the concentration from the prior.
    fn at(prior: &SharedPrior, mut logs: Vec<f64>, rng: &mut Rng) -> Self {
        let z: f64 = rng.sample(StandardNormal);
        let shift = prior.median.ln() + prior.sd * z - log_sum_exp(&logs);
        logs.iter_mut().for_each(|log| *log += shift);
        let widths = vec![0.5; logs.len() + 1];
        Shared { prior: *prior, log_alpha: logs, widths }
    }

    /// The Dirichlet parameters of the groups.
    pub(super) fn alpha(&self) -> Vec<f64> {
        // Far out in its prior a parameter is 0 in floating point; the sampler needs one above.
        self.log_alpha.iter().map(|log| log.exp().max(f64::MIN_POSITIVE)).collect()
    }

    /// The concentration and the mean shares.
    pub(super) fn output(&self) -> Vec<f64> {
        let log_sum = log_sum_exp(&self.log_alpha);
        let means = self.log_alpha.iter().map(|log| (log - log_sum).exp());
        std::iter::once(log_sum.exp()).chain(means).collect()
    }

    /// The log prior density of u, up to a constant.
    pub(super) fn log_prior(&self, log_alpha: &[f64]) -> f64 {
        let SharedPrior { median, sd, shares } = self.prior;
        let log_sum = log_sum_exp(log_alpha);
        let z = (log_sum - median.ln()) / sd;
        let means: f64 = log_alpha.iter().map(|log| log - log_sum).sum();
        shares * means - 0.5 * z * z
    }

    /// Slice moves of each u_i and of all together, given the counts of the groups.
    pub(super) fn run(&mut self, members: &[Member], learns: bool, rng: &mut Rng) -> Outcome {
        let cells = self.log_alpha.len();
        let sizes = Tally::of(members.iter().map(|member| member.state.n));
        let column = |cell: usize| Tally::of(members.iter().map(|m| m.state.counts[cell]));
        let columns: Vec<Tally> = (0..cells).map(column).collect();
        let mut terms: Vec<f64> =
            columns.iter().zip(&self.log_alpha).map(|(c, log)| c.log_rising(log.exp())).collect();
        for place in 0..=cells {
            interrupt::check()?;
            let range = if place < cells { place..place + 1 } else { 0..cells };
            let from = self.log_alpha.clone();
            let mut trial = from.clone();
            let fixed: f64 =
                (0..cells).filter(|cell| !range.contains(cell)).map(|cell| terms[cell]).sum();
            let log_density = |t: f64| {
                range.clone().for_each(|cell| trial[cell] = from[cell] + t);
                let moved: f64 =
                    range.clone().map(|cell| columns[cell].log_rising(trial[cell].exp())).sum();
                let concentration = log_sum_exp(&trial).exp();
                self.log_prior(&trial) + fixed + moved - sizes.log_rising(concentration)
            };
            let by = slice(log_density, self.widths[place], rng);
            for cell in range {
                self.log_alpha[cell] += by;
                terms[cell] = columns[cell].log_rising(self.log_alpha[cell].exp());
            }
            if learns {
                let width = &mut self.widths[place];
                *width = (0.95 * *width + 0.05 * 3.0 * by.abs()).clamp(1e-6, 10.0);
            }
        }
        Ok(())
    }
}

/// Counts above zero, each with how often it occurs.
struct Tally(Vec<(f64, f64)>);

impl Tally {
    fn of(counts: impl Iterator<Item = i64>) -> Self {
        let mut counts: Vec<i64> = counts.filter(|&count| count > 0).collect();
        counts.sort_unstable();
        let runs = counts.chunk_by(|a, b| a == b);
        Tally(runs.map(|run| (run[0] as f64, run.len() as f64)).collect())
    }

    /// The sum over the counts c of ln Gamma(x + c) - ln Gamma(x).
    fn log_rising(&self, x: f64) -> f64 {
        let x = x.max(f64::MIN_POSITIVE);
        self.0.iter().map(|&(count, often)| often * ln_gamma_shift(x, count)).sum()
    }
}

/// The log of the sum of exponentials.
pub(super) fn log_sum_exp(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
}

/// A slice move from 0 of this log density: where it goes.
pub(super) fn slice(mut log_density: impl FnMut(f64) -> f64, width: f64, rng: &mut Rng) -> f64 {
    let level = log_density(0.0) - rng.sample::<f64, _>(Exp1);
    let mut low = -width * rng.random::<f64>();
    let mut high = low + width;
    let mut left = rng.random_range(0..STEPS);
    let mut right = STEPS - 1 - left;
    while left > 0 && log_density(low) > level {
        low -= width;
        left -= 1;
    }
    while right > 0 && log_density(high) > level {
        high += width;
        right -= 1;
    }
    loop {
        let t = low + (high - low) * rng.random::<f64>();
        if log_density(t) > level {
            return t;
        }
        if t < 0.0 {
            low = t;
        } else {
            high = t;
        }
        if high - low < 1e-12 {
            return 0.0;
        }
    }
}
