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
    /// that lies outside by z noise scales has noise of at least z: a probability of exp(-z) / 2
    /// for Laplace noise, and of erfc(z / sqrt 2) / 2 for Gaussian noise. The smallest of these
    /// over the K values, times K, must not be less than 10^-12.
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
            let law = mechanism.noise().law();
            let all = part.values().iter().zip(bounds).zip(mechanism.scales());
            for (k, ((&value, (low, high)), &scale)) in all.enumerate() {
                let (low, high) = (low * per_record, high * per_record);
                let outside = (low - value).max(value - high).max(0.0) / scale;
                let tail = law.tail(outside);
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
