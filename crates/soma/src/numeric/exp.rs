//! exp without branches or calls, so that it vectorises.

/// exp(x) for x up to 700, to within three units in the last place; 0 below -708.
///
/// x = m log 2 + r with |r| <= log(2) / 2. The Taylor series of exp(r) to degree 13 has an error of
/// 5e-18, and m is added to the exponent.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    const SHIFT: f64 = 6755399441055744.0; // 1.5 * 2^52: adding it rounds to a whole number
    const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const fn inverse_factorial(of: u32) -> f64 {
        let mut value = 1.0;
        let mut k = 2;
        while k <= of {
            value *= k as f64;
            k += 1;
        }
        1.0 / value
    }
    const C: [f64; 14] = {
        let mut c = [1.0; 14];
        let mut k = 2;
        while k < 14 {
            c[k] = inverse_factorial(k as u32);
            k += 1;
        }
        c
    };
    let bounded = if x < -708.0 { -708.0 } else { x };
    let shifted = bounded * std::f64::consts::LOG2_E + SHIFT;
    let m = shifted - SHIFT;
    let r = (bounded - m * LN2_HIGH) - m * LN2_LOW;
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = (C[0] + C[1] * r) + (C[2] + C[3] * r) * r2;
    let middle = (C[4] + C[5] * r) + (C[6] + C[7] * r) * r2;
    let high = (C[8] + C[9] * r) + (C[10] + C[11] * r) * r2;
    let top = C[12] + C[13] * r;
    let series = low + r4 * (middle + r4 * (high + r4 * top));
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    if x < -708.0 { 0.0 } else { series * power }
}

/// [`exp_above`] exceeds exp by at most this factor.
pub const LOOSE: f64 = 1.0615;

/// A unit of x in the upper 32 bits of a double, and the upper 32 bits of 1, plus a margin for
/// rounding.
pub const HIGH_BITS: [f64; 2] =
    [1_048_576.0 * std::f64::consts::LOG2_E, 1023.0 * 1_048_576.0 + 2.0];
/// The upper 32 bits of the smallest and the largest bound.
pub const HIGH_RANGE: [f64; 2] = [1_048_576.0, 2e9];

/// An upper bound of exp(x) for x up to 600: 2^i (1 + f) for 2^(i + f), since the bits of a float
/// are its logarithm, piecewise linear. Only the upper 32 bits are computed.
#[inline(always)]
pub fn exp_above(x: f64) -> f64 {
    let bits = x * HIGH_BITS[0] + HIGH_BITS[1];
    let bits = if bits > HIGH_RANGE[0] { bits } else { HIGH_RANGE[0] };
    let bits = if bits < HIGH_RANGE[1] { bits } else { HIGH_RANGE[1] };
    // SAFETY: it is from 2^20 to 2e9, also if x is NaN.
    let whole = unsafe { bits.to_int_unchecked::<i32>() };
    f64::from_bits((whole as u64) << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_stands_above_exp_and_near_it() {
        let mut x = -700.0;
        while x < 600.0 {
            let ratio = exp_above(x) / x.exp();
            assert!((1.0..LOOSE).contains(&ratio), "{ratio} times exp({x})");
            x += 0.001_37;
        }
        assert!(exp_above(-1e9) > 0.0 && exp_above(-1e9) < 1e-300);
    }

    #[test]
    fn exp_agrees_with_the_standard_library() {
        let mut x = -708.0;
        while x < 700.0 {
            let error = (exp(x) / x.exp() - 1.0).abs();
            assert!(error < 7e-16, "exp({x}) is off by {error}");
            x += 0.001_37;
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-709.0), 0.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
    }
}
