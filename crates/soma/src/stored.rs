//! Validation of stored states.
//!
//! A checkpoint comes from disk, and a checksum proves only that it is as written. Kernels index by
//! their state, in places without bound checks, and loop as often as it says. So each part of a
//! state validates what it relies on, in its `check`, before a chain is restored.

/// The result of a validation; the error says what is wrong.
pub(crate) type Check = Result<(), String>;

/// Counts are sums over fewer than 2^48 iterations; from here on they could overflow.
pub(crate) const MOST_COUNTED: u64 = 1 << 60;

/// An error with the message `problem`, unless `holds`.
pub(crate) fn ensure(holds: bool, problem: &str) -> Check {
    if holds { Ok(()) } else { Err(problem.to_string()) }
}

/// Whether there are `length` values, all finite.
pub(crate) fn finite(name: &str, length: usize, values: &[f64]) -> Check {
    let fits = values.len() == length && values.iter().all(|x| x.is_finite());
    ensure(fits, &format!("{name} is not made of {length} finite numbers"))
}

/// Matrices in stored states: `#[serde(with = "crate::stored::matrix")]`.
///
/// Written as nalgebra writes them. Its own reader multiplies the numbers of rows and columns
/// without a check of overflow, so that a crafted file could have 2^63 x 2 numbers in an empty
/// array, which is read without bound checks.
pub(crate) mod matrix {
    use nalgebra::DMatrix;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(m: &DMatrix<f64>, to: S) -> Result<S::Ok, S::Error> {
        m.serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<DMatrix<f64>, D::Error> {
        let (numbers, rows, columns): (Vec<f64>, usize, usize) = Deserialize::deserialize(from)?;
        match rows.checked_mul(columns) {
            Some(count) if count == numbers.len() => Ok(DMatrix::from_vec(rows, columns, numbers)),
            _ => {
                Err(D::Error::custom(format!("no {} numbers of {rows} x {columns}", numbers.len())))
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[derive(Serialize, Deserialize)]
        struct Kept(#[serde(with = "super")] DMatrix<f64>);

        #[test]
        fn a_matrix_has_as_many_numbers_as_it_says() {
            let kept = DMatrix::from_fn(2, 3, |i, j| (10 * i + j) as f64);
            let text = serde_json::to_string(&Kept(kept.clone())).unwrap();
            assert_eq!(text, serde_json::to_string(&kept).unwrap());
            assert_eq!(serde_json::from_str::<Kept>(&text).unwrap().0, kept);
            for crafted in ["[[], 9223372036854775808, 2]", "[[1.0], 1, 2]", "[[1.0, 2.0], 1, 1]"] {
                assert!(serde_json::from_str::<Kept>(crafted).is_err(), "{crafted}");
            }
        }
    }
}
