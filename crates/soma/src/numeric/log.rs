//! log without branches or calls, so that it vectorises.

use pulp::Arch;

/// log(x) for positive normal numbers, to within three units in the last place.
///
/// x = 2^e m with m from sqrt(1/2) to sqrt(2), and log(m) = 2 artanh(s) with s = (m - 1) / (m + 1):
/// |s| is below 0.172, so eleven terms of the series have an error of 1e-17.
#[inline(always)]
fn log(x: f64) -> f64 {
    const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Maps the bits of sqrt(1/2) to those of 1.
    const SHIFT: u64 = 0x0009_5f61_9980_c433;
    const UNIT: f64 = 4_503_599_627_370_496.0; // 2^52
    let bits = x.to_bits();
    let exponent = bits.wrapping_add(SHIFT) >> 52;
    let m = f64::from_bits(bits.wrapping_sub(exponent.wrapping_sub(1023) << 52));
    let e = f64::from_bits(exponent | UNIT.to_bits()) - (UNIT + 1023.0);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let z2 = z * z;
    let z4 = z2 * z2;
    let low = (1.0 / 3.0 + z * (1.0 / 5.0)) + z2 * (1.0 / 7.0 + z * (1.0 / 9.0));
    let middle = (1.0 / 11.0 + z * (1.0 / 13.0)) + z2 * (1.0 / 15.0 + z * (1.0 / 17.0));
    let high = (1.0 / 19.0 + z * (1.0 / 21.0)) + z2 * (1.0 / 23.0);
    let series = low + z4 * (middle + z4 * high);
    e * LN2_HIGH + (2.0 * s + (2.0 * s * z * series + e * LN2_LOW))
}

/// Writes the logarithms of `from`, clamped to `low` and `high`, to `to`, vectorised. `low` is
/// positive and normal.
pub(crate) fn log_clamped(from: &[f64], (low, high): (f64, f64), to: &mut [f64]) {
    struct Logs<'a>(&'a [f64], (f64, f64), &'a mut [f64]);
    impl pulp::WithSimd for Logs<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _: S) {
            let Logs(from, (low, high), to) = self;
            for (t, &x) in to.iter_mut().zip(from) {
                let x = if x < low { low } else { x };
                let x = if x > high { high } else { x };
                // NaN stays NaN.
                *t = log(x) + 0.0 * x;
            }
        }
    }
    Arch::new().dispatch(Logs(from, (low, high), to));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_library() {
        let mut x = f64::MIN_POSITIVE;
        while x < 1e300 {
            let (fast, right) = (log(x), x.ln());
            assert!(
                (fast - right).abs() <= 4.0 * f64::EPSILON * right.abs(),
                "{x}: {fast} {right}"
            );
            x *= 1.000_37;
        }
        assert_eq!(log(1.0), 0.0);
        let mut out = [0.0; 5];
        log_clamped(&[0.0, 0.2, 1.0, f64::NAN, 9.0], (0.1, 2.0), &mut out);
        assert!(out[3].is_nan());
        out[3] = 0.0;
        assert_eq!(out, [log(0.1), log(0.2), 0.0, 0.0, log(2.0)]);
    }
}
