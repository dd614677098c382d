//! Whether the released values are possible under the stated noise.

use super::Release;
use super::query::CoordinateMap;
use crate::error::{Invalid, listed, rounded};

/// A probability below this, 1e-12, counts as impossible.
const LEAST: f64 = 1e-12;

impl Release {
    /// An error if a released value is so far outside the range of the query's answers that the
    /// stated noise does not explain it. Then the scale, the clamp, the number of records or the
    /// unit of the values is wrong.
    ///
    /// Without noise a sum of n statistics lies within n times the bounds of the statistic. A value
    /// that lies outside has noise of at least its distance from the range, on one side. The smallest
    /// of these probabilities over the K values, times K, must not be less than 10^-12.
    pub fn check_reach(&self) -> Result<(), Invalid> {
        self.check_bounds(&self.query.bounds(), "the range of the query", || {
            "see whether statistic, n, query and mechanism are those of the release".into()
        })
    }

    /// The same for records in `ranges`, one for each coordinate, as those of a `model`: its means
    /// have a narrower range. Only for queries of means.
    pub fn check_reach_of(&self, model: &str, ranges: &[(f64, f64)]) -> Result<(), Invalid> {
        if self.query.coordinate_map() != Some(CoordinateMap::Identity) {
            return Ok(());
        }
        let bounds = self.query.bounds();
        let within = |((low, high), range): (&(f64, f64), &(f64, f64))| {
            (range.0.clamp(*low, *high), range.1.clamp(*low, *high))
        };
        let bounds: Vec<_> = bounds.iter().zip(ranges).map(within).collect();
        let shown: Vec<String> =
            ranges.iter().map(|(low, high)| format!("({low}, {high})")).collect();
        let shown = listed(&shown);
        let problem = format!("the range {shown} of the {model} model");
        self.check_bounds(&bounds, &problem, || {
            format!("the release cannot come from a {model} model: take another, or see whether the records were in another unit")
        })
        .map_err(|invalid| invalid.under("release"))
    }

    fn check_bounds(
        &self,
        bounds: &[(f64, f64)],
        problem: &str,
        remedy: impl Fn() -> String,
    ) -> Result<(), Invalid> {
        let mut at = 0;
        for (i, part) in self.parts.iter().enumerate() {
            let bounds = &bounds[at..at + part.query().dim()];
            at += part.query().dim();
            let Some(mechanism) = part.mechanism() else { continue };
            let per_record = self.n as f64 / part.unit(self.n);
            let all = part.values().iter().zip(bounds).zip(mechanism.scales());
            for (k, ((&value, (low, high)), &scale)) in all.enumerate() {
                let (low, high) = (low * per_record, high * per_record);
                let outside = (low - value).max(value - high) / scale;
                if outside <= 0.0 {
                    continue;
                }
                let publishing = mechanism.publishing();
                let tail =
                    publishing.log_beyond(mechanism.noise(), scale, value, (low, high)).exp();
                if tail * (self.query.dim() as f64) < LEAST {
                    let field = match self.parts.len() {
                        1 => format!("values[{k}]"),
                        _ => format!("parts[{i}].values[{k}]"),
                    };
                    return Err(Invalid::new(
                        field,
                        format!("is {outside:.0} noise scales outside {problem}"),
                        value,
                        format!(
                            "about {} to {} for n = {}, give or take some noise of scale \
                             {}; {}",
                            rounded(low),
                            rounded(high),
                            self.n,
                            rounded(scale),
                            remedy()
                        ),
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::testing::integral;
    use crate::release::mechanism::{Mechanism, Noise, Publishing};
    use crate::release::query::Categories;
    use crate::release::{Aggregate, Release};

    /// Values are refused where the tail, summed or integrated from the density, is negligible. They
    /// are counts of 10 records, which are within 0 and 10.
    #[test]
    fn values_are_refused_where_the_tail_is_negligible() {
        for (noise, scale) in Noise::ALL.into_iter().flat_map(|noise| [(noise, 0.7), (noise, 3.0)])
        {
            let density = |r: f64| noise.log_density(scale, r).exp();
            let rounding = (!noise.is_discrete()).then_some(2.0);
            for rounding in [None, rounding] {
                let publishing = Publishing { rounding, ..Publishing::default() };
                let mechanism = Mechanism::new(noise, vec![scale; 2]).unwrap();
                let mechanism = mechanism.published_by(publishing).unwrap();
                for steps in 1..=60 {
                    let outside = 2.0 * f64::from(steps);
                    let tail = if noise.is_discrete() {
                        (0..200).map(|k| density(outside + f64::from(k))).sum()
                    } else {
                        let from = outside - 0.5 * rounding.unwrap_or(0.0);
                        integral(from, from + 30.0 * scale, density)
                    };
                    for value in [10.0 + outside, -outside] {
                        let query = Arc::new(Categories::new(2).unwrap());
                        let (values, sum) = (vec![value, 4.0], Aggregate::Sum);
                        let release =
                            Release::new(query, mechanism.clone(), sum, 10, values).unwrap();
                        let found = release.check_reach().is_err();
                        assert_eq!(found, 2.0 * tail < LEAST, "{noise:?} {scale} {value}: {tail}");
                    }
                }
            }
        }
    }
}
