//! Maximal couplings of two laws that have densities.

use rand::RngExt;

use crate::error::Outcome;
use crate::interrupt;
use crate::numeric::accept::is_accepted;
use crate::rng::Rng;

/// A law that can be drawn from and whose density is known.
pub trait Law {
    /// What is drawn.
    type Point: Clone;

    /// One draw.
    fn sample(&self, rng: &mut Rng) -> Outcome<Self::Point>;

    /// The normalised log density at a point.
    fn log_density(&self, point: &Self::Point) -> f64;
}

/// A draw from each of two laws, the same one as often as can be: with probability
/// 1 - TV(first, second). The last part says whether it is the same.
///
/// x is drawn from the first law p, and taken for both with probability min(1, q(x) / p(x)); that
/// is the common part min(p, q) of the two. Otherwise the second chain draws from what q has
/// beyond it, q - min(p, q), by rejection from q. There is no cap on the tries, which would put
/// the second chain off its law: their expected number over both stages is one, and a
/// stop is answered between them.
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

/// Draws theta in two chains from their laws given the records, by a maximal coupling of all
/// coordinates together.
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

/// log p(x) / q(x). An error where it is NaN: the rejection of [`maximal`] would not end.
fn log_ratio<L: Law>(p: &L, q: &L, x: &L::Point) -> Outcome<f64> {
    let ratio = p.log_density(x) - q.log_density(x);
    if ratio.is_nan() {
        return Err("the densities of two laws that are coupled cannot be compared".into());
    }
    Ok(ratio)
}
