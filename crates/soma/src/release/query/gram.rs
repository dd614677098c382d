//! The unique entries of the Gram matrix of a regression.

use nalgebra::DMatrix;

use super::{ClampedMoments, MomentTerm, Moments, Query, Sensitivity};
use crate::error::{Invalid, Outcome, interval};

/// The products of every two of the variables 1, x1, ..., xp, y of a record (x1, ..., xp, y), each
/// variable clamped to its range and the range mapped linearly onto \[-1, 1\] (for a range
/// \[-c, c\], the variable divided by c). The constant product 1 is left out.
///
/// The order, for K = (p^2 + 5p + 4) / 2 in all: y; x1 y, ..., xp y; y^2; x1, ..., xp; and then
/// the products of the predictors row by row, x1^2, x1 x2, ..., x1 xp, x2^2, x2 x3, ..., xp^2.
///
/// # Sensitivity
///
/// With d = p + 1, replacing one record moves the sum by at most
///
/// - d (d + 2)^2 / (2 (d + 1)) in the sum of absolute values,
/// - d + 1 for odd d, and sqrt(d (d + 2)) for even d, in the Euclidean norm,
///
/// and there are records for which it does. Let u and v be the two records, P = |u - v| and
/// Q = |u + v| by coordinate. P_i + Q_i = 2 max(|u_i|, |v_i|) <= 2, and
/// |u_i u_j - v_i v_j| <= (P_i Q_j + Q_i P_j) / 2, so Q may be taken as 2 - P. For the absolute
/// values, with s = sum P_i, the norm is at most (d + 2) s - (1 + 1/d) s^2 / 2, largest at
/// P_i = (d + 2) / (d + 1): attained at a sign vector u and v = -u / (d + 1). For the Euclidean
/// norm, with t = P - 1 and m = sum t_i, its square is at most
/// d (d + 3) / 2 + 2m - m^2 + (sum t_i^2)^2 / 2 + sum t_i^4 / 2: at sign vectors t that is
/// (d + 1)^2 - (m - 1)^2, with m of the parity of d, and away from them it is less (the book's
/// page on queries has the steps). Attained where v is the sign vector u with half of d + 1 of
/// its signs changed, rounded down.
#[derive(Debug, Clone)]
pub struct Gram {
    centre: Vec<f64>,
    half_width: Vec<f64>,
    per_half_width: Vec<f64>,
}

impl Gram {
    /// A query on records (x1, ..., xp, y) with a range for each of the p + 1 variables.
    pub fn new(clamp: Vec<(f64, f64)>) -> Result<Self, Invalid> {
        if clamp.len() < 2 {
            return Err(Invalid::new(
                "clamp",
                "there must be a predictor and a response",
                format!("{} ranges", clamp.len()),
                "[low, high] for each predictor and then for the response",
            ));
        }
        for (k, &range) in clamp.iter().enumerate() {
            interval(&format!("clamp[{k}]"), range)?;
        }
        let half_width: Vec<f64> = clamp.iter().map(|(low, high)| 0.5 * high - 0.5 * low).collect();
        Ok(Gram {
            centre: clamp.iter().map(|(low, high)| 0.5 * low + 0.5 * high).collect(),
            per_half_width: half_width.iter().map(|half| 1.0 / half).collect(),
            half_width,
        })
    }

    /// A query on records of `predictors` predictors and a response, all with the same range.
    pub fn with_range(predictors: usize, range: (f64, f64)) -> Result<Self, Invalid> {
        interval("clamp", range)?;
        if predictors < 1 {
            return Err(Invalid::new(
                "predictors",
                "there must be a predictor",
                predictors,
                "a whole number from 1 up",
            ));
        }
        Gram::new(vec![range; predictors + 1])
    }

    fn predictors(&self) -> usize {
        self.centre.len() - 1
    }

    /// If `p` is known at the call, the compiler unrolls the inner loops.
    #[inline(always)]
    fn rows(&self, p: usize, records: &[f64], out: &mut [f64]) {
        let (centre, factor) = (&self.centre[..=p], &self.per_half_width[..=p]);
        for (record, row) in
            records.chunks_exact(p + 1).zip(out.chunks_exact_mut((p + 1) * (p + 4) / 2))
        {
            let scaled = |j: usize| ((record[j] - centre[j]) * factor[j]).clamp(-1.0, 1.0);
            let y = scaled(p);
            row[0] = y;
            row[p + 1] = y * y;
            for j in 0..p {
                let x = scaled(j);
                row[1 + j] = x * y;
                row[p + 2 + j] = x;
            }
            let mut at = 2 * p + 2;
            for i in 0..p {
                for j in i..p {
                    row[at] = row[p + 2 + i] * row[p + 2 + j];
                    at += 1;
                }
            }
        }
    }
}

impl Query for Gram {
    fn kind(&self) -> &'static str {
        "gram"
    }

    fn record_dim(&self) -> usize {
        self.centre.len()
    }

    fn dim(&self) -> usize {
        let d = self.centre.len();
        d * (d + 3) / 2
    }

    fn statistics(&self, records: &[f64], out: &mut [f64]) -> Outcome {
        match self.predictors() {
            1 => self.rows(1, records, out),
            2 => self.rows(2, records, out),
            3 => self.rows(3, records, out),
            p => self.rows(p, records, out),
        }
        Ok(())
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        let p = self.predictors();
        let mut bounds = vec![(-1.0, 1.0); self.dim()];
        bounds[p + 1] = (0.0, 1.0);
        for i in 0..p {
            bounds[product(p, i, i)] = (0.0, 1.0);
        }
        bounds
    }

    fn sensitivity(&self) -> Sensitivity {
        let d = self.centre.len() as f64;
        let even = self.centre.len().is_multiple_of(2);
        Sensitivity {
            l1: d * (d + 2.0) * (d + 2.0) / (2.0 * (d + 1.0)),
            l2: if even { (d * (d + 2.0)).sqrt() } else { d + 1.0 },
        }
    }

    fn labels(&self) -> Vec<String> {
        let p = self.predictors();
        let mut labels = vec!["y".to_string()];
        labels.extend((1..=p).map(|j| format!("x{j} y")));
        labels.push("y^2".into());
        labels.extend((1..=p).map(|j| format!("x{j}")));
        for i in 1..=p {
            labels.push(format!("x{i}^2"));
            labels.extend((i + 1..=p).map(|j| format!("x{i} x{j}")));
        }
        labels
    }

    fn clamped_moments(&self) -> Option<ClampedMoments> {
        let p = self.predictors();
        let mut variables = vec![[p, p + 1]];
        variables.extend((0..p).map(|j| [j, p]));
        variables.push([p, p]);
        variables.extend((0..p).map(|j| [j, p + 1]));
        variables.extend((0..p).flat_map(|i| (i..p).map(move |j| [i, j])));
        let term = |variables| MomentTerm { variables, offset: 0.0, factor: 1.0 };
        Some(ClampedMoments {
            centre: self.centre.clone(),
            half_width: self.half_width.clone(),
            terms: variables.into_iter().map(term).collect(),
        })
    }

    fn moments(&self, means: &[f64]) -> Option<Moments> {
        let p = self.predictors();
        let first = |i: usize| if i == p { means[0] } else { means[p + 2 + i] };
        let second = |i: usize, j: usize| match (i.min(j), i.max(j)) {
            (i, j) if j < p => means[product(p, i, j)],
            (i, _) if i < p => means[1 + i],
            _ => means[p + 1],
        };
        let mean = (0..=p).map(|i| self.centre[i] + self.half_width[i] * first(i)).collect();
        let covariance = DMatrix::from_fn(p + 1, p + 1, |i, j| {
            self.half_width[i] * self.half_width[j] * (second(i, j) - first(i) * first(j))
        });
        Some(Moments { mean, covariance: Some(covariance) })
    }
}

/// The index of the product of predictors i <= j.
fn product(p: usize, i: usize, j: usize) -> usize {
    2 * p + 2 + i * p - i * (i + 1) / 2 + j
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Rng, stream};
    use proptest::prelude::*;
    use rand::RngExt;

    fn statistic(query: &Gram, record: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; query.dim()];
        query.statistics(record, &mut out).unwrap();
        out
    }

    #[test]
    fn order_is_that_of_the_paper() {
        let query = Gram::with_range(2, (-6.0, 6.0)).unwrap();
        let (x1, x2, y) = (0.5, -0.25, 1.0);
        let expected = [y, x1 * y, x2 * y, y * y, x1, x2, x1 * x1, x1 * x2, x2 * x2];
        let got = statistic(&query, &[3.0, -1.5, 60.0]);
        got.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() < 1e-15));
        assert_eq!(query.labels().join(","), "y,x1 y,x2 y,y^2,x1,x2,x1^2,x1 x2,x2^2");
    }

    #[test]
    fn labels_and_dimension_agree_for_every_number_of_predictors() {
        for p in 1..8 {
            let query = Gram::with_range(p, (-1.0, 1.0)).unwrap();
            assert_eq!(query.dim(), (p * p + 5 * p + 4) / 2);
            assert_eq!(query.labels().len(), query.dim());
            for i in 0..p {
                assert_eq!(query.labels()[product(p, i, i)], format!("x{}^2", i + 1));
                for j in i + 1..p {
                    assert_eq!(query.labels()[product(p, i, j)], format!("x{} x{}", i + 1, j + 1));
                }
            }
        }
    }

    /// |t(u) - t(v)| in both norms.
    fn distance(query: &Gram, u: &[f64], v: &[f64]) -> (f64, f64) {
        let gaps: Vec<f64> = statistic(query, u)
            .iter()
            .zip(statistic(query, v))
            .map(|(a, b)| (a - b).abs())
            .collect();
        (gaps.iter().sum(), gaps.iter().map(|gap| gap * gap).sum::<f64>().sqrt())
    }

    /// Coordinate search from random pairs of records for the largest distance of their statistics.
    fn search(query: &Gram, objective: impl Fn(&[f64], &[f64]) -> f64, rng: &mut Rng) -> f64 {
        let d = query.record_dim();
        let mut best: f64 = 0.0;
        for _ in 0..60 {
            let mut both: Vec<f64> = (0..2 * d).map(|_| rng.random_range(-1.0..=1.0)).collect();
            let mut value = objective(&both[..d], &both[d..]);
            for _ in 0..30 {
                for c in 0..2 * d {
                    for step in 0..=40 {
                        let mut tried = both.clone();
                        tried[c] = -1.0 + step as f64 / 20.0;
                        let new = objective(&tried[..d], &tried[d..]);
                        if new > value {
                            (value, both) = (new, tried);
                        }
                    }
                }
            }
            best = best.max(value);
        }
        best
    }

    #[test]
    fn sensitivities_are_reached_and_not_passed() {
        let mut rng = stream(1, 0);
        for p in 1..=4 {
            let query = Gram::with_range(p, (-1.0, 1.0)).unwrap();
            let Sensitivity { l1, l2 } = query.sensitivity();
            let d = p + 1;
            let u = vec![1.0; d];
            let v = vec![-1.0 / (d as f64 + 1.0); d];
            assert!((distance(&query, &u, &v).0 - l1).abs() < 1e-12);
            let flipped: Vec<f64> =
                (0..d).map(|i| if i < d.div_ceil(2) { -1.0 } else { 1.0 }).collect();
            assert!((distance(&query, &u, &flipped).1 - l2).abs() < 1e-12);
            let found = search(&query, |u, v| distance(&query, u, v).0, &mut rng);
            assert!(found <= l1 + 1e-9 && found > 0.99 * l1, "p = {p}: {found} of {l1}");
            let found = search(&query, |u, v| distance(&query, u, v).1, &mut rng);
            assert!(found <= l2 + 1e-9 && found > 0.999 * l2, "p = {p}: {found} of {l2}");
        }
    }

    proptest! {
        #[test]
        fn no_pair_of_records_passes_the_sensitivity(both in prop::collection::vec(-1.5f64..1.5, 6)) {
            let query = Gram::with_range(2, (-1.0, 1.0)).unwrap();
            let (l1, l2) = distance(&query, &both[..3], &both[3..]);
            prop_assert!(l1 <= 9.375 + 1e-12 && l2 <= 4.0 + 1e-12);
        }
    }

    #[test]
    fn moments_undo_the_scaling() {
        let query = Gram::new(vec![(0.0, 4.0), (-3.0, 1.0), (-5.0, 5.0)]).unwrap();
        let records = [[1.0, -2.0, 3.0], [2.5, 0.5, -4.0], [3.0, 0.0, 0.5]];
        let mut means = vec![0.0; query.dim()];
        for record in &records {
            means.iter_mut().zip(statistic(&query, record)).for_each(|(m, t)| *m += t / 3.0);
        }
        let moments = query.moments(&means).unwrap();
        let mean = |f: &dyn Fn(&[f64; 3]) -> f64| records.iter().map(f).sum::<f64>() / 3.0;
        for i in 0..3 {
            assert!((moments.mean[i] - mean(&|r| r[i])).abs() < 1e-12);
            for j in 0..3 {
                let expected = mean(&|r| r[i] * r[j]) - mean(&|r| r[i]) * mean(&|r| r[j]);
                let got = moments.covariance.as_ref().unwrap()[(i, j)];
                assert!((got - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn ranges_are_checked() {
        assert!(Gram::new(vec![(-1.0, 1.0)]).is_err());
        assert!(Gram::with_range(0, (-1.0, 1.0)).is_err());
        assert!(Gram::with_range(2, (1.0, -1.0)).is_err());
        assert_eq!(Gram::new(vec![(-1.0, 1.0), (2.0, 2.0)]).unwrap_err().field, "clamp[1]");
    }
}
