//! The L1 and L2 costs of a residual as types, for static dispatch in the inner loops.

use super::vector::Vector;

/// Minus the log density of one coordinate, up to a constant, in units of the noise scale.
/// Even, convex, and increasing in the distance.
pub trait Cost: Copy + Default + 'static {
    /// The quantisation step of distances if costs are counted in [`COST_UNIT`]s.
    const STEP: f64;

    /// Whether the cost is curved, so that a step costs more at larger distances.
    const IS_CURVED: bool;

    /// The cost of a residual.
    fn cost(residual: f64) -> f64;

    /// cost(`beyond + distance`) - cost(`beyond`) for two numbers of the same sign, in single
    /// precision.
    fn cost_beyond(distance: f32, beyond: f32) -> f32;

    /// Quantised lower bound of cost(paid + distance) - cost(paid), in units; both in steps.
    fn units_below(distance: u16, paid: u16) -> u16;

    /// Quantised upper bound of the same.
    fn units_above(distance: u16, paid: u16) -> u16;
}

/// The unit of quantised costs: 1/128 of a factor 2 of the weight, so that they are the bits of a
/// 16-bit float with 8 bits of exponent and 7 of mantissa.
pub const COST_UNIT: f64 = std::f64::consts::LN_2 / 128.0;

/// Laplace, continuous or discrete.
#[derive(Debug, Clone, Copy, Default)]
pub struct L1;

/// Gaussian, continuous or discrete.
#[derive(Debug, Clone, Copy, Default)]
pub struct L2;

impl Cost for L1 {
    const STEP: f64 = COST_UNIT;
    const IS_CURVED: bool = false;

    #[inline(always)]
    fn cost(residual: f64) -> f64 {
        residual.abs()
    }

    #[inline(always)]
    fn cost_beyond(distance: f32, _: f32) -> f32 {
        distance.abs()
    }

    #[inline(always)]
    fn units_below(distance: u16, _: u16) -> u16 {
        distance
    }

    #[inline(always)]
    fn units_above(distance: u16, _: u16) -> u16 {
        distance
    }
}

/// (p + d)^2 / 2 - p^2 / 2 = d (d + 2 p) / 2; the upper 16 bits of the product. `paid` is 2 p.
impl Cost for L2 {
    /// The square root of 2 units / 2^16.
    const STEP: f64 = 0.0004065208062293446;
    const IS_CURVED: bool = true;

    #[inline(always)]
    fn cost(residual: f64) -> f64 {
        0.5 * residual * residual
    }

    #[inline(always)]
    fn cost_beyond(distance: f32, beyond: f32) -> f32 {
        distance * (0.5 * distance + beyond)
    }

    #[inline(always)]
    fn units_below(distance: u16, paid: u16) -> u16 {
        ((u32::from(distance) * u32::from(distance.saturating_add(paid))) >> 16) as u16
    }

    #[inline(always)]
    fn units_above(distance: u16, paid: u16) -> u16 {
        match distance.checked_add(paid) {
            Some(sum) => ((u32::from(distance) * u32::from(sum)) >> 16) as u16 + 1,
            None => u16::MAX,
        }
    }
}

/// The first K of a slice, or all of it if K is 0.
#[inline(always)]
pub fn known<const K: usize>(slice: &[f64]) -> &[f64] {
    if K == 0 { slice } else { &slice[..K] }
}

/// The sum over `len` coordinates of `one`, an expression in the coordinate `k`; `four` is the same
/// for k, ..., k + 3. A macro, since the body of a closure would not be compiled for the vector
/// instructions.
macro_rules! sum_over {
    ($vector:ty, $len:expr, $k:ident => $four:expr, $one:expr) => {{
        let len = $len;
        let mut total = 0.0;
        let mut $k = 0;
        if len >= 4 {
            let mut lanes = $four;
            $k = 4;
            while $k + 4 <= len {
                lanes = <$vector>::add(lanes, $four);
                $k += 4;
            }
            total = <$vector>::total(lanes);
        }
        while $k < len {
            total += $one;
            $k += 1;
        }
        total
    }};
}
pub(crate) use sum_over;

/// The log weight of the current residual, log w_0, up to the same constant as [`log_weight_with`],
/// with vectors V, for statistics of length K (0: any length).
#[inline(always)]
pub fn log_density_with<S: Cost, V: Vector, const K: usize>(residual: &[f64]) -> f64 {
    let r = known::<K>(residual);
    -sum_over!(V, r.len(), k => V::cost::<S>(V::load(&r[k..])), S::cost(r[k]))
}

/// The log weight of replacing a record with statistic `old` by one with statistic `new`.
#[inline(always)]
pub fn log_weight_with<S: Cost, V: Vector, const K: usize>(
    residual: &[f64],
    old: &[f64],
    new: &[f64],
) -> f64 {
    let r = known::<K>(residual);
    let (old, new) = (&old[..r.len()], &new[..r.len()]);
    -sum_over!(V, r.len(), k => {
        let before = V::add(V::load(&r[k..]), V::load(&old[k..]));
        V::cost::<S>(V::sub(before, V::load(&new[k..])))
    }, S::cost(r[k] + old[k] - new[k]))
}

/// The cost of the residual `apart + old`.
#[inline(always)]
pub fn cost_with<S: Cost, V: Vector, const K: usize>(apart: &[f64], old: &[f64]) -> f64 {
    let apart = known::<K>(apart);
    let old = &old[..apart.len()];
    sum_over!(V, apart.len(), k => {
        V::cost::<S>(V::add(V::load(&apart[k..]), V::load(&old[k..])))
    }, S::cost(apart[k] + old[k]))
}

/// The costs of four residuals `apart + old`.
#[inline(always)]
pub fn costs_with<S: Cost, V: Vector, const K: usize>(apart: &[f64], old: [&[f64]; 4]) -> V::Four {
    let apart = known::<K>(apart);
    let len = apart.len();
    let old = old.map(|row| &row[..len]);
    let zero = V::load(&[0.0; 4]);
    let (mut k, mut lanes) = (0, [zero; 4]);
    while k + 4 <= len {
        let apart = V::load(&apart[k..]);
        for j in 0..4 {
            let cost = V::cost::<S>(V::add(apart, V::load(&old[j][k..])));
            lanes[j] = V::add(lanes[j], cost);
        }
        k += 4;
    }
    let mut total = if len < 4 { zero } else { V::totals(lanes) };
    while k < len {
        let old = V::join([old[0][k], old[1][k], old[2][k], old[3][k]]);
        let apart = V::load(&[apart[k]; 4]);
        total = V::add(total, V::cost::<S>(V::add(apart, old)));
        k += 1;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_of_square_makes_a_unit() {
        assert!((L2::STEP - (2.0 * COST_UNIT / 65536.0).sqrt()).abs() < 1e-18);
    }

    /// Quantised costs are lower and upper bounds, unless they saturate.
    #[test]
    fn units_stand_around_the_cost() {
        fn check<S: Cost>(distance: u16, paid: u16) {
            let twice = if S::IS_CURVED { 0.5 } else { 0.0 };
            let (d, p) = (f64::from(distance) * S::STEP, twice * f64::from(paid) * S::STEP);
            let cost = (S::cost(p + d) - S::cost(p)) / COST_UNIT;
            assert!(f64::from(S::units_below(distance, paid)) <= cost + 1e-9);
            let above = S::units_above(distance, paid);
            assert!(above == u16::MAX || f64::from(above) >= cost - 1e-9, "{distance} {paid}");
        }
        for distance in (0..=u16::MAX).step_by(97) {
            for paid in [0, 1, 999, 30_000, u16::MAX] {
                check::<L1>(distance, paid);
                check::<L2>(distance, paid);
            }
        }
    }
}
