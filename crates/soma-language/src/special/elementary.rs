//! exp and log without branches, so that they vectorise.

/// 1.5 * 2^52: adding it rounds a small number to an integer, in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// e^x, within 2 units in the last place; 0 and infinity beyond the range of doubles.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let inside = x.clamp(-746.0, 710.0);
    let shifted = inside * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (inside - k * LN2_HIGH) - k * LN2_LOW;
    let r2 = r * r;
    let even = 1.0 / 2.0
        + r2 * (1.0 / 24.0
            + r2 * (1.0 / 720.0
                + r2 * (1.0 / 40_320.0 + r2 * (1.0 / 3_628_800.0 + r2 * (1.0 / 479_001_600.0)))));
    let odd = 1.0 / 6.0
        + r2 * (1.0 / 120.0
            + r2 * (1.0 / 5_040.0
                + r2 * (1.0 / 362_880.0
                    + r2 * (1.0 / 39_916_800.0 + r2 * (1.0 / 6_227_020_800.0)))));
    let p = 1.0 + (r + r2 * (even + r * odd));
    // 2^k in two factors, so that subnormal results are possible.
    let bits = shifted.to_bits() as i64;
    let whole = (bits << 13) >> 13;
    let half = whole >> 1;
    let power = |k: i64| f64::from_bits(((k + 1023) as u64) << 52);
    let value = p * power(half) * power(whole - half);
    if x > 709.782_712_893_384 {
        f64::INFINITY
    } else if x < -745.133_219_101_941_2 {
        0.0
    } else {
        value
    }
}

/// log x, within 2 units in the last place; minus infinity at 0, NaN below.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let tiny = x < f64::MIN_POSITIVE;
    let scaled = if tiny { x * 18_014_398_509_481_984.0 } else { x };
    let bits = scaled.to_bits();
    // The mantissa in [sqrt(1/2), sqrt(2)).
    let shifted = bits.wrapping_add(0x3ff0_0000_0000_0000 - 0x3fe6_a09e_667f_3bcd);
    let exponent_bits = shifted >> 52;
    let mantissa =
        f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(0x3fe6_a09e_667f_3bcd));
    let exponent = f64::from_bits(exponent_bits | 0x4330_0000_0000_0000)
        - (4_503_599_627_370_496.0 + 1023.0)
        - if tiny { 54.0 } else { 0.0 };
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let t1 = w
        * (0.399_999_999_994_094_2 + w * (0.222_221_984_321_497_84 + w * 0.153_138_376_992_093_73));
    let t2 = z
        * (0.666_666_666_666_673_5
            + w * (0.285_714_287_436_623_9
                + w * (0.181_835_721_616_180_5 + w * 0.147_981_986_051_165_86)));
    let half_square = 0.5 * f * f;
    let value = exponent * LN2_HIGH
        - ((half_square - (s * (half_square + t1 + t2) + exponent * LN2_LOW)) - f);
    if x > 0.0 && x < f64::INFINITY {
        value
    } else if x == 0.0 {
        f64::NEG_INFINITY
    } else if x > 0.0 {
        x
    } else {
        f64::NAN
    }
}

/// log(1 + x), with a correction for the rounding of 1 + x.
#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    let u = 1.0 + x;
    let lost = x - (u - 1.0);
    let value = log(u) + if u > 0.0 && u < f64::INFINITY { lost / u } else { 0.0 };
    if x.abs() < 1e-300 { x } else { value }
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

/// log(1 + e^x).
#[inline(always)]
pub fn softplus(x: f64) -> f64 {
    let above = if x > 0.0 { x } else { 0.0 };
    above + log1p(exp(-x.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: f64, theirs: f64, what: &str) {
        let error = (ours - theirs).abs();
        let ok = ours == theirs || error <= 4.0 * f64::EPSILON * theirs.abs() || error < 1e-320;
        assert!(ok || ours.is_nan() && theirs.is_nan(), "{what}: {ours:e} against {theirs:e}");
    }

    #[test]
    fn agree_with_the_standard_library() {
        for k in -30_000..30_000 {
            let x = f64::from(k) * 0.0251 + 0.001;
            close(exp(x), x.exp(), &format!("exp {x}"));
            let positive = (x * 0.9).exp();
            close(log(positive), positive.ln(), &format!("log {positive}"));
            let small = (x * 0.1).exp() - 1.0;
            close(log1p(small), small.ln_1p(), &format!("log1p {small}"));
            close(logistic(x), 1.0 / (1.0 + (-x).exp()), &format!("logistic {x}"));
        }
    }

    #[test]
    fn ends_of_the_range() {
        for x in
            [0.0, 5e-324, 1e-310, f64::MIN_POSITIVE, 1.0, f64::MAX, f64::INFINITY, -1.0, f64::NAN]
        {
            close(log(x), x.ln(), "log");
        }
        for x in [f64::NEG_INFINITY, -745.0, -708.5, 0.0, 709.7, 710.0, f64::INFINITY, f64::NAN] {
            close(exp(x), x.exp(), "exp");
        }
        for x in [-1.0, 0.0, 1e-320, 1e-17, -1e-17, 1e300, f64::INFINITY] {
            close(log1p(x), x.ln_1p(), "log1p");
        }
        assert_eq!(softplus(-800.0), 0.0);
        assert_eq!(softplus(800.0), 800.0);
    }
}
