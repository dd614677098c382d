//! Slice sampling along a line.

use rand::Rng as _;
use rand::RngExt;
use rand_distr::Exp1;

use crate::error::Outcome;
use crate::interrupt;
use crate::rng::Rng;

/// The widest interval, in widths: a power of two up to 2^11.
const WIDEST: u64 = 1 << 10;

/// The largest number of rejected points before the move ends without a change. Each shrinks the
/// interval, by a half on average, so that it is negligible by then.
const TRIES: usize = 500;

/// One slice move along a line with the current point at 0: the step, and the log density there.
/// `log_density` is unnormalised, and equals `current` at 0; `width` is about the width of the bulk
/// of the density, and affects the cost only.
///
/// Leaves the density invariant: the interval around 0 is stepped out from a random position until
/// both ends are below the level, or until it has [`WIDEST`] widths, and shrunk towards 0 at
/// rejected points (Neal 2003, sections 4.1 and 4.2). The allowed steps are divided at random
/// between the two sides in advance. So the interval is equally likely from any point of the slice
/// inside it, as invariance requires.
///
/// Stopping after [`TRIES`] points without a change is exact too: the same rejected points lead
/// from the new point back to the old with the same density, for each number of them.
///
/// Costs at most `WIDEST + TRIES` densities, and usually about six.
pub(super) fn slice_move(
    current: f64,
    width: f64,
    mut log_density: impl FnMut(f64) -> f64,
    rng: &mut Rng,
) -> Outcome<(f64, f64)> {
    interrupt::check()?;
    if !current.is_finite() {
        return Err(format!("the log density of the parameters is {current}").into());
    }
    let drop: f64 = rng.sample(Exp1);
    let level = current - drop;
    // One word for both: the upper 53 bits are a uniform number, and the lower ones are
    // independent.
    let bits = rng.next_u64();
    let place = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
    let below = bits % WIDEST;
    let mut low = -width * place;
    let mut high = low + width;
    for _ in 0..below {
        match log_density(low) > level {
            true => low -= width,
            false => break,
        }
    }
    for _ in 0..WIDEST - 1 - below {
        match log_density(high) > level {
            true => high += width,
            false => break,
        }
    }
    for _ in 0..TRIES {
        let step = low + (high - low) * rng.random::<f64>();
        let there = log_density(step);
        if there > level || step == 0.0 {
            return Ok((step, there));
        }
        if step < 0.0 {
            low = step;
        } else {
            high = step;
        }
    }
    Ok((0.0, current))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::model::testing::{assert_follows, normal_cdf};
    use crate::rng;

    /// Densities with unbounded slices, or with a wrong value at 0, cost a bounded number of
    /// evaluations.
    #[test]
    fn every_move_ends() {
        let mut rng = rng::stream(1, 0);
        type Density = fn(f64) -> f64;
        let endless: [(&str, Density); 5] = [
            ("flat", |_| 0.0),
            ("rising", |x| x),
            ("infinite", |_| f64::INFINITY),
            ("lower everywhere else", |x| if x == 0.0 { 0.0 } else { -1e300 }),
            ("lower than it was said to be", |_| -1e300),
        ];
        for (name, log_density) in endless {
            let calls = Cell::new(0);
            let counted = |x: f64| {
                calls.set(calls.get() + 1);
                log_density(x)
            };
            for _ in 0..100 {
                calls.set(0);
                let (step, _) = slice_move(0.0, 1e-9, counted, &mut rng).unwrap();
                assert!(step.abs() <= 1e-9 * WIDEST as f64, "{name}: {step}");
                assert!(calls.get() <= WIDEST as usize + TRIES, "{name}: {}", calls.get());
            }
        }
        assert!(slice_move(f64::NAN, 1.0, |_| 0.0, &mut rng).is_err());
    }

    /// A normal distribution is invariant, also if the widest interval is narrower than the slice:
    /// exact draws are moved and compared. The limit is active at the smaller widths.
    #[test]
    fn moves_leave_a_normal_invariant() {
        let mut rng = rng::stream(2, 0);
        for width in [1e-4, 1.0 / WIDEST as f64, 3.0, 1e4] {
            let mut after = Vec::new();
            for _ in 0..4_000 {
                let mut x: f64 = rng.sample(rand_distr::StandardNormal);
                for _ in 0..3 {
                    let log_density = |step: f64| -0.5 * (x + step) * (x + step);
                    x += slice_move(log_density(0.0), width, log_density, &mut rng).unwrap().0;
                }
                after.push(x);
            }
            assert_follows(&format!("width {width}"), &mut after, normal_cdf);
        }
    }

    /// Detailed balance if the limit is active: on [0, 4) with density 2 on the first unit, the
    /// flows between two regions are equal.
    #[test]
    fn mass_goes_to_and_fro_alike() {
        let mut rng = rng::stream(3, 0);
        let density = |x: f64| match x {
            x if !(0.0..4.0).contains(&x) => f64::NEG_INFINITY,
            x if x < 1.0 => 2f64.ln(),
            _ => 0.0,
        };
        // The widest interval has a length of about 0.8.
        let width = 0.8 / WIDEST as f64;
        let (mut there, mut back, draws) = (0.0, 0.0, 20_000);
        for _ in 0..draws {
            let u = 5.0 * rng.random::<f64>();
            let x = if u < 2.0 { 0.5 * u } else { u - 1.0 };
            let (step, _) = slice_move(density(x), width, |s| density(x + s), &mut rng).unwrap();
            let y = x + step;
            there += f64::from(u8::from(x < 1.0 && y >= 1.0));
            back += f64::from(u8::from(x >= 1.0 && y < 1.0));
        }
        let (there, back): (f64, f64) = (there, back);
        assert!(there > 100.0 && (there - back).abs() < 4.5 * (there + back).sqrt());
    }
}
