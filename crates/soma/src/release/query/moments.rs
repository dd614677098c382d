//! Sums of powers and products of clamped variables.

use nalgebra::DMatrix;
use soma_language::program::Program;

use super::{Moments, Query, Sensitivity, box_sensitivity, compiled};
use crate::error::{Invalid, Outcome, interval};

/// The products x1^a1 x2^a2 ... of the variables of a record, each clamped to its own range, for a
/// list of powers. The Gram matrix is the case of degree 2 with variables scaled to \[-1, 1\].
#[derive(Debug, Clone)]
pub struct MomentSums {
    clamp: Vec<(f64, f64)>,
    powers: Vec<Vec<u32>>,
}

/// The largest degree.
const MOST_DEGREE: u32 = 8;

/// The largest number of statistics.
const MOST_TERMS: usize = 10_000;

impl MomentSums {
    /// A query with a list of exponent vectors, one exponent per variable.
    pub fn new(clamp: Vec<(f64, f64)>, powers: Vec<Vec<u32>>) -> Result<Self, Invalid> {
        if clamp.is_empty() {
            let allowed = "[low, high] for each variable";
            return Err(Invalid::new("clamp", "must not be empty", "[]", allowed));
        }
        for (k, &range) in clamp.iter().enumerate() {
            interval(&format!("clamp[{k}]"), range)?;
        }
        let d = clamp.len();
        if powers.is_empty() || powers.len() > MOST_TERMS {
            return Err(Invalid::new(
                "powers",
                "the number of statistics is out of range",
                powers.len(),
                format!("1 to {MOST_TERMS} lists of powers, one power for each of {d} variables"),
            ));
        }
        for (i, own) in powers.iter().enumerate() {
            let degree: u32 = own.iter().sum();
            if own.len() != d || !(1..=MOST_DEGREE).contains(&degree) {
                return Err(Invalid::new(
                    format!("powers[{i}]"),
                    "is not a valid list of powers",
                    format!("{own:?}"),
                    format!("{d} powers from 0 up, which sum to 1 up to {MOST_DEGREE}"),
                ));
            }
        }
        Ok(MomentSums { clamp, powers })
    }

    /// A query with all products of degree 1 up to `degree`, by degree, and within a degree with the
    /// first variables first: x1, x2, x1^2, x1 x2, x2^2.
    pub fn of_degree(clamp: Vec<(f64, f64)>, degree: u32) -> Result<Self, Invalid> {
        if !(1..=MOST_DEGREE).contains(&degree) {
            let allowed = format!("a whole number from 1 to {MOST_DEGREE}");
            return Err(Invalid::new("degree", "is out of range", degree, allowed));
        }
        let d = clamp.len();
        let mut powers = Vec::new();
        for total in 1..=degree {
            with_total(&mut vec![0; d], 0, total, &mut powers);
            if powers.len() > MOST_TERMS {
                break;
            }
        }
        MomentSums::new(clamp, powers)
    }

    fn label(&self, powers: &[u32]) -> String {
        let factors = powers.iter().enumerate().filter(|(_, power)| **power > 0);
        let text = |(i, power): (usize, &u32)| match power {
            1 => format!("x{}", i + 1),
            power => format!("x{}^{power}", i + 1),
        };
        factors.map(text).collect::<Vec<_>>().join(" ")
    }
}

/// All exponents of the variables from `at` on that sum to `total`, in decreasing order.
fn with_total(powers: &mut Vec<u32>, at: usize, total: u32, all: &mut Vec<Vec<u32>>) {
    if all.len() > MOST_TERMS {
        return;
    }
    if at + 1 == powers.len() {
        powers[at] = total;
        all.push(powers.clone());
        return;
    }
    for power in (0..=total).rev() {
        powers[at] = power;
        with_total(powers, at + 1, total - power, all);
    }
}

/// The range of x^power for x in a range.
fn power_range((low, high): (f64, f64), power: u32) -> (f64, f64) {
    let (a, b) = (low.powi(power as i32), high.powi(power as i32));
    let is_even = power > 0 && power.is_multiple_of(2);
    let least = if is_even && low < 0.0 && high > 0.0 { 0.0 } else { a.min(b) };
    (least, a.max(b))
}

impl Query for MomentSums {
    fn kind(&self) -> &'static str {
        "moments"
    }

    fn record_dim(&self) -> usize {
        self.clamp.len()
    }

    fn dim(&self) -> usize {
        self.powers.len()
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        let d = self.clamp.len();
        let mut x = vec![0.0; d];
        for (record, row) in records.chunks_exact(d).zip(out.chunks_exact_mut(self.powers.len())) {
            for ((x, value), (low, high)) in x.iter_mut().zip(record).zip(&self.clamp) {
                *x = value.clamp(*low, *high);
            }
            for (value, powers) in row.iter_mut().zip(&self.powers) {
                *value = x.iter().zip(powers).map(|(x, power)| x.powi(*power as i32)).product();
            }
        }
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        let product = |powers: &Vec<u32>| {
            let ranges = self.clamp.iter().zip(powers).map(|(r, power)| power_range(*r, *power));
            ranges.fold((1.0, 1.0), |(low, high): (f64, f64), (a, b)| {
                let ends = [low * a, low * b, high * a, high * b];
                let least = ends.iter().copied().fold(f64::INFINITY, f64::min);
                (least, ends.iter().copied().fold(f64::NEG_INFINITY, f64::max))
            })
        };
        self.powers.iter().map(product).collect()
    }

    fn sensitivity(&self) -> Sensitivity {
        box_sensitivity(&self.bounds())
    }

    fn labels(&self) -> Vec<String> {
        self.powers.iter().map(|powers| self.label(powers)).collect()
    }

    fn programs(&self) -> Option<Vec<Program>> {
        let clamped = |j: usize| {
            let (low, high) = self.clamp[j];
            format!("clamp(x{}, {low:?}, {high:?})", j + 1)
        };
        let text = |powers: &Vec<u32>| {
            let used = powers.iter().enumerate().filter(|(_, power)| **power > 0);
            let factors = used.map(|(j, power)| vec![clamped(j); *power as usize].join(" * "));
            factors.collect::<Vec<_>>().join(" * ")
        };
        compiled(self.clamp.len(), &self.powers.iter().map(text).collect::<Vec<_>>())
    }

    fn moments(&self, means: &[f64]) -> Option<Moments> {
        let d = self.clamp.len();
        let of = |wanted: Vec<u32>| {
            self.powers.iter().position(|powers| *powers == wanted).map(|k| means[k])
        };
        let unit = |i: usize| (0..d).map(|j| u32::from(i == j)).collect::<Vec<u32>>();
        let mean: Vec<f64> = (0..d).map(|i| of(unit(i))).collect::<Option<_>>()?;
        let pair = |i: usize, j: usize| unit(i).iter().zip(unit(j)).map(|(a, b)| a + b).collect();
        let mut covariance = DMatrix::zeros(d, d);
        for i in 0..d {
            for j in 0..d {
                match of(pair(i, j)) {
                    Some(second) => covariance[(i, j)] = second - mean[i] * mean[j],
                    None => return Some(Moments { mean, covariance: None }),
                }
            }
        }
        Some(Moments { mean, covariance: Some(covariance) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_products_up_to_a_degree() {
        let query = MomentSums::of_degree(vec![(-1.0, 1.0), (0.0, 2.0)], 2).unwrap();
        assert_eq!(query.labels(), ["x1", "x2", "x1^2", "x1 x2", "x2^2"]);
        let mut out = [0.0; 5];
        query.statistics(&[-3.0, 1.5], &mut out).unwrap();
        assert_eq!(out, [-1.0, 1.5, 1.0, -1.5, 2.25]);
        let expected = [(-1.0, 1.0), (0.0, 2.0), (0.0, 1.0), (-2.0, 2.0), (0.0, 4.0)];
        assert_eq!(query.bounds(), expected);
        let moments = query.moments(&[0.1, 1.0, 0.5, 0.2, 1.5]).unwrap();
        let covariance = moments.covariance.unwrap();
        assert!((covariance[(0, 1)] - 0.1).abs() < 1e-15);
        assert!((covariance[(1, 1)] - 0.5).abs() < 1e-15);
    }

    #[test]
    fn program_is_the_query() {
        let query = MomentSums::of_degree(vec![(-1.0, 1.0), (0.0, 2.5)], 3).unwrap();
        super::super::assert_program(&query, &[-3.0, 1.5, 0.2, -0.5, 0.9, 4.0]);
    }

    #[test]
    fn powers_are_checked() {
        let clamp = vec![(0.0, 1.0); 2];
        assert_eq!(MomentSums::new(clamp.clone(), vec![]).unwrap_err().field, "powers");
        let short = MomentSums::new(clamp.clone(), vec![vec![1, 0], vec![2]]).unwrap_err();
        assert_eq!(short.field, "powers[1]");
        assert_eq!(MomentSums::of_degree(clamp, 9).unwrap_err().field, "degree");
    }

    proptest! {
        #[test]
        fn statistics_lie_within_bounds(x in prop::collection::vec(-4.0f64..4.0, 3)) {
            let clamp = vec![(-2.0, 1.0), (0.5, 3.0), (-1.0, -0.2)];
            let query = MomentSums::of_degree(clamp, 3).unwrap();
            let mut out = vec![0.0; query.dim()];
            query.statistics(&x, &mut out).unwrap();
            for (t, (low, high)) in out.iter().zip(query.bounds()) {
                prop_assert!(low - 1e-12 <= *t && *t <= high + 1e-12);
            }
        }
    }
}
