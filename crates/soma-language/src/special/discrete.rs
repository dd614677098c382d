//! Distribution functions of integers, and their inverses.

use super::{beta_tails, beta_tails_of, gamma_sf, normal_quantile};

/// P(K <= k) of Poisson with this mean.
pub fn poisson_cdf(mean: f64, k: f64) -> f64 {
    if k < 0.0 {
        return 0.0;
    }
    if mean == 0.0 { 1.0 } else { gamma_sf(k.floor() + 1.0, mean) }
}

/// P(K <= k) of the number of successes in `n` trials of probability p.
pub fn binomial_cdf(n: f64, p: f64, k: f64) -> f64 {
    if k < 0.0 {
        return 0.0;
    }
    if k >= n {
        return 1.0;
    }
    beta_tails(k.floor() + 1.0, n - k.floor(), p)[1]
}

/// P(K <= k) of the negative binomial with this mean and size (variance mean + mean^2 / size).
pub fn negative_binomial_cdf(mean: f64, size: f64, k: f64) -> f64 {
    negative_binomial_tails(mean, size, k)[0]
}

/// 1 - [`negative_binomial_cdf`], without cancellation.
pub fn negative_binomial_sf(mean: f64, size: f64, k: f64) -> f64 {
    negative_binomial_tails(mean, size, k)[1]
}

fn negative_binomial_tails(mean: f64, size: f64, k: f64) -> [f64; 2] {
    if k < 0.0 {
        return [0.0, 1.0];
    }
    if mean == 0.0 {
        return [1.0, 0.0];
    }
    // Both shares, of which one may be tiny.
    let (share, rest) = (1.0 / (1.0 + mean / size), 1.0 / (1.0 + size / mean));
    beta_tails_of(size, k.floor() + 1.0, share, rest)
}

/// The smallest k with `cdf`(k) >= u, searched from `guess` by doubling steps.
fn smallest(u: f64, guess: f64, most: f64, cdf: impl Fn(f64) -> f64) -> f64 {
    if u.is_nan() || guess.is_nan() {
        return f64::NAN;
    }
    let most = most.min(9e15);
    let (mut low, mut high) = (-1.0, most);
    let mut k = guess.floor().clamp(0.0, most);
    let mut step = 1.0;
    // Invariant: cdf(low) < u <= cdf(high), at the ends by assumption.
    while high - low > 1.0 {
        if cdf(k) >= u {
            high = k;
            k = if low < 0.0 || high - low > 2.0 * step {
                (high - step).max(low + 1.0).max(0.0)
            } else {
                ((low + high) * 0.5).floor()
            };
        } else {
            low = k;
            k = if high - low > 2.0 * step { low + step } else { ((low + high) * 0.5).floor() };
        }
        step *= 2.0;
        k = k.clamp(low + 1.0, (high - 1.0).max(low + 1.0));
    }
    high
}

/// The smallest k with cumulative probability at least u, if that takes few terms: `first` is the
/// probability of 0, and `ratio`(k) that of k over that of k - 1.
fn by_sum(u: f64, first: f64, ratio: impl Fn(f64) -> f64) -> Option<f64> {
    const MOST_TERMS: usize = 300;
    let (mut k, mut mass, mut sum) = (0.0, first, first);
    for _ in 0..MOST_TERMS {
        if sum >= u {
            return Some(k);
        }
        k += 1.0;
        mass *= ratio(k);
        sum += mass;
    }
    None
}

/// Up to this mean the probabilities are summed.
const SMALL_MEAN: f64 = 50.0;

/// An approximate quantile from the mean and the standard deviation.
fn guess(u: f64, mean: f64, deviation: f64) -> f64 {
    let e = normal_quantile(u.clamp(1e-300, 1.0 - 1e-16));
    mean + deviation * e
}

/// The smallest k with P(K <= k) >= u, of Poisson with this mean.
pub fn poisson_quantile(mean: f64, u: f64) -> f64 {
    if !(mean >= 0.0) || !mean.is_finite() {
        return f64::NAN;
    }
    if mean < SMALL_MEAN
        && let Some(k) = by_sum(u, (-mean).exp(), |k| mean / k)
    {
        return k;
    }
    smallest(u, guess(u, mean, mean.sqrt()), f64::INFINITY, |k| poisson_cdf(mean, k))
}

/// The smallest k with P(K <= k) >= u, of the binomial.
pub fn binomial_quantile(n: f64, p: f64, u: f64) -> f64 {
    if !(n >= 0.0 && (0.0..=1.0).contains(&p)) {
        return f64::NAN;
    }
    let odds = p / (1.0 - p);
    if n * p < SMALL_MEAN
        && p < 0.9
        && let Some(k) = by_sum(u, (n * (-p).ln_1p()).exp(), |k| odds * (n + 1.0 - k) / k)
    {
        return k.min(n);
    }
    smallest(u, guess(u, n * p, (n * p * (1.0 - p)).sqrt()), n, |k| binomial_cdf(n, p, k))
}

/// The smallest k with P(K <= k) >= u, of the negative binomial.
pub fn negative_binomial_quantile(mean: f64, size: f64, u: f64) -> f64 {
    if !(mean >= 0.0 && size > 0.0 && mean.is_finite()) {
        return f64::NAN;
    }
    let share = mean / (size + mean);
    if mean < SMALL_MEAN
        && let Some(k) =
            by_sum(u, (size * (-share).ln_1p()).exp(), |k| share * (size + k - 1.0) / k)
    {
        return k;
    }
    let deviation = (mean + mean * mean / size).sqrt();
    smallest(u, guess(u, mean, deviation), f64::INFINITY, |k| negative_binomial_cdf(mean, size, k))
}
