//! Maximal couplings of two distributions with densities.

use rand::RngExt;

use crate::error::Outcome;
use crate::interrupt;
use crate::numeric::accept::is_accepted;
use crate::rng::Rng;

/// A distribution that can be sampled and whose density is known.
pub trait Law {
    /// The type of a draw.
    type Point: Clone;

    /// One draw.
    fn sample(&self, rng: &mut Rng) -> Outcome<Self::Point>;

    /// The normalised log density at a point.
    fn log_density(&self, point: &Self::Point) -> f64;
}

/// A draw from each of two distributions, equal with the largest possible probability, 1 -
/// TV(first, second). Also returns whether they are equal.
///
/// x is drawn from the first density p, and accepted for both with probability min(1, q(x) / p(x)):
/// the common part min(p, q). Otherwise the second draw is from the residual q - min(p, q), by
/// rejection from q. The number of tries is not limited, since a limit would bias the second chain;
/// its expectation over both stages is one. An interrupt is checked between tries.
pub fn maximal<L: Law>(
    first: &L,
    second: &L,
    rng: &mut Rng,
) -> Outcome<(L::Point, L::Point, bool)> {
    let x = first.sample(rng)?;
    if is_accepted(rng.random::<f64>().ln(), log_ratio(second, first, &x)?) {
        return Ok((x.clone(), x, true));
    }
    loop {
        interrupt::check()?;
        let y = second.sample(rng)?;
        if !is_accepted(rng.random::<f64>().ln(), log_ratio(first, second, &y)?) {
            return Ok((x, y, false));
        }
    }
}

/// Draws theta in two chains from their conditionals given the records, by a maximal coupling of
/// the whole vector.
pub(crate) fn draw_pair<L: Law<Point = Vec<f64>>>(
    laws: [L; 2],
    [first, second]: [&mut [f64]; 2],
    rng: &mut Rng,
) -> Outcome {
    let (x, y, _) = maximal(&laws[0], &laws[1], rng)?;
    first.copy_from_slice(&x);
    second.copy_from_slice(&y);
    Ok(())
}

/// log p(x) / q(x). An error if it is NaN: the rejection in [`maximal`] would not end.
fn log_ratio<L: Law>(p: &L, q: &L, x: &L::Point) -> Outcome<f64> {
    let ratio = p.log_density(x) - q.log_density(x);
    if ratio.is_nan() {
        return Err("the densities of two laws that are coupled cannot be compared".into());
    }
    Ok(ratio)
}
